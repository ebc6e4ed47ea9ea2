package check_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/agent/hop"
	"github.com/hop-marl/hop/agent/learner"
	checks "github.com/hop-marl/hop/audit/check"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// watched is a run whose decisions are looked at: one of every agent in the window
// after the first that is its own.
type watched struct {
	learner.Mind
	at     *watching
	change func(p rollout.Player) rollout.Player
}

type watching struct {
	looks  checks.Decisions
	hop    *hop.Config
	parts  train.Parts
	actor  actor.Config
	scale  float64
	window int
	first  int
	done   []agent.ID
	err    error
}

func (w *watched) Unwrap() learner.Mind { return w.Mind }

func (w *watched) Players(a agent.ID, workers, envs int) ([]rollout.Player, error) {
	list, err := w.Mind.Players(a, workers, envs)
	for i, p := range list {
		if w.change != nil {
			p = w.change(p)
		}
		list[i] = &looker{p, w}
	}
	return list, err
}

type looker struct {
	rollout.Player
	w *watched
}

func (l *looker) EpisodeOver(v *rollout.View, n int) {
	if w, ok := l.Player.(rollout.Watcher); ok {
		w.EpisodeOver(v, n)
	}
}

func (l *looker) Act(v *rollout.View, envs []int32) {
	at := l.w.at
	if _, unseen := l.Player.(*blind); !unseen && at.window > at.first && v.T >= 3 && !slices.Contains(at.done, v.Agent) {
		at.done = append(at.done, v.Agent)
		s := checks.Subject{Mind: l.w.Mind, Player: l.Player, Hop: at.hop, Game: at.parts.Game, Scale: at.scale, Actor: at.actor}
		if err := at.looks.Look(s, v, envs); err != nil {
			at.err = err
		}
	}
	l.Player.Act(v, envs)
}

// look trains a preset for three windows and returns what was found.
func look(
	t *testing.T, preset string, sets []string, edit func(p *train.Parts), change func(p rollout.Player) rollout.Player,
) []check.Finding {
	t.Helper()
	return held(t, preset, sets, nil, edit, change)
}

// held is look where decisions are held against other settings than those that they are
// made with, unless said is nil.
func held(
	t *testing.T, preset string, sets []string, said func(c *hop.Config), edit func(p *train.Parts),
	change func(p rollout.Player) rollout.Player,
) []check.Finding {
	t.Helper()
	s, err := registry.New().Load(preset, append([]string{"train.envs=4", "train.window=12", "actor.hidden=[16]"}, sets...))
	must(t, err)
	s.Train.Save = max(s.Train.Steps, 1)
	parts, err := s.Parts(3, spec.Machine{Workers: 1})
	must(t, err)
	w := &watching{parts: parts, actor: s.Actor, scale: s.PPO.RewardScale, first: s.Train.Warm.Windows}
	if c, ok := spec.SettingsAs[*hop.Config](&s); ok {
		is := *c
		if w.hop = &is; said != nil {
			said(w.hop)
		}
	}
	if edit != nil {
		edit(&parts)
	}
	for i, m := range parts.Minds {
		parts.Minds[i] = &watched{m, w, change}
	}
	loop, err := train.NewSelfPlay(s.Train, s.Rewards(), parts)
	must(t, err)
	run, err := runlog.Create(filepath.Join(t.TempDir(), "run"), []byte("name: inside\n"), runlog.Info{})
	must(t, err)
	defer run.Close()
	ctx, stop := context.WithCancel(t.Context())
	loop.Run(ctx, run, func(*train.Progress) {
		if w.window++; w.window > w.first+1 {
			stop()
		}
	})
	stop()
	must(t, w.err)
	return append(w.looks.Searching(), w.looks.Peeking(w.hop != nil)...)
}

var small = []string{
	"search.trees=3", "moa.hidden=[16,16]", "train.warm.windows=1", "train.standins.share=0",
}

// Healthy decisions are not accused.
func TestHealthyDecisionsPass(t *testing.T) {
	for _, c := range []struct {
		preset string
		sets   []string
		want   int // questions that can be asked
	}{
		{"hop-4x4", small, 12},
		{"hop-4x4", append([]string{"leaf.kind=net", "search.sims=12", "search.depth=0", "search.resample=child", "search.norm=node",
			"search.plus_one=true", "search.act=softmax"}, small...), 11},
		{"hop-4x4", append([]string{"goals.kind=none", "search.kind=onestep", "leaf.repeat=1"}, small...), 10},
		{"hop-4x4", append([]string{"search.hashed=true", "search.sims=12", "leaf.kind=net"}, small...), 6},
		{"ppo-4x4", nil, 4},
		{"ppo-lstm-4x4", []string{"actor.lstm=8"}, 4},
	} {
		found := look(t, c.preset, c.sets, nil, nil)
		for _, f := range found {
			if f.Status != check.Pass {
				t.Errorf("%s %v: %v in %s, %s: %s", c.preset, c.sets, f.Status, f.Module, f.Check, f.Says)
			}
		}
		if len(found) < c.want {
			t.Errorf("%s %v: %d questions asked, want %d", c.preset, c.sets, len(found), c.want)
		}
	}
}

