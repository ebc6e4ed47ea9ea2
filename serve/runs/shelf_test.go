package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/store/runlog"
)

const spec = "name: ppo\ngame:\n    name: staghunt\ntrain:\n    steps: 1000\n"

// begin makes a run that is being written: a few rows, a checkpoint, and rows after it.
func begin(t testing.TB, dir string, seed uint64) *runlog.Run {
	t.Helper()
	r, err := runlog.Create(dir, []byte(spec), runlog.Info{Preset: "ppo", Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	must(t, r.Log([]runlog.Row{{Step: 100, Name: "return/mean", Agent: -1, Value: 1, N: 4}}))
	must(t, r.Checkpoint(100, []byte("body"), 1, runlog.Keep{}))
	must(t, r.Log([]runlog.Row{{Step: 250, Name: "return/mean", Agent: -1, Value: 2, N: 4}}))
	return r
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func finish(t testing.TB, r *runlog.Run, status string, mean float64) {
	t.Helper()
	if status == Done {
		must(t, r.SetResult([]byte(fmt.Sprintf(`{"mean":%v,"se":0.1}`, mean))))
	}
	must(t, r.Finish(status))
	must(t, r.Close())
}

func open(t testing.TB, folders ...string) *Shelf {
	t.Helper()
	s, err := New(folders)
	must(t, err)
	return s
}

func rowOf(t testing.TB, l *Look, name string) Row {
	t.Helper()
	r, ok := l.Row(name)
	if !ok {
		var have []string
		for _, r := range l.Rows {
			have = append(have, r.Name)
		}
		t.Fatalf("there is no %s among %v", name, have)
	}
	return r
}

// Each run's state is told by its lock, its env.json and its seals, and one that is
// broken takes no other down.
func TestEveryStateIsKnown(t *testing.T) {
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	finish(t, begin(t, at("done/seed-1"), 1), Done, 1.5)
	finish(t, begin(t, at("done/seed-2"), 2), Done, 2.5)
	finish(t, begin(t, at("stopped/seed-1"), 1), Stopped, 0)
	finish(t, begin(t, at("failed/seed-1"), 1), Failed, 0)
	held := begin(t, at("running/seed-1"), 1)
	defer held.Close()
	must(t, held.Find(check.Finding{Step: 200, Check: "odd", Status: check.Suspect, Says: "It is <b>odd</b>.", Next: "look"}))
	must(t, begin(t, at("killed/seed-1"), 1).Close())
	finish(t, begin(t, at("cut/seed-1"), 1), Done, 1)
	must(t, os.Truncate(at("cut/seed-1/metrics.csv"), 30))
	finish(t, begin(t, at("respec/seed-1"), 1), Done, 1)
	must(t, os.WriteFile(at("respec/seed-1/spec.yaml"), []byte(strings.Replace(spec, "1000", "2000", 1)), 0o644))
	finish(t, begin(t, at("noenv/seed-1"), 1), Done, 1)
	must(t, os.WriteFile(at("noenv/seed-1/env.json"), []byte(`{"seed":`), 0o644))
	finish(t, begin(t, at("flipped/seed-1"), 1), Done, 1)
	b, err := os.ReadFile(at("flipped/seed-1/metrics.csv"))
	must(t, err)
	b[len(b)-3] ^= 1
	must(t, os.WriteFile(at("flipped/seed-1/metrics.csv"), b, 0o644))
	must(t, os.MkdirAll(at("planned"), 0o755))
	must(t, runlog.Group{Preset: "ppo", Seeds: []uint64{1, 2}, Spec: spec}.Write(at("planned")))
	finish(t, begin(t, at("deep/er/alone"), 7), Done, 3)
	must(t, os.WriteFile(at("badgroup.json"), nil, 0o644))

	s := open(t, root)
	s.Now()
	s.verify(context.Background(), time.Minute)
	s.next = time.Time{}
	l := s.Now()
	for name, want := range map[string]string{
		"0:done": Done, "0:stopped": Stopped, "0:failed": Failed, "0:running": Running, "0:killed": Killed, "0:cut": Damaged,
		"0:respec": Damaged, "0:noenv": Damaged, "0:flipped": Damaged, "0:planned": Waiting, "0:deep/er/alone": Done,
	} {
		r := rowOf(t, l, name)
		if r.State != want {
			t.Errorf("%s is %s, want %s", name, r.State, want)
		}
		if (want == Damaged) != (r.Why != "") || strings.Contains(r.Why, root) {
			t.Errorf("%s: %q", name, r.Why)
		}
	}
	if len(l.Rows) != 11 {
		t.Errorf("%d trainings, want 11", len(l.Rows))
	}
	done := rowOf(t, l, "0:done")
	if *done.Mean != 2 || done.CI == nil || done.Scored != 2 || done.Preset != "ppo" || done.Game != "staghunt" || done.Step != 500 ||
		done.Steps != 2000 {
		t.Errorf("done: %s", done.JSON)
	}
	if !done.Seeds[0].Sealed || rowOf(t, l, "0:running").Seeds[0].Sealed {
		t.Error("whether files were held against their sums is told wrong")
	}
	run := rowOf(t, l, "0:running")
	if len(run.Findings) != 1 || run.Worst != "suspect" || run.Seeds[0].PID != os.Getpid() || run.Step != 250 || run.Mean != nil {
		t.Errorf("running: %s, pid %d", run.JSON, run.Seeds[0].PID)
	}
	if why := rowOf(t, l, "0:respec").Why; !strings.Contains(why, "train.steps is 2000, was 1000") {
		t.Errorf("the sentence of runlog is not told: %q", why)
	}
	var back Training
	for _, r := range l.Rows {
		if err := json.Unmarshal(r.JSON, &back); err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
}

// A look sees what has changed since the last: growth, an end, a deleted run; and a writer
// that gives no sign of life is said to be silent.
func TestChangesAreSeen(t *testing.T) {
	root := t.TempDir()
	now := time.Now()
	run := begin(t, filepath.Join(root, "a/seed-1"), 1)
	finish(t, begin(t, filepath.Join(root, "b/seed-1"), 1), Done, 1)
	s := open(t, root)
	s.now = func() time.Time { return now }
	look := func() *Look {
		now = now.Add(2 * time.Second)
		return s.Now()
	}
	first := look()
	if again := look(); again.Rev != first.Rev {
		t.Errorf("nothing has changed, and there is another look: %d, %d", first.Rev, again.Rev)
	}
	_, woken := s.Changed()
	must(t, run.Log([]runlog.Row{{Step: 500, Name: "return/mean", Agent: -1, Value: 2, N: 4}}))
	l := look()
	rows, gone, all := l.Since(first.Rev)
	if len(rows) != 1 || rows[0].Name != "0:a" || rows[0].Step != 500 || len(gone) != 0 || all {
		t.Fatalf("after growth: %d rows, gone %v, all %v", len(rows), gone, all)
	}
	select {
	case <-woken:
	default:
		t.Error("nobody is woken")
	}
	now = now.Add(Silence + time.Minute)
	l = look()
	if r := rowOf(t, l, "0:a"); r.State != Running || !r.Seeds[0].Silent || r.Left != nil {
		t.Errorf("a writer that is silent: %s", r.JSON)
	}
	finish(t, run, Done, 4)
	must(t, os.RemoveAll(filepath.Join(root, "b")))
	rev := l.Rev
	l = look()
	if rows, gone, _ = l.Since(rev); len(rows) != 1 || rows[0].State != Done || len(gone) != 1 || gone[0] != "0:b" {
		t.Errorf("after the end: %d rows, gone %v", len(rows), gone)
	}
	if _, _, all := l.Since(0); !all {
		t.Error("who has seen nothing is not given all")
	}
}

// The time left follows the last windows, not the whole run.
func TestTimeLeftFollowsTheLastWindows(t *testing.T) {
	var list []sample
	at := time.Unix(1000, 0)
	step := int64(0)
	for range 300 { // slow at first
		at, step = at.Add(time.Second), step+10
		list = paced(list, sample{at, step})
	}
	for range 100 { // then fast
		at, step = at.Add(time.Second), step+1000
		list = paced(list, sample{at, step})
	}
	if r := rateOf(list); r < 990 || r > 1010 || len(list) > paceLength {
		t.Errorf("%v steps a second over %d samples, want 1000", r, len(list))
	}
	if list = paced(list, sample{at.Add(time.Second), 5}); rateOf(list) != 0 {
		t.Error("a run that was cut back keeps its old rate")
	}
}

// A name leads to a folder below its own and nowhere else.
func TestNamesStayBelowTheirFolder(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	finish(t, begin(t, filepath.Join(root, "a/seed-1"), 1), Done, 1)
	finish(t, begin(t, filepath.Join(outside, "secret/seed-1"), 1), Done, 1)
	if runtime.GOOS != "windows" {
		must(t, os.Symlink(outside, filepath.Join(root, "link")))
		must(t, os.Symlink(filepath.Join(outside, "secret/seed-1"), filepath.Join(root, "a/seed-2")))
	}
	s := open(t, root)
	for _, name := range []string{"0:a", "0:a/seed-1", "0:."} {
		if _, err := s.Dir(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{
		"", ":", "0", "0:", "a", "1:a", "-1:a", "00:a", "+0:a", "0:..", "0:../" + filepath.Base(outside), "0:a/../a", "0:a/", "0:/a",
		"0:./a", "0:a//seed-1",
		"0:" + outside, "0:link", "0:link/secret", "0:a/seed-2", `0:a\seed-1`, "0:a\x00", "0:%2e%2e", "0:a/%2e%2e", "0:none", "0:" +
			strings.Repeat("a/", 2000),
		"0:a/seed-1/../../..", "0:C:\\", "0:\\\\host\\share",
	} {
		if dir, err := s.Dir(name); err == nil || !errors.Is(err, ErrName) || strings.Contains(err.Error(), outside) &&
			!strings.Contains(name, outside) {
			t.Errorf("%.60q leads to %q: %v", name, dir, err)
		}
	}
	for _, r := range s.Now().Rows {
		if strings.Contains(r.Name, "link") || len(r.Seeds) != 1 {
			t.Errorf("%s was found through a link: %s", r.Name, r.JSON)
		}
	}
}

// Tags that two servers write at the same time are all kept; runs are not touched.
func TestTagsOfTwoServersMeet(t *testing.T) {
	root := t.TempDir()
	const runs = 12
	for i := range runs {
		must(t, os.MkdirAll(filepath.Join(root, fmt.Sprint("r", i)), 0o755))
		must(t, runlog.Group{Preset: "ppo", Seeds: []uint64{1}, Spec: spec}.Write(filepath.Join(root, fmt.Sprint("r", i))))
	}
	finish(t, begin(t, filepath.Join(root, "r0/seed-1"), 1), Done, 1)
	before := tree(t, root)
	two := []*Shelf{open(t, root), open(t, root)}
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			if err := two[i%2].Label(fmt.Sprint("0:r", i), []string{" <script> ", "a", "a", ""}, fmt.Sprint("note ", i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, s := range two {
		s.next = time.Time{}
		for i := range runs {
			if r := rowOf(t, s.Now(), fmt.Sprint("0:r", i)); r.Note != fmt.Sprint("note ", i) || strings.Join(r.Tags, "|") != "<script>|a" {
				t.Errorf("%s: %q, %q", r.Name, r.Note, r.Tags)
			}
		}
	}
	must(t, two[0].Label("0:r3", nil, ""))
	if l, err := readLabels(root); err != nil || len(l.Runs) != runs-1 {
		t.Errorf("%d entries are left, %v", len(l.Runs), err)
	}
	after := tree(t, root)
	for name := range after {
		if !strings.HasPrefix(name, labelFolder) && before[name] != after[name] {
			t.Errorf("%s was touched", name)
		}
	}
	for _, bad := range []struct {
		tags []string
		note string
	}{{[]string{strings.Repeat("x", MaxTag+1)}, ""}, {[]string{"a\x00"}, ""}, {nil, strings.Repeat("x", MaxNote+1)}, {nil, "\xff"},
		{many(MaxTags + 1), ""}} {
		if err := two[0].Label("0:r1", bad.tags, bad.note); !errors.Is(err, ErrLabel) {
			t.Errorf("%.30q, %.10q: %v", bad.tags, bad.note, err)
		}
	}
	must(t, os.WriteFile(filepath.Join(root, labelFolder, labelFile), []byte("{"), 0o644))
	if err := two[0].Label("0:r1", []string{"x"}, ""); !errors.Is(err, ErrLabel) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged file of tags is written over: %v", err)
	}
}

func many(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprint(i))
	}
	return list
}

// tree is what lies below a folder: sizes and times by name.
func tree(t testing.TB, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at, err := d.Info()
		if rel, _ := filepath.Rel(root, path); err == nil && rel != "." {
			all[rel] = fmt.Sprint(at.ModTime(), at.Size(), at.Mode())
		}
		return err
	}))
	return all
}

// Looking at runs, also at those that are being written, changes nothing in them.
func TestLookingChangesNothing(t *testing.T) {
	root := t.TempDir()
	run := begin(t, filepath.Join(root, "a/seed-1"), 1)
	finish(t, begin(t, filepath.Join(root, "b/seed-1"), 1), Done, 1)
	before := tree(t, root)
	s := open(t, root)
	for range 5 {
		s.next = time.Time{}
		s.Now()
		s.verify(context.Background(), time.Second)
	}
	after := tree(t, root)
	if len(before) != len(after) {
		t.Errorf("%d files, were %d", len(after), len(before))
	}
	for name, was := range before {
		if after[name] != was {
			t.Errorf("%s is %s, was %s", name, after[name], was)
		}
	}
	must(t, run.Close())
}

// thousand makes a thousand runs, which share their files by hard links.
func thousand(t testing.TB, n int) string {
	t.Helper()
	root := t.TempDir()
	one := filepath.Join(root, "run-0000", "seed-1")
	finish(t, begin(t, one, 1), Done, 1)
	for i := 1; i < n; i++ {
		must(t, filepath.WalkDir(one, func(path string, d fs.DirEntry, err error) error {
			rel, _ := filepath.Rel(one, path)
			to := filepath.Join(root, fmt.Sprintf("run-%04d", i), "seed-1", rel)
			if err == nil && d.IsDir() {
				return os.MkdirAll(to, 0o755)
			}
			if err == nil {
				err = os.Link(path, to)
			}
			return err
		}))
	}
	return root
}

// Many runs open at once, and a second look at them costs little.
func TestManyRunsOpen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("hard links")
	}
	s := open(t, thousand(t, 250))
	if l := s.Now(); len(l.Rows) != 250 || l.Took > 3*time.Second {
		t.Fatalf("%d rows in %v", len(l.Rows), l.Took)
	}
}

