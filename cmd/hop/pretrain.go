package main

// pretrainCmd learns models from recorded episodes.
type pretrainCmd struct {
	VAE   pretrainVAECmd   `cmd:"" name:"vae" help:"Codes of states: learnt goals."`
	World pretrainWorldCmd `cmd:"" help:"A model of the rules."`
}
