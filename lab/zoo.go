package lab

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/stranger"
	"github.com/hop-marl/hop/lab/zoo"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/spec"
)

// Breed is a kind of co-player and how its spec differs from the game's plain PPO. Kinds are
// split by construction: what one of the test split is rewarded for, or how it learns, is in no
// other split.
type Breed struct {
	Name, Doc string
	Reward    string // what it is rewarded for
	Learns    string // how it learns
	Split     stranger.Split

	set    []string
	apart  bool // each agent has a network of its own, as its mind asks for
	latest bool // no checkpoint but the latest is kept
	single bool // only the game's first goal is rewarded
}

// Breeds lists them: PPO by what it is rewarded for and how it is made, then the kinds of minds
// that the registry breeds. On boards where plain PPO ends in hares, all but the first
// see the hare's reward fade in (train.goal_weight of the preset).
func Breeds(reg *spec.Registry) []Breed {
	const own, team, against, some = "its own", "the team's", "its own less the others'", "its own for one goal"
	const plain, recalls = "PPO", "PPO with a memory"
	list := []Breed{
		{Name: "selfish", Doc: "PPO on one's own reward, no help: on 8x8 it takes hares", Reward: own, Learns: plain, Split: stranger.Train,
			set: []string{"train.goal_weight=[]"}},
		{Name: "weaned", Doc: "PPO on one's own reward; where the preset has it, the hare's reward fades in: hunts the stag",
			Reward: own, Learns: plain, Split: stranger.Train},
		{Name: "apart", Doc: "the same with a network for each agent: they may divide the work",
			Reward: own, Learns: plain, Split: stranger.Train, apart: true},
		{Name: "prosocial", Doc: "PPO on the team's mean reward", Reward: team, Learns: plain, Split: stranger.Train,
			set: []string{"ppo.prosocial=1"}},
		{Name: "aggressive", Doc: "PPO on one's own reward, with what the others earn counted against it",
			Reward: against, Learns: plain, Split: stranger.Train, set: []string{"ppo.prosocial=-1"}},
		{Name: "lstm", Doc: "PPO with a memory", Reward: own, Learns: recalls, Split: stranger.Validation,
			set: []string{"actor.hidden=[64]", "actor.lstm=64"}},
		{Name: "single", Doc: "PPO on what one's own first goal of the game pays; its other goals pay nothing",
			Reward: some, Learns: plain, Split: stranger.Test, single: true},
	}
	for _, b := range reg.Breeds() {
		split := stranger.Validation
		if b.Stranger {
			split = stranger.Test
		}
		list = append(list, Breed{Name: b.Name, Doc: b.Doc, Reward: own, Learns: b.Name, Split: split, set: []string{"mind=" + b.Name},
			apart: true})
	}
	return list
}

// Ages of a member: that of a run's checkpoint once so much of it is done.
var ages = []struct {
	name  string
	share float64
}{{"young", 1. / 8}, {"middle", 3. / 8}}

const (
	final    = "final"
	best     = "best"  // the kind of those that learnt to answer a member
	zooSaves = 8       // checkpoints of a run
	zooSteps = 200_000 // of a run, unless its preset helps for longer
)

// ZooEntry is a member of a zoo.
type ZooEntry = zoo.Entry

// parseMember reads a member's name: KIND, which is that of the given seed, KIND-SEED
// or KIND-SEED-AGE.
func (l *Lab) parseMember(text string, seed uint64) (ZooEntry, Breed, error) {
	e := ZooEntry{Seed: seed, Age: final}
	kind := text
	for _, a := range ages {
		if rest, ok := strings.CutSuffix(kind, "-"+a.name); ok {
			kind, e.Age = rest, a.name
		}
	}
	if at := strings.LastIndexByte(kind, '-'); at >= 0 {
		if n, err := strconv.ParseUint(kind[at+1:], 10, 64); err == nil {
			kind, e.Seed = kind[:at], n
		}
	}
	var kinds []string
	for _, b := range Breeds(l.Reg) {
		if b.Name == kind {
			e.Kind, e.Name = kind, fmt.Sprintf("%s-%d", kind, e.Seed)
			if e.Age != final {
				e.Name += "-" + e.Age
			}
			return e, b, nil
		}
		kinds = append(kinds, b.Name)
	}
	return e, Breed{}, fmt.Errorf("there is no such kind; there are %s; a member is called KIND-SEED, such as selfish-2, or "+
		"KIND-SEED-young and KIND-SEED-middle", strings.Join(kinds, ", "))
}

