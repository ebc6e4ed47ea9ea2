package hop_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/game/tag"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/model/cvae"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/model/sequence"
	"github.com/hop-marl/hop/model/vae"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/pretrain"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec/spectest"
)

// Planners of games in which nobody leaves: goals are reached many times in an
// episode, are actions, or are not there at all. Windows end within episodes.
var games = map[string]string{
	"coin": `
game: {name: coin, size: 3, agents: 2, horizon: 12}
mind: hop
actor: {hidden: [16]}
leaf: {kind: scripts, partners: [own, any, random], scripts: [own, any]}
search: {trees: 2, sims: 6, depth: 1}
belief: {decay: 0.9}
moa: {hidden: [16, 16]}
train: {envs: 6, window: 17, steps: 700, save: 300, warm: {windows: 2, who: [own, any]}, standins: {share: 0.3, who: [any]}}
`,
	"matrix": `
game: {name: matrix, matrix: pd, rounds: 10}
mind: hop
actor: {frame: board, hidden: [16]}
search: {trees: 2, sims: 6}
moa: {frame: board, hidden: [16, 16]}
train: {envs: 6, window: 17, steps: 700, save: 300, warm: {windows: 2, who: [tft, alld]}}
`,
	"tag": `
game: {name: tag, size: 4, predators: 2, prey: 1, horizon: 12}
mind: hop
actor: {hidden: [16]}
goals: {kind: none}
leaf: {kind: scripts, partners: [chase, flee], scripts: [chase, flee]}
search: {trees: 2, sims: 5, depth: 1}
moa: {hidden: [16, 16]}
train: {envs: 6, window: 17, steps: 700, save: 300, warm: {windows: 2, who: [chase, flee]}}
`,
}

// models are folders of small models with weights as they were drawn: what they
// say does not matter here. Points have 3 dimensions, and there are 3 classes.
type models struct{ points, infer, classes, inferClasses, world, response, sequence, reader string }

// untrained writes models for boards of a size.
func untrained(t *testing.T, size int) (dirs models) {
	t.Helper()
	in := frame.Input{Height: size, Width: size, Planes: 7, Rest: 7 + 1 + 28}
	c := vae.Default()
	c.Loss, c.Hidden, c.Dim, c.MOA, c.Outcome = "b", []int{8}, 3, 8, 0.5
	vin := vae.Input{Input: in, Agents: 4, Actions: 7}
	dirs.points = folder(t, "vae", c, vin)(vae.New(c, vin, rng.New(1)))
	c.Discrete = 3
	dirs.classes = folder(t, "vae", c, vin)(vae.New(c, vin, rng.New(2)))
	q, cin := cvae.Config{Dim: 3, Frame: frame.Egof, Feature: 4, GRU: 5, Hidden: []int{6}}, cvae.Input{Input: in, Seats: 4, Actions: 7}
	dirs.infer = folder(t, "cvae", q, cin)(cvae.New(q, cin, rng.New(3)))
	q.Classes = 3
	dirs.inferClasses = folder(t, "cvae", q, cin)(cvae.New(q, cin, rng.New(3)))
	w := world.Default()
	w.Hidden = []int{8}
	win := world.Input{
		Height: size, Width: size, Planes: 7, Agents: 4, Actions: 7, Horizon: 35,
		Legal: 7, Time: 1, Last: 4, Rewards: []float32{0, 1, 5},
	}
	dirs.world = folder(t, "world", w, win)(world.New(w, win, rng.New(4)))
	r := actor.Default()
	r.Hidden, in.Extra = []int{8}, 12
	rin := pretrain.ResponseInput{
		Input: actor.Input{Input: in, Actions: 7}, Seats: 4, Who: []string{"ns", "random", "nh", pretrain.Self}, Scale: 0.2, Share: 0.5,
	}
	dirs.response = folder(t, "response", r, rin)(actor.New(r, rin.Input, rng.New(5)))
	l := sequence.Config{History: "attention", Across: true, Width: 4, Layers: 1, Heads: 2, Up: 8, Window: 7, Head: moa.Default()}
	l.Head.Hidden = []int{16, 16}
	board := staghunt.Default()
	board.Size = size
	g, err := staghunt.New(board)
	if err != nil {
		t.Fatal(err)
	}
	lin := sequence.Input{Input: moa.NewInput(frame.Layout(g.Spec().Obs), 4, g.Spec().Actions, 0), Goals: g.Spec().Goals, Kinds: rin.Who}
	lives, p, err := sequence.New(l, lin, rng.New(6))
	for _, name := range []string{"kind/w", sequence.ActPrefix + "head/w"} { // what it says differs
		part, _ := p.Find(name)
		for i := range part.Len {
			p.W[part.Off+i] *= 300
		}
	}
	dirs.sequence = folder(t, "sequence", l, lin)(lives, p, err)
	l.History, l.Code, l.Untyped = "gru", 3, true
	dirs.reader = folder(t, "sequence", l, lin)(sequence.New(l, lin, rng.New(7)))
	return dirs
}

