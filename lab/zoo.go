package lab

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hop/exp"
	"hop/f32"
	"hop/internal/disk"
	"hop/runlog"
)

// Breed is a kind of co-player and how its spec differs from the game's plain PPO.
type Breed struct {
	Name, Doc string
	set       []string
}

// Breeds lists them. On boards where plain PPO ends in hares, all but the first
// see the hare's reward fade in (train.goal_weight of the preset).
func Breeds() []Breed {
	return []Breed{
		{"selfish", "PPO on one's own reward, no help: on 8x8 it takes hares", []string{"train.goal_weight=[]"}},
		{"weaned", "PPO on one's own reward; where the preset has it, the hare's reward fades in: hunts the stag", nil},
		{"prosocial", "PPO on the team's mean reward", []string{"ppo.prosocial=1"}},
		{"lola", "opponent-learning awareness (Foerster et al. 2018)", []string{"mind=lola"}},
		{"influence", "paid for social influence (Jaques et al. 2019)", []string{"mind=influence"}},
	}
}

// ZooConfig says which co-players are trained. Its tags are those of the command's
// flags.
type ZooConfig struct {
	Game    string   `help:"Name of the game (hop list games)." default:"staghunt"`
	Set     []string `help:"Set a parameter, such as game.size=8; repeatable (hop list fields)." sep:"none" placeholder:"PATH=VALUE"`
	Who     []string `help:"Which to train; all: every kind." default:"all" placeholder:"KIND"`
	Best    bool     `help:"Also train, for each of them, a PPO best response to three of it, hop adapt's reference."`
	Steps   int      `help:"Env steps of each; 0: as the game's preset, at most two million." default:"0"`
	Seed    uint64   `help:"Seed of each." default:"1"`
	Out     string   `help:"Folder of the zoo." default:"zoo"`
	Workers int      `help:"Cores to use; 0: all. Numbers do not depend on it." default:"0"`

	AcceptBuild bool `help:"Keep, or go on with, what another build of hop began."`
}

// ZooEntry is one trained kind.
type ZooEntry struct {
	Name     string         `json:"name"`
	Run      string         `json:"run"`
	Game     map[string]any `json:"game"`
	Seed     uint64         `json:"seed"`
	Status   string         `json:"status"`
	Reused   bool           `json:"reused,omitempty"`
	Build    string         `json:"build,omitempty"` // that trained it, if it is another one than this
	Mean     float64        `json:"mean"`
	Agents   []float64      `json:"agents,omitempty"`
	EnvSteps int            `json:"env_steps"`
	CPU      float64        `json:"cpu_s"`
	other    error          // says so if another build trained it
}

