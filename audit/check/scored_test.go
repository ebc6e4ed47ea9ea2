package check

import (
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/eval"
)

// scoredBots scores four bots, and returns what the watch saw.
func scoredBots(t *testing.T) (*Scored, *eval.Result) {
	t.Helper()
	g := gametest.New(t, staghunt.New, staghunt.Default())
	c := eval.Config{Game: g, Episodes: 7, Lanes: 3, Key: rng.New(4), Workers: 2}
	s := NewScored(g, c.Key, c.Lanes)
	for i, name := range []string{"ns", "nh", "random", "nh"} {
		c.Team = append(c.Team, s.Watch(eval.Bot(g, name), i))
	}
	res, err := eval.Run(t.Context(), c)
	must(t, err)
	return s, res
}

// What a score says is held against the episodes, played again.
func TestScoresAreCountedAgain(t *testing.T) {
	for name, spoil := range map[string]func(s *Scored, res *eval.Result){
		"":                          func(*Scored, *eval.Result) {},
		"a return counts twice":     func(_ *Scored, res *eval.Result) { res.Return[2].Add(res.Return[2].Mean()) },
		"a life is a step too long": func(_ *Scored, res *eval.Result) { res.Life[1].Add(35) },
		"another goal":              func(_ *Scored, res *eval.Result) { res.Goals[1][0], res.Goals[1][1] = res.Goals[1][1], res.Goals[1][0] },
		"other streams":             func(s *Scored, _ *eval.Result) { s.key = rng.New(5) },
		"an action is left out":     func(s *Scored, _ *eval.Result) { s.lanes[1] = s.lanes[1][1:] },
	} {
		s, res := scoredBots(t)
		spoil(s, res)
		played, f := s.Replayed()
		if f.Status == check.Pass {
			f = s.Counted(res, played, 7)
		}
		if want := map[bool]check.Status{true: check.Pass, false: check.Fault}[name == ""]; f.Status != want || f.Rows == 0 {
			t.Errorf("%q: %v of %d: %s", name, f.Status, f.Rows, f.Says)
		}
	}
}

// So are lives in which co-players change.
func TestLivesAreCountedAgain(t *testing.T) {
	for name, spoil := range map[string]func(s *Scored, res *eval.Adapted){
		"":                        func(*Scored, *eval.Adapted) {},
		"an episode too many":     func(_ *Scored, res *eval.Adapted) { res.Played++ },
		"the last is not counted": func(_ *Scored, res *eval.Adapted) { res.Episodes[len(res.Episodes)-1].Last = false },
		"another's return":        func(_ *Scored, res *eval.Adapted) { res.First.Add(-1) },
		"who came later":          func(s *Scored, _ *eval.Adapted) { s.lanes[0][len(s.lanes[0])-1].member -= 4 },
	} {
		g := gametest.New(t, staghunt.New, staghunt.Default())
		c := eval.Adaptation{Game: g, At: 2, Lives: 3, Steps: 120, Last: 40, Key: rng.New(4), Workers: 2}
		s := NewScored(g, c.Key, c.Lives)
		for i, name := range []string{"nh", "ns", "nh", "ns"} {
			c.Team, c.Then = append(c.Team, s.Watch(eval.Bot(g, name), i)), append(c.Then, s.Watch(eval.Bot(g, "random"), 4+i))
		}
		res, err := c.Run(t.Context())
		must(t, err)
		spoil(s, res)
		lived, f := s.Replayed()
		if f.Status == check.Pass {
			f = s.Lived(c, res, lived)
		}
		if want := map[bool]check.Status{true: check.Pass, false: check.Fault}[name == ""]; f.Status != want || f.Rows == 0 {
			t.Errorf("%q: %v of %d: %s", name, f.Status, f.Rows, f.Says)
		}
	}
}

// Who acts is held against who is due: bots that are shown, those of a team, and stand-ins.
func TestPlacesAreDealtAgain(t *testing.T) {
	g := gametest.New(t, staghunt.New, staghunt.Default())
	for name, c := range map[string]struct {
		plays string // in the place of agent 0
		shown bool
		want  check.Status
	}{
		"the bot of the team": {"nh", false, check.Pass}, "another bot": {"ns", false, check.Fault},
		"the bot that is shown": {"nh", true, check.Pass}, "the other one": {"ns", true, check.Fault},
	} {
		cfg := train.Config{Envs: 1, Team: []string{"nh", "nh", "nh", "nh"}, Warm: train.Warm{Who: []string{"ns", "nh"}},
			Standins: train.Standins{ShareEnd: -1}}
		p, err := NewPlaced(g, cfg, rng.New(2), 1)
		must(t, err)
		p.Shown = c.shown
		st, r := g.New(), rng.New(3).Rand()
		actions, rewards := make([]int32, 4), make([]float32, 4)
		for range 6 {
			p.Begin(0)
			for st.Reset(&r); !st.Over(); st.Step(actions, rewards, &r) {
				for seat := range game.Seat(4) {
					if actions[seat] = game.NoAction; !st.Alive(seat) {
						continue
					}
					bot, err := game.NewBot(g, map[bool]string{true: c.plays, false: "nh"}[seat == 0])
					must(t, err)
					actions[seat] = bot.Act(st, seat, &r)
					p.Acts(st, seat, agent.ID(seat), 0, actions[seat], false)
				}
			}
		}
		if f := p.Finding(); f.Status != c.want {
			t.Errorf("%s: %v, %s", name, f.Status, f.Says)
		}
	}
}