// folder writes a new model into a folder as hop pretrain leaves it.
func folder(t *testing.T, kind string, config, input any) func(model any, p *nn.Params, err error) string {
	return func(_ any, p *nn.Params, err error) string {
		t.Helper()
		dir := filepath.Join(t.TempDir(), kind)
		run, failed := runlog.Create(dir, []byte("{}\n"), runlog.Info{})
		meta, wrong := json.Marshal(map[string]any{"Config": config, "Input": input})
		if err = errors.Join(err, failed, wrong); err != nil {
			t.Fatal(err)
		}
		defer run.Close()
		f := &safetensors.File{Meta: map[string]string{kind: string(meta)}}
		p.Save(f, "best/")
		p.Save(f, "brain/net/") // where hop pretrain response has it
		body, err := f.AppendBinary(nil)
		if err = errors.Join(err, run.Checkpoint(1, body, 0, runlog.Keep{Last: 1})); err != nil {
			t.Fatal(err)
		}
		return dir
	}
}

// kinds returns how to make short runs of planners with models that were trained before.
func kinds(t *testing.T, dirs models) map[string]func() string {
	vae, classes, cvae := "models.vae="+dirs.points, "models.vae="+dirs.classes, "models.cvae="+dirs.infer
	from := func(text string, sets ...string) func() string {
		return func() string { return spectest.With(t, text, sets...) }
	}
	with := func(sets ...string) func() string { return from(spectest.Planner, sets...) }
	return map[string]func() string{
		"world": with("leaf.kind=net", "search.dynamics=world", "models.world="+dirs.world),
		"vectors": with("leaf.kind=net", "leaf.ahead=2", "search.dynamics=vectors", "search.resample=depth", "vectors.hidden=[8]",
			"vectors.rows=50", "vectors.batch=8", "vectors.steps=3"),
		"view": with("game.view=1", "belief.count=evidence", "goals.kind=latent", "goals.cvae_passes=1", vae, cvae, "leaf.kind=net",
			"search.dynamics=world", "models.world="+dirs.world),
		"all learn": with("goals.kind=latent", "goals.vae_passes=1", "goals.cvae_passes=1", "goals.gate=1", vae, cvae),
		"classes":   with("goals.kind=classes", "goals.vae_passes=1", classes),
		"imagining": from(spectest.ImaginingAlone, "goals.kind=latent", "goals.cvae_passes=1", vae, cvae),
		"discrete":  with("goals.kind=latent", "goals.vae_passes=1", "goals.cvae_passes=1", classes, "models.cvae="+dirs.inferClasses),
		"response": with("leaf.kind=response", "leaf.partners=[]", "goals.kind=latent", "belief.count=evidence", "search.act=mixed", vae, cvae,
			"models.response="+dirs.response),
		"context": with("leaf.kind=response", "leaf.partners=[]", "goals.kind=context", "models.response="+dirs.response,
			"models.sequence="+dirs.sequence, "train.standins.share=0", "train.standins.teams=0"),
		"shared": with("own=ppo", "leaf.kind=net", "goals.kind=context", "goals.life=2", "moa.passes=0", "search.when=play",
			"train.warm.windows=0", "models.sequence="+dirs.reader,
			"train.brains=[0,0,0,0]", "train.standins.share=0.3", "train.standins.teams=0",
			"train.standins.alike=0.4", "train.standins.who=[ns, wander, 'quits(ns,nh,1)']", "actor.turn=true", "actor.unordered=true"),
	}
}

