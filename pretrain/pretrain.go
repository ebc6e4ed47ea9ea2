// Package pretrain teaches models from recorded steps and judges them: models of
// others, codes of states, the inference of subgoals, world models. One file a
// loop, to be read from top to bottom, and report cards beside them. The judge of
// states alone learns by playing, among bots that it is told of.
//
// Whole episodes are dealt to three parts: to learn from, to choose the weights
// by, and to judge them by; no two rows of one episode are in two parts. Every
// whole epoch is a checkpoint with all that is needed to go on, so an interrupted
// run ends in the same bytes as an uninterrupted one. All randomness comes from
// the seed by named streams, and numbers do not depend on the machine's cores.
package pretrain
