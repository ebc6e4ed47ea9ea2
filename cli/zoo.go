package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"hop/exp"
	"hop/f32"
	"hop/runlog"
)

// zooCmd keeps co-players that have learnt.
type zooCmd struct {
	Train zooTrainCmd `cmd:"" help:"Train a small set of co-players; those that exist are kept."`
	List  zooListCmd  `cmd:"" help:"List the co-players there are."`
}

// breed is a kind of co-player and how its spec differs from the game's plain PPO.
type breed struct {
	name, doc string
	set       []string
}

// breeds lists them. On boards where plain PPO ends in hares, all but the first
// see the hare's reward fade in (train.goal_weight of the preset).
var breeds = []breed{
	{"selfish", "PPO on one's own reward, no help: on 8x8 it takes hares", []string{"train.goal_weight=[]"}},
	{"weaned", "PPO on one's own reward; where the preset has it, the hare's reward fades in: hunts the stag", nil},
	{"prosocial", "PPO on the team's mean reward", []string{"ppo.prosocial=1"}},
	{"lola", "opponent-learning awareness (Foerster et al. 2018)", []string{"lola.on=true"}},
	{"influence", "paid for social influence (Jaques et al. 2019)", []string{"influence.on=true"}},
}

type zooTrainCmd struct {
	gameFlags
	Who     []string `help:"Which to train; all: every kind." default:"all" placeholder:"KIND,..."`
	Best    bool     `help:"Also train, for each of them, a PPO best response to three of it, hop adapt's reference."`
	Steps   int      `help:"Env steps of each; 0: as the game's preset, at most two million." default:"0"`
	Seed    uint64   `help:"Seed of each." default:"1"`
	Out     string   `help:"Folder of the zoo." default:"zoo"`
	Workers int      `help:"Cores to use; 0: all. Numbers do not depend on it." default:"0"`
	JSON    bool     `help:"Print one JSON object."`
}

func (zooTrainCmd) Help() string {
	var kinds strings.Builder
	for _, b := range breeds {
		fmt.Fprintf(&kinds, "  %-10s %s\n", b.name, b.doc)
	}
	return `Examples:

  hop zoo train
  hop zoo train --game staghunt --set game.size=8 --set game.blocks=5 --who selfish,prosocial --out zoo
  hop adapt runs/hop-8x8-001 --vs prosocial,prosocial,prosocial --zoo zoo

Kinds:

` + kinds.String() + `
Each gets a folder named by a hash of its whole spec and seed: the same command keeps what is there, goes on with what was stopped, and trains what is new.`
}

// zooEntry is one trained kind.
type zooEntry struct {
	Name     string         `json:"name"`
	Run      string         `json:"run"`
	Game     map[string]any `json:"game"`
	Seed     uint64         `json:"seed"`
	Status   string         `json:"status"`
	Reused   bool           `json:"reused,omitempty"`
	Mean     float64        `json:"mean"`
	Agents   []float64      `json:"agents,omitempty"`
	EnvSteps int            `json:"env_steps"`
	CPU      float64        `json:"cpu_s"`
}

type zooJSON struct {
	Zoo     string     `json:"zoo"`
	Members []zooEntry `json:"members"`
}

func (c zooTrainCmd) Run(a *app) error {
	if err := f32.KernelsErr(); err != nil {
		return err
	}
	g, _, err := c.build(a)
	if err != nil {
		return err
	}
	var kinds []breed
	for _, b := range breeds {
		if slices.Contains(c.Who, b.name) || slices.Contains(c.Who, "all") {
			kinds = append(kinds, b)
		}
	}
	for _, name := range c.Who {
		if name != "all" && !slices.ContainsFunc(breeds, func(b breed) bool { return b.name == name }) {
			return usage("--who %s: there is no such kind; there are %s", name, strings.Join(breedNames(), ", "))
		}
	}
	out := zooJSON{Zoo: c.Out}
	for _, b := range kinds {
		e, err := c.raise(a, b)
		if err != nil {
			return err
		}
		out.Members = append(out.Members, e)
		if !c.Best {
			continue
		}
		team := []string{"learn"}
		for i := 1; i < g.Spec().Seats; i++ {
			team = append(team, fmt.Sprintf("%s#%d", e.Run, i))
		}
		best := breed{name: "best-" + b.name, set: []string{"train.team=[" + strings.Join(team, ",") + "]"}}
		if e, err = c.raise(a, best); err != nil {
			return err
		}
		out.Members = append(out.Members, e)
	}
	if c.JSON {
		return a.emit(out)
	}
	return zooTable(a, out.Members)
}

func breedNames() []string {
	var names []string
	for _, b := range breeds {
		names = append(names, b.name)
	}
	return names
}

// spec returns what a kind of co-player is trained by.
func (c zooTrainCmd) spec(a *app, b breed) (exp.Spec, error) {
	sets := append(slices.Clone(c.Set), b.set...)
	base := "ppo-4x4"
	switch c.Game {
	case "staghunt":
		s, err := a.reg.Load(base, c.Set)
		if err != nil {
			return s, err
		}
		game, err := s.Game.Map()
		if err != nil {
			return s, err
		}
		if size, ok := game["size"].(int); ok && size > 4 {
			base = "ppo-8x8"
		}
	case "snowdrift", "matrix":
		base = "ppo-" + c.Game
	default:
		sets = append([]string{"game.name=" + c.Game}, sets...)
	}
	s, err := a.reg.Load(base, append(sets, "name=zoo-"+b.name))
	if err != nil {
		return s, err
	}
	if s.Train.Steps = min(s.Train.Steps, 2_000_000); c.Steps > 0 {
		s.Train.Steps = c.Steps
	}
	s.Eval.Episodes = min(s.Eval.Episodes, 2_000)
	s.Train.Save = max(1, min(s.Train.Save, s.Train.Steps))
	return s, s.Validate()
}