// A planner's run is the same for any number of workers, and stopped anywhere and
// resumed: beliefs, predictions, models and what they remember are in the
// checkpoint, and the folders of models are not needed any more, to go on or to play.
// Nor does it depend on the size of caches: one that mixes what belongs to different goals changes what
// is planned, and one that hardly keeps anything cannot mix: the run that is stopped and resumed has such ones. It takes 10 s
// of processor time: thirteen kinds of planners, each of which keeps something else, in three runs each. Strangers, who cost
// a third of so short a run, watch only those who take in their co-players in another manner.
func TestPlannersResume(t *testing.T) {
	// Three windows, of which the agents play two, and a checkpoint after each: what is kept from one to the next is in all of them.
	briefly := []string{"train.steps=700", "train.save=200", "train.warm.windows=1"}
	sets := func(name string) []string {
		own := briefly
		if name == "imagining" || name == "shared" {
			own = briefly[:2] // which have no warm-up
		}
		if name == "all learn" || name == "classes" || name == "context" {
			return own
		}
		return append(slices.Clone(own), "train.strangers.every=0")
	}
	t.Run("staghunt", func(t *testing.T) { spectest.Promises(t, spectest.With(t, spectest.Planner, briefly...), 3) })
	for name, text := range games {
		t.Run(name, func(t *testing.T) { spectest.Promises(t, spectest.With(t, text, "train.steps=400"), 3) })
	}
	few := func(p *train.Parts) {
		for _, m := range p.Minds {
			m.(interface{ KeepFewAnswers() }).KeepFewAnswers()
		}
	}
	for name := range kinds(t, models{}) {
		t.Run(name, func(t *testing.T) {
			d := untrained(t, 4)
			text := spectest.With(t, kinds(t, d)[name](), sets(name)...)
			_, dir := spectest.PromisesOf(t, text, 3, few, d.points, d.infer, d.classes, d.world, d.response, d.sequence, d.reader)
			if _, err := registry.New().LoadAgents(dir); err != nil {
				t.Error(err)
			}
		})
	}
}

// The model of others learns for every agent: its numbers carry their rows, and
// its weights are no longer those of a run that takes no passes.
func TestEveryPlannerLearnsItsModelOfOthers(t *testing.T) {
	run := spectest.Play(t, spectest.Planner, 5, 1)
	still := spectest.Play(t, spectest.With(t, spectest.Planner, "moa.passes=0"), 5, 1)
	learnt, start := tensors(t, run), tensors(t, still)
	for a := range 4 {
		scored := 0
		for _, p := range run.Seen {
			if slices.ContainsFunc(p.Stats[a], func(s agent.Stat) bool { return s.Name == "moa/top1" && s.N > 0 }) {
				scored++
			}
		}
		if scored < len(run.Seen)/2 {
			t.Errorf("agent %d: the model of others was scored in %d of %d updates", a, scored, len(run.Seen))
		}
		prefix, parts, moved := train.Prefix(a)+"moa/", 0, 0
		for name, data := range start {
			if strings.HasPrefix(name, prefix) && strings.HasSuffix(name, "/w") {
				parts++
				if !bytes.Equal(data, learnt[name]) {
					moved++
				}
			}
		}
		if parts == 0 || moved != parts {
			t.Errorf("agent %d: %d of %d weight matrices of its model of others moved", a, moved, parts)
		}
	}
}

