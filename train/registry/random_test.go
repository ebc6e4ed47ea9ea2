package registry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/hop-marl/hop/cmd/cli"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
)

// TestRandomSpecs draws specs that pass validation, over all games and minds. Each
// one is built, runs, says nothing that is not a number, and can be stopped: what
// a fresh build goes on to from a checkpoint ends in the same bytes, with any
// number of workers. Its agents can be loaded and play. It takes 7 s of processor time: each
// spec is a run, several times over.
//
// HOP_SPECS=500 HOP_SPECS_FROM=1000 go test ./train/registry tries more than usual.
func TestRandomSpecs(t *testing.T) {
	count, from := 12, 0
	light := os.Getenv("HOP_SPECS") == ""
	if n, err := strconv.Atoi(os.Getenv("HOP_SPECS")); err == nil {
		count = n
	}
	if n, err := strconv.Atoi(os.Getenv("HOP_SPECS_FROM")); err == nil {
		from = n
	}
	models := &models{dir: t.TempDir()}
	tries, drawn := 0, map[string]int{}
	for seed := from; seed < from+count; seed++ {
		d := drawing{t: t, reg: registry.New(), r: rng.New(uint64(seed)).Child("spec").Rand(), models: models, light: light}
		names := d.reg.PlainGames()
		s, n := d.valid(names[seed%len(names)])
		tries += n
		drawn[s.Game.Name]++
		drawn["mind "+s.Mind.Name]++
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runAndResume(t, &s) })
	}
	t.Logf("%d specs of %d that were drawn are valid: %v", count, tries, drawn)
	if tries > 10*count {
		t.Errorf("only %d of %d specs are valid: the test draws badly", count, tries)
	}
	for _, name := range append(registry.New().PlainGames(), "mind ppo", "mind hop", "mind lola", "mind influence") {
		if drawn[name] == 0 && count >= 40 {
			t.Errorf("%s was never drawn", name)
		}
	}
}

// TestSpecsThatFailedOnce runs what random specs, or users, have found.
func TestSpecsThatFailedOnce(t *testing.T) {
	for name, sets := range map[string][]string{
		"past selves twice in a population": {"train.standins.who=[past, ns, past]", "train.standins.share=1", "train.save=1"},
		"stages with a planner":             {"mind=hop", "search.sims=4", "train.stages=[{at: 20, set: [game.hares=1]}]"},
		"no row of a learner's own":         {"train.team=[ns, nh, ns, nh]"},
		"a script that looks back further than agents see": {"game.name=matrix", "game.matrix=pd", "game.rounds=4", "mind=hop",
			"actor.frame=board", "train.window=4", "train.steps=25", "goals.doubt=false", "moa.frame=board", "moa.hidden=[6, 5]",
			"search.kind=onestep", "search.trees=3", "search.unvisited=node", "search.act=q", "moa.passes=0", "leaf.kind=scripts",
			"leaf.partners=[tft, random]", "leaf.scripts=[grim]", "leaf.repeat=2"},
		"convolutions": {"actor.net=conv", "actor.frame=board", "train.brains=[0, 0, 0, 0]"},
	} {
		t.Run(name, func(t *testing.T) {
			small := []string{"game.size=4", "train.envs=3", "train.window=9", "train.steps=200", "actor.hidden=[6]", "ppo.epochs=1"}
			s, err := registry.New().Parse([]byte("{}"), "x.yaml", "x", append(small, sets...))
			if err != nil {
				t.Fatal(err)
			}
			runAndResume(t, &s)
		})
	}
}

