package mind

import "hop/internal/cpu"

// Part is a part of a run, and what it takes of the memory.
type Part struct {
	Name   string
	Bytes  float64
	Fields []string // of the spec, that make it large, the best to change first
}

// Sizes is how large a run is.
type Sizes struct{ Envs, Window, Workers int }

// Each returns how many bytes one more of something takes, of which make makes n. Large
// ones are not made to know their size.
func Each(make func(n int) any) float64 {
	const few, more = 16, 48
	return (float64(cpu.Size(make(more))) - float64(cpu.Size(make(few)))) / (more - few)
}
