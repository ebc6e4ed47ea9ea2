// Package sweep trains many variants with many seeds, here or on many machines, and ends in an
// ordinary folder of runs.
//
// Or it lets agents meet strangers, and ends in the page of hop strangers score (Score).
//
// A sweep is a graph of jobs: stages that several variants share, one training for each variant
// and seed, and what follows. The coordinator (Run) puts jobs into a queue when what
// they read is there, workers do them, and the coordinator brings their results into its folder.
// Everything that it must know again after a crash is in that folder: what the sweep is
// (sweep.json), the runs, and the engine's own data.
package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/sweep/design"
	"github.com/hop-marl/hop/lab/sweep/queue"
	"github.com/hop-marl/hop/train/spec"
)

// Sweep is what a folder of runs is to become, with everything resolved: sweep.json.
type Sweep struct {
	ID       string          `json:"id"` // on a server
	Base     string          `json:"base"`
	Build    string          `json:"build"`
	Variants []Variant       `json:"variants"`
	Seeds    []uint64        `json:"seeds"`
	Drawn    bool            `json:"drawn,omitempty"` // variants are draws, not every combination
	Halving  *design.Halving `json:"halving,omitempty"`
	Budget   Budget          `json:"budget"`
	Each     Each            `json:"each"`
	Memory   int64           `json:"memory_bytes,omitempty"` // of a job
	Then     []string        `json:"then,omitempty"`
	After    []string        `json:"after,omitempty"`
	Score    *Score          `json:"score,omitempty"` // instead of variants: an evaluation
	At       time.Time       `json:"at"`              // when it was written
	Check    string          `json:"check"`           // its seal; empty: of a program that sealed none, and nothing vouches for it
}

// Variant is one setting of the spec.
type Variant struct {
	design.Variant
	Spec string `json:"spec"` // resolved, as YAML
	name string // of the spec, with which its folder begins
}

// New resolves a sweep.
func New(l *lab.Lab, f *File, seeds []uint64) (*Sweep, error) {
	list, err := f.variants()
	if err != nil {
		return nil, err
	}
	s := &Sweep{
		Base: f.Base, Build: l.Build().ID(), Seeds: seeds, Halving: f.Halving, Budget: f.Budget, Each: f.Each, Then: f.Then, After: f.After,
		Drawn: f.Draws > 0,
	}
	s.Each.Cores = max(s.Each.Cores, 1)
	if s.Memory, err = memory(f.Each.Memory); err != nil {
		return nil, err
	}
	var sets []string
	for _, v := range f.Set {
		sets = append(sets, v.Path+"="+v.Values[0])
	}
	var errs []error
	for _, v := range list {
		all := slices.Clone(sets)
		for _, t := range v.Settings {
			all = append(all, t.Path+"="+t.Value)
		}
		spec, err := l.Reg.Load(f.Base, all)
		if err != nil {
			if len(list) > 1 {
				err = fmt.Errorf("variant %s: %w", v.Name, err)
			}
			if errs = append(errs, err); len(errs) == 5 {
				break
			}
			continue
		}
		text, err := spec.YAML()
		if err != nil {
			return nil, err
		}
		if h := s.Halving; h != nil && h.Rungs[len(h.Rungs)-1] != spec.Train.Steps {
			errs = append(errs, fmt.Errorf("variant %s: train.steps is %d and the last of halving.rungs %d; they must be the same",
				v.Name, spec.Train.Steps, h.Rungs[len(h.Rungs)-1]))
		}
		s.Variants = append(s.Variants, Variant{Variant: v, Spec: string(text), name: spec.Name})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if n := s.Budget.Runs; n > 0 && n < len(s.Variants)*len(s.Seeds) {
		s.Variants = s.Variants[:max(1, n/len(s.Seeds))]
	}
	s.ID = name(s.Base, s.Build, fmt.Sprint(s.Seeds), string(mustJSON(s.Variants)), fmt.Sprint(s.Then, s.After),
		string(mustJSON(s.Halving)))[:16]
	return s, nil
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain structs
	}
	return b
}

// name is the same for the same words, and for no others.
func name(words ...string) string {
	h := sha256.New()
	for _, w := range words {
		fmt.Fprintf(h, "%q\n", w)
	}
	return hex.EncodeToString(h.Sum(nil))[:24]
}

// Kind says what a job is there for.
type Kind = queue.Kind

// The kinds of jobs.
const (
	Stage    = queue.Stage
	Training = queue.Training
	Follow   = queue.Follow
	Then     = queue.Then
	After    = queue.After
	Scoring  = queue.Score
)

