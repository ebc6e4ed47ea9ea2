package pretrain_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game/foraging"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/model/cvae"
	"github.com/hop-marl/hop/model/vae"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/pretrain"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hunts records rows of stag hunts of ns with nh on 4x4.
func hunts(t *testing.T, rows int) *dataset.Data {
	t.Helper()
	c := staghunt.Default()
	c.Size = 4
	g := gametest.New(t, staghunt.New, c)
	cfg := dataset.Config{Game: g, GameSpec: map[string]any{"name": "staghunt"}, Mix: []string{"ns", "nh"}, Rows: rows, Seed: 7,
		Dir: t.TempDir()}
	if _, err := dataset.Collect(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(cfg.Dir)
	must(t, err)
	return d
}

// folder makes a run.
func folder(t *testing.T) *runlog.Run {
	t.Helper()
	run, err := runlog.Create(filepath.Join(t.TempDir(), "run"), []byte("x: 1\n"), runlog.Info{})
	must(t, err)
	t.Cleanup(func() { run.Close() })
	return run
}

func newVAE(t *testing.T, loss string, classes int, d *dataset.Data) *pretrain.VAE {
	t.Helper()
	c := pretrain.DefaultVAE(loss)
	c.Model.Hidden, c.Model.MOA, c.Model.Dim, c.Model.Discrete, c.Epochs = []int{48, 24}, 32, 6, classes, 3
	v, err := pretrain.NewVAE(c, d, 1)
	must(t, err)
	return v
}

func newCVAE(t *testing.T, v *pretrain.VAE, change func(*pretrain.CVAEConfig)) *pretrain.CVAE {
	t.Helper()
	c := pretrain.DefaultCVAE()
	c.Model = cvae.Config{Frame: "egof", Feature: 12, GRU: 16, Hidden: []int{24}, Dim: 6}
	c.Epochs, c.ValueNet.Epochs = 2, 1
	if change != nil {
		change(&c)
	}
	out, err := pretrain.NewCVAE(c, v.Data, v.Learner.Model, v.Learner.Params, 1)
	must(t, err)
	return out
}

func newMOA(t *testing.T, d *dataset.Data) *pretrain.MOA {
	t.Helper()
	c := pretrain.DefaultMOA().For(d.Layout)
	c.Model.Hidden, c.Model.History, c.Epochs, c.Learning.Batch = []int{32, 32}, 8, 3, 32
	m, err := pretrain.NewMOA(c, d, nil, 1)
	must(t, err)
	return m
}

func newWorld(t *testing.T, d *dataset.Data) *pretrain.World {
	t.Helper()
	c := pretrain.DefaultWorld()
	c.Epochs, c.Patience, c.Batch, c.Model.Hidden, c.Model.Dense = 4, 2, 128, []int{16}, []int{32}
	w, err := pretrain.NewWorld(c, []*dataset.Data{d}, 1)
	must(t, err)
	return w
}

// What is saved is loaded again. A run that is stopped within its second or third
// epoch and resumed ends in the checkpoint and the metrics of one that was not, and
// a loaded model is the best one. The one runs on one core, the other on two.
func TestResumedEqualsUninterrupted(t *testing.T) {
	d := hunts(t, 2500)
	codes := newVAE(t, "b", 0, d)
	for name, c := range map[string]struct {
		fresh func() (*pretrain.Training, *nn.Params)
		load  func(dir string) (*nn.Params, error)
	}{
		"vae a": {func() (*pretrain.Training, *nn.Params) {
			v := newVAE(t, "a", 0, d)
			return v.Training, v.Learner.Params
		}, func(dir string) (*nn.Params, error) { _, p, err := vae.Load(nil, dir); return p, err }},
		"vae b": {func() (*pretrain.Training, *nn.Params) {
			v := newVAE(t, "b", 4, d)
			return v.Training, v.Learner.Params
		}, func(dir string) (*nn.Params, error) { _, p, err := vae.Load(nil, dir); return p, err }},
		"cvae": {func() (*pretrain.Training, *nn.Params) {
			c := newCVAE(t, codes, nil)
			return c.Training, c.Learner.Params
		}, func(dir string) (*nn.Params, error) { _, p, err := cvae.Load(nil, dir); return p, err }},
		"moa": {func() (*pretrain.Training, *nn.Params) {
			m := newMOA(t, d)
			return m.Training, m.Learner.Params
		}, nil},
		"moa kind": {func() (*pretrain.Training, *nn.Params) {
			m := newKindMOA(t, d, inferring(t, d))
			return m.Training, m.Learner.Params
		}, nil},
		"world": {func() (*pretrain.Training, *nn.Params) {
			w := newWorld(t, d)
			return w.Training, w.Net
		}, func(dir string) (*nn.Params, error) { _, p, err := world.Load(nil, dir); return p, err }},
	} {
		t.Run(name, func(t *testing.T) {
			whole, want := c.fresh()
			runs := []*runlog.Run{folder(t), folder(t)}
			was := runtime.GOMAXPROCS(1)
			err := whole.Run(context.Background(), runs[0], nil)
			if runtime.GOMAXPROCS(2); err != nil {
				t.Fatal(err)
			}
			defer runtime.GOMAXPROCS(was)
			first, _ := c.fresh()
			ctx, stop := context.WithCancel(context.Background())
			err = first.Run(ctx, runs[1], func(p pretrain.Progress) {
				if p.Epoch > 0 && !p.Whole && p.Rows > p.Epoch*p.Total/p.Epochs {
					stop()
				}
			})
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("a stopped run returned %v, want canceled", err)
			}
			var got *nn.Params
			for range 2 { // goes on to the end, and once more from there
				body, epoch, err := runlog.Last(runs[1].Dir())
				must(t, err)
				var second *pretrain.Training
				second, got = c.fresh()
				must(t, second.Resume(body, epoch))
				must(t, second.Run(context.Background(), runs[1], nil))
			}
			if !slices.Equal(got.W, want.W) {
				t.Error("a resumed run has other weights")
			}
			for _, run := range runs {
				must(t, run.Close())
			}
			a, _, err := runlog.Last(runs[0].Dir())
			b, _, err2 := runlog.Last(runs[1].Dir())
			if err := errors.Join(err, err2); err != nil || !bytes.Equal(a, b) {
				t.Errorf("the last checkpoint is another one (%v)", err)
			}
			a, _ = os.ReadFile(filepath.Join(runs[0].Dir(), "metrics.csv"))
			b, _ = os.ReadFile(filepath.Join(runs[1].Dir(), "metrics.csv"))
			if len(a) == 0 || !bytes.Equal(a, b) {
				t.Errorf("metrics differ:\n%s\n%s", a, b)
			}
			if c.load == nil {
				return
			}
			if p, err := c.load(runs[1].Dir()); err != nil || !slices.Equal(p.W, want.W) {
				t.Errorf("the loaded weights are not those at the end of the run (%v)", err)
			}
		})
	}
}