// go test ./serve/runs -run xxx -bench Thousand
func BenchmarkAThousandRuns(b *testing.B) {
	root := thousand(b, 1000)
	for b.Loop() {
		s := open(b, root)
		if l := s.Now(); len(l.Rows) != 1000 {
			b.Fatalf("%d rows", len(l.Rows))
		}
		s.next = time.Time{}
		b.ReportMetric(float64(s.Now().Took.Milliseconds()), "ms/again")
	}
}

// A run that has no seals is not called sealed, whatever became of it, and says that nothing
// vouches for it.
func TestSealedIsOnlyWhatHasSeals(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"new", "old"} {
		finish(t, begin(t, filepath.Join(root, name), 1), "done", 1)
	}
	env := filepath.Join(root, "old", "env.json")
	b, err := os.ReadFile(env)
	must(t, err)
	var all map[string]any
	must(t, json.Unmarshal(b, &all))
	delete(all, "record")
	delete(all, "check")
	b, err = json.Marshal(all)
	must(t, err)
	must(t, os.WriteFile(env, b, 0o644))
	must(t, os.RemoveAll(filepath.Join(root, "old", "checkpoints")))
	s := open(t, root)
	s.Now()
	s.verify(t.Context(), time.Minute)
	s.next = time.Time{}
	l := s.Now()
	if row := rowOf(t, l, "0:new"); !row.Sealed || row.Loose != "" || row.State != Done {
		t.Errorf("a sealed run: %+v", row.Training)
	}
	if row := rowOf(t, l, "0:old"); row.Sealed || row.Loose == "" || row.Seeds[0].Sealed {
		t.Errorf("a run without seals: %+v %+v", row.Training, row.Seeds[0])
	}
}

// Runs below a folder called compare are runs; in a run's own folder that is one of figures.
func TestEveryRunIsFoundAndToldApart(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"compare/a": spec, "compare/b": strings.Replace(spec, "1000", "2000\n    list: [1, 2]", 1), "a/compare/no": spec, "a": spec,
	} {
		r, err := runlog.Create(filepath.Join(root, filepath.FromSlash(name), "seed-1"), []byte(text), runlog.Info{Preset: "ppo", Seed: 1})
		must(t, err)
		finish(t, r, Done, 1)
	}
	l := open(t, root).Now()
	if len(l.Rows) != 3 {
		t.Errorf("%d runs are found, want 3", len(l.Rows))
	}
	for name, want := range map[string]string{
		"0:compare/a": "map[train.steps:1000]", "0:compare/b": "map[train.list:[1, 2] train.steps:2000]", "0:a": "map[train.steps:1000]",
	} {
		if got := fmt.Sprint(rowOf(t, l, name).Settings); got != want {
			t.Errorf("%s differs in %s, want %s", name, got, want)
		}
	}
}
