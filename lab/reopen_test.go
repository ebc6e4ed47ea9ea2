package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec/spectest"
)

// brief is a training of a fraction of a second.
func brief(t *testing.T, l *Lab, sets ...string) *Training {
	t.Helper()
	text := "name: brief\nactor: {hidden: [16]}\ntrain: {envs: 8, window: 16, steps: 600, save: 300}\neval: {episodes: 8}\n"
	spec, err := l.Reg.Parse([]byte(text), "brief.yaml", "brief", sets)
	if err != nil {
		t.Fatal(err)
	}
	training, err := l.NewTraining(spec, []uint64{1, 10}, t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	return training
}

// done is one that is finished.
func done(t *testing.T) *Trained { return trained(t, brief(t, quiet())) }

// finish trains to the end, with a report that is quick to write: how many seeds have a
// result.
func finish(ctx context.Context, training *Training) (*Trained, error) {
	return training.train(ctx, func() error {
		list, err := filepath.Glob(filepath.Join(training.Folder, "seed-*", ResultFile))
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(training.Folder, "report.html"), fmt.Appendf(nil, "%d seeds", len(list)), 0o644)
	})
}

func trained(t *testing.T, training *Training) *Trained {
	t.Helper()
	out, err := finish(t.Context(), training)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// goOn reopens a folder and trains to the end.
func goOn(t *testing.T, l *Lab, dir string, more Further) *Trained {
	t.Helper()
	training, err := l.Reopen(dir, more, 1)
	if err != nil {
		t.Fatal(err)
	}
	return trained(t, training)
}

// files returns what a folder holds, with the time of every file's last change.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.Walk(dir, func(path string, at os.FileInfo, err error) error {
		if err != nil || at.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		out[path] = at.ModTime().Format(time.RFC3339Nano) + "\n" + string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// same returns a result without what may differ between two equal runs.
func (r SeedResult) same() SeedResult {
	r.Run, r.CPU, r.Wall = "", 0, 0
	return r
}

func quiet() *Lab {
	return &Lab{Reg: registry.New(), Version: "test", Command: []string{"hop", "train", "brief"}}
}

// Resuming what is finished changes no file, and says the same.
func TestAFinishedRunIsNotTouched(t *testing.T) {
	first := done(t)
	before := files(t, first.Run)
	second := goOn(t, quiet(), first.Run, Further{})
	for path, b := range files(t, first.Run) {
		if before[path] != b {
			t.Errorf("%s has changed", path)
		}
	}
	if !reflect.DeepEqual(first, second) {
		t.Errorf("the result is\n%+v, it was\n%+v", second, first)
	}
}

// What a seed cost is one record, and adds up over the parts of a run.
func TestTimesAreTheSameEverywhereAndAddUp(t *testing.T) {
	l := quiet()
	ctx, stop := context.WithCancel(t.Context())
	l.Watch = func(n News) {
		if n.Kind == Learnt {
			stop()
		}
	}
	training := brief(t, l)
	if _, err := l.Train(ctx, training); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	l.Watch = nil
	part, err := runlog.ReadEnv(filepath.Join(training.Folder, "seed-1"))
	if err != nil || part.Status != "stopped" || part.Wall <= 0 || part.Spent.CPU <= 0 {
		t.Fatalf("a stopped part is %q and has spent %+v, %v", part.Status, part.Spent, err)
	}
	out := goOn(t, l, training.Folder, Further{})
	for _, s := range out.Seeds {
		env, err := runlog.ReadEnv(s.Run)
		if err != nil {
			t.Fatal(err)
		}
		rec, err := runlog.Read(s.Run)
		if err != nil {
			t.Fatal(err)
		}
		r, err := readResult(rec, s.Run)
		if err != nil {
			t.Fatal(err)
		}
		if spent := (runlog.Spent{CPU: s.CPU, Wall: s.Wall}); env.Spent != spent || r.CPU != s.CPU || r.Wall != s.Wall {
			t.Errorf("seed %d: env.json has %+v, result.json %v and %v, the result %+v", s.Seed, env.Spent, r.CPU, r.Wall, spent)
		}
		if s.Seed == 1 && (s.Wall <= part.Wall || s.CPU <= part.Spent.CPU) {
			t.Errorf("seed 1 has spent %v and %v s over two parts, %+v in the first", s.CPU, s.Wall, part.Spent)
		}
	}
}

// A run that is trained longer is the run that was that long from the start; added
// seeds are those that would have been there. Both at once is one command.
func TestARunIsTrainedLongerAndGetsSeeds(t *testing.T) {
	l := quiet()
	short := done(t)
	before := files(t, short.Run)
	got := goOn(t, l, short.Run, Further{Seeds: []uint64{2, 10}})
	after := files(t, short.Run)
	for path, b := range before {
		if strings.Contains(path, "seed-") && after[path] != b {
			t.Errorf("adding a seed has changed %s", path)
		}
	}
	if len(got.Seeds) != 3 || got.Seeds[1].Seed != 2 || got.Seeds[2].same().Mean != short.Seeds[1].Mean {
		t.Errorf("after adding seed 2: %+v", got.Seeds)
	}
	if page, err := os.ReadFile(filepath.Join(short.Run, "report.html")); err != nil || !bytes.Contains(page, []byte("3 seeds")) {
		t.Errorf("the report is not of three seeds, %v", err)
	}

	long := trained(t, brief(t, l, "train.steps=1200"))
	short = done(t)
	got = goOn(t, l, short.Run, Further{Steps: 1200, Seeds: []uint64{1, 2}})
	if len(got.Seeds) != 3 {
		t.Fatalf("%d seeds, want 3", len(got.Seeds))
	}
	for i, k := range []int{0, 2} {
		a, b := long.Seeds[i], got.Seeds[k]
		if !reflect.DeepEqual(a.same(), b.same()) {
			t.Errorf("trained longer: %+v, want %+v", b.same(), a.same())
		}
		for _, name := range []string{"spec.yaml", "metrics.csv", "events.out.tfevents.0.hop"} {
			x, errX := os.ReadFile(filepath.Join(a.Run, name))
			y, errY := os.ReadFile(filepath.Join(b.Run, name))
			if strings.HasPrefix(name, "events") {
				x, y = spectest.Timeless(x), spectest.Timeless(y)
			}
			if err := errors.Join(errX, errY); err != nil || !bytes.Equal(x, y) {
				t.Errorf("seed %d: %s is not that of a run that was long from the start, %v", a.Seed, name, err)
			}
		}
		x, _, errX := runlog.Last(a.Run)
		y, _, errY := runlog.Last(b.Run)
		if err := errors.Join(errX, errY); err != nil || !bytes.Equal(x, y) {
			t.Errorf("seed %d ends in another checkpoint, %v", a.Seed, err)
		}
	}
	says(t, got.Seeds[0].Run, "started: hop train brief; hop test, commit ", "train.steps is now 1200, it was 600", "resumed at env step 6",
		"scoring the final agents on 8", "scored: mean return", "writing the report", "done: ")
	if again := goOn(t, l, short.Run, Further{Steps: 1200}); !reflect.DeepEqual(again, got) {
		t.Errorf("the same again is %+v, want what is there", again)
	}
}

// says checks what a seed's log says, in order.
func says(t *testing.T, dir string, words ...string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "log.txt"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, w := range words {
		_, rest, ok := strings.Cut(text, w)
		if !ok {
			t.Fatalf("the log does not say %q after what comes before it:\n%s", w, b)
		}
		text = rest
	}
}

// What changes over a run's length is stretched over the new one, and that is said.
func TestAScheduleIsStretchedOverTheNewLength(t *testing.T) {
	l := quiet()
	var notes []string
	l.Watch = func(n News) {
		if n.Kind == Noted {
			notes = append(notes, n.Text)
		}
	}
	out := trained(t, brief(t, l, "ppo.lr_end=0", "train.standins.share_end=0.5", "train.standins.over=100"))
	goOn(t, l, out.Run, Further{Steps: 700})
	want := "over 700 env steps instead of 600 (ppo.lr_end)"
	if !strings.Contains(strings.Join(notes, "\n"), want) {
		t.Errorf("it does not say %q: %q", want, notes)
	}
	says(t, out.Seeds[0].Run, want)
}

func TestWhatCannotGoFurtherIsRefused(t *testing.T) {
	l, out := quiet(), done(t)
	before := files(t, out.Run)
	seed := filepath.Join(out.Run, "seed-10")
	for _, c := range []struct {
		name, dir string
		more      Further
		says      string
	}{
		{"fewer steps than done", out.Run, Further{Steps: 300}, "--steps 300: seed 1 has been trained for 6"},
		{"one seed for longer", seed, Further{Steps: 9000}, "name its folder, --resume " + out.Run},
		{"seeds in a seed", seed, Further{Seeds: []uint64{3}}, "name its folder, --resume " + out.Run},
	} {
		_, err := l.Reopen(c.dir, c.more, 1)
		var m Misuse
		if !errors.As(err, &m) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
	if !reflect.DeepEqual(files(t, out.Run), before) {
		t.Error("what was refused has changed the folder")
	}
}

// An end that fails in any of its steps is no end: it is said, the status is not done,
// and going on completes it.
func TestAnEndThatFailsIsRepaired(t *testing.T) {
	want := done(t)
	defer disk.Trace(nil)
	block := func(path string) {
		disk.Trace(func(c disk.Change) error {
			if c.Op == disk.Renamed && c.To == path {
				return errors.New("it cannot be written")
			}
			return nil
		})
		if !strings.Contains(path, "seed-") { // not all is written through package disk
			if err := os.MkdirAll(filepath.Join(path, "in the way"), 0o755); err != nil {
				t.Error(err)
			}
		}
	}
	for _, c := range []struct {
		name   string
		at     Kind   // news at which it goes wrong
		text   string // that it has
		file   string // what it cannot write; "": it is stopped
		status string
	}{
		{"stopped while learning", Learnt, "", "", "stopped"},
		{"stopped while scoring", Scoring, "", "", "stopped"},
		{"no result", Scoring, "", "seed-1/result.json", "failed"},
		{"no report", Ended, "", "report.html", "failed"},
		{"no env.json", Ended, "", "seed-1/env.json", "running"},
	} {
		l := quiet()
		training := brief(t, l)
		ctx, stop := context.WithCancel(t.Context())
		bad := filepath.Join(training.Folder, filepath.FromSlash(c.file))
		l.Watch = func(n News) {
			if n.Kind != c.at || !strings.HasPrefix(n.Text, c.text) {
				return
			}
			if c.file == "" {
				stop()
			} else {
				block(bad)
			}
		}
		if _, err := finish(ctx, training); err == nil {
			t.Errorf("%s: no error", c.name)
		}
		stop()
		disk.Trace(nil)
		l.Watch = nil
		dir := filepath.Join(training.Folder, "seed-1")
		if env, err := runlog.ReadEnv(dir); err != nil || env.Status != c.status {
			t.Errorf("%s: the status is %q, %v; want %s", c.name, env.Status, err, c.status)
		}
		if c.file == "report.html" {
			if err := os.RemoveAll(bad); err != nil {
				t.Fatal(err)
			}
		}
		whole(t, c.name, goOn(t, l, training.Folder, Further{}), want)
	}
}

// whole checks that a training has all that belongs to it, and its numbers.
func whole(t *testing.T, name string, got, want *Trained) {
	t.Helper()
	for i, s := range got.Seeds {
		if !reflect.DeepEqual(s.same(), want.Seeds[i].same()) {
			t.Errorf("%s: after going on seed %d has %+v, want %+v", name, s.Seed, s.same(), want.Seeds[i].same())
		}
		if env, err := runlog.ReadEnv(s.Run); err != nil || env.Status != "done" {
			t.Errorf("%s: after going on seed %d is %q, %v", name, s.Seed, env.Status, err)
		}
	}
	if at, err := os.Stat(got.Report); err != nil || at.IsDir() {
		t.Errorf("%s: after going on there is no report, %v", name, err)
	}
}

// A process may die between any two of those steps: what is there is kept, what is
// missing is done.
func TestADeathAtTheEndIsRepaired(t *testing.T) {
	for _, c := range []struct {
		name  string
		gone  []string
		again bool // seed 1 is scored anew
	}{
		{"before scoring", []string{"report.html"}, true},
		{"before the report", []string{"report.html"}, false},
		{"before done", nil, false},
	} {
		want := done(t)
		dir := want.Run
		for _, name := range c.gone {
			if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
				t.Fatal(err)
			}
		}
		seed := filepath.Join(dir, "seed-1")
		run, err := runlog.Open(seed) // and it is never finished
		if err == nil && c.again {
			err = run.RemoveResult()
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Close(); err != nil {
			t.Fatal(err)
		}
		before := files(t, dir)
		whole(t, c.name, goOn(t, quiet(), dir, Further{}), want)
		after := files(t, dir)
		for path, b := range before {
			if strings.Contains(path, "seed-10") && after[path] != b {
				t.Errorf("%s: %s of the seed that was done has changed", c.name, path)
			}
		}
		if at := filepath.Join(seed, ResultFile); !c.again && before[at] != after[at] {
			t.Errorf("%s: the result that was there has changed", c.name)
		}
	}
}

// A training whose maker died while it made the folders goes on with all its seeds.
func TestSeedsWhoseMakerDiedAreBegun(t *testing.T) {
	want := done(t)
	dir := want.Run
	if err := os.Remove(filepath.Join(dir, "seed-10", "spec.yaml")); err != nil {
		t.Fatal(err)
	}
	if _, err := quiet().Reopen(dir, Further{}, 1); err == nil || !strings.Contains(err.Error(), "spec.yaml is missing") {
		t.Errorf("a seed that was done and has lost its spec: %v", err)
	}
	for _, name := range []string{"env.json", "result.json", "checkpoints"} {
		if err := os.RemoveAll(filepath.Join(dir, "seed-10", name)); err != nil {
			t.Fatal(err)
		}
	}
	whole(t, "a seed without a spec", goOn(t, quiet(), dir, Further{}), want)
}

// The same at any earlier moment: no seed has begun, or not even its folder is there.
func TestATrainingThatDiedAtOnceIsBegun(t *testing.T) {
	want := done(t)
	for name, left := range map[string]func(dir string) error{
		"no seed's folder": func(string) error { return nil },
		"an empty folder":  func(dir string) error { return os.Mkdir(filepath.Join(dir, "seed-1"), 0o755) },
		"a folder without a spec": func(dir string) error {
			if err := os.MkdirAll(filepath.Join(dir, "seed-1", "checkpoints"), 0o755); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "seed-1", "lock"), []byte("12345\n"), 0o644)
		},
	} {
		l := quiet()
		training := brief(t, l)
		if err := training.abandon(); err != nil {
			t.Fatal(err)
		}
		for _, seed := range []string{"seed-1", "seed-10"} {
			if err := os.RemoveAll(filepath.Join(training.Folder, seed)); err != nil {
				t.Fatal(err)
			}
		}
		if err := left(training.Folder); err != nil {
			t.Fatal(err)
		}
		got := goOn(t, l, training.Folder, Further{})
		if len(got.Seeds) != 2 {
			t.Fatalf("%s: %d seeds, want 2", name, len(got.Seeds))
		}
		whole(t, name, got, want)
	}
	training := brief(t, quiet())
	path := filepath.Join(training.Folder, "group.json")
	b, err := os.ReadFile(path)
	if err == nil {
		err = errors.Join(training.abandon(), os.WriteFile(path, bytes.Replace(b, []byte("10"), []byte("11"), 1), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := quiet().Reopen(training.Folder, Further{}, 1); err == nil || !strings.Contains(err.Error(), path+", which says") {
		t.Errorf("a changed list of seeds: error %v", err)
	}
	other := brief(t, quiet(), "ppo.lr=0.01")
	if b, err = os.ReadFile(filepath.Join(other.Folder, "group.json")); err == nil {
		err = errors.Join(other.abandon(), os.WriteFile(path, b, 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := quiet().Reopen(training.Folder, Further{}, 1); err == nil || !strings.Contains(err.Error(), path+", which says") {
		t.Errorf("the list of another training: error %v", err)
	}
}

// Another build says so, and goes on only if it is told to. It leaves what is finished.
func TestAnotherBuildIsAcceptedOrRefused(t *testing.T) {
	l := quiet()
	training := brief(t, l)
	if err := training.abandon(); err != nil {
		t.Fatal(err)
	}
	other := quiet()
	other.Version = "other"
	var notes []string
	other.Watch = func(n News) {
		if n.Kind == Noted {
			notes = append(notes, n.Text)
		}
	}
	var m Misuse
	_, err := other.Reopen(training.Folder, Further{}, 1)
	if !errors.As(err, &m) {
		t.Fatalf("error %v, want that it is another build", err)
	}
	for _, want := range []string{"seed-1", "hop test,", "hop other,", "--accept-build"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("it does not say %q: %v", want, err)
		}
	}
	got := goOn(t, other, training.Folder, Further{Build: true})
	if text := strings.Join(notes, "\n"); !strings.Contains(text, "seed 1 goes on by another build") || !strings.Contains(text, "hop test,") {
		t.Errorf("it says %q, want which builds they are", text)
	}
	env, err := runlog.ReadEnv(got.Seeds[0].Run)
	if err != nil || env.Version != "test" || env.Last().Version != "other" {
		t.Errorf("env.json has %+v and %+v, %v", env.Build, env.Later, err)
	}
	if again := goOn(t, l, training.Folder, Further{}); !reflect.DeepEqual(again.Seeds, got.Seeds) {
		t.Errorf("what is finished is %+v to another build, want %+v", again.Seeds, got.Seeds)
	}
	for _, more := range []Further{{Steps: 1200}, {Seeds: []uint64{3}}} {
		if _, err := l.Reopen(training.Folder, more, 1); err == nil || !strings.Contains(err.Error(), "--accept-build") {
			t.Errorf("%+v by another build: error %v", more, err)
		}
	}
}

// What a folder is called plays no part in what is found in it.
func TestBracketsInFolders(t *testing.T) {
	l := quiet()
	out := done(t)
	root := filepath.Join(t.TempDir(), "a[1]")
	if err := errors.Join(os.Mkdir(root, 0o755), os.Rename(out.Run, filepath.Join(root, "ppo-4x4-001"))); err != nil {
		t.Fatal(err)
	}
	zoo, err := l.Zoo(root)
	if err != nil || len(zoo) != 2 {
		t.Errorf("%d co-players, %v; want 2", len(zoo), err)
	}
	c := crossing{Lab: l}
	c.Runs = root
	if list, err := c.find("ppo-4x4"); err != nil || len(list) != 1 || len(list[0].dirs) != 2 {
		t.Errorf("the newest runs of a preset are %+v, %v", list, err)
	}
	if again := goOn(t, l, filepath.Join(root, "ppo-4x4-001"), Further{}); len(again.Seeds) != 2 {
		t.Errorf("%d seeds", len(again.Seeds))
	}
}

// The report of a training is written before its runs are called done; it does not say
// that they are still running.
func TestTheReportOfAFinishedTrainingSaysSo(t *testing.T) {
	l := quiet()
	out, err := l.Train(t.Context(), brief(t, l))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out.Report)
	if err != nil || !strings.Contains(string(text), "held against their seals") {
		t.Fatalf("a report that says nothing of seals, %v", err)
	}
	for _, wrong := range []string{"not done", "running, or killed"} {
		if strings.Contains(string(text), wrong) {
			t.Errorf("the report says %q", wrong)
		}
	}
}

// A report that is gone is written again, and nothing else.
func TestAMissingReportIsWritten(t *testing.T) {
	want := done(t)
	if err := os.Remove(want.Report); err != nil {
		t.Fatal(err)
	}
	before := files(t, filepath.Join(want.Run, "seed-1"))
	whole(t, "a missing report", goOn(t, quiet(), want.Run, Further{}), want)
	if !reflect.DeepEqual(files(t, filepath.Join(want.Run, "seed-1")), before) {
		t.Error("seed 1 has changed")
	}
}