// node is a job in the graph.
type node struct {
	queue.Job
	variant int // of a training and what follows it; else -1
	seed    uint64
	rung    int    // of a training
	sub     string // the part of its folder that is its result
	place   string // where that goes, below the sweep's folder
	state   queue.State
	put     bool
	beside  bool // its result goes beside what is there, not in its place
	looked  bool // is to be looked at
	sought  bool // whether its result is there already was looked at
	news    queue.News
	score   float64 // of a training, where variants are stopped early
	again   string  // why it is done again although it was done
	refused int     // how often what was handed in was refused
}

// graph is all jobs of a sweep that are known so far, in order.
type graph struct {
	sweep   *Sweep
	nodes   []*node
	byID    map[string]*node
	specs   []spec.Spec // of the variants
	stage   [][]*node   // of the variants
	last    [][]*node   // trainings so far by variant and seed: the furthest rung
	rungs   map[rungKey]*node
	fresh   []*node            // laid out and not yet counted
	readers map[string][]*node // by the job whose result they read
	met     []*node            // of an evaluation: each meeting's
}

// rungKey names a training: a variant, a seed's place and a rung.
type rungKey struct{ variant, seed, rung int }

func (g *graph) add(n *node) *node {
	if old := g.byID[n.ID]; old != nil {
		return old
	}
	n.Ask = queue.Ask{Build: g.sweep.Build, Cores: g.sweep.Each.Cores, Memory: g.sweep.Memory, Labels: g.sweep.Each.Labels}
	n.Limit, n.Quiet = g.sweep.Each.Limit, g.sweep.Each.Quiet
	g.nodes, g.byID[n.ID], g.fresh = append(g.nodes, n), n, append(g.fresh, n)
	for _, id := range n.reads() {
		g.readers[id] = append(g.readers[id], n)
	}
	return n
}

// reads are the jobs whose results a job reads.
func (n *node) reads() (ids []string) {
	if n.Begin != "" {
		ids = append(ids, n.Begin)
	}
	for _, need := range n.Needs {
		ids = append(ids, need.ID)
	}
	return ids
}

// newGraph lays out the jobs that do not depend on what others come to.
func newGraph(l *lab.Lab, s *Sweep) (*graph, error) {
	g := &graph{sweep: s, byID: map[string]*node{}, rungs: map[rungKey]*node{}, readers: map[string][]*node{}}
	if s.Score != nil {
		g.meet()
		g.fresh = nil
		return g, nil
	}
	for v := range s.Variants {
		spec, err := l.Reg.Parse([]byte(s.Variants[v].Spec), s.Variants[v].Name, s.Base, nil)
		if err != nil {
			return nil, err
		}
		s.Variants[v].name = spec.Name
		g.specs = append(g.specs, spec)
		stages, err := g.stages(l, v)
		if err != nil {
			return nil, err
		}
		g.stage = append(g.stage, stages)
		g.last = append(g.last, make([]*node, len(s.Seeds)))
	}
	for v := range s.Variants {
		for i := range s.Seeds {
			g.train(v, i, 0)
		}
	}
	if s.Halving == nil {
		for v := range s.Variants {
			g.follow(v)
			g.then(v)
		}
		g.after()
	}
	g.fresh = nil
	return g, nil
}

// stages are the jobs that prepare a variant, shared with all that prepare the same.
func (g *graph) stages(l *lab.Lab, v int) ([]*node, error) {
	planned, err := l.Plan(&g.specs[v])
	if err != nil {
		return nil, err
	}
	made := map[string]*node{}
	var list []*node
	for _, p := range planned {
		if len(p.Local) > 0 {
			return nil, fmt.Errorf("sweep: stage %s of %s reads %s, which is on this machine only; make it a stage of the spec", p.Name,
				g.sweep.Variants[v].Name, strings.Join(p.Local, " "))
		}
		n := &node{variant: -1, sub: path.Join("out/stages", p.Dir), place: path.Join("stages", p.Dir)}
		n.Job = queue.Job{
			ID: name(g.sweep.Build, "stage", p.Key), Name: "stages/" + p.Dir, Kind: Stage, Spec: g.sweep.Variants[v].Spec, Stage: p.Name,
		}
		for _, read := range p.Reads {
			n.Needs = append(n.Needs, queue.Need{ID: made[read].ID, Sub: made[read].sub, At: made[read].sub})
		}
		n = g.add(n)
		made[p.Name] = n
		list = append(list, n)
	}
	return list, nil
}

