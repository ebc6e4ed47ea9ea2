// Package check holds what was recorded against what it must be and names the slip.
//
// Of our own runs: windows against the rules (Replay), updates of own networks (Learner),
// what an agent makes of its co-players (Study), a world model and what is imagined in it
// (Imagination), single decisions, made again on copies (Decisions). Of other code's: the
// trajectories and learners that hop.Recorder wrote (Recorded).
//
// A question is answered by a check.Finding. Nothing here shares code with what it asks
// about: definitions are package reference's, records package record's. Where a definition
// does not hold, known slips are tried in its place, and the one that agrees gives the
// finding its words. Each part is asked with what came before it taken as it is, so that a
// fault is named once, where it is. Everything follows from the arguments.
package check