// raise returns a trained kind: the one that is there, or a new one.
func (c zooTrainCmd) raise(a *app, b breed) (zooEntry, error) {
	s, err := c.spec(a, b)
	if err != nil {
		return zooEntry{}, usageError{err}
	}
	text, err := s.YAML()
	if err != nil {
		return zooEntry{}, err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "zoo 1\nseed %d\n%s", c.Seed, text))
	dir := filepath.Join(c.Out, b.name+"-"+hex.EncodeToString(sum[:4]), fmt.Sprintf("seed-%d", c.Seed))
	if e, err := a.readZoo(dir); err == nil && e.Status == "done" {
		fmt.Fprintf(a.err, "%s: kept %s\n", b.name, dir)
		e.Reused = true
		return e, nil
	}
	j := &job{seed: c.Seed, spec: s}
	if _, err := os.Stat(filepath.Join(dir, "spec.yaml")); err == nil {
		j.resume = true
		j.run, err = runlog.Open(dir)
		if err != nil {
			return zooEntry{}, err
		}
	} else {
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			return zooEntry{}, fmt.Errorf("making %s: %w; choose another folder with --out", dir, err)
		}
		j.run, err = runlog.Create(dir, text, runlog.Info{Preset: s.Name, Seed: c.Seed, Command: os.Args, Version: version, Kernels: f32.Kernels()})
		if err != nil {
			return zooEntry{}, err
		}
	}
	defer j.run.Close()
	workers := c.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	board := a.board(setup{name: s.Name, folder: dir, seeds: []uint64{c.Seed}, cores: workers}, cancel)
	err = j.work(ctx, a.reg, workers, board)
	board.end()
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(a.err, "stopped; everything is saved. The same command goes on.")
	}
	if err != nil {
		return zooEntry{}, err
	}
	return a.readZoo(dir)
}

// readZoo reads one seed's folder of a zoo.
func (a *app) readZoo(dir string) (zooEntry, error) {
	e := zooEntry{Run: dir}
	env, err := runlog.ReadEnv(dir)
	if err != nil {
		return e, err
	}
	text, err := runlog.ReadSpec(dir)
	if err != nil {
		return e, err
	}
	s, err := a.reg.Parse(text, filepath.Join(dir, "spec.yaml"), "zoo", nil)
	if err != nil {
		return e, err
	}
	if e.Game, err = s.Game.Map(); err != nil {
		return e, err
	}
	e.Name, e.Seed, e.Status = strings.TrimPrefix(s.Name, "zoo-"), env.Seed, env.Status
	b, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	var r seedJSON
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		return e, fmt.Errorf("reading the result of %s: %w", dir, err)
	}
	e.Mean, e.Agents, e.EnvSteps, e.CPU = r.Mean, r.Agents, r.EnvSteps, r.CPU
	return e, nil
}

// readZoos reads a whole zoo, by name and folder.
func (a *app) readZoos(out string) ([]zooEntry, error) {
	dirs, err := filepath.Glob(filepath.Join(out, "*", "seed-*"))
	if err != nil {
		return nil, err
	}
	var list []zooEntry
	for _, dir := range dirs {
		e, err := a.readZoo(dir)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b zooEntry) int { return strings.Compare(a.Name+a.Run, b.Name+b.Run) })
	return list, nil
}

type zooListCmd struct {
	Out  string `help:"Folder of the zoo." default:"zoo"`
	JSON bool   `help:"Print one JSON object."`
}

func (zooListCmd) Help() string {
	return `Example:

  hop zoo list --out zoo`
}

func (c zooListCmd) Run(a *app) error {
	list, err := a.readZoos(c.Out)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.emit(zooJSON{Zoo: c.Out, Members: list})
	}
	if len(list) == 0 {
		fmt.Fprintf(a.out, "%s holds no co-players; train some with: hop zoo train --out %s\n", c.Out, c.Out)
		return nil
	}
	return zooTable(a, list)
}

func zooTable(a *app, list []zooEntry) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "name\tmean\tagents\tenv steps\tgame\tfolder")
	for _, e := range list {
		var agents []string
		for _, x := range e.Agents {
			agents = append(agents, fmt.Sprintf("%.2f", x))
		}
		mean := e.Status
		if e.Status == "done" {
			mean = fmt.Sprintf("%.3f", e.Mean)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", e.Name, mean, strings.Join(agents, " "), short(float64(e.EnvSteps)), gameWords(a.reg, e.Game), e.Run)
	}
	return w.Flush()
}

// gameWords says which game it is: its name and the parameters that differ from
// their defaults.
func gameWords(reg *exp.Registry, params map[string]any) string {
	name, _ := params["name"].(string)
	plain := map[string]any{}
	if g, err := reg.NewGame(name); err == nil {
		plain, _ = g.Map()
	}
	words := []string{name}
	for _, k := range slices.Sorted(maps.Keys(params)) {
		if fmt.Sprint(params[k]) != fmt.Sprint(plain[k]) {
			words = append(words, fmt.Sprintf("%s=%v", k, params[k]))
		}
	}
	return strings.Join(words, " ")
}
