package main

// pretrainCmd learns models from recorded episodes.
type pretrainCmd struct {
	World pretrainWorldCmd `cmd:"" help:"A model of the rules."`
}
