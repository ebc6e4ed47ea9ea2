package lab

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/store/stage"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/spec"
)

// Stage is how one stage around a training went.
type Stage = stage.Record

// stages runs a training's stages and says how far they are.
type stages struct {
	lab   *Lab
	spec  *spec.Spec
	flags []string // those that name the game
	group string
	of    int // stages in all, the training among them
	first int // the number of the first of those that run
	done  []Stage
	run   stage.Runner
	began map[string]time.Time
	log   func(format string, args ...any) // into the logs of the seeds; may be nil
}

// around returns the stages of a training. A training that another build began reads
// what that one prepared: the other half of it has learnt from the same.
func (l *Lab) around(sp *spec.Spec, group string, build runlog.Build) (*stages, error) {
	for _, st := range slices.Concat(sp.Prepare, sp.Follow) {
		if old, ok := st.Config.(*prepare.Words); ok {
			return nil, Misused("stage %s: %w", st.Name, old.Validate())
		}
	}
	flags, err := sp.Game.Flags()
	if err != nil {
		return nil, err
	}
	s := &stages{lab: l, spec: sp, flags: flags, group: group, of: len(sp.Prepare) + 1 + len(sp.Follow), first: 1}
	s.began = map[string]time.Time{}
	s.run = stage.Runner{Salt: build.ID(), Now: s.now}
	return s, nil
}

// list returns stages as they are run.
func (s *stages) list(of prepare.List) (list []stage.Stage) {
	for _, st := range of {
		filled := func(at stage.Folders) prepare.Config {
			return prepare.Fill(st.Config, func(name string) string {
				if name == "run" {
					return s.group
				}
				return at(name)
			})
		}
		list = append(list, stage.Stage{
			Name: st.Name, Reads: prepare.Reads(st.Config), Files: prepare.Files(st.Config),
			Command: func(at stage.Folders) string {
				return stage.Join(append(prepare.Line(filled(at), s.flags, s.group), "--out", at(st.Name)))
			},
			Do: func(ctx context.Context, at stage.Folders) error {
				site := Site{Game: s.spec.Game, Runs: []string{s.group}, Dir: at(st.Name)}
				_, err := s.lab.inStage(st.Name).Do(ctx, filled(at), site)
				return err
			},
		})
	}
	return list
}

// fill returns the folder of a prepared stage in place of its name.
func (s *stages) fill(folder string) string {
	return cmp.Or(s.run.Folder(prepare.Folder(folder).Stage()), folder)
}

// Prepare runs what comes before a training, in folders beside the runs of out,
// and puts the folders of stages in place of their names.
func (l *Lab) Prepare(ctx context.Context, sp *spec.Spec, out string) ([]Stage, error) {
	s, err := l.around(sp, filepath.Join(out, "any"), l.Build())
	if err != nil {
		return nil, err
	}
	err = s.prepare(ctx)
	return s.done, err
}

// plain says that there is nothing to do but to train.
func (s *stages) plain() bool { return s.of == 1 }

// say writes a line about a stage.
func (s *stages) say(at int, name, format string, args ...any) {
	if !s.plain() {
		if s.log != nil {
			s.log("stage %d of %d, %s: %s", at, s.of, name, fmt.Sprintf(format, args...))
		}
		s.lab.news(News{Kind: Staged, Name: name, At: at, Of: s.of, Text: fmt.Sprintf(format, args...)})
	}
}

// now is told how stages stand.
func (s *stages) now(st stage.Status) {
	at := s.first + st.Index
	if st.State == stage.Waiting {
		s.say(at, st.Name, "waiting for process %s, which is doing the same stage", cmp.Or(st.Owner, "of another training"))
		return
	}
	if st.State == stage.Running {
		s.began[st.Name] = time.Now()
		if st.Anew != "" {
			s.lab.Note("stage %s is done anew: %s", st.Name, st.Anew)
		}
		s.say(at, st.Name, "hop %s", shorten(st.Command))
		return
	}
	j := Stage{Name: st.Name, Command: "hop " + st.Command, Dir: st.Dir, Reused: st.State == stage.Reused}
	if rel, err := filepath.Rel(s.group, st.Dir); err == nil {
		j.Dir = filepath.ToSlash(rel)
	}
	j.Status, j.Verdict = readVerdict(st.Dir)
	how := "done before with the same inputs"
	if !j.Reused {
		j.Wall = time.Since(s.began[st.Name]).Seconds()
		how = fmt.Sprintf("%.1f s", j.Wall)
	}
	if j.Verdict != "" {
		how += "; " + j.Verdict
	}
	s.say(at, st.Name, "%s", how)
	s.done = append(s.done, j)
}