// tensors returns the newest checkpoint's, by name.
func tensors(t *testing.T, run spectest.Run) map[string][]byte {
	t.Helper()
	f, err := safetensors.Parse(run.Last(t))
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string][]byte{}
	for _, x := range f.Tensors {
		byName[x.Name] = x.Data
	}
	return byName
}

// Goals that are switched off leave nothing behind: the run is direct-OM's, bit
// for bit, whatever models the spec names.
func TestGoalsOffIsDirectOM(t *testing.T) {
	d := untrained(t, 4)
	off := spectest.With(t, spectest.Planner, "leaf.kind=net", "goals.kind=none")
	named := spectest.With(t, off, "models.vae="+d.points, "models.cvae="+d.infer)
	if !bytes.Equal(spectest.Play(t, off, 3, 1).Last(t), spectest.Play(t, named, 3, 1).Last(t)) {
		t.Error("models that are not used change the run")
	}
}

func TestModelsMustFit(t *testing.T) {
	d, wide := untrained(t, 4), untrained(t, 5)
	for _, c := range []struct{ goals, vae, cvae, want string }{
		{"latent", "", d.infer, "models.vae"},
		{"latent", d.points, "", "models.cvae"},
		{"latent", wide.points, d.infer, "models.vae"},
		{"latent", d.points, wide.infer, "models.cvae"},
		{"latent", d.classes, d.infer, "classes"},
		{"classes", d.points, "", "discrete"},
		{"latent", "{vae}", "{cvae}", "hop train"},
		{"latent", filepath.Join(t.TempDir(), "none"), d.infer, "models.vae"},
	} {
		text := spectest.Planner + fmt.Sprintf("goals: {kind: %s}\nmodels: {vae: %q, cvae: %q}\n", c.goals, c.vae, c.cvae)
		spectest.Refused(t, c.want, text)
	}
}

// What cannot be read is refused: a model of others beside the one that reads lives, or one that
// reads lives where nothing asks it; another head, other kinds; co-players who change; a view;
// imagined steps.
func TestContextsMustFit(t *testing.T) {
	d, wide := untrained(t, 4), untrained(t, 5)
	text := kinds(t, d)["context"]()
	for set, want := range map[string]string{
		"models.sequence=":                 "models.sequence",
		"models.sequence=" + wide.sequence: "models.sequence",
		"models.moa=" + d.world:            "models.sequence is the model of others",
		"goals.kind=none":                  "set goals.kind to context",
		"moa.hidden=[8,8]":                 "train it with the spec's net",
		"leaf.kind=scripts":                "leaf.partners",
		"train.standins.share=0.1":         "a life among the same co-players",
	} {
		spectest.Refused(t, want, text, set)
	}
	others := []string{"leaf.kind=both", "leaf.partners=[ns,nh,random]"}
	spectest.Refused(t, "hop collect --population", text, others...)
	alone := []string{"leaf.kind=net", "search.kind=none", "own=ppo", "train.warm.windows=0"}
	spectest.Refused(t, "reads no imagined steps", text, append(alone, "imagine.on=true")...)
}

// Games without goals are read too: data say that there are none as an empty list, and the game as nothing.
func TestContextsNeedNoGoals(t *testing.T) {
	const text = `
game: {name: tag, size: 4, predators: 2, prey: 1, horizon: 12}
mind: hop
own: ppo
actor: {hidden: [16]}
goals: {kind: context, life: 2}
leaf: {kind: net}
search: {trees: 2, sims: 5, depth: 1, when: play}
moa: {hidden: [16, 16], passes: 0}
train: {envs: 6, window: 17, steps: 200, save: 200}
`
	c := tag.Default()
	c.Size, c.Predators, c.Horizon = 4, 2, 12
	g, err := tag.New(c)
	if err != nil {
		t.Fatal(err)
	}
	sp := g.Spec()
	for _, goals := range [][]string{nil, {}} {
		c := sequence.Config{History: "gru", Code: 3, Untyped: true, Width: 4, Layers: 1, Heads: 2, Up: 8, Window: 7, Head: moa.Default()}
		c.Head.Hidden = []int{16, 16}
		in := sequence.Input{Input: moa.NewInput(frame.Layout(sp.Obs), sp.Seats, sp.Actions, 0), Goals: goals, Kinds: []string{"chase", "flee"}}
		reader := folder(t, "sequence", c, in)(sequence.New(c, in, rng.New(7)))
		spectest.Play(t, text+"models: {sequence: "+reader+"}\n", 3, 1)
	}
}

