package audit_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hop-marl/hop/audit"
	checks "github.com/hop-marl/hop/audit/check"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/game/script"
	"github.com/hop-marl/hop/game/stranger"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/model/sequence"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
	"github.com/hop-marl/hop/train/spec/spectest"
)

// healthy are runs in which nothing is wrong: presets, games and seeds.
var healthy = []struct {
	preset string
	seed   uint64
	sets   []string
}{
	{"ppo-4x4", 1, nil},
	{"ppo-8x8", 4, nil},
	{"ppo-lstm-4x4", 5, nil},
	{"ppo-prosocial-4x4", 6, nil},
	{"ppo-shared-4x4", 7, nil},
	{"ppo-vs-bots", 8, nil},
	{"ppo-snowdrift", 9, nil},
	{"ppo-matrix", 10, nil},
	{"ppo-matrix", 11, []string{"game.matrix=rps"}},
	{"lola-matrix", 12, nil},
	{"aa-ipd", 27, nil},
	{"aa-coin", 28, []string{"train.brains=[0,0]", "train.standins.share=0.3", "train.standins.who=[any]"}},
	{"ppo-cartpole", 13, nil},
	{"ppo-imagine-4x4", 14, nil},
	{"hop-4x4", 15, nil},
	{"hop-4x4", 16, []string{"goals.kind=none"}},
	{"hop-view", 24, []string{"train.window=24", "moa.hidden=[24,24]"}}, // plays by its network alone: no search is recorded
	{"ppo-4x4", 17, []string{"game.name=coin", "train.steps=100000"}},
	{"ppo-4x4", 18, []string{"game.name=cleanup"}},
	{"ppo-4x4", 30, []string{"game.name=commons"}},
	{"ppo-4x4", 19, []string{"game.name=foraging"}},
	{"ppo-4x4", 20, []string{"game.name=tag"}},
	{"ppo-4x4", 21, []string{"train.standins.share=0.4", "train.standins.who=[ns,past]"}},
	{"ppo-4x4", 22, []string{"train.brains=[0,0,1,1]", "ppo.prosocial=0.5"}},
	// Goals within episodes, and windows that cut them.
	{"hop-coin", 23, []string{"game.horizon=20", "train.window=51", "train.warm.windows=1"}},
	// Ten with one network that learns from all their searches, in which the three nearest are predicted anew.
	{"hop-cleanup-64", 29, []string{"game.size=8", "game.agents=10", "game.river=2", "game.orchard=3", "game.start=0.2", "game.horizon=20",
		"train.window=24", "train.warm.windows=1"}},
	// Several agents with one network, who read their co-players over lives and plan in play, on the true rules.
	{"hop+", 25, []string{"search.dynamics=rules", "models.world=", "moa.hidden=[16,16]"}},
	// The same where there is no board: what co-players do then depends on what was played.
	{"hop+", 26, []string{
		"search.dynamics=rules", "models.world=", "moa.hidden=[16,16]", "moa.frame=board", "game.name=matrix", "game.rounds=10",
		"game.memory=true", "actor.frame=board", "actor.turn=false", "actor.unordered=false", "actor.distances=false",
	}},
}

// slow are the seeds of healthy runs that take longest, or that others are like: CI asks for them with -all.
var slow = []uint64{4, 5, 6, 8, 9, 14, 16, 17, 18, 19, 20, 22, 23, 24, 25, 27, 30}

