package lab

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/store/stage"
	"github.com/hop-marl/hop/train/spec"
)

// Further says how far a training is to go beyond what its folder says. Its zero value
// is no further.
type Further struct {
	Steps int      // env steps of each seed in all; 0: as before
	Seeds []uint64 // seeds that there are to be; those that there are stay
	Build bool     // also by another build than the one that began it
}

// Reopen opens the runs of a folder, or the one run that it is, to go on. Seeds that are
// finished are only read, unless they are to be trained for longer.
func (l *Lab) Reopen(dir string, more Further, workers int) (*Training, error) {
	if err := f32.KernelsErr(); err != nil {
		return nil, err
	}
	group, err := runlog.ReadGroup(dir)
	if err != nil {
		return nil, err
	}
	dirs, err := Folders(dir)
	if err != nil && group == nil {
		return nil, err
	}
	if len(dirs) > 0 && dirs[0] == dir && (more.Steps > 0 || len(more.Seeds) > 0) {
		parent := filepath.Dir(filepath.Clean(dir))
		return nil, Misused("%s is one seed; --steps and --seeds are for all seeds of a training: name its folder, --resume %s", dir, parent)
	}
	t := &Training{Folder: dir, Workers: workers, lab: l}
	missing := slices.Clone(more.Seeds)
	if group != nil {
		missing = append(missing, group.Seeds...)
	}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "spec.yaml")); errors.Is(err, fs.ErrNotExist) {
			seed, _ := runlog.SeedOf(dir)
			missing = append(missing, seed) // its maker died before it was a run
			continue
		}
		j, err := l.read(dir)
		if err != nil {
			return nil, err
		}
		t.jobs = append(t.jobs, j)
	}
	switch {
	case len(t.jobs) > 0:
		t.Spec = t.jobs[0].spec
		if err := l.sameTraining(group, filepath.Join(dir, "group.json"), t.Spec); err != nil {
			return nil, err
		}
	case group == nil:
		return nil, Misused("%s holds no run that could go on: no seed has a spec.yaml; start a new one with hop train", dir)
	default: // it died before the first of its seeds had begun
		if t.Spec, err = l.Reg.Parse([]byte(group.Spec), filepath.Join(dir, "group.json"), group.Preset, nil); err != nil {
			return nil, err
		}
		t.Spec.Train.Steps = cmp.Or(more.Steps, t.Spec.Train.Steps)
	}
	old := t.Spec
	for _, j := range t.jobs {
		if err := j.lengthen(more.Steps); err != nil {
			return nil, err
		}
	}
	if len(t.jobs) > 0 {
		t.Spec = t.jobs[0].spec
	}
	slices.Sort(missing)
	missing = slices.DeleteFunc(slices.Compact(missing), func(seed uint64) bool { return slices.Contains(t.Seeds(), seed) })
	for _, j := range t.jobs {
		if err := j.last.Same(l.Build()); err != nil && !more.Build && (!j.done() || len(missing) > 0) {
			return nil, Misused("%s: %w", j.dir, err)
		}
	}
	for _, j := range t.jobs {
		if j.scored && j.longer == 0 { // nothing is trained, so nobody else would see it
			if err := runlog.Lost(j.dir); err != nil {
				return nil, err
			}
		}
	}
	for _, j := range t.jobs {
		if err := t.open(j); err != nil {
			return nil, errors.Join(err, t.abandon())
		}
	}
	if was, is := old.Train.Steps, t.Spec.Train.Steps; was != is {
		if list := fades(&old); len(list) > 0 {
			t.note("what fades over the run now does so over %d env steps instead of %d (%s): a run that was that long from the start "+
				"would have had other values", is, was, strings.Join(list, ", "))
		}
	}
	if len(missing) > 0 {
		why := ""
		if len(more.Seeds) == 0 {
			why = ", as its group.json has it"
		}
		l.Say("seeds are added to %s%s: %s", dir, why, numbers(missing))
		if err := t.beginAll(missing); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(t.jobs, func(a, b *job) int { return cmp.Compare(a.seed, b.seed) })
	return t, nil
}

// sameTraining holds a list of seeds against a seed's spec: it is of that training, which
// may have been made longer.
func (l *Lab) sameTraining(group *runlog.Group, file string, sp spec.Spec) error {
	if group == nil {
		return nil
	}
	was, err := l.Reg.Parse([]byte(group.Spec), file, group.Preset, nil)
	if err != nil {
		return err
	}
	was.Train.Steps = sp.Train.Steps
	a, err := was.YAML()
	b, err2 := sp.YAML()
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	if !bytes.Equal(a, b) {
		return fmt.Errorf("%s, which says which seeds there are to be, is of another training: its spec is not that of the seeds; put it back, "+
			"or remove it to go on with the seeds that have begun", file)
	}
	return nil
}

