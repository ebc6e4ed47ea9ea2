package main

// pretrainCmd learns models from recorded episodes.
type pretrainCmd struct {
	MOA   pretrainMOACmd   `cmd:"" name:"moa" help:"A model of what others do next."`
	VAE   pretrainVAECmd   `cmd:"" name:"vae" help:"Codes of states: learnt goals."`
	CVAE  pretrainCVAECmd  `cmd:"" name:"cvae" help:"Subgoals inferred from history."`
	World pretrainWorldCmd `cmd:"" help:"A model of the rules."`
	Judge pretrainJudgeCmd `cmd:"" help:"A network that tells what states are worth against known co-players."`
}
