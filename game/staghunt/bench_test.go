package staghunt

import (
	"fmt"
	"testing"

	"github.com/hop-marl/hop/game/gametest"
)

// BenchmarkStep plays random legal actions and writes every living seat's mask
// and observation: what collecting a window costs the rules.
func BenchmarkStep(b *testing.B) {
	for _, size := range []int{4, 8, 16} {
		for _, agents := range []int{2, 4, 8} {
			b.Run(fmt.Sprintf("%dx%d/%d", size, size, agents), func(b *testing.B) {
				gametest.Bench(b, gametest.New(b, New, with(func(c *Config) { c.Size, c.Agents = size, agents })))
			})
		}
	}
}