// usual returns the members of a game's zoo and those that are held out: learners by
// what they are rewarded for, by mind, by seed and by age; held out are other seeds and
// a mind of another kind. Where everybody's interests agree or none do, all rewards that count
// others' in are the same or nothing, and seeds are all there is.
func (l *Lab) usual(kind game.Kind, weans bool, seed uint64) (who, hold []string) {
	name := func(kind string, n uint64) string { return fmt.Sprintf("%s-%d", kind, seed+n) }
	first := name("selfish", 0)
	who, hold = []string{first, first + "-young", first + "-middle", name("apart", 1)}, []string{name("selfish", 2)}
	if kind != game.GeneralSum {
		who = append(who, name("selfish", 1))
	} else {
		if weans {
			who = append(who, name("weaned", 0))
		}
		who, hold = append(who, name("prosocial", 0), name("aggressive", 0)), append(hold, name("prosocial", 1))
	}
	for _, b := range l.Reg.Breeds() {
		if b.Stranger {
			hold = append(hold, name(b.Name, 0))
		}
	}
	return who, hold
}

// zooMembers returns whom a zoo is asked for.
func (l *Lab) zooMembers(c prepare.Zoo, at Site, g game.Game) (list []ZooEntry, err error) {
	who, hold := c.Who, c.Hold
	if len(who) == 0 {
		plain, err := l.breedSpec(c, at, Breeds(l.Reg)[1])
		if err != nil {
			return nil, Misuse{err}
		}
		var held []string
		if who, held = l.usual(g.Spec().Kind, len(plain.Train.GoalWeight) > 0, c.Seed); len(hold) == 0 {
			hold = held
		}
	}
	if slices.Contains(who, "all") {
		who = nil
		for _, b := range Breeds(l.Reg) {
			if !b.single || len(g.Spec().Goals) > 1 {
				who = append(who, b.Name)
			}
		}
	}
	add := func(flag string, names []string, held bool) error {
		for _, name := range names {
			e, _, err := l.parseMember(name, c.Seed)
			if err != nil {
				return Wrong(err, flag, name)
			}
			if e.HeldOut = held; slices.ContainsFunc(list, func(x ZooEntry) bool { return x.Name == e.Name && x.HeldOut != held }) {
				return Misused("%s %s: it cannot be held out and learnt from", flag, name)
			}
			list = append(list, e)
		}
		return nil
	}
	if err := add("--who", who, false); err != nil {
		return nil, err
	}
	return list, add("--hold", hold, true)
}

