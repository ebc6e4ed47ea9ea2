package matrix

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
)

// Drawn lists the co-players of the 2x2 games that are somebody else in every episode. They join
// the game and are none of its Bots: nobody can be held against them.
func Drawn(g game.Game) []game.BotInfo {
	if len(g.Spec().Actions) != 2 {
		return nil
	}
	return []game.BotInfo{{
		Name: "memory1", Doc: "anybody with a memory of one round: cooperates after CC, CD, DC, DD with shares drawn anew each episode, each " +
			"evenly from 0 to 1",
		New: func() game.Bot { return &drawn{} },
	}}
}

// drawn draws its shares in an episode's first round, in which it cooperates half of the time: so does
// who draws a share for that, too.
type drawn struct {
	shares [4]float32 // of cooperating after CC, CD, DC, DD, own action first
}

func (*drawn) Name() string { return "memory1" }

func (b *drawn) Act(st game.State, s game.Seat, r *rng.Rand) int32 {
	m, share := st.(*State), float32(0.5)
	if m.t == 0 {
		for i := range b.shares {
			b.shares[i] = r.Float32()
		}
	} else {
		share = b.shares[2*m.last[s]+m.last[1-s]]
	}
	if r.Float32() < share {
		return cooperate
	}
	return defect
}

// Watch forgets who it was.
func (b *drawn) Watch(game.State, game.Seat) { *b = drawn{} }

// AppendBinary appends who it is.
func (b *drawn) AppendBinary(dst []byte) ([]byte, error) {
	for _, x := range b.shares {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
	}
	return dst, nil
}

// UnmarshalBinary makes it who AppendBinary wrote.
func (b *drawn) UnmarshalBinary(src []byte) error {
	if len(src) != 4*len(b.shares) {
		return fmt.Errorf("matrix: loading memory1: %d bytes, want %d", len(src), 4*len(b.shares))
	}
	for i := range b.shares {
		b.shares[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
	return nil
}

var _ game.Keeper = (*drawn)(nil)
