// Package record is what was seen of a run: rows as they were played, kept beside ours, and
// the trajectories and learners of other code, as hop.Recorder writes them.
//
// A recording is an .npz; docs/ladder.md describes its arrays and docs/examples/dump.py
// writes one by hand. Steps of all episodes stand one after the other. Reading checks
// shapes and types and names everything that is wrong at once; what the numbers mean is
// left to package check. Nothing is trusted: a recording may be of any game, cut short,
// or made up. Reading allocates no more than the file's arrays and a few numbers a row.
package record