// TrainZoo trains a set of co-players and writes the zoo's index; those that exist are
// kept.
func (l *Lab) TrainZoo(ctx context.Context, c prepare.Zoo, at Site) ([]ZooEntry, error) {
	if err := f32.KernelsErr(); err != nil {
		return nil, err
	}
	if err := c.Validate(); err != nil {
		return nil, Misuse{err}
	}
	g, err := at.build()
	if err != nil {
		return nil, err
	}
	if g.Spec().Seats < 2 {
		return nil, Misused("--game %s: it has one seat, and a zoo is of co-players", at.Game.Name)
	}
	about, err := at.Game.Map()
	if err != nil {
		return nil, err
	}
	list, err := l.zooMembers(c, at, g)
	if err != nil {
		return nil, err
	}
	index, err := l.readIndex(at.Dir, true)
	if err != nil {
		return nil, err
	}
	if runs, err := disk.Match(at.Dir, "*/seed-*"); err == nil && index == nil && len(runs) > 0 {
		l.Note("%s is missing and is made anew: who is held out is what this command says", filepath.Join(at.Dir, zoo.File))
	}
	for _, e := range list {
		if was := l.FindZoo(index, e.Name, about); was != nil && was.HeldOut != e.HeldOut {
			is := map[bool]string{true: "held out", false: "learnt from"}
			return nil, Misused("%s is to be %s, and by %s it is %s already; who has been learnt from is no stranger: choose another "+
				"folder with --out", e.Name, is[e.HeldOut], filepath.Join(at.Dir, zoo.File), is[was.HeldOut])
		}
	}
	if err := l.othersThere(at.Dir, index, list); err != nil {
		return nil, err
	}
	var done []ZooEntry
	runs := map[string]ZooEntry{} // by their folder's kind and seed
	grow := func(b Breed, e ZooEntry) (ZooEntry, error) {
		run, ok := runs[b.Name+fmt.Sprint(e.Seed)]
		if !ok {
			var err error
			if run, err = l.raise(ctx, c, at, b, e.Seed); err != nil {
				return run, err
			}
			runs[b.Name+fmt.Sprint(e.Seed)] = run
		}
		run.Name, run.Kind, run.Age, run.HeldOut = e.Name, e.Kind, e.Age, e.HeldOut
		was := l.FindZoo(index, e.Name, about)
		if err := l.scoreAge(ctx, &run, was, c.Workers); err != nil {
			return run, err
		}
		done = append(done, run)
		if was != nil {
			*was = run
		} else {
			index = append(index, run)
		}
		return run, zoo.Write(at.Dir, index)
	}
	for _, e := range list {
		_, b, _ := l.parseMember(e.Name, e.Seed)
		run, err := grow(b, e)
		if err != nil {
			return nil, err
		}
		if !c.Best || e.Age != final {
			continue
		}
		team := []string{"learn"}
		for i := 1; i < g.Spec().Seats; i++ {
			team = append(team, run.Address(i))
		}
		to := Breed{Name: best + "-" + e.Name, set: []string{"train.team=[" + strings.Join(team, ",") + "]"}, apart: true}
		if _, err := grow(to, ZooEntry{Name: to.Name, Kind: best, Age: final, HeldOut: true, Seed: e.Seed}); err != nil {
			return nil, err
		}
	}
	return done, nil
}

// breedSpec returns what a kind of co-player is trained by: the settings of the game's
// preset, on the game with the parameters that are asked for.
func (l *Lab) breedSpec(c prepare.Zoo, at Site, b Breed) (spec.Spec, error) {
	g, err := at.build()
	if err != nil {
		return spec.Spec{}, err
	}
	sets := []string{"name=zoo-" + b.Name, "game.name=" + at.Game.Name}
	for _, f := range at.Game.Fields() {
		sets = append(sets, f.Path+"="+f.Default)
	}
	base := at.Game.Preset()
	switch {
	case slices.Contains(l.Reg.PresetNames(), base):
	case len(g.Spec().Obs.Planes) == 0:
		base = "ppo-matrix"
	default:
		base = "ppo-4x4"
	}
	if !b.apart {
		sets = append(sets, "train.brains=["+strings.Join(slices.Repeat([]string{"0"}, g.Spec().Seats), ",")+"]")
	}
	if b.single {
		goals := g.Spec().Goals
		if len(goals) < 2 {
			return spec.Spec{}, fmt.Errorf("%s: %s has no second goal that could pay nothing", b.Name, at.Game.Name)
		}
		var nothing []string
		for _, goal := range goals[1:] {
			nothing = append(nothing, fmt.Sprintf("{goal: %q, from: 0, to: 0, over: 1}", goal))
		}
		sets = append(sets, "train.goal_weight=["+strings.Join(nothing, ", ")+"]")
	}
	s, err := l.Reg.Load(base, append(sets, b.set...))
	if err != nil {
		return s, err
	}
	most := zooSteps
	if len(s.Train.GoalWeight) > 0 {
		most = 2_000_000
	}
	if s.Train.Steps = min(s.Train.Steps, most); c.Steps > 0 {
		s.Train.Steps = c.Steps
	}
	s.Eval.Episodes = min(s.Eval.Episodes, 500)
	if s.Train.Save, s.Train.KeepEvery = max(1, s.Train.Steps/zooSaves), 1; b.latest {
		s.Train.KeepEvery, s.Train.Keep = 0, 1
	}
	_, err = s.Resolve()
	return s, cmp.Or(s.Validate(), err)
}

