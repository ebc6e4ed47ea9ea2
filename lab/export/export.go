// Package export writes the networks of a run's agents as files that run without us.
package export

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hop-marl/hop/agent/hop/pretrained"
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/onnx"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/npz"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/train/spec"
)

// ONNX asks for the networks of a run as ONNX files.
type ONNX struct {
	Run   string `yaml:"run" doc:"folder of a run, or of several seeds of it" unit:"RUN" flag:"-"`
	Out   string `yaml:"out" doc:"folder to write into; none: onnx in the run's own, or in each seed's" unit:"DIR" flag:"file"`
	Check int    `yaml:"check" doc:"beside each file, so many observations and what the network makes of them, as NAME.npz; 0: none" range:"0.."`
}

// File is a network that was written.
type File struct {
	Path    string      `json:"path"`
	Kind    string      `json:"kind"`   // actor, others or response
	Agents  []int       `json:"agents"` // whose it is
	Inputs  []onnx.Port `json:"inputs"`
	Outputs []onnx.Port `json:"outputs"`
	Check   string      `json:"check,omitempty"` // rows to check it by
}

// Result is what was written of one run.
type Result struct {
	Run     string   `json:"run"`
	Step    int64    `json:"step"`
	Files   []File   `json:"files"`
	Without []string `json:"without"` // what the agents have beside these, which is not in them
}

