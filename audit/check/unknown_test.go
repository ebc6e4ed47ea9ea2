package check

import (
	"strings"
	"testing"

	"github.com/hop-marl/hop/agent/hop"
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/cleanup"
	"github.com/hop-marl/hop/game/coin"
	"github.com/hop-marl/hop/game/commons"
	"github.com/hop-marl/hop/game/foraging"
	"github.com/hop-marl/hop/game/matrix"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/snowdrift"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/game/tag"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search/unknown"
)

// strangerIn plans against somebody unknown, as HOP does: its search's policy is even, and the reader knows little.
type strangerIn struct {
	plan *unknown.Plan
	s    *Study
	slip string
}

const watches = "it is a script's turn"

func (p *strangerIn) Plan() *unknown.Plan                   { return p.plan }
func (p *strangerIn) Others() []agent.ID                    { return p.s.others }
func (p *strangerIn) Believes(int, int) (b learner.Belief)  { return b }
func (p *strangerIn) Evaluate(v *rollout.View, env []int32) {}

func (p *strangerIn) Read(dst []float64, _, j int) []float64 {
	for k := range dst {
		dst[k] = 1 / float64(len(dst))
	}
	if j == 0 { // it matters whose it is
		dst[0], dst[1] = dst[0]/2, dst[1]+dst[0]/2
	}
	return nil
}

func (p *strangerIn) Act(v *rollout.View, envs []int32) {
	p.s.Acts(v, envs)
	for _, n := range envs {
		n := int(n)
		step := v.StepOf(n)
		game.Spread(v.TargetAt(step), v.LegalAt(v.SlotOf(n)))
		v.Action[step] = game.Sample(v.TargetAt(step), v.Rand(n))
		if p.slip != "it looks away" || v.StepsOf(n) != 2 || p.plan.Ready(n) {
			p.plan.See(v, n, p)
		}
		ready := p.plan.Ready(n)
		if p.slip == "it plans from the first step on" {
			ready = true
		}
		if ready && p.slip != watches {
			given, policy := v.TargetAt(step), v.TargetAt(step)
			if p.slip == "its plan forgets the policy" {
				given = make([]float32, len(given))
				given[0] = 1
			}
			if improved := p.plan.Improve(given, v, n); p.slip != "its plan does not act" {
				policy = improved
			}
			v.Action[step] = game.Sample(policy, v.Rand(n))
		}
		p.s.modelled(p, v, n)
	}
}

func (p *strangerIn) EpisodeOver(v *rollout.View, n int) {
	p.s.Ended(v, n)
	if p.slip != "an episode in five has no end" || v.EpisodeOf(n)%5 != 3 {
		p.plan.Over(v, n)
	}
}

// live lets a plan live among players of that text, watched.
func live(t *testing.T, g game.Game, text, slip string, steps int) []check.Finding {
	t.Helper()
	var c hop.Config
	c.Search.Unknown = true
	s := NewStudy(c, g.Spec(), 0, rng.New(1), true)
	s.guard = &guarded{now: make([]reference.Played, 2)}
	plan, err := unknown.New(g, 2)
	if err != nil || plan == nil {
		t.Fatalf("no plan: %v", err)
	}
	p := &strangerIn{plan, s, slip}
	if slip == watches {
		s.guard.now[0].Answer, s.guard.now[1].Answer = 1, 1
	}
	if err := s.Unknown(p, g, 2); err != nil {
		t.Fatal(err)
	}
	players := []rollout.Player{p}
	for range g.Spec().Seats - 1 {
		b, err := rollout.NewBots(g, text, 2)
		if err != nil {
			t.Fatal(err)
		}
		players = append(players, b)
	}
	envs, err := rollout.New(rollout.Config{Game: g, Envs: 2, Key: rng.New(4), Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := envs.Collect(batch.New(envs.Shape(steps, 0)), [][]rollout.Player{players}); err != nil {
		t.Fatal(err)
	}
	return OthersFindings([]*Study{s})
}

func small() game.Game {
	c := staghunt.Default()
	c.Size, c.Stags, c.Hares, c.Horizon = 4, 2, 4, 12
	return built(staghunt.New(c))
}

func built[G game.Game](g G, err error) game.Game {
	if err != nil {
		panic(err)
	}
	return g
}

// In every game that has a language, models that are made while playing and plans by them are what
// the definition says.
func TestPlansAgainstSomebodyUnknownAreTheirDefinition(t *testing.T) {
	pd, drift, coins, river, apples := matrix.Default(), snowdrift.Default(), coin.Default(), cleanup.Default(), foraging.Default()
	chase := tag.Default()
	chase.Horizon = 8
	fields := commons.Default()
	fields.Horizon = 8
	pd.Rounds, drift.Horizon, coins.Horizon, river.Horizon, apples.Horizon = 10, 10, 10, 8, 10
	for name, g := range map[string]game.Game{
		"staghunt": small(), "matrix": built(matrix.New(pd)), "snowdrift": built(snowdrift.New(drift)), "coin": built(coin.New(coins)),
		"cleanup": built(cleanup.New(river)), "foraging": built(foraging.New(apples)),
		"tag": built(tag.New(chase)), "commons": built(commons.New(fields)),
	} {
		t.Run(name, func(t *testing.T) {
			rows := map[string]int{}
			for _, f := range live(t, g, "random", "", 100) {
				if rows[f.Check] = f.Rows; f.Status != check.Pass {
					t.Errorf("%s, %s: %s", f.Module, f.Check, f.Says)
				}
			}
			if len(rows) != 4 {
				t.Errorf("asked were %v, want four questions", rows)
			}
		})
	}
}

// So are those of lives that are longer than what is kept of them, and than what is learnt from at a time.
func TestModelsOfLongLivesAreTheirDefinition(t *testing.T) {
	c := matrix.Default()
	c.Rounds = 150
	for _, f := range live(t, built(matrix.New(c)), "noisy(tft,.2)", watches, 4500) {
		if f.Status != check.Pass || f.Rows < 4500 {
			t.Errorf("%s, %s, of %d: %s", f.Module, f.Check, f.Rows, f.Says)
		}
	}
}

// What is wrong around a plan is named.
func TestSlipsAroundPlansAreNamed(t *testing.T) {
	for slip, want := range map[string][2]string{
		"it looks away":                   {"moa", "models that are made while playing"},
		"an episode in five has no end":   {"moa", "models that are made while playing"},
		"it plans from the first step on": {"planner", "plans against somebody unknown act"},
		"its plan forgets the policy":     {"planner", "plans against somebody unknown"},
		"its plan does not act":           {"planner", "plans against somebody unknown act"},
	} {
		t.Run(slip, func(t *testing.T) {
			for _, f := range live(t, small(), "noisy(ns,.3)", slip, 150) {
				if f.Status == check.Pass {
					continue
				}
				t.Logf("%s, %s: %s", f.Module, f.Check, f.Says)
				if f.Module != want[0] || f.Check != want[1] || !strings.Contains(f.Says, "in env") {
					t.Errorf("%s, %s: %s", f.Module, f.Check, f.Says)
				}
				return
			}
			t.Error("nothing was found")
		})
	}
}