// Healthy runs are not accused. A test in 2000 may call one suspect; the seeds
// are fixed, so the outcome is too. It takes 8 s of processor time: a training of each kind of
// agent, watched, for no other test would see that a check accuses those who are right.
func TestHealthyRunsPass(t *testing.T) {
	suspects := 0
	known := map[string][]check.Finding{} // by game: asking each once is enough
	for _, h := range healthy {
		if slices.Contains(slow, h.seed) != *all && !*long {
			continue
		}
		name := fmt.Sprintf("%s seed %d %v", h.preset, h.seed, h.sets)
		t.Run(name, func(t *testing.T) {
			sets := h.sets
			if h.preset == "hop+" {
				sets = append(slices.Clone(sets), "models.sequence="+reader(t, load(t, h.preset, !*long, sets...)))
			}
			s := load(t, h.preset, !*long, sets...)
			opt := options(&s)
			opt.Seeds = []uint64{h.seed}
			if *long {
				opt.Seeds = []uint64{h.seed, h.seed + 100, h.seed + 200}
			}
			g, err := s.Game.Build()
			must(t, err)
			about := fmt.Sprintf("%+v", s.Game)
			if known[about] == nil {
				known[about] = checks.Game(g, rng.New(h.seed), opt.Episodes)
			}
			if !*long {
				opt.Game = known[about]
			}
			r, err := audit.Spec(t.Context(), s, opt)
			must(t, err)
			for _, f := range r.Findings {
				switch f.Status {
				case check.Fault:
					t.Errorf("fault in %s, %s: %s", f.Module, f.Check, f.Says)
				case check.Suspect:
					suspects++
					t.Logf("suspect in %s, %s: %s", f.Module, f.Check, f.Says)
				}
			}
			if *long {
				fmt.Printf("| %s | %v | %v | %d |\n", name, r.Verdict, r.Says, len(r.Findings))
			}
		})
	}
	if suspects > 1 {
		t.Errorf("%d suspects in %d healthy runs, want at most 1", suspects, len(healthy))
	}
}

// reader writes a small sequence model of a spec's game as it was drawn, as hop pretrain leaves it.
func reader(t *testing.T, s spec.Spec) string {
	t.Helper()
	g, err := s.Game.Build()
	must(t, err)
	l, err := stranger.Language(g)
	must(t, err)
	sp := g.Spec()
	c := sequence.Config{
		History: "gru", Across: true, Width: 8, Layers: 1, Heads: 1, Up: 8, Window: 7, Code: 3, Untyped: true, Head: moa.Default(),
	}
	c.Head.Hidden = []int{16, 16}
	if _, board := g.New().(script.Field); !board {
		c.Head.Frame = "board"
	}
	in := sequence.Input{Input: moa.NewInput(frame.Layout(sp.Obs), sp.Seats, sp.Actions, 0), Goals: sp.Goals, Kinds: l.Pair[:]}
	_, p, err := sequence.New(c, in, rng.New(1))
	must(t, err)
	for i := range p.W {
		p.W[i] *= 2 // it has opinions
	}
	meta, err := json.Marshal(map[string]any{"Config": c, "Input": in})
	must(t, err)
	f := &safetensors.File{Meta: map[string]string{"sequence": string(meta)}}
	p.Save(f, "best/")
	body, err := f.AppendBinary(nil)
	must(t, err)
	dir := filepath.Join(t.TempDir(), "reader")
	run, err := runlog.Create(dir, []byte("{}\n"), runlog.Info{})
	must(t, err)
	defer run.Close()
	must(t, run.Checkpoint(1, body, 0, runlog.Keep{Last: 1}))
	return dir
}

// Nor are the agents of a healthy run: what they believe of each other when they are loaded
// is what they learnt, and not what they believed at first.
func TestAHealthyRunsAgentsPass(t *testing.T) {
	run := spectest.Play(t, spectest.With(t, spectest.Planner, "leaf.kind=net", "train.steps=700", "train.warm.windows=1"), 1, 1)
	r, err := audit.Run(t.Context(), registry.New(), run.Dir, audit.Options{Updates: 3, Episodes: 20})
	must(t, err)
	asked := false
	for _, f := range r.Findings {
		asked = asked || f.Module == "beliefs" && f.Rows > 0
		if f.Status == check.Fault {
			t.Errorf("fault in %s, %s: %s", f.Module, f.Check, f.Says)
		}
	}
	if !asked {
		t.Error("no belief was looked at")
	}
}
