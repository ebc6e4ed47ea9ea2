// Package curve reads the metrics of runs for a screen.
package curve
