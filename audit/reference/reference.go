// Package twin writes down, from the papers and in float64, what learners and
// beliefs must compute: returns and advantages, losses and their gradients, Adam's
// step, Bayes' rule. Searches are in package inside, world models in dreams.
//
// It is what an audit holds the real thing against, so it shares no code with it:
// networks are read from saved tensors by their names, windows from package batch,
// settings from the spec. It is slow and plain on purpose. Nothing here is on the
// path of a training.
package reference