// note says something that should not be missed, and puts it into the logs.
func (t *Training) note(format string, args ...any) {
	t.lab.Note(format, args...)
	t.log(format, args...)
}

// numbers writes seeds as a user would.
func numbers(seeds []uint64) string {
	var words []string
	for _, s := range seeds {
		words = append(words, strconv.FormatUint(s, 10))
	}
	return strings.Join(words, ", ")
}

// read reads a seed's folder and changes nothing in it. A seed is scored if its result
// can be read.
func (l *Lab) read(dir string) (*job, error) {
	rec, err := runlog.Read(dir)
	if err != nil {
		return nil, err
	}
	if err := rec.Faults(ResultFile); err != nil {
		return nil, err
	}
	env := rec.Env
	j := &job{seed: env.Seed, dir: dir, status: env.Status, resume: true, build: env.Build, last: env.Last(), made: env.Packages}
	if j.spec, err = l.Reg.Parse(rec.Spec, filepath.Join(dir, "spec.yaml"), env.Preset, nil); err != nil {
		return nil, err
	}
	result, err := readResult(rec, dir)
	switch {
	case err != nil:
		l.Note("%v; the final agents of seed %d are scored again", err, j.seed)
	case result != nil:
		j.result = *result
		j.scored, j.step, j.result.Run = true, j.result.EnvSteps, dir
	}
	return j, nil
}

// done says whether the seed was finished, with all that belongs to it.
func (j *job) done() bool { return j.scored && j.status == "done" && j.longer == 0 }

// lengthen has a seed trained to another number of env steps; 0: to the one it has.
func (j *job) lengthen(steps int) error {
	was := j.spec.Train.Steps
	if steps == 0 || steps == was {
		return nil
	}
	last, err := (&runlog.Reader{AcceptOlder: true}).Last(j.dir) // the one that it goes on from
	if err == nil && int64(steps) < last.Step {
		return Misused("--steps %d: seed %d has been trained for %d env steps already; ask for more than that", steps, j.seed, last.Step)
	}
	if j.spec.Train.Steps = steps; j.spec.Validate() != nil {
		return Misused("--steps %d: %w", steps, j.spec.Validate())
	}
	j.longer = steps - was
	return nil
}

// open opens a seed that is not finished. What it came to before it was made longer is
// forgotten: it is of other agents.
func (t *Training) open(j *job) error {
	if j.done() {
		return nil
	}
	g, err := j.spec.Game.Build()
	if err = cmp.Or(j.spec.Allowed(), err); err != nil {
		return err
	}
	if err := goesOn(j.dir, g); err != nil {
		return err
	}
	run, err := runlog.Open(j.dir)
	if err != nil {
		return err
	}
	j.run = run
	if text := moved(j.made, packages(&j.spec)); len(j.made) > 0 && text != "" {
		t.note("seed %d goes on with another environment than it began with: %s", j.seed, text)
	}
	info := t.lab.Info(t.Spec.Name, j.seed)
	run.Printf("going on: %s; %s, %s", stage.Join(info.Command), info.Line(), plot.Count(t.Cores(), "core"))
	if j.last.Same(info.Build) != nil {
		t.note("seed %d goes on by another build: so far it was %s; this is %s", j.seed, j.last.Line(), info.Line())
		if err := run.GoOn(info.Build); err != nil {
			return err
		}
	}
	if j.longer == 0 {
		return nil
	}
	run.Printf("train.steps is now %d, it was %d", j.spec.Train.Steps, j.spec.Train.Steps-j.longer)
	text, err := j.spec.YAML()
	if err != nil {
		return err
	}
	j.scored = false
	if err := run.RemoveResult(); err != nil {
		return err
	}
	return run.SetSpec(text)
}

// fades lists the fields that change over the length of a run.
func fades(s *spec.Spec) (list []string) {
	over := s.Train.Standins.Over > 0
	for _, f := range s.Fields() {
		x, err := strconv.ParseFloat(f.Default, 64)
		ends := strings.HasSuffix(f.Path, "_end") && x >= 0 && !(over && f.Path == "train.standins.share_end")
		if err == nil && (ends || f.Path == "goals.mix" && x > 0) {
			list = append(list, f.Path)
		}
	}
	return list
}