// No episode lies in two parts, and no row is lost.
func TestPartsShareNoEpisode(t *testing.T) {
	d := hunts(t, 2500)
	v, m, w := newVAE(t, "a", 0, d), newMOA(t, d), newWorld(t, d)
	var rows [3][3][]int32
	for i := range 3 {
		rows[0][i] = v.Parts[i].Rows
		for _, s := range m.Parts[i] {
			rows[1][i] = append(rows[1][i], m.Source[m.Rows.Seqs[s].Lo:m.Rows.Seqs[s].Hi]...)
		}
		for _, at := range w.Parts[i] {
			rows[2][i] = append(rows[2][i], at.Row)
		}
	}
	for k, name := range []string{"vae", "moa", "world"} {
		part, n := map[int32]int{}, 0
		for i, list := range rows[k] {
			n += len(list)
			for _, row := range list {
				if was, ok := part[d.Episode[row]]; ok && was != i {
					t.Fatalf("%s: episode %d is in parts %d and %d", name, d.Episode[row], was, i)
				}
				part[d.Episode[row]] = i
			}
		}
		if len(part) != d.Episodes || n != d.Len() {
			t.Errorf("%s: the parts hold %d episodes and %d rows, want %d and %d", name, len(part), n, d.Episodes, d.Len())
		}
	}
	for _, part := range v.Parts {
		for k, row := range part.Rows {
			end := part.Rows[part.Last[k]]
			same := func(at int32) bool { return d.Episode[at] == d.Episode[row] && d.Agent[at] == d.Agent[row] }
			if !same(end) || int(part.Last[k])+1 < len(part.Rows) && same(end+1) {
				t.Fatalf("row %d: the last row of its sequence is %d", row, end)
			}
		}
	}
}

