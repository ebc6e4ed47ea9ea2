package gametest

import (
	"encoding"
	"fmt"
	"runtime/debug"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
)

// opinions returns what each bot would do, as far as it can say: bots keep
// things in a state that its text and observations do not show.
func opinions(tr *tour, st game.State) string {
	var b []byte
	probs := make([]float32, len(tr.spec.Actions))
	for _, info := range tr.g.Bots() {
		p, ok := info.New().(game.Policy)
		for s := 0; ok && s < tr.spec.Seats; s++ {
			if st.Alive(game.Seat(s)) {
				p.Probs(st, game.Seat(s), probs)
				b = appendFloats(b, probs)
			}
		}
	}
	return string(b)
}

// same returns an error unless the two states cannot be told apart, by bots
// neither, now and until the end.
func same(what string, tr *tour, got, want game.State, act rng.Rand) error {
	if opinions(tr, got) != opinions(tr, want) {
		text, _ := got.AppendText(nil)
		return fmt.Errorf("%s: a bot's Probs differ in\n%s", what, text)
	}
	return alike(what, tr, got, want, tr.rules, act)
}

// checkCopy copies one running state in 24 into new ones, into ones from another episode
// and into ones further on in the same episode.
func checkCopy(g game.Game) error {
	if g.Spec().Opaque {
		return noCopies
	}
	stale := newTour(g)
	stale.begin(1000)
	for range 3 {
		if !stale.ended() {
			stale.step()
		}
	}
	return visit(g, func(tr *tour) error {
		if tr.pick.IntN(24*apart(&tr.spec)) != 0 {
			return nil
		}
		now := look(&tr.spec, tr.st)
		first, second, used := g.New(), g.New(), g.New()
		used.CopyFrom(stale.st)
		opinions(tr, used)
		first.CopyFrom(tr.st)
		second.CopyFrom(tr.st)
		used.CopyFrom(tr.st)
		if err := compare("a copy into a new state", look(&tr.spec, first), now); err != nil {
			return err
		}
		if err := compare("a copy into a state of another episode", look(&tr.spec, used), now); err != nil {
			return err
		}
		if err := same("a copy into a new state and one into a state of another episode, played on", tr, first, used, tr.pick); err != nil {
			return err
		}
		if err := compare("the original after its copies were played on", look(&tr.spec, tr.st), now); err != nil {
			return err
		}
		used.CopyFrom(tr.st)
		if err := compare("a second copy into a state further on in the episode", look(&tr.spec, used), now); err != nil {
			return err
		}
		r := tr.pick
		first.Reset(&r)
		if err := compare("the original after its copy was reset", look(&tr.spec, tr.st), now); err != nil {
			return err
		}
		if err := same("a copy and a replay from the start, played on", tr, used, tr.replay(), tr.pick); err != nil {
			return err
		}
		return compare("a copy after everyone else was played on", look(&tr.spec, second), now)
	})
}

// checkText reads one state in 24 back from its text.
func checkText(g game.Game) error {
	if _, ok := g.New().(encoding.TextUnmarshaler); !ok {
		return DoesNotApply("states cannot be read from text")
	}
	stale, other := newTour(g), g.New()
	stale.begin(1000)
	text, _ := stale.st.AppendText(nil)
	return visit(g, func(tr *tour) error {
		if tr.pick.IntN(24*apart(&tr.spec)) != 0 {
			return nil
		}
		now := look(&tr.spec, tr.st)
		for _, into := range []string{"a new state", "a state of another episode"} {
			read := g.New()
			if into != "a new state" {
				read.CopyFrom(stale.st)
				opinions(tr, read)
			}
			if err := read.(encoding.TextUnmarshaler).UnmarshalText([]byte(now.text)); err != nil {
				return fmt.Errorf("reading its own text: %w", err)
			}
			if err := compare("read into "+into, look(&tr.spec, read), now); err != nil {
				return err
			}
			if err := other.(encoding.TextUnmarshaler).UnmarshalText(text); err != nil {
				return fmt.Errorf("reading the text of another episode: %w", err)
			}
			other.CopyFrom(read)
			if err := compare("read into "+into+" and copied into one that was read too", look(&tr.spec, other), now); err != nil {
				return err
			}
			if err := same("read into "+into+" and a replay from the start, played on", tr, read, tr.replay(), tr.pick); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkAllocations counts over whole episodes on states never used before, so
// that memory which a state takes when first needed is counted too. The runtime
// may allocate on its own now and then, most of all while it collects garbage, so
// it does not collect meanwhile and gets many tries; a fault allocates every time.
func checkAllocations(g game.Game) error {
	if g.Spec().Opaque {
		return noCopies
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const episodes, tries = 6, 20
	spec := g.Spec()
	obs, probs := make([]float32, spec.Obs.Len()), make([]float32, len(spec.Actions))
	var infos []game.BotInfo
	infos = append(infos, g.Bots()...)
	type table struct {
		tr   *tour
		copy game.State
		bots []game.Bot
	}
	for _, part := range []string{"Reset, Step, Legal, Observe and CopyFrom", "Act and Probs of the bots"} {
		least := 1e9
		for range tries {
			tables := make([]table, 0, 2*episodes)
			for range cap(tables) {
				tb := table{tr: newTour(g), copy: g.New()}
				for _, info := range infos {
					tb.bots = append(tb.bots, info.New())
				}
				tables = append(tables, tb)
			}
			next := 0
			n := testing.AllocsPerRun(1, func() {
				for e := range episodes {
					tb := &tables[next]
					next++
					tr := tb.tr
					key := rng.New(seed).Child("allocations", e)
					tr.rules, tr.act = key.Child("rules").Rand(), key.Child("act").Rand()
					tr.t, tr.history = 0, tr.history[:0]
					tr.st.Reset(&tr.rules)
					for tr.choose(); !tr.ended(); tr.step() {
						tb.copy.CopyFrom(tr.st)
						for s := range spec.Seats {
							tr.st.Observe(game.Seat(s), obs)
							if part[0] == 'R' || !tr.st.Alive(game.Seat(s)) {
								continue
							}
							for _, b := range tb.bots {
								b.Act(tb.copy, game.Seat(s), &tr.act)
								if p, ok := b.(game.Policy); ok {
									p.Probs(tb.copy, game.Seat(s), probs)
								}
							}
						}
					}
				}
			})
			if least = min(least, n); least == 0 {
				break
			}
		}
		if least > 0 {
			return fmt.Errorf("%s allocate %v times in %d episodes, want 0", part, least, episodes)
		}
	}
	return nil
}
