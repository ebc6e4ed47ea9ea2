// Package reference writes down, from the papers and in float64, what learners, inference,
// models of others and of the world, and beliefs must compute: returns and advantages,
// losses and their gradients, Adam's step, Bayes' rule.
//
// It is what an audit holds the real thing against, so it shares no code with it and
// imports numbers and games only: networks are read from saved tensors by their names,
// windows from package batch, settings by their names in a spec. It is slow and plain on
// purpose. Nothing here is on the path of a training; tests may use it instead of
// definitions of their own.
package reference