// raise returns a trained kind: the one that is there, or a new one.
func (l *Lab) raise(ctx context.Context, c prepare.Zoo, at Site, b Breed, seed uint64) (ZooEntry, error) {
	s, err := l.breedSpec(c, at, b)
	if err != nil {
		return ZooEntry{}, Misuse{err}
	}
	text, err := s.YAML()
	if err != nil {
		return ZooEntry{}, err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "zoo 1\nseed %d\n%s", seed, text))
	dir := runlog.SeedDir(filepath.Join(at.Dir, b.Name+"-"+hex.EncodeToString(sum[:4])), seed)
	if e, err := l.zooEntry(dir); err == nil && e.Status == "done" {
		if e.other != nil && !at.AcceptBuild {
			return ZooEntry{}, Misused("%s: %w", dir, e.other)
		}
		if e.other != nil {
			l.Note("%s: kept %s, which another build trained: %s", b.Name, dir, e.Build)
		} else {
			l.Say("%s: kept %s", b.Name, dir)
		}
		e.Reused = true
		return e.ZooEntry, nil
	}
	var t *Training
	if _, err = os.Stat(filepath.Join(dir, "spec.yaml")); err == nil {
		t, err = l.Reopen(dir, Further{Build: at.AcceptBuild}, c.Workers)
	} else {
		t = &Training{Spec: s, Folder: dir, Workers: c.Workers, lab: l}
		if err := disk.Make(filepath.Dir(dir)); err != nil {
			return ZooEntry{}, fmt.Errorf("making %s: %w; choose another folder with --out", dir, err)
		}
		if err := l.Reg.Trust.Sign(filepath.Dir(dir), s.Executes()); err != nil {
			l.Note("%v", err)
		}
		err = t.begin(dir, seed, text)
	}
	if err != nil {
		return ZooEntry{}, err
	}
	if _, err := t.train(ctx, nil); err != nil {
		return ZooEntry{}, Stop(err, "everything is saved. The same command goes on.")
	}
	e, err := l.zooEntry(dir)
	return e.ZooEntry, err
}