// shorten writes folders below the working folder as a user would.
func shorten(command string) string {
	wd, err := os.Getwd()
	if err != nil {
		return command
	}
	return strings.ReplaceAll(command, wd+string(filepath.Separator), "")
}

// readVerdict returns what the report card in a folder says, if there is one.
func readVerdict(dir string) (status, verdict string) {
	b, err := os.ReadFile(filepath.Join(dir, "card.json"))
	if err != nil {
		return "", ""
	}
	var c struct{ Status, Verdict string }
	if json.Unmarshal(b, &c) != nil {
		return "", ""
	}
	return c.Status, c.Verdict
}

// prepare runs what comes before the training, and puts the folders of stages in
// place of their names.
func (s *stages) prepare(ctx context.Context) error {
	if len(s.spec.Prepare) == 0 {
		return nil
	}
	root := filepath.Dir(s.group)
	if _, err := os.Stat(filepath.Join(s.group, "spec.yaml")); err == nil {
		root = filepath.Dir(root) // the group is a single seed's folder
	}
	s.run.Root = filepath.Join(root, "stages")
	if err := s.all(ctx, s.spec.Prepare); err != nil {
		return err
	}
	s.spec.Fill(s.fill)
	return nil
}

// all runs a list of stages on one pool of workers, and notes how they went in the order of
// the list: they end in any.
func (s *stages) all(ctx context.Context, list prepare.List) error {
	if err := s.spec.Allowed(); err != nil {
		return err
	}
	if cores.Of(ctx) == nil && len(list) > 1 {
		pool := cores.New(0, nil)
		pool.Open()
		defer pool.Close()
		ctx = cores.With(ctx, pool)
	}
	before := len(s.done)
	_, err := s.run.Run(ctx, s.list(list))
	place := func(d Stage) int {
		return slices.IndexFunc(list, func(l prepare.Stage) bool { return l.Name == d.Name })
	}
	slices.SortFunc(s.done[before:], func(a, b Stage) int { return place(a) - place(b) })
	return err
}

// training announces the training itself.
func (s *stages) training() {
	s.say(len(s.spec.Prepare)+1, "train", "%s, %d env steps a seed", s.spec.Name, s.spec.Train.Steps)
}

// trained notes how long the training took, over all its parts and seeds.
func (s *stages) trained(t *Trained) {
	if s.plain() {
		return
	}
	wall := 0.
	for _, seed := range t.Seeds {
		wall += seed.Wall
	}
	s.say(len(s.spec.Prepare)+1, "train", "%.1f s; mean return %.3f", wall, t.Mean)
	s.done = append(s.done, Stage{
		Name: "train", Command: "hop train", Dir: ".", Wall: wall, Verdict: fmt.Sprintf("mean return %.3f on fresh episodes", t.Mean),
	})
}

// follow runs what comes after the training, anew whenever the agents are others.
func (s *stages) follow(ctx context.Context, jobs []*job) error {
	if len(s.spec.Follow) > 0 {
		h := sha256.New()
		for _, r := range scores(jobs) {
			b, err := json.Marshal(r.Agents)
			if err != nil {
				return err
			}
			fmt.Fprintf(h, "%d %s\n", r.Seed, b)
		}
		s.run.Salt += fmt.Sprintf(" %x", h.Sum(nil))
		s.run.Root = filepath.Join(s.group, "follow")
		s.first = len(s.spec.Prepare) + 2
		if err := s.all(ctx, s.spec.Follow); err != nil {
			return err
		}
	}
	if s.plain() {
		return nil
	}
	return stage.WriteRecords(s.group, s.done, scores(jobs))
}

// scores is what was trained.
func scores(jobs []*job) (list []stage.Scores) {
	for _, j := range jobs {
		list = append(list, stage.Scores{Seed: j.seed, Agents: j.result.Agents})
	}
	return list
}
