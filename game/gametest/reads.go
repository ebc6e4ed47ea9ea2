package gametest

import (
	"fmt"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
)

// Starts and episodes of each in which readers are asked: many lead to the same places by
// different ways.
const (
	readStarts   = 2
	readEpisodes = 40
)

// checkReads holds the game's own bots to what they say they read.
func checkReads(g game.Game) error {
	var list []game.Policy
	for _, info := range g.Bots() {
		if p, ok := info.New().(game.Policy); ok {
			list = append(list, p)
		}
	}
	return Reads(g, list)
}

// Reads returns an error if somebody who says what it reads (game.Reader) acts otherwise in two
// states of an episode that differ in nothing that it reads. It does not apply to games whose
// states have no keys.
func Reads(g game.Game, bots []game.Policy) error {
	spec := g.Spec()
	st := g.New()
	keyed, ok := st.(game.Keyed)
	var key game.Key
	if !ok || !spec.Deterministic || spec.Seats > len(key.Seats) || !keyed.Key(&key, 0) {
		return DoesNotApply("its states have no keys")
	}
	type reading struct {
		seat game.Seat
		key  game.Key
	}
	said := make([]map[reading][]float32, len(bots))
	probs, legal := make([]float32, len(spec.Actions)), make([]bool, len(spec.Actions))
	actions, rewards := make([]int32, spec.Seats), make([]float32, spec.Seats)
	for start := range readStarts {
		for i := range said {
			said[i] = map[reading][]float32{}
		}
		for episode := range readEpisodes {
			rules := rng.New(seed).Child("reads", start).Rand()
			act := rng.New(seed).Child("reads", start).Child("act", episode).Rand()
			for st.Reset(&rules); !st.Over(); st.Step(actions, rewards, nil) {
				for s := range game.Seat(spec.Seats) {
					if actions[s] = game.NoAction; !st.Alive(s) {
						continue
					}
					st.Legal(s, legal)
					actions[s] = game.Uniform(legal, &act)
					for i, b := range bots {
						r, ok := b.(game.Reader)
						if !ok {
							continue
						}
						at := reading{seat: s}
						if !keyed.Key(&at.key, r.Reads()) {
							continue // nobody who reads so much is solved for
						}
						for o := range at.key.Seats {
							at.key.Seats[o] &= partsRead(r.Reads(), game.Seat(o) == s)
						}
						at.key.Episode = 0
						b.Probs(st, s, probs)
						was, ok := said[i][at]
						if !ok {
							said[i][at] = slices.Clone(probs)
						} else if !slices.Equal(was, probs) {
							return fmt.Errorf("%s in seat %d acts by %v, and by %v in another state that differs in nothing that it says it reads",
								b.Name(), s, probs, was)
						}
					}
				}
			}
		}
	}
	return nil
}

// partsRead returns which parts of a seat's key somebody reads, of its own or of another's.
func partsRead(reads game.Reads, own bool) uint16 {
	parts := uint16(game.KeyPlace)
	if own && reads&game.ReadsLast != 0 {
		parts |= game.KeyLast
	}
	if reads&game.ReadsDone != 0 {
		parts |= game.KeyDone
	}
	return parts
}