// runAndResume is what must hold for every valid spec.
func runAndResume(t *testing.T, s *spec.Spec) {
	t.Helper()
	text, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("%s\nof the spec\n%s", fmt.Sprintf(format, args...), text)
	}
	defer func() {
		if p := recover(); p != nil {
			fail("panic: %v\n%s", p, debug.Stack())
		}
	}()
	dir := filepath.Join(t.TempDir(), "run")
	log, err := runlog.Create(dir, text, runlog.Info{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	whole, err := s.Build(3, spec.Machine{Workers: 1})
	if err != nil {
		fail("a valid spec is not built: %v", err)
	}
	if err := windows(whole, log, 2); err != nil {
		fail("%v", err)
	}
	saved, err := whole.Save()
	if err != nil {
		fail("saving: %v", err)
	}
	again, err := registry.New().Parse(text, "spec.yaml", "again", nil)
	if err != nil {
		fail("the resolved spec is not valid: %v", err)
	}
	resumed, err := again.Build(3, spec.Machine{Workers: 2, Saved: saved})
	if err != nil {
		fail("a saved run is not built: %v", err)
	}
	if err := resumed.Load(saved); err != nil {
		fail("loading: %v", err)
	}
	other, err := runlog.Create(dir+"-2", text, runlog.Info{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := errors.Join(windows(whole, log, 1), windows(resumed, other, 1)); err != nil {
		fail("%v", err)
	}
	want, err := whole.Save()
	if err != nil {
		fail("saving: %v", err)
	}
	if got, err := resumed.Save(); err != nil || !bytes.Equal(got, want) {
		fail("the resumed run ends in other bytes than the uninterrupted one (%v)", err)
	}
	agents, err := registry.New().LoadAgents(dir)
	if err != nil {
		fail("its agents cannot be loaded: %v", err)
	}
	for _, own := range [][]eval.Member{agents.Members, agents.Greedy} {
		team, err := s.Team(agents, own)
		if err != nil {
			fail("the team: %v", err)
		}
		res, err := eval.Run(context.Background(), eval.Config{Game: agents.Game, Team: team, Episodes: 1, Workers: 1, Key: rng.New(1)})
		if err != nil || math.IsNaN(res.Mean.Mean()) {
			fail("its agents do not play: %v", err)
		}
	}
}

// windows runs so many windows, fewer at the end of a run.
func windows(loop *train.SelfPlay, log *runlog.Run, n int) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var errs []error
	err := loop.Run(ctx, log, func(p *train.Progress) {
		for _, row := range p.Rows {
			if math.IsNaN(row.Value) || math.IsInf(row.Value, 0) {
				errs = append(errs, fmt.Errorf("%s of agent %d is %v at step %d", row.Name, row.Agent, row.Value, row.Step))
			}
		}
		for _, list := range p.Stats {
			for _, st := range list {
				if math.IsNaN(st.Value) || math.IsInf(st.Value, 0) {
					errs = append(errs, fmt.Errorf("%s is %v over %d rows", st.Name, st.Value, st.N))
				}
			}
		}
		if n--; n == 0 {
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// models makes tiny models of one game when they are first asked for.
type models struct {
	dir  string
	once sync.Once
}

// modelled are the flags of the game that the models know.
var modelled = []string{"game.name=staghunt", "game.size=4", "game.agents=2", "game.horizon=7"}

func (m *models) make(t *testing.T) {
	m.once.Do(func() {
		var game []string
		for _, set := range modelled[1:] {
			game = append(game, "--set", set)
		}
		for _, line := range []string{
			"collect GAME --mix ns,nh --rows 300 --seed 7 --out DIR/data",
			"pretrain vae SMALL --out DIR/vae --loss b --set model.outcome=1 --set model.hidden=[8] --set model.dim=3",
			"pretrain vae SMALL --out DIR/classes --loss b --set model.outcome=1 --set model.hidden=[8] --set model.discrete=3",
			"pretrain cvae SMALL --vae DIR/vae --out DIR/cvae --set model.gru=4 --set model.feature=6 --set model.hidden=[5]",
			"pretrain world SMALL --out DIR/world --set model.hidden=[8] --probe 20 --plays 1",
			"pretrain response GAME --out DIR/response --set steps=200 --set envs=4 --set window=10 --set net.hidden=[8] --episodes 4",
			"pretrain moa --data DIR/data --condition goal --epochs 1 --set model.hidden=[6,5] --out DIR/moa",
		} {
			line = strings.ReplaceAll(line, "SMALL", "--data DIR/data --set epochs=1")
			var words []string
			for _, w := range strings.Fields(strings.ReplaceAll(line, "DIR", m.dir)) {
				if w == "GAME" {
					words = append(words, game...)
				} else {
					words = append(words, w)
				}
			}
			var errs strings.Builder
			if code := cli.Run(context.Background(), registry.New(), words, strings.NewReader(""), io.Discard, &errs); code != 0 {
				t.Fatalf("hop %s: exit %d\n%s", strings.Join(words, " "), code, errs.String())
			}
		}
	})
}

// drawing draws one spec.
type drawing struct {
	t      *testing.T
	reg    *spec.Registry
	r      rng.Rand
	models *models
	light  bool // without the networks that take seconds to make
	spec   spec.Spec
}

// valid draws specs of a game until one is valid, and returns how many that took.
func (d *drawing) valid(game string) (spec.Spec, int) {
	mind := d.oneOf("hop", "hop", "hop", "ppo", "ppo", "lola", "influence", "rl2")
	if game == "cartpole" {
		mind = "ppo" // the others need somebody to play with
	}
	for n := 1; ; n++ {
		if d.draw(game, mind); d.spec.Validate() == nil {
			return d.spec, n
		}
		if n == 100 {
			d.t.Fatalf("100 specs were drawn and none is valid, the last because of %v", d.spec.Validate())
		}
	}
}

func (d *drawing) chance(p float64) bool    { return d.r.Float64() < p }
func (d *drawing) between(lo, hi int) int   { return lo + d.r.IntN(hi-lo+1) }
func (d *drawing) oneOf(l ...string) string { return l[d.r.IntN(len(l))] }

// set sets fields that must exist.
func (d *drawing) set(format string, args ...any) {
	d.t.Helper()
	if err := d.spec.Set(fmt.Sprintf(format, args...)); err != nil {
		d.t.Fatal(err)
	}
}

// has reports that the spec has a field.
func (d *drawing) has(path string) bool {
	return slices.ContainsFunc(d.spec.Fields(), func(f config.Info) bool { return f.Path == path })
}

// sizes keep what is drawn small, by field; they are always drawn.
var sizes = map[string][2]int{
	"game.size": {4, 5}, "game.horizon": {1, 9}, "game.agents": {2, 3}, "game.rounds": {1, 5}, "game.limit": {1, 30}, "game.blocks": {0, 1},
	"game.predators": {1, 2}, "game.prey": {1, 2}, "game.orchard": {1, 1}, "game.river": {1, 1},
	"train.envs": {1, 4}, "train.window": {1, 9}, "train.save": {1, 60}, "eval.episodes": {2, 2},
	"ppo.epochs": {1, 2}, "ppo.minibatch": {1, 40}, "ppo.seq_len": {1, 12}, "moa.batch": {1, 40}, "moa.passes": {0, 2}, "moa.shards": {1, 2},
	"search.trees": {1, 3}, "search.sims": {0, 8}, "leaf.repeat": {1, 2}, "influence.epochs": {1, 2},
	"imagine.length": {1, 9}, "imagine.steps": {1, 3}, "imagine.rows": {256, 300}, "imagine.batch": {16, 20}, "imagine.refresh": {1, 2},
	"goals.vae_passes": {0, 1}, "goals.cvae_passes": {0, 1}, "goals.ahead": {1, 5},
}

// widths are layers, by field.
var widths = map[string]string{
	"actor.hidden": "[6]", "moa.hidden": "[6,5]", "influence.hidden": "[5]",
	"imagine.model.hidden": "[5]", "imagine.model.dense": "[5]",
}

func (d *drawing) draw(game, mind string) {
	d.spec = d.reg.Default()
	withModels := game == "staghunt" && d.chance(0.8)
	d.set("mind=%s", mind)
	if withModels {
		d.models.make(d.t)
		for _, set := range modelled {
			d.set("%s", set)
		}
	} else {
		d.set("game.name=%s", game)
	}
	d.kinds(withModels)
	for _, f := range d.spec.Fields() {
		if withModels && strings.HasPrefix(f.Path, "game.") {
			continue
		}
		if lim, ok := sizes[f.Path]; ok {
			d.set("%s=%d", f.Path, d.between(lim[0], lim[1]))
		} else if w, ok := widths[f.Path]; ok {
			d.set("%s=%s", f.Path, w)
		} else if d.chance(0.15) {
			d.any(f)
		}
	}
	if d.spec.Game.Name == "foraging" {
		d.set("game.size=5")
	}
	if d.light {
		d.set("actor.net=dense")
	}
	if !d.has("game.size") || d.spec.Actor.Net == "conv" {
		d.set("actor.frame=board")
	}
	if d.spec.Mind.Name != "ppo" || d.spec.Imagine.On {
		d.set("actor.lstm=0")
	}
	if d.spec.Mind.Name == "rl2" {
		d.set("actor.lstm=5")
		d.set("actor.net=dense")
		d.set("actor.separate=false")
		d.set("imagine.on=false")
	}
	if d.spec.Mind.Name == "hop" {
		d.set("moa.history=0")
		if !d.has("game.size") || d.value("moa.net") == "conv" {
			d.set("moa.frame=board")
		}
		if d.value("models.moa") != `""` { // its net is what it was trained as
			d.set("moa.net=dense")
			d.set("moa.frame=egof")
			d.set("moa.distances=true")
		}
	}
	d.set("train.steps=%d", d.spec.Train.Envs*d.spec.Train.Window*d.between(2, 9)+1)
	if g, err := d.spec.Game.Build(); err == nil {
		d.team(g, withModels)
	}
}

// kinds chooses what the blocks are, and which models they use.
func (d *drawing) kinds(withModels bool) {
	if d.spec.Mind.Name == "ppo" && d.chance(0.4) {
		d.set("imagine.on=true")
		d.set("imagine.trust=%s", d.oneOf("0", "0", "0.5"))
		if withModels && d.chance(0.5) {
			d.set("imagine.world=%s/world", d.models.dir)
		}
	}
	if d.spec.Mind.Name != "hop" {
		return
	}
	d.set("search.kind=%s", d.oneOf("tree", "tree", "tree", "onestep", "none"))
	d.set("leaf.kind=%s", d.oneOf("net", "net", "scripts", "both"))
	d.set("goals.kind=%s", d.oneOf("none", "hand", "hand"))
	if d.value("search.kind") == "none" || d.chance(0.3) {
		d.set("own=ppo")
	}
	if d.value("search.kind") == "none" && d.chance(0.6) {
		d.set("leaf.kind=net")
		d.set("imagine.on=true")
		d.set("imagine.trust=%s", d.oneOf("0", "0", "0.5"))
		d.set("imagine.others=%s", d.oneOf("brains", "model"))
	}
	if !withModels {
		return
	}
	if d.chance(0.3) {
		d.set("goals.kind=latent")
		d.set("models.vae=%s/vae", d.models.dir)
		d.set("models.cvae=%s/cvae", d.models.dir)
	} else if d.chance(0.3) {
		d.set("goals.kind=classes")
		d.set("models.vae=%s/classes", d.models.dir)
	} else if d.chance(0.3) {
		d.set("goals.kind=hand")
		d.set("models.moa=%s/moa", d.models.dir)
	}
	if d.chance(0.3) {
		d.set("leaf.kind=response")
		d.set("leaf.partners=[]") // those that it knows
		d.set("models.response=%s/response", d.models.dir)
	}
	if d.chance(0.4) {
		d.set("search.dynamics=world")
		d.set("models.world=%s/world", d.models.dir)
		if k := d.oneOf("net", "response"); d.value("leaf.kind") != "response" || k == "net" {
			d.set("leaf.kind=net")
		}
	}
}

// value returns a field as it would be written.
func (d *drawing) value(path string) string {
	for _, f := range d.spec.Fields() {
		if f.Path == path {
			return f.Default
		}
	}
	return ""
}

// any draws a value of a field as its description allows.
func (d *drawing) any(f config.Info) {
	name := f.Path[strings.LastIndex(f.Path, ".")+1:]
	block, _, _ := strings.Cut(f.Path, ".")
	apart := []string{"kind", "on", "dynamics", "fault", "name", "mind", "own", "world"} // what is drawn elsewhere, or not at all
	if slices.Contains(apart, name) || block == "models" || block == "train" {
		return
	}
	if words, ok := strings.CutPrefix(f.Want, "one of "); ok && !strings.HasPrefix(f.Type, "list") {
		d.set("%s=%s", f.Path, d.oneOf(strings.Split(words, ", ")...))
		return
	}
	lo, hi := 0., 6.
	for _, part := range strings.Split(f.Want, ", ") {
		words := strings.Fields(part)
		if len(words) < 2 {
			continue
		}
		x, err := strconv.ParseFloat(words[len(words)-1], 64)
		if err != nil {
			continue
		}
		switch words[0] + " " + words[1] {
		case "at least":
			lo = x
		case "at most":
			hi = min(hi, x)
		case "below " + words[1]:
			hi = min(hi, x-0.01)
		case "above " + words[1]:
			lo = x + 0.01
		}
	}
	if strings.Contains(name, "lr") || name == "rate" {
		hi = min(hi, 0.01) // larger steps are refused where they lead to numbers that are none
	}
	switch hi = max(hi, lo); f.Type {
	case "yes or no":
		d.set("%s=%v", f.Path, d.chance(0.5))
	case "int":
		d.set("%s=%d", f.Path, d.between(int(math.Ceil(lo)), int(hi)))
	case "number":
		d.set("%s=%s", f.Path, d.oneOf(fmt.Sprint(lo), fmt.Sprint(hi), fmt.Sprint(lo+(hi-lo)*d.r.Float64())))
	}
}

// team chooses who plays, when, and on which rules.
func (d *drawing) team(g game.Game, withModels bool) {
	seats := g.Spec().Seats
	var bots []string
	for _, b := range g.Bots() {
		bots = append(bots, b.Name)
	}
	list := func(n int, from ...string) string {
		var out []string
		for range n {
			out = append(out, d.oneOf(from...))
		}
		return "[" + strings.Join(out, ",") + "]"
	}
	step := func() int { return d.r.IntN(3 * d.spec.Train.Envs * d.spec.Train.Window) }
	if d.has("leaf.partners") && d.value("leaf.kind") != "response" {
		n := len(g.Spec().Goals)
		if d.value("goals.doubt") == "true" {
			n++
		}
		d.set("leaf.partners=%s", list(max(n, 1), bots...))
	}
	if d.has("leaf.scripts") {
		d.set("leaf.scripts=%s", list(d.between(1, 2), bots...))
	}
	if d.spec.Mind.Name == "ppo" && d.chance(0.3) {
		d.set("train.brains=%s", list(seats, "0", "1", "5"))
	}
	if d.chance(0.2) {
		d.set("train.team=%s", list(seats, append([]string{"learn", "learn", "learn"}, bots...)...))
	}
	if d.chance(0.2) {
		d.set("train.switch=[{at: %d, agent: %d, to: %s}]", step(), d.r.IntN(seats), d.oneOf(append(bots, "learn")...))
	}
	if goals := g.Spec().Goals; len(goals) > 0 && d.chance(0.2) {
		d.set("train.goal_weight=[{goal: %s, from: %d, to: %d, over: %d}]", d.oneOf(goals...), d.r.IntN(3), d.r.IntN(3), 1+step())
	}
	if d.chance(0.3) {
		d.set("train.standins.who=%s", list(d.between(1, 3), append(bots, "past")...))
		d.set("train.standins.share=%s", d.oneOf("0", "0.3", "1"))
		d.set("train.standins.share_end=%s", d.oneOf("-1", "-1", "0.5"))
		d.set("train.standins.over=%d", d.oneOfInt(0, 1, 20))
		d.set("train.standins.teams=%s", d.oneOf("0", "0", "0.5"))
	}
	if d.chance(0.2) {
		d.set("train.warm.windows=%d", d.between(1, 2))
		d.set("train.warm.who=%s", list(2, bots...))
	}
	if d.chance(0.25) && !withModels {
		var fields []config.Info
		for _, f := range d.spec.Game.Fields() {
			if _, size := sizes[f.Path]; !size || f.Path == "game.horizon" {
				fields = append(fields, f)
			}
		}
		if len(fields) > 0 {
			f := fields[d.r.IntN(len(fields))]
			keep := d.spec
			if d.any(f); f.Path == "game.horizon" {
				d.set("game.horizon=%d", d.between(1, 9))
			}
			value := d.value(f.Path)
			d.spec = keep
			d.set("%s=%s", f.Path, f.Default) // the parameters of a copy are the same ones
			d.set("train.stages=[{at: %d, set: ['%s=%s']}]", step(), f.Path, value)
		}
	}
}

func (d *drawing) oneOfInt(l ...int) int { return l[d.r.IntN(len(l))] }