// Looking changes no number of the run.
func TestLookingChangesNothing(t *testing.T) {
	for _, c := range []struct {
		preset string
		sets   []string
	}{{"hop-4x4", small}, {"ppo-lstm-4x4", []string{"actor.lstm=8"}}} {
		var saved [2]*safetensors.File
		for i := range saved {
			saved[i] = &safetensors.File{}
			look(t, c.preset, c.sets, func(p *train.Parts) {
				first := p.Minds[0]
				p.Minds[0] = &last{first, saved[i]}
			}, func(p rollout.Player) rollout.Player {
				if i == 0 {
					return &blind{p}
				}
				return p
			})
		}
		for k, a := range saved[0].Tensors {
			if b := saved[1].Tensors[k]; a.Name != b.Name || string(a.Data) != string(b.Data) {
				t.Errorf("%s: %s differs where decisions were looked at", c.preset, a.Name)
			}
		}
		if len(saved[0].Tensors) == 0 {
			t.Errorf("%s: nothing was saved", c.preset)
		}
	}
}

// last keeps what a mind has saved after its last window.
type last struct {
	learner.Mind
	into *safetensors.File
}

func (l *last) Unwrap() learner.Mind { return l.Mind }

func (l *last) Learn(w *learner.Window) ([]agent.Stat, error) {
	stats, err := l.Mind.Learn(w)
	s, _ := learner.As[learner.Saver](l.Mind)
	*l.into = safetensors.File{}
	return stats, errors.Join(err, s.Save(l.into, ""))
}

// blind is a player that nobody looks at.
type blind struct{ rollout.Player }

func (b *blind) EpisodeOver(v *rollout.View, n int) {
	if w, ok := b.Player.(rollout.Watcher); ok {
		w.EpisodeOver(v, n)
	}
}

// misled are rules that a search is misled by.
type misled struct {
	learner.Rules
	after func(l *search.Leaf)
	place func(place int) int
}

func (m *misled) Expand(leaves []search.Leaf, others []int32, rs []rng.Rand) {
	m.Rules.Expand(leaves, others, rs)
	for i := range leaves {
		if m.after != nil {
			m.after(&leaves[i])
		}
	}
}

func (m *misled) Observe(dst []float32, tree, slot int32, place int) {
	if m.place != nil {
		place = m.place(place)
	}
	m.Rules.Observe(dst, tree, slot, place)
}

func misleading(m misled) func(p *train.Parts) {
	return func(p *train.Parts) {
		for _, one := range p.Minds {
			s, _ := learner.As[learner.Searching](one)
			_, made := s.Search()
			right := *made
			*made = func(f *search.Forest) (learner.Rules, learner.Scripts, error) {
				r, scripts, err := right(f)
				mine := m
				mine.Rules = r
				return &mine, scripts, err
			}
		}
	}
}

// peeker decides by what it must not see.
type peeker struct {
	rollout.Player
	see func(v *rollout.View, n int) bool
}

func (p *peeker) Act(v *rollout.View, envs []int32) {
	p.Player.Act(v, envs)
	for _, n := range envs {
		if p.see(v, int(n)) {
			v.Value[v.SlotOf(int(n))]++
		}
	}
}

// Faults are found, at their own question.
func TestFaultsInsideDecisionsAreNamed(t *testing.T) {
	peek := func(see func(v *rollout.View, n int) bool) func(p rollout.Player) rollout.Player {
		return func(p rollout.Player) rollout.Player { return &peeker{p, see} }
	}
	for _, c := range []struct {
		name, preset, check, says string
		edit                      func(p *train.Parts)
		change                    func(p rollout.Player) rollout.Player
	}{
		{"rewards are halved in the tree", "hop-4x4", "steps in a tree are played right", "a reward of",
			misleading(misled{after: func(l *search.Leaf) { l.Reward = l.Reward/2 - 1 }}), nil},
		{"ends are not ends", "hop-4x4", "steps in a tree are played right", "the search has",
			misleading(misled{after: func(l *search.Leaf) { l.Legal |= 1 << 5 }}), nil},
		{"places are turned", "hop-4x4", "a search starts from what is there", "what agent",
			misleading(misled{place: func(p int) int { return (p + 1) % 4 }}), nil},
		{"it sees what others do now", "ppo-4x4", "decisions know nothing of later steps", "its value",
			nil, peek(func(v *rollout.View, n int) bool { return v.Action[v.Step(0, v.T, n)] > 2 })},
		{"it sees another's row", "ppo-4x4", "decisions read one's own row", "its value", nil, peek(func(v *rollout.View, n int) bool {
			for b := range agent.ID(v.Agents) {
				if b != v.Agent && v.ObsAt(v.Slot(b, v.T, n))[0] > 0 {
					return true
				}
			}
			return false
		})},
	} {
		sets := small
		if c.preset != "hop-4x4" {
			sets = nil
		}
		var found []string
		for _, f := range look(t, c.preset, sets, c.edit, c.change) {
			if f.Status == check.Fault && f.Check == c.check && strings.Contains(f.Says, c.says) {
				found = nil
				break
			}
			found = append(found, f.Check+": "+f.Says)
		}
		if found != nil {
			t.Errorf("%s: found %q, want %s with %q", c.name, found, c.check, c.says)
		}
	}
}