// scoreAge finds the checkpoint of a member's age and, unless it is the last, scores its
// agents on the starts that the final ones were scored on; was is what the index has.
func (l *Lab) scoreAge(ctx context.Context, e, was *ZooEntry, workers int) error {
	s, err := l.RunSpec(e.Run)
	if err != nil {
		return err
	}
	last, err := l.Reg.Runs.Last(e.Run) // and no older one
	if err != nil {
		return err
	}
	steps, err := runlog.Steps(e.Run)
	if err != nil {
		return err
	}
	e.Step = last.Step
	for _, a := range ages {
		from := int64(a.share * float64(s.Train.Steps))
		if at := slices.IndexFunc(steps, func(step int64) bool { return step >= from }); a.name == e.Age && at >= 0 {
			e.Step = steps[at]
		}
	}
	at, err := l.Reg.Runs.At(e.Run, e.Step)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(at.Body)
	e.SHA256 = hex.EncodeToString(sum[:])
	if was != nil && e.Reused && was.Run == e.Run && was.SHA256 != e.SHA256 {
		return fmt.Errorf("%s: the index has it as the checkpoint of env step %d, and the one that there is now is of %d (%s); put it back "+
			"from a copy, or remove %s to have it trained anew", e.Name, was.Step, e.Step, runlog.CheckpointFile(e.Run, was.Step),
			filepath.Dir(e.Run))
	}
	if e.Age == final {
		return nil
	}
	e.EnvSteps, e.CPU = int(e.Step), 0
	if was != nil && was.SHA256 == e.SHA256 {
		e.Mean, e.Agents = was.Mean, was.Agents
		return nil
	}
	g, err := s.Game.Build()
	if err != nil {
		return err
	}
	var team []eval.Member
	for i := range g.Spec().Seats {
		m, err := l.Reg.Member(g, e.Address(i))
		if err != nil {
			return err
		}
		team = append(team, m)
	}
	key := rng.New(e.Seed).Child("judge").Child("sampled") // the names are part of the numbers
	got, err := eval.Run(ctx, eval.Config{Game: g, Team: team, Episodes: s.Eval.Episodes, Workers: workers, Lanes: 256, Key: key})
	if err != nil {
		return Stop(err, "everything is saved. The same command goes on.")
	}
	e.Mean, e.Agents = got.Mean.Mean(), nil
	for i := range got.Return {
		e.Agents = append(e.Agents, got.Return[i].Mean())
	}
	return nil
}

// zooRun is what a seed's folder of a zoo is.
type zooRun struct {
	ZooEntry
	other error // says so if another build trained it
	bred  bool  // by hop zoo train
}

// zooEntry reads one seed's folder of a zoo.
func (l *Lab) zooEntry(dir string) (zooRun, error) {
	e := zooRun{ZooEntry: ZooEntry{Run: dir, Age: final}}
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
	e.Name, e.bred = strings.CutPrefix(s.Name, "zoo-")
	e.Kind, e.Seed, e.Status = e.Name, rec.Env.Seed, rec.Env.Status
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

// Zoo reads a zoo: the members of its index, or, of a folder of other runs, those by
// name and folder.
func (l *Lab) Zoo(dir string) ([]ZooEntry, error) { return l.zoo(dir, false) }

func (l *Lab) zoo(dir string, learns bool) ([]ZooEntry, error) {
	list, err := l.readIndex(dir, learns)
	if err != nil {
		return nil, err
	}
	for i := range list {
		e, err := l.zooEntry(list[i].Run)
		if err != nil {
			return nil, fmt.Errorf("%s, by %s: %w", list[i].Name, filepath.Join(dir, zoo.File), err)
		}
		list[i].Build = e.Build
		if list[i].Age == final {
			list[i].CPU = e.CPU
		}
	}
	if list != nil {
		return list, nil
	}
	dirs, err := disk.Match(dir, "*/seed-*")
	if err != nil {
		return nil, err
	}
	for _, run := range dirs {
		e, err := l.zooEntry(run)
		if err != nil {
			return nil, err
		}
		if e.bred {
			return nil, fmt.Errorf("%s is missing, which says who of the co-players there is held out; put it back from a copy, or give the "+
				"hop zoo train that made them again, which keeps them and writes it anew", filepath.Join(dir, zoo.File))
		}
		list = append(list, e.ZooEntry)
	}
	slices.SortFunc(list, func(a, b ZooEntry) int { return strings.Compare(a.Name+a.Run, b.Name+b.Run) })
	return list, nil
}

// FindZoo returns the member of a name for a game; a kind's name is the first of it.
func (l *Lab) FindZoo(zoo []ZooEntry, name string, about map[string]any) *ZooEntry {
	for _, is := range []func(e *ZooEntry) bool{
		func(e *ZooEntry) bool { return e.Name == name },
		func(e *ZooEntry) bool { return e.Kind == name && e.Age == final },
	} {
		for i := range zoo {
			if e := &zoo[i]; is(e) && e.Status == "done" && l.GameWords(e.Game) == l.GameWords(about) {
				return e
			}
		}
	}
	return nil
}