// TrainZoo trains a set of co-players; those that exist are kept.
func (l *Lab) TrainZoo(ctx context.Context, c ZooConfig) ([]ZooEntry, error) {
	if err := f32.KernelsErr(); err != nil {
		return nil, err
	}
	g, _, err := l.NewGame(c.Game, c.Set)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, b := range Breeds() {
		names = append(names, b.Name)
	}
	for _, name := range c.Who {
		if name != "all" && !slices.Contains(names, name) {
			return nil, Misused("--who %s: there is no such kind; there are %s", name, strings.Join(names, ", "))
		}
	}
	var list []ZooEntry
	for _, b := range Breeds() {
		if !slices.Contains(c.Who, b.Name) && !slices.Contains(c.Who, "all") {
			continue
		}
		e, err := l.raise(ctx, c, b)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
		if !c.Best {
			continue
		}
		team := []string{"learn"}
		for i := 1; i < g.Spec().Seats; i++ {
			team = append(team, fmt.Sprintf("%s#%d", e.Run, i))
		}
		best := Breed{Name: "best-" + b.Name, set: []string{"train.team=[" + strings.Join(team, ",") + "]"}}
		if e, err = l.raise(ctx, c, best); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// breedSpec returns what a kind of co-player is trained by.
func (l *Lab) breedSpec(c ZooConfig, b Breed) (exp.Spec, error) {
	sets := append(slices.Clone(c.Set), b.set...)
	base := "ppo-4x4"
	switch c.Game {
	case "staghunt":
		s, err := l.Reg.Load(base, c.Set)
		if err != nil {
			return s, err
		}
		params, err := s.Game.Map()
		if err != nil {
			return s, err
		}
		if size, ok := params["size"].(int); ok && size > 4 {
			base = "ppo-8x8"
		}
	case "snowdrift", "matrix":
		base = "ppo-" + c.Game
	default:
		sets = append([]string{"game.name=" + c.Game}, sets...)
	}
	s, err := l.Reg.Load(base, append(sets, "name=zoo-"+b.Name))
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
func (l *Lab) raise(ctx context.Context, c ZooConfig, b Breed) (ZooEntry, error) {
	s, err := l.breedSpec(c, b)
	if err != nil {
		return ZooEntry{}, Misuse{err}
	}
	text, err := s.YAML()
	if err != nil {
		return ZooEntry{}, err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "zoo 1\nseed %d\n%s", c.Seed, text))
	dir := runlog.SeedDir(filepath.Join(c.Out, b.Name+"-"+hex.EncodeToString(sum[:4])), c.Seed)
	if e, err := l.zooEntry(dir); err == nil && e.Status == "done" {
		if e.other != nil && !c.AcceptBuild {
			return ZooEntry{}, Misused("%s: %w", dir, e.other)
		}
		if e.other != nil {
			l.Note("%s: kept %s, which another build trained: %s", b.Name, dir, e.Build)
		} else {
			l.Say("%s: kept %s", b.Name, dir)
		}
		e.Reused = true
		return e, nil
	}
	var t *Training
	if _, err = os.Stat(filepath.Join(dir, "spec.yaml")); err == nil {
		t, err = l.Reopen(dir, Further{Build: c.AcceptBuild}, c.Workers)
	} else {
		t = &Training{Spec: s, Folder: dir, Workers: c.Workers, lab: l}
		if err := disk.Make(filepath.Dir(dir)); err != nil {
			return ZooEntry{}, fmt.Errorf("making %s: %w; choose another folder with --out", dir, err)
		}
		err = t.begin(dir, c.Seed, text)
	}
	if err != nil {
		return ZooEntry{}, err
	}
	if _, err := t.train(ctx, nil); err != nil {
		return ZooEntry{}, Stop(err, "everything is saved. The same command goes on.")
	}
	return l.zooEntry(dir)
}

// zooEntry reads one seed's folder of a zoo.
func (l *Lab) zooEntry(dir string) (ZooEntry, error) {
	e := ZooEntry{Run: dir}
	rec, err := runlog.Read(dir)
	if err != nil {
		return e, err
	}
	s, err := l.RunSpec(dir)
	if err != nil {
		return e, err
	}
	if e.Game, err = s.Game.Map(); err != nil {
		return e, err
	}
	e.Name, e.Seed, e.Status = strings.TrimPrefix(s.Name, "zoo-"), rec.Env.Seed, rec.Env.Status
	if e.other = rec.Env.Last().Same(l.Build()); e.other != nil {
		e.Build = rec.Env.Last().Line()
	}
	r, err := readResult(rec, dir)
	if err != nil || r == nil {
		return e, err
	}
	e.Mean, e.Agents, e.EnvSteps, e.CPU = r.Mean, r.Agents, r.EnvSteps, r.CPU
	return e, nil
}

// Zoo reads a whole zoo, by name and folder.
func (l *Lab) Zoo(dir string) ([]ZooEntry, error) {
	dirs, err := disk.Match(dir, "*/seed-*")
	if err != nil {
		return nil, err
	}
	var list []ZooEntry
	for _, dir := range dirs {
		e, err := l.zooEntry(dir)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b ZooEntry) int { return strings.Compare(a.Name+a.Run, b.Name+b.Run) })
	return list, nil
}

// FindZoo returns a finished kind for a game, the first of its name.
func (l *Lab) FindZoo(zoo []ZooEntry, name string, about map[string]any) *ZooEntry {
	for i := range zoo {
		if e := &zoo[i]; e.Name == name && e.Status == "done" && l.GameWords(e.Game) == l.GameWords(about) {
			return e
		}
	}
	return nil
}