// Do writes the files.
func (c ONNX) Do(l *lab.Lab) ([]Result, error) {
	dirs, err := lab.Folders(c.Run)
	if err != nil {
		return nil, err
	}
	var all []Result
	for _, dir := range dirs {
		out := c.Out
		switch {
		case out == "":
			out = filepath.Join(dir, "onnx")
		case len(dirs) > 1:
			out = filepath.Join(out, filepath.Base(dir))
		}
		r, err := c.run(l, dir, out)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// network is one that is to be written.
type network struct {
	File
	name  string
	graph *onnx.Graph
	// run computes what the graph says, row by row, from the same inputs: the outputs by name.
	run func(in map[string][]float32, rows int) map[string][]float32
}

// run writes the networks of one run.
func (c ONNX) run(l *lab.Lab, dir, out string) (Result, error) {
	x, err := l.Reg.Open(dir, nil)
	if err != nil {
		return Result{}, err
	}
	if err := x.Game.Spec().Discrete("an exported network"); err != nil {
		return Result{}, lab.Misused("%s: %w", dir, err)
	}
	if x.Game.Spec().Obs.Picture[0] > 0 {
		return Result{}, lab.Misused("%s: a network that reads pictures cannot be exported", dir)
	}
	nets, without, err := networks(x)
	if err != nil {
		return Result{}, lab.Misused("%s: %w", dir, err)
	}
	res := Result{Run: dir, Step: x.Step, Without: without}
	spec := x.Game.Spec()
	if err := disk.Make(out); err != nil {
		return res, fmt.Errorf("making %s: %w; choose another folder with --out", out, err)
	}
	for _, n := range nets {
		g := n.graph
		g.Say("game", game.Label(x.Game))
		g.Say("actions", strings.Join(spec.Actions, ","))
		g.Say("kind", n.Kind)
		g.Say("agents", strings.Trim(fmt.Sprint(n.Agents), "[]"))
		g.Say("run", filepath.Base(filepath.Dir(dir))+"/"+filepath.Base(dir))
		g.Say("step", fmt.Sprint(x.Step))
		n.Path = filepath.Join(out, n.name+".onnx")
		if err := disk.Write(n.Path, g.Bytes()); err != nil {
			return res, err
		}
		n.Inputs, n.Outputs = g.Inputs, g.Output
		if c.Check > 0 {
			n.Check = filepath.Join(out, n.name+".npz")
			if err := c.check(x.Game, n); err != nil {
				return res, err
			}
		}
		res.Files = append(res.Files, n.File)
	}
	return res, nil
}

// networks returns the networks of a run's agents that stand alone, and names what does not.
func networks(x *spec.Saved) (nets []*network, without []string, err error) {
	minds, of, err := x.Minds()
	if err != nil {
		return nil, nil, err
	}
	sp := x.Game.Spec()
	legalAt := -1
	if sp.Obs.Legal > 0 {
		legalAt = sp.Obs.LegalAt()
	}
	left := func(words ...string) {
		for _, w := range words {
			if !slices.Contains(without, w) {
				without = append(without, w)
			}
		}
	}
	for i, m := range minds {
		ids := []int{}
		for a, at := range of {
			if at == i {
				ids = append(ids, a)
			}
		}
		acting, ok := learner.As[learner.Acting](m)
		own := x.Spec.LearnsAs(m.Agents()[0])
		if !ok {
			return nil, nil, fmt.Errorf("mind %s does not act by a network, so there is none to write", own.Mind.Name)
		}
		model, params := acting.Actor()
		name := nameOf(ids)
		n, err := newActor(name, "actor", model, params, legalAt, own.PPO.RewardScale)
		if err != nil {
			return nil, nil, err
		}
		n.Agents = ids
		nets = append(nets, n)
		if h, ok := learner.As[interface {
			Model(a agent.ID) *moa.Learner
		}](m); ok {
			of := h.Model(agent.ID(ids[0]))
			n, err := newOthers(name+"-others", of.Model, of.Params)
			if err != nil {
				return nil, nil, err
			}
			n.Agents = ids
			nets = append(nets, n)
		}
		if _, ok := learner.As[learner.Searching](m); ok {
			left("search", "beliefs")
		}
		held, ok := learner.As[interface{ Models() pretrained.Models }](m)
		if !ok {
			continue
		}
		models := held.Models()
		for _, w := range []struct {
			word string
			has  bool
		}{{"codes of states", models.VAE != nil}, {"inference of goals", models.CVAE != nil}, {"world model", models.World != nil}} {
			if w.has {
				left(w.word)
			}
		}
		if models.Response != nil && i == 0 { // one for all
			n, err := newActor("response", "response", models.Response, models.Answers, legalAt, models.ResponseScale)
			if err != nil {
				return nil, nil, err
			}
			for a := range of {
				n.Agents = append(n.Agents, a)
			}
			n.graph.Say("population", strings.Join(models.Population, ","))
			nets = append(nets, n)
		}
	}
	slices.Sort(without)
	return nets, without, nil
}

// nameOf names the file of the network of some agents: a network that several share is one file.
func nameOf(ids []int) string {
	word := "agent"
	if len(ids) > 1 {
		word = "agents"
	}
	for _, id := range ids {
		word += fmt.Sprintf("-%d", id)
	}
	return word
}

// newActor is a network that acts.
func newActor(name, kind string, m *actor.Model, p *nn.Params, legalAt int, scale float64) (*network, error) {
	g, err := onnx.Actor(name, m, p, legalAt, scale)
	if err != nil {
		return nil, err
	}
	n := &network{File: File{Kind: kind}, name: name, graph: g}
	n.run = func(in map[string][]float32, rows int) map[string][]float32 {
		ws := m.Work(rows)
		for i := range rows {
			ws.Add(in[onnx.Obs][i*m.Len():(i+1)*m.Len()], in[onnx.Goals][i*m.Extra:(i+1)*m.Extra])
		}
		out := map[string][]float32{}
		if m.LSTM > 0 {
			h, c := ws.State()
			copy(h, in[onnx.Hidden])
			copy(c, in[onnx.Cell])
			ws.Step(p)
			out[onnx.Next(onnx.Hidden)], out[onnx.Next(onnx.Cell)] = h[:rows*m.LSTM], c[:rows*m.LSTM]
		} else {
			ws.Forward(p)
		}
		value := make([]float32, rows)
		for i := range value {
			value[i] = ws.Value[i] / float32(scale)
		}
		out[onnx.Worth] = value
		policy(out, in, ws.Logits, rows, m.Actions, m.Len(), legalAt)
		return out
	}
	return n, nil
}

// newOthers is a model of others.
func newOthers(name string, m *moa.Model, p *nn.Params) (*network, error) {
	g, err := onnx.Others(name, m, p)
	if err != nil {
		return nil, err
	}
	n := &network{File: File{Kind: "others"}, name: name, graph: g}
	n.run = func(in map[string][]float32, rows int) map[string][]float32 {
		ws := m.Work(rows)
		for i := range rows {
			ws.Add(in[onnx.Obs][i*m.Len():(i+1)*m.Len()], in[onnx.Goals][i*m.GoalLen:(i+1)*m.GoalLen])
		}
		out := map[string][]float32{}
		if m.History > 0 {
			h := slices.Clone(in[onnx.Hidden])
			ws.Step(p, h)
			out[onnx.Next(onnx.Hidden)] = h
		} else {
			ws.Forward(p)
		}
		policy(out, in, ws.Logits, rows, m.Actions, m.Len(), m.LegalAt)
		return out
	}
	return n, nil
}

// policy puts out logits and probabilities of the legal actions.
func policy(out, in map[string][]float32, logits nn.Logits, rows, actions, length, legalAt int) {
	legal := make([]bool, rows*actions)
	masked := slices.Clone(logits[:rows*actions])
	for i := range legal {
		if legalAt >= 0 {
			legal[i] = in[onnx.Obs][i/actions*length+legalAt+i%actions] != 0
		} else {
			legal[i] = in[onnx.Legal][i] != 0
		}
		if !legal[i] {
			masked[i] = onnx.Illegal
		}
	}
	cat := nn.NewCategorical(actions, rows)
	cat.Set(logits, legal, rows)
	out[onnx.Logits], out[onnx.Probs] = masked, cat.P
}

// check writes rows to check a network by: what it is given, and what it makes of that. The
// observations are of random play; what else it reads is drawn.
func (c ONNX) check(g game.Game, n *network) error {
	obs, legal, err := observations(g, c.Check)
	if err != nil {
		return err
	}
	in := map[string][]float32{onnx.Obs: obs, onnx.Legal: legal}
	r := rng.New(1).Child("check").Rand()
	var arrays []npz.Array
	put := func(p onnx.Port, data []float32) {
		arrays = append(arrays, npz.Array{Name: p.Name, Shape: append([]int{c.Check}, p.Dims...), Data: data})
	}
	for _, p := range n.graph.Inputs {
		if in[p.Name] == nil {
			list := make([]float32, c.Check*p.Dims[0])
			for i := range list {
				if list[i] = r.Float32(); list[i] < 0.3 {
					list[i] = 0 // as of one-hots
				}
			}
			in[p.Name] = list
		}
		put(p, in[p.Name])
	}
	out := n.run(in, c.Check)
	for _, p := range n.graph.Output {
		put(p, out[p.Name])
	}
	var b bytes.Buffer
	if err := npz.Write(&b, arrays); err != nil {
		return err
	}
	return disk.Write(n.Check, b.Bytes())
}

// observations returns what living agents see in random play, and what they may do.
func observations(g game.Game, rows int) (obs, legal []float32, err error) {
	const envs, steps = 16, 32
	all, err := rollout.New(rollout.Config{Game: g, Envs: envs, Key: rng.New(1), Workers: 1})
	if err != nil {
		return nil, nil, err
	}
	ro := batch.New(all.Shape(steps, 0))
	bots, err := rollout.NewBots(g, "random", envs)
	if err != nil {
		return nil, nil, err
	}
	players := [][]rollout.Player{slices.Repeat([]rollout.Player{bots}, g.Spec().Seats)}
	length, actions := ro.ObsLen, ro.Actions
	for {
		all.Collect(ro, players)
		for t := range steps {
			for n := range envs {
				for a := range agent.ID(ro.Agents) {
					i := ro.Slot(a, t, n)
					if !ro.Alive[i] {
						continue
					}
					obs = append(obs, ro.ObsAt(i)...)
					for _, ok := range ro.LegalAt(i) {
						legal = append(legal, map[bool]float32{true: 1}[ok])
					}
					if len(obs) == rows*length {
						return obs, legal[:rows*actions], nil
					}
				}
			}
		}
	}
}

// Text says what was written.
func (r Result) Text() string {
	var b strings.Builder
	for _, f := range r.Files {
		fmt.Fprintf(&b, "%s  %s\n  reads %s\n  gives %s\n", f.Path, words[f.Kind], listed(f.Inputs), listed(f.Outputs))
	}
	if len(r.Without) > 0 {
		fmt.Fprintf(&b, "Not in these files: %s. hop.load(%q) in Python plays with all of it.\n", strings.Join(r.Without, ", "), r.Run)
	}
	return b.String()
}

// words say what kinds of networks are.
var words = map[string]string{
	"actor":    "the network that acts",
	"others":   "the model of others, from their own place",
	"response": "the response network, told who the others are",
}

// listed lists inputs or outputs with their shapes.
func listed(ports []onnx.Port) string {
	var list []string
	for _, p := range ports {
		dims := "batch"
		for _, d := range p.Dims {
			dims += fmt.Sprintf(", %d", d)
		}
		list = append(list, fmt.Sprintf("%s [%s]", p.Name, dims))
	}
	return strings.Join(list, ", ")
}
