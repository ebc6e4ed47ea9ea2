package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/train"
)

// strange holds how many steps of strangers of each kind agents are scored on against the fixed episodes, which are played once more:
// who plays each place there, and how long each is there to be seen, is the same in all runs on a game.
type strange struct {
	want  map[string]int // by the metric's name and the agent; nil: not yet counted
	rows  int
	wrong []string
	err   error // of playing them
}

// take compares a window's scores.
func (c *strange) take(u *session, p *train.Progress) {
	for _, row := range p.Rows {
		kind, is := strings.CutPrefix(row.Name, train.StrangerMetric)
		kind, top1 := strings.CutSuffix(kind, "/top1")
		if !is || !top1 || c.err != nil {
			continue
		}
		if c.want == nil {
			if c.want, c.err = u.strangersSeen(); c.err != nil {
				continue
			}
		}
		if want, known := c.want[seenBy(kind, row.Agent)]; known {
			if c.rows++; row.N != want {
				c.wrong = append(c.wrong, fmt.Sprintf("Agent %d is scored on %d steps of %s in the fixed episodes; there it sees %d.", row.Agent,
					row.N, kind, want))
			}
		}
	}
}

func seenBy(kind string, a int) string { return fmt.Sprintf("%s by %d", kind, a) }

// strangersSeen plays the fixed episodes and counts, of each kind, the steps that each agent sees the end of; empty: they are not all bots.
func (u *session) strangersSeen() (map[string]int, error) {
	out, who, g := map[string]int{}, u.strangers(), u.parts.Game
	for _, name := range who {
		if strings.Contains(name, "#") {
			return out, nil
		}
	}
	kinds, key := u.strangersDealt(len(who))
	envs, err := rollout.New(rollout.Config{Game: g, Envs: train.StrangerEnvs, Key: key, Workers: 1})
	if err != nil {
		return nil, err
	}
	players := make([]rollout.Player, u.spec.Seats)
	for a := range players {
		var all []rollout.Player
		for _, name := range who {
			hire, err := u.parts.Players(name)
			if err != nil {
				return nil, err
			}
			list, err := hire(1, train.StrangerEnvs)
			if err != nil {
				return nil, err
			}
			all = append(all, list[0])
		}
		players[a] = &rollout.Split{Who: func(n int) int { return kinds[n][a] }, Player: func(k int) rollout.Player { return all[k] }}
	}
	ro := batch.New(envs.Shape(min(u.spec.Horizon, train.StrangerSteps), 0))
	if err := envs.Collect(ro, [][]rollout.Player{players}); err != nil {
		return nil, err
	}
	for n := range ro.Envs {
		for t := 0; t+1 < ro.Steps && !ro.Start[ro.Moment(t+1, n)]; t++ {
			for i := range u.spec.Seats * u.spec.Seats {
				me, other := agent.ID(i/u.spec.Seats), agent.ID(i%u.spec.Seats)
				if me != other && ro.Alive[ro.Slot(me, t, n)] && ro.Alive[ro.Slot(me, t+1, n)] && ro.Alive[ro.Slot(other, t, n)] {
					out[seenBy(who[kinds[n][other]], int(me))]++
					out[seenBy("all", int(me))]++
				}
			}
		}
	}
	return out, nil
}

// strangers are whom models of others are scored on, by the spec: strangers.who, else warm.who, else standins.who, else the game's first
// two bots that do not play at random.
func (u *session) strangers() (who []string) {
	t := u.exp.Train
	for _, list := range [][]string{t.Strangers.Who, t.Warm.Who, t.Standins.Who} {
		if len(who) == 0 {
			who = list
		}
	}
	if len(who) == 0 {
		for _, b := range u.parts.Game.Bots() {
			if b.Name != "random" && len(who) < 2 {
				who = append(who, b.Name)
			}
		}
	}
	var once []string
	for _, name := range who {
		if name != "past" && !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	return once
}

// strangersDealt returns who plays each place, [N][A]: of two kinds the first has none to all of the places in turn, of more any is as
// likely; and what their streams are named by.
func (u *session) strangersDealt(who int) (kinds [][]int, key rng.Key) {
	key = rng.New(17).Child("strangers")
	r, seats := key.Child("kinds").Rand(), u.spec.Seats
	for n := range train.StrangerEnvs {
		places := make([]int, seats)
		for a := range places {
			firsts, turn := n%(seats+1), n/(seats+1)
			switch {
			case who != 2:
				places[a] = r.IntN(who)
			case (a+turn)%seats >= firsts:
				places[a] = 1
			}
		}
		kinds = append(kinds, places)
	}
	return kinds, key
}

// finding says whether they are.
func (c *strange) finding() check.Finding {
	f := check.Finding{
		Step: 2, Check: "strangers are counted by their kind", Module: "logging", Unit: "scores", Rows: c.rows,
		Says: "How many steps of each kind of stranger models of others are scored on is what the fixed episodes show.",
	}
	switch {
	case c.err != nil:
		f.Status, f.Says = check.NotAsked, fmt.Sprintf("The fixed episodes of strangers cannot be played: %v.", c.err)
	case len(c.wrong) > 0:
		f.Accuse(check.Fault, float64(len(c.wrong)), c.wrong[0], "train/strangers.go: sum and deal")
	}
	return f
}