// train is the training of a variant with a seed up to a rung.
func (g *graph) train(v, i, rung int) {
	s, seed := g.sweep, g.sweep.Seeds[i]
	sub := fmt.Sprintf("out/%s-001/seed-%d", s.Variants[v].name, seed)
	n := &node{variant: v, seed: seed, rung: rung, sub: sub, place: fmt.Sprintf("%s/seed-%d", s.Variants[v].Name, seed)}
	n.Job = queue.Job{Name: n.place, Kind: Training, Spec: s.Variants[v].Spec, Seed: seed}
	if h := s.Halving; h != nil {
		n.Until, n.Name = h.Rungs[rung], fmt.Sprintf("%s to %d", n.Name, h.Rungs[rung])
		if rung > 0 {
			n.Begin = g.last[v][i].ID
		}
	}
	for _, p := range g.stage[v] {
		n.Needs = append(n.Needs, queue.Need{ID: p.ID, Sub: p.sub, At: p.sub})
	}
	n.ID = g.id(n.Job)
	g.last[v][i] = g.add(n)
	g.rungs[rungKey{v, i, rung}] = g.last[v][i]
}

// follow is what a variant's spec says comes after its training, over all seeds.
func (g *graph) follow(v int) {
	s := g.sweep
	if len(g.specs[v].Follow) == 0 {
		return
	}
	group := fmt.Sprintf("out/%s-001", s.Variants[v].name)
	n := &node{variant: v, sub: group, place: s.Variants[v].Name, beside: true}
	n.Job = queue.Job{Name: s.Variants[v].Name + "/follow", Kind: Follow, Spec: s.Variants[v].Spec}
	for i := range s.Seeds {
		of := g.last[v][i]
		n.Needs = append(n.Needs, queue.Need{ID: of.ID, Sub: of.sub, At: of.sub})
	}
	for _, p := range g.stage[v] {
		n.Needs = append(n.Needs, queue.Need{ID: p.ID, Sub: p.sub, At: p.sub})
	}
	n.ID = g.id(n.Job)
	g.add(n)
}

// then are the commands for every run of a variant.
func (g *graph) then(v int) {
	s := g.sweep
	for i, seed := range s.Seeds {
		of := g.last[v][i]
		for k, text := range s.Then {
			at := fmt.Sprintf("in/seed-%d", seed)
			words := strings.Fields(strings.ReplaceAll(text, "{run}", at))
			n := &node{variant: v, seed: seed, sub: "out"}
			n.place = fmt.Sprintf("then/%d-%s/%s/seed-%d", k+1, words[0], s.Variants[v].Name, seed)
			n.Job = queue.Job{Name: n.place, Kind: Then, Do: words, Needs: []queue.Need{{ID: of.ID, Sub: of.sub, At: at}}}
			n.ID = g.id(n.Job)
			g.add(n)
		}
	}
}

// id is a job's: the same for the same work of the same build, and for no other.
func (g *graph) id(j queue.Job) string { return name(g.sweep.Build, string(mustJSON(j))) }

// after are the commands over all variants.
func (g *graph) after() {
	s := g.sweep
	for k, text := range s.After {
		var needs []queue.Need
		var folders, specs []string
		files := queue.Texts{}
		for v := range s.Variants {
			at := "in/" + s.Variants[v].Name
			for i, seed := range s.Seeds {
				if n := g.last[v][i]; s.Halving == nil || n.rung == len(s.Halving.Rungs)-1 {
					needs = append(needs, queue.Need{ID: n.ID, Sub: n.sub, At: fmt.Sprintf("%s/seed-%d", at, seed)})
					if i == 0 {
						file := s.Variants[v].Name + ".yaml"
						folders, specs, files[file] = append(folders, at), append(specs, file), s.Variants[v].Spec
					}
				}
			}
		}
		words := strings.Fields(strings.NewReplacer("{variants}", strings.Join(folders, " "), "{specs}", strings.Join(specs, " ")).Replace(text))
		n := &node{variant: -1, sub: "out", place: fmt.Sprintf("after/%d-%s", k+1, words[0])}
		n.Job = queue.Job{Name: n.place, Kind: After, Do: words, Needs: needs, Specs: files}
		n.ID = g.id(n.Job)
		g.add(n)
	}
}

// ready says whether everything that a job reads is there; an error says what never will be.
func (g *graph) ready(n *node) (bool, error) {
	all := true
	for _, id := range n.reads() {
		of := g.byID[id]
		if of == nil { // agents that were handed out
			continue
		}
		switch of.state.Phase {
		case queue.Failed:
			return false, fmt.Errorf("it reads %s, which was given up", of.Name)
		case queue.Cancelled:
			return false, fmt.Errorf("it reads %s, which was cancelled", of.Name)
		}
		all = all && of.state.Phase == queue.Done && of.state.File != ""
	}
	return all, nil
}