// The two losses never share a name with a total.
func TestEveryTermHasItsName(t *testing.T) {
	d := hunts(t, 1000)
	for loss, want := range map[string][]string{
		"a": {"kl", "kl_weight", "reconstruction_agents", "reconstruction_things"},
		"b": {"action", "kl", "kl_weight", "outcome", "readout_agents", "readout_things"},
	} {
		run := folder(t)
		must(t, newVAE(t, loss, 0, d).Run(context.Background(), run, nil))
		must(t, run.Close())
		rows, err := runlog.ReadMetrics(run.Dir())
		must(t, err)
		var got []string
		for _, r := range rows {
			name, held := strings.CutPrefix(r.Name, "vae_"+loss+"/held/")
			if held && r.Step == 1 {
				got = append(got, name)
			}
			if !held && !strings.HasPrefix(r.Name, "vae_"+loss+"/learn/") || r.N == 0 {
				t.Errorf("loss %s logs %+v", loss, r)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("loss %s has the terms %v, want %v", loss, got, want)
		}
	}
}

// A subgoal is a state that the agent saw itself: never one after it left, never
// one of another agent or episode.
func TestSubgoalsAreTheAgentsOwnStates(t *testing.T) {
	d := hunts(t, 2500)
	v := newVAE(t, "a", 0, d)
	m := v.Learner.Model
	var codes []float32
	m.Each(v.Parts[0].States, func(ws *vae.Work) {
		ws.Encode(v.Learner.Params)
		codes = append(codes, ws.Mu[:ws.X.Rows()*m.Dim]...)
	})
	for _, sel := range []cvae.Selector{cvae.Optimistic, cvae.Conservative} {
		for _, value := range []string{"returns", "learnt"} {
			c := newCVAE(t, v, func(c *pretrain.CVAEConfig) { c.Selector, c.Value = string(sel), value })
			s, part := c.Seqs[0], &c.Parts[0]
			for row := range 400 {
				found := false
				for j := row; j <= min(row+c.Config.Horizon, int(part.Last[row])); j++ {
					found = found || slices.Equal(s.Mu[row*m.Dim:(row+1)*m.Dim], codes[j*m.Dim:(j+1)*m.Dim])
				}
				if !found {
					t.Fatalf("%s, %s: the subgoal of row %d is none of its agent's next %d states", sel, value, row, c.Config.Horizon)
				}
			}
		}
	}
}

// Over discrete codes the inference aims at the probabilities of the classes.
func TestSubgoalsOfDiscreteCodes(t *testing.T) {
	s := newCVAE(t, newVAE(t, "b", 4, hunts(t, 1000)), nil).Seqs[0]
	for row := range s.Rows() {
		sum := float32(0)
		for _, q := range s.Mu[row*4 : (row+1)*4] {
			sum += q
		}
		if sum < 0.999 || sum > 1.001 {
			t.Fatalf("the subgoal of row %d has classes that add up to %v, want 1", row, sum)
		}
	}
}

// What a network expects explains what was earned on episodes it has not seen,
// and nothing but the seed and the data decides what it expects.
func TestLearntValuesAreWhatIsEarned(t *testing.T) {
	v := newVAE(t, "a", 0, hunts(t, 8000))
	fresh := func(value string) *pretrain.Values {
		return newCVAE(t, v, func(c *pretrain.CVAEConfig) {
			c.Value, c.ValueNet = value, cvae.DefaultValue()
			c.ValueNet.Hidden = []int{32, 16}
		}).Values
	}
	got := fresh("learnt")
	if !slices.Equal(got.Of[2], fresh("learnt").Of[2]) {
		t.Error("two equal runs expect different returns")
	}
	if e := pretrain.Explained(got.Of[2], got.Earned[2]); e < 0.2 {
		t.Errorf("explains %.3f of the returns, want at least 0.2", e)
	}
	mean, want := 0., 0.
	for i, x := range got.Of[2] {
		mean += float64(x) / float64(len(got.Of[2]))
		want += float64(got.Earned[2][i]) / float64(len(got.Of[2]))
	}
	if math.Abs(mean-want) > 0.1*want {
		t.Errorf("the mean value is %.3f, the mean return %.3f", mean, want)
	}
	if r := fresh("returns"); r.Learnt || !slices.Equal(r.Of[2], r.Earned[2]) {
		t.Error("recorded returns are not what the selector goes by")
	}
}

// What a world model knows of features is read off the data: their values, and which
// become 0. One that becomes anything else, or an agent's that changes, is refused.
func TestFeaturesAreReadOffTheData(t *testing.T) {
	g := gametest.New(t, foraging.New, foraging.Default())
	cfg := dataset.Config{Game: g, GameSpec: map[string]any{"name": "foraging"}, Team: []string{"nearest", "nearest"}, Rows: 600, Seed: 7,
		Dir: t.TempDir()}
	_, err := dataset.Collect(context.Background(), cfg)
	must(t, err)
	d, err := dataset.Open(cfg.Dir)
	must(t, err)
	in := newWorld(t, d).Model.Input
	if want := []float32{0, .25, .5, .75, 1}; !slices.Equal(in.Values, want) || !slices.Equal(in.Zeroes, []int{2, 3}) || in.Features != 4 {
		t.Errorf("%d features with values %v, of which %v become 0; want 4, %v and 2 and 3", in.Features, in.Values, in.Zeroes, want)
	}
	for f, v := range map[int]float32{0: 0, 2: .125} {
		was := d.NextFeat[f]
		d.NextFeat[f] = v
		_, err := pretrain.NewWorld(pretrain.DefaultWorld(), []*dataset.Data{d}, 1)
		if want := fmt.Sprintf("feature %d", f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("feature %d becomes %v: %v, want an error that names it", f, v, err)
		}
		d.NextFeat[f] = was
	}
}