// What planners learnt about each other is in their run's folder: it says what
// every other one would do for a goal, from its own place, and nothing of oneself.
func TestWhatPlannersKnowOfEachOtherIsLoaded(t *testing.T) {
	saved, err := registry.New().Open(spectest.Play(t, spectest.Planner, 3, 1).Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	about, err := saved.Predictions()
	if err != nil {
		t.Fatal(err)
	}
	spec, r := saved.Game.Spec(), rng.New(1).Rand()
	st := saved.Game.New()
	st.Reset(&r)
	obs, legal := make([]float32, spec.Obs.Len()), make([]bool, len(spec.Actions))
	st.Observe(1, obs)
	st.Legal(1, legal)
	if len(about) != spec.Seats {
		t.Fatalf("%d agents know something, want %d", len(about), spec.Seats)
	}
	probs := make([][]float32, len(spec.Goals))
	for goal := range probs {
		probs[goal] = make([]float32, len(spec.Actions))
		if !about[0](probs[goal], obs, 1, goal) {
			t.Fatalf("agent 0 says nothing of agent 1 with goal %d", goal)
		}
		sum := 0.
		for k, p := range probs[goal] {
			if sum += float64(p); p > 0 && !legal[k] {
				t.Errorf("action %d is not legal but has probability %v", k, p)
			}
		}
		if math.Abs(sum-1) > 1e-5 {
			t.Errorf("goal %d: probabilities add up to %v", goal, sum)
		}
	}
	if slices.Equal(probs[0], probs[1]) {
		t.Error("both goals lead to the same prediction: the model does not read them")
	}
	if about[0](probs[0], obs, 0, 0) || about[0](probs[0], obs, 1, game.NoGoal) {
		t.Error("agent 0 claims to know itself, or someone without a goal")
	}
	if saved, err = registry.New().Open(spectest.Play(t, spectest.Small(""), 3, 1).Dir, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := saved.Predictions(); err == nil || !strings.Contains(err.Error(), "do not plan") {
		t.Errorf("a run without planners gave %v, want what is missing", err)
	}
}

// A network that reads no goals plays among planners whose windows hold some.
func TestFrozenNetworksPlayAmongPlanners(t *testing.T) {
	who := filepath.ToSlash(spectest.Play(t, spectest.Small(""), 1, 1).Dir) + "#0"
	text := spectest.With(t, spectest.Planner, "train.standins.share=0.5", "train.standins.teams=0", "train.standins.who=['"+who+"']")
	spectest.Play(t, text, 3, 1)
}

// What co-players do is learnt from episodes that end at a limit which nobody sees too, and not from those that a
// window cuts.
func TestOthersAreLearntUpToAHiddenLimit(t *testing.T) {
	for rounds, want := range map[string]float64{"game.rounds=10": 40, "game.rounds=12": 0} {
		text := spectest.With(t, "base: hop-ipd", rounds, "game.hidden=true", "train.envs=4", "train.window=11", "train.steps=40",
			"train.warm.windows=0", "train.standins.share=0", "search.trees=1", "search.sims=4")
		rows := spectest.Play(t, text, 1, 1).Seen[0].Rows
		at := slices.IndexFunc(rows, func(r runlog.Row) bool { return r.Name == "buffer/others" })
		if at < 0 || rows[at].Value != want {
			t.Errorf("%s in a window of 11: the model of others has %+v to learn from, want %v rows", rounds, rows[max(at, 0)], want)
		}
	}
}
