package train

import (
	"testing"

	"hop/agent"
)

// BenchmarkGuards is one look at a window of 64 envs and 32 steps; compare with
// the time that such a window takes to play and learn from (hop bench train).
func BenchmarkGuards(b *testing.B) {
	s := dreaming(b)
	var stats [][]agent.Stat
	for _, m := range s.parts.Minds {
		list, err := m.Learn(s.ro, s.shape(), 0)
		if err != nil {
			b.Fatal(err)
		}
		stats = append(stats, list)
	}
	p := s.progress(stats)
	for b.Loop() {
		s.guards.look(s, p)
	}
}
