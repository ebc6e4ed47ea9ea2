// Package pretrain trains models before a run: models of others, codes of states,
// the inference of subgoals and world models from recorded steps, and the response
// network by playing among bots that it knows. One file a model, to be read from
// top to bottom; the loop that learns from recorded steps is Training's. Package
// score says what the models are worth.
//
// Whole episodes are dealt to three parts: to learn from, to choose the weights
// by, and to score them by; no two rows of one episode are in two parts. Every
// whole epoch is a checkpoint with all that is needed to go on, so an interrupted
// run ends in the same bytes as an uninterrupted one. All randomness comes from
// the seed by named streams, and numbers do not depend on the machine's cores.
package pretrain
