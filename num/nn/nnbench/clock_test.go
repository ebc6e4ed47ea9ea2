//go:build !unix

package nnbench

import "time"

var start = time.Now()

// clock counts the time since the program began.
func clock() time.Duration { return time.Since(start) }
