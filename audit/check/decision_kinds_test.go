package check_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/agent/hop"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/model/cvae"
	"github.com/hop-marl/hop/model/vae"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/pretrain"
)

// latent returns settings of latent goals with small models as they were drawn, the
// response network's told of a population of whom neither the last acts at random, nor
// the last hypothesis is the last of it.
func latent(t *testing.T) []string {
	in := frame.Input{Height: 4, Width: 4, Planes: 7, Rest: 7 + 1 + 28}
	v := vae.Default()
	v.Loss, v.Hidden, v.Dim, v.MOA, v.Outcome = "b", []int{8}, 3, 8, 0.5
	vin := vae.Input{Input: in, Agents: 4, Actions: 7}
	q, cin := cvae.Config{Dim: 3, Frame: frame.Egof, Feature: 4, GRU: 5, Hidden: []int{6}}, cvae.Input{Input: in, Seats: 4, Actions: 7}
	codes := folder(t, "vae", v, vin)(vae.New(v, vin, rng.New(1)))
	infer := folder(t, "cvae", q, cin)(cvae.New(q, cin, rng.New(2)))
	a, who := actor.Default(), []string{"ns", "random", "nh", pretrain.Self}
	a.Hidden, in.Extra = []int{8}, 3*len(who)
	rin := pretrain.ResponseInput{Input: actor.Input{Input: in, Actions: 7}, Seats: 4, Who: who, Scale: 0.2}
	response := folder(t, "response", a, rin)(actor.New(a, rin.Input, rng.New(3)))
	return append([]string{"goals.kind=latent", "models.vae=" + codes, "models.cvae=" + infer, "models.response=" + response,
		"leaf.kind=response", "leaf.partners=[]", "search.act=mixed"}, small...)
}

// folder writes a new model into a folder as hop pretrain leaves it.
func folder(t *testing.T, kind string, config, input any) func(model any, p *nn.Params, err error) string {
	return func(_ any, p *nn.Params, err error) string {
		t.Helper()
		dir := filepath.Join(t.TempDir(), kind)
		run, failed := runlog.Create(dir, []byte("{}\n"), runlog.Info{})
		meta, wrong := json.Marshal(map[string]any{"Config": config, "Input": input})
		must(t, errors.Join(err, failed, wrong))
		defer run.Close()
		f := &safetensors.File{Meta: map[string]string{kind: string(meta)}}
		for i := range p.W {
			p.W[i] *= 3 // it has opinions
		}
		p.Save(f, "best/")
		p.Save(f, "brain/net/")
		body, err := f.AppendBinary(nil)
		must(t, errors.Join(err, run.Checkpoint(1, body, 0, runlog.Keep{Last: 1})))
		return dir
	}
}

// Decisions with kinds as hypotheses pass, and are found not to be what other settings
// say.
func TestKindsInsideDecisions(t *testing.T) {
	sets := latent(t)
	for _, c := range []struct {
		name        string
		said        func(c *hop.Config)
		check, says string
	}{
		{"as they are", nil, "", ""},
		{"with half the spread", func(c *hop.Config) { c.Goals.Spread = 0.5 }, "goals are drawn from the beliefs",
			"of the points drawn for agent"},
	} {
		found := ""
		asked := 0
		for _, f := range held(t, "hop-4x4", sets, c.said, nil, nil) {
			switch {
			case c.said == nil && f.Status != check.Pass:
				t.Errorf("%s: %s: %s", c.name, f.Check, f.Says)
			case f.Check == c.check && f.Status == check.Fault:
				found = f.Says
			}
			if f.Check == "leaves are worth what the definition says" || f.Check == "goals are drawn from the beliefs" {
				asked += f.Rows
			}
		}
		if !strings.Contains(found, c.says) || asked < 1000 {
			t.Errorf("%s: found %q, want %q at %s; %d draws and leaves were looked at", c.name, found, c.says, c.check, asked)
		}
	}
}
