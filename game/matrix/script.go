package matrix

import (
	"errors"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/script"
)

// Speak returns the co-player that a text describes.
func (g *Game) Speak(text string) (game.Policy, error) {
	l := g.Language()
	if l == nil {
		return nil, errors.New("matrix: there is no language of co-players for " + g.c.Matrix + ", in which nobody cooperates")
	}
	return l.Parse(text)
}

// Language returns the words in which co-players of the 2x2 games are described. The other was
// kind in an episode, which then also went well, if it cooperated in at least half of the rounds. It is
// nil where nobody can cooperate.
func (g *Game) Language() *script.Language {
	if g.stage.Kind == game.ZeroSum {
		return nil
	}
	return script.Repeated(&script.Language{
		Game: g.spec.Name, Seats: 2, Actions: len(g.stage.Actions), Taking: len(g.stage.Actions),
		Bots: g.Bots(), Pair: [2]string{"tft", "alld"}, Shown: true,
		Assess: func(_ *script.Tally, st game.State, s game.Seat) script.Outcome {
			m := st.(*State)
			kind := m.played[1-s][cooperate] >= m.played[1-s][defect]
			o := script.Outcome{Good: kind, Kind: kind}
			if m.played[1-s][defect] > m.played[s][defect] && !kind {
				o.Best = 1
			}
			return o
		},
	})
}

// Time returns the number of rounds played.
func (st *State) Time() int { return int(st.t) }

// Played returns the seat's last action.
func (st *State) Played(s game.Seat) int32 { return int32(st.last[s]) }

// Ago returns what a seat played one or two rounds ago.
func (st *State) Ago(s game.Seat, rounds int) int32 {
	if rounds == 1 {
		return int32(st.last[s])
	}
	return int32(st.before[s])
}

// Times returns how often a seat has played an action.
func (st *State) Times(s game.Seat, action int32) int { return int(st.played[s][action]) }

var _ script.Rounds = (*State)(nil)

// Key writes the key. All episodes are fixed alike.
func (st *State) Key(dst *game.Key, reads game.Reads) bool {
	*dst = game.Key{Episode: 1, Clock: uint32(st.t)}
	for s := range st.last {
		dst.Seats[s] = game.SeatKey(int16(st.last[s]+1)|int16(st.before[s]+1)<<2, 0, -1)
		if reads&game.ReadsDone != 0 {
			dst.Left |= uint64(st.played[s][defect]) << (32 * s)
		}
	}
	return st.g.stage.Kind != game.ZeroSum
}

var _ game.Keyed = (*State)(nil)
