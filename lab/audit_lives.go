package lab

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/hop-marl/hop/agent/hop"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/spec"
)

// How agents who learn while they adapt are looked at.
const (
	watchedSeed   = 7
	watchedLives  = 3
	watchedWindow = 24 // steps between two updates
	watchedSteps  = 4 * watchedWindow
)

// begun is what one who lives among others was seen to begin with, and what it decided.
type begun struct {
	seat    game.Seat
	obs     []float32
	logp    []float32
	windows int // after which it learnt
	odd     string
}

// learntLives asks of agents whose weights go on moving in hop adapt whether each of their lives is one of its own: s and body are a
// run's spec and its checkpoint.
func (l *Lab) learntLives(ctx context.Context, s *spec.Spec, body []byte) ([]check.Finding, error) {
	f := check.Finding{
		Step: 2, Check: "lives in which agents learn are their own", Module: "rollout", Unit: "lives that differ",
		Says: "Lives of one who learns while it adapts begin by streams and weights of their own, it learns after every window, and what is " +
			"said of them is what was lived.",
	}
	dir, err := os.MkdirTemp("", "hop-audit-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	x, err := l.newcomerOf(filepath.Join(dir, "run"), s, body)
	if err != nil || x == nil {
		f.Status, f.Says = check.NotAsked, "Agents of this kind do not learn while they adapt."
		return []check.Finding{f}, err
	}
	config := prepare.DefaultAdapt()
	config.Learn, config.Every, config.Lives = x.Learn, watchedWindow, watchedLives
	config.Steps, config.Last = watchedSteps, min(x.Game.Spec().Horizon+1, watchedSteps/2)
	c := &adapting{Lab: l, Adapt: config, people: map[string]eval.Member{}, turns: make(chan struct{}, 1), workers: 1}
	m, err := c.meeting(ctx, x.Game, nil, slices.Repeat([]string{"random"}, x.Game.Spec().Seats-1), false)
	if err != nil {
		return nil, err
	}
	const next = "lab: adapting.apart; train/spec: Newcomer.Member; train/eval: Adaptation.Run"
	bad := func(format string, args ...any) {
		f.Accuse(check.Fault, f.Effect+1, "Of lives in which an agent learns "+fmt.Sprintf(format, args...)+".", next)
	}
	live := func(learns bool) (*eval.Adapted, []begun, error) {
		seen := make([]begun, watchedLives)
		res, err := c.apart(ctx, m, watchedSeed, nil, func(n int) (spec.Life, error) {
			life, err := x.Member(nil)
			return seen[n].watch(life, learns), err
		})
		return res, seen, err
	}
	res, seen, err := live(true)
	if err != nil {
		return nil, err
	}
	again, _, err := live(true)
	if err != nil {
		return nil, err
	}
	_, still, err := live(false)
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(res, again) {
		bad("a second time others come: something is left of one life in the next")
	}
	moved := false
	for n, b := range seen {
		f.Rows++
		st, rules := x.Game.New(), rng.New(watchedSeed).Child("adapt").Child("life", n).Child("rules", 0).Rand()
		st.Reset(&rules)
		want := make([]float32, len(b.obs))
		st.Observe(b.seat, want)
		switch {
		case b.odd != "":
			bad("%s", b.odd)
		case !slices.Equal(b.obs, want):
			bad("life %d does not begin with what its own stream, rules/0 of life %d, deals", n, n)
		case len(b.logp) > 0 && len(still[n].logp) > 0 && b.logp[0] != still[n].logp[0]:
			bad("life %d does not begin with the weights that the run left", n)
		}
		moved = moved || !slices.Equal(b.logp, still[n].logp)
	}
	if _, plans := spec.SettingsAs[hop.Planning](x.Spec.LearnsAs(0)); !moved && !plans { // few updates may leave a search as it is
		bad("nothing that was learnt changes what is played")
	}
	if what := unlikeLived(&c.Adapt, res); what != "" {
		f.Module = "logging"
		bad("%s", what)
	}
	return []check.Finding{f}, nil
}

// newcomerOf loads the first agent of a checkpoint as hop adapt does, from a folder, to learn all that it can; nil: it cannot learn.
func (l *Lab) newcomerOf(dir string, s *spec.Spec, body []byte) (*spec.Newcomer, error) {
	text, err := s.YAML()
	if err != nil {
		return nil, err
	}
	run, err := runlog.Create(dir, text, runlog.Info{})
	if err != nil {
		return nil, err
	}
	defer run.Close()
	if err := run.Checkpoint(1, body, 0, runlog.Keep{Last: 1}); err != nil {
		return nil, err
	}
	for _, learn := range []string{spec.LearnAll, spec.LearnPolicy, spec.LearnMOA} {
		if x, err := l.Reg.LoadNewcomer(dir, nil, 0, learn); err == nil {
			return x, nil
		}
	}
	return nil, nil
}

// watch puts a recorder before a life; without learns its weights stand still.
func (b *begun) watch(life spec.Life, learns bool) spec.Life {
	inner, after := life.Players, life.After
	life.Players = func(workers, lanes int) ([]rollout.Player, error) {
		list, err := inner(workers, lanes)
		for i, p := range list {
			list[i] = &begunPlayer{p, b}
		}
		return list, err
	}
	life.After = func(ro *batch.Rollout) error {
		if b.windows++; ro.Steps != watchedWindow || ro.Envs != 1 || ro.GoalLen != life.GoalLen {
			b.odd = fmt.Sprintf("a window of %d steps in %d copies is learnt from, with %d numbers about goals; it should be %d, 1 and %d", ro.Steps,
				ro.Envs, ro.GoalLen, watchedWindow, life.GoalLen)
		}
		if after == nil || !learns {
			return nil
		}
		return after(ro)
	}
	return life
}

type begunPlayer struct {
	rollout.Player
	b *begun
}

// Act lets the player act and keeps what it began with, and what it chose.
func (p *begunPlayer) Act(v *rollout.View, envs []int32) {
	p.Player.Act(v, envs)
	for _, n := range envs {
		if p.b.obs == nil {
			p.b.seat, p.b.obs = v.SeatOf(int(n)), slices.Clone(v.ObsAt(v.SlotOf(int(n))))
		}
		p.b.logp = append(p.b.logp, v.LogProb[v.StepOf(int(n))])
	}
}

// EpisodeOver passes on.
func (p *begunPlayer) EpisodeOver(v *rollout.View, n int) {
	if w, ok := p.Player.(rollout.Watcher); ok {
		w.EpisodeOver(v, n)
	}
}

// unlikeLived says what does not follow from the episodes of lives; "": all does.
func unlikeLived(c *prepare.Adapt, res *eval.Adapted) string {
	steps, last := make([]int, c.Lives), make([]stats.Acc, c.Lives)
	var score, first stats.Acc
	index := make([]int, c.Lives)
	for _, e := range res.Episodes {
		if e.Life < 0 || e.Life >= c.Lives || e.Index != index[e.Life] {
			return fmt.Sprintf("episode %d of life %d stands where another belongs", e.Index, e.Life)
		}
		if index[e.Life]++; e.Index == 0 {
			first.Add(e.Return)
		}
		steps[e.Life] += e.Steps
		if counts := steps[e.Life] > c.Steps-c.Last; counts != e.Last {
			return fmt.Sprintf("episode %d of life %d is said to end within the last %d steps: %v", e.Index, e.Life, c.Last, e.Last)
		}
		if e.Last {
			last[e.Life].Add(e.Return)
		}
	}
	for n := range last {
		if steps[n] < c.Steps {
			return fmt.Sprintf("life %d lasts for %d steps, not %d", n, steps[n], c.Steps)
		}
		if last[n].N() > 0 {
			score.Add(last[n].Mean())
		}
	}
	far := func(a, b stats.Acc) bool { return a.N() != b.N() || math.Abs(a.Mean()-b.Mean()) > 1e-9 }
	switch {
	case far(score, res.Score):
		return fmt.Sprintf("the score is %.4g of %d lives, it is %.4g of %d", res.Score.Mean(), res.Score.N(), score.Mean(), score.N())
	case far(first, res.First):
		return fmt.Sprintf("first episodes earn %.4g in %d lives, it is %.4g in %d", res.First.Mean(), res.First.N(), first.Mean(), first.N())
	case res.Played != len(res.Episodes):
		return fmt.Sprintf("%d episodes are counted, there are %d", res.Played, len(res.Episodes))
	}
	return ""
}
