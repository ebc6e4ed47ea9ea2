package runlog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hop-marl/hop/num/check"
)

const sealedSpec = "name: toy\ngame:\n  horizon: 30\nppo:\n  lr: 0.001\n"

// ended returns a copy of a run with everything in it: findings, two checkpoints and a
// result. It has ended with a status; "": it was killed.
func ended(t *testing.T, status string) string {
	t.Helper()
	from, err := map[string]func() (string, error){"done": doneRun, "": killedRun}[status]()
	must(t, err)
	dir := filepath.Join(t.TempDir(), "run")
	must(t, os.CopyFS(dir, os.DirFS(from)))
	return dir
}

// Each is made once.
var (
	doneRun   = sync.OnceValues(func() (string, error) { return endRun("done") })
	killedRun = sync.OnceValues(func() (string, error) { return endRun("") })
)

func endRun(status string) (string, error) {
	root, err := os.MkdirTemp("", "runlog")
	if err != nil {
		return "", err
	}
	toRemove.Store(root, true)
	dir := filepath.Join(root, "run")
	r, err := Create(dir, []byte(sealedSpec), Info{Preset: "toy", Seed: 3, Build: NewBuild("dev", "plain")})
	if err != nil {
		return "", err
	}
	var errs []error
	do := func(err error) { errs = append(errs, err) }
	for step := int64(1); step <= 6; step++ {
		do(r.Log(toyRows(step, uint64(step))[:3]))
		if step%2 == 0 {
			do(r.Find(check.Finding{Step: int(step), Check: "entropy", Says: "it is 0"}))
		}
		if step%3 == 0 {
			do(r.Checkpoint(step, toyBody(uint64(step)), 0, Keep{}))
		}
	}
	do(r.Summarise("done", []Row{{6, "result/mean", -1, 2.5, 1}}))
	do(r.SetResult([]byte(`{"mean": 2.5}`)))
	if status != "" {
		do(r.Finish(status))
	}
	do(r.Close())
	return dir, errors.Join(errs...)
}

var toRemove sync.Map // folders that outlive the test that made them

func TestMain(m *testing.M) {
	code := m.Run()
	for root := range toRemove.Range {
		os.RemoveAll(root.(string))
	}
	os.Exit(code)
}

// change writes a file anew.
func change(t *testing.T, path string, do func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, do(b), 0o644))
}

func swap(was, is string) func([]byte) []byte {
	return func(b []byte) []byte {
		if !bytes.Contains(b, []byte(was)) {
			panic("there is no " + was)
		}
		return bytes.Replace(b, []byte(was), []byte(is), 1)
	}
}

// What was changed in a run is named, with its file and its field, by whoever reads it,
// and a run that is gone on with is left as it is.
func TestWhatWasChangedIsNamed(t *testing.T) {
	t.Parallel()
	half := func(b []byte) []byte { return b[:len(b)/2] }
	for _, c := range []struct {
		file  string
		do    func([]byte) []byte
		words []string
	}{
		{specFile, swap("lr: 0.001", "lr: 0.002"), []string{"ppo.lr is 0.002, was 0.001", "step-000000000006.json"}},
		{specFile, swap("horizon: 30", "horizon: 35"), []string{"game.horizon is 35, was 30"}},
		{specFile, swap("ppo:", "pqo:"), []string{"pqo.lr was added, ppo.lr is gone"}},
		{envFile, swap(`"seed": 3`, `"seed": 4`), []string{"seed is 4, was 3"}},
		{envFile, swap(`"preset": "toy"`, `"preset": "boy"`), []string{"preset is boy, was toy"}},
		{envFile, swap(`"kernels": "plain"`, `"kernels": "avx2"`), []string{"avx2 kernels, was"}},
		{envFile, swap(`"check"`, `"chekc"`), []string{"changed"}},
		{envFile, swap(`"record"`, `"recodr"`), []string{"changed"}},
		{envFile, half, []string{"JSON"}},
		{metricsFile, half, []string{"bytes"}},
		{metricsFile, swap("5,mean", "6,mean"), []string{"changed"}},
		{eventsFile, half, []string{"bytes"}},
		{eventsFile, func(b []byte) []byte { b[15] ^= 1; return b }, []string{"the record at byte 0 was changed"}}, // the clock
		{findingsFile, swap("it is 0", "it is 1"), []string{"changed"}},
		{resultFile, swap("2.5", "3.5"), []string{"changed"}},
		{resultFile, half, []string{"bytes"}},
		{"checkpoints/step-000000000006.json", swap(`"metrics_bytes": `, `"metrics_bytes": 1`), []string{"changed"}},
		{"checkpoints/step-000000000006.json", swap(`"check"`, `"chekc"`), []string{"changed"}},
		{"checkpoints/step-000000000006.safetensors", half, []string{"bytes"}},
	} {
		for _, status := range []string{"done", ""} {
			name := fmt.Sprintf("%s of a run %q", c.file, status)
			dir := ended(t, status)
			path := filepath.Join(dir, filepath.FromSlash(c.file))
			change(t, path, c.do)
			before := exact(t, dir)
			_, _, err := Last(dir)
			says(t, name, err, append(c.words, path)...)
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: %v is not ErrDamaged", name, err)
			}
			if strings.Contains(c.file, "checkpoints") || c.file == resultFile {
				continue // another checkpoint is gone on from; the result can be found again
			}
			_, err = Open(dir)
			says(t, name+", gone on with", err, append(c.words, path)...)
			same(t, name, exact(t, dir), before)
		}
	}
}

// What is missing is named too, also a whole checkpoint that is gone without a trace.
func TestWhatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"done", ""} {
		for _, file := range []string{envFile, metricsFile, eventsFile, findingsFile, resultFile, "checkpoints/step-000000000006.json"} {
			dir := ended(t, status)
			path := filepath.Join(dir, filepath.FromSlash(file))
			must(t, os.Remove(path))
			if body, ok := strings.CutSuffix(path, ".json"); ok && strings.Contains(file, "step") {
				must(t, os.Remove(body+bodyKind))
			}
			_, _, err := Last(dir)
			says(t, file, err, path)
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: %v is not ErrDamaged", file, err)
			}
		}
	}
}

// What a run that has not ended adds to its files is no damage; to one that has it is.
func TestARunMayGrowUntilItEnds(t *testing.T) {
	t.Parallel()
	more := func(b []byte) []byte { return append(b, "7,mean,,1,1\n"...) }
	killed := ended(t, "")
	change(t, filepath.Join(killed, metricsFile), more)
	rows, err := ReadMetrics(killed)
	must(t, err)
	if rows[len(rows)-1].Step != 7 {
		t.Errorf("the last row is %v, want the one that was added", rows[len(rows)-1])
	}
	if _, _, err := Last(killed); err != nil {
		t.Error(err)
	}
	if rec, err := Read(killed); err != nil || !strings.Contains(rec.Unsealed(), "killed") {
		t.Errorf("what nothing vouches for is said as %q, %v", rec.Unsealed(), err)
	}
	done := ended(t, "done")
	change(t, filepath.Join(done, metricsFile), more)
	_, err = ReadMetrics(done)
	says(t, "rows after the end", err, metricsFile, "added to")
	change(t, filepath.Join(done, logFile), more)
	if rec, err := Read(done); err != nil || rec.Unsealed() != "" {
		t.Errorf("a run that is done has unsealed parts: %q, %v", rec.Unsealed(), err)
	}
}

// Files of another run are named, even if that differs in a setting, or in its seed,
// only.
func TestFilesOfAnotherRunAreNamed(t *testing.T) {
	t.Parallel()
	for seed, spec := range map[uint64]string{3: strings.Replace(sealedSpec, "30", "35", 1), 4: sealedSpec} {
		other := filepath.Join(t.TempDir(), "run")
		r, err := Create(other, []byte(spec), Info{Preset: "toy", Seed: seed, Build: NewBuild("dev", "plain")})
		must(t, err)
		for step := int64(3); step <= 6; step += 3 {
			found := check.Finding{Step: 2, Check: "other"}
			must(t, errors.Join(r.Log(toyRows(step, 99)), r.Find(found), r.Checkpoint(step, toyBody(99), 0, Keep{})))
		}
		must(t, errors.Join(r.SetResult([]byte(`{"mean": 9}`)), r.Finish("done"), r.Close()))
		for _, status := range []string{"done", ""} {
			for _, file := range []string{specFile, envFile, metricsFile, eventsFile, findingsFile, resultFile, "checkpoints/step-000000000006"} {
				if file == specFile && spec == sealedSpec {
					continue
				}
				dir := ended(t, status)
				names := []string{file}
				if strings.HasPrefix(file, checkDir) {
					names = []string{file + sealKind, file + bodyKind} // a whole one
				}
				for _, name := range names {
					b, err := os.ReadFile(filepath.Join(other, name))
					must(t, err)
					must(t, os.WriteFile(filepath.Join(dir, name), b, 0o644))
				}
				_, _, err := Last(dir)
				says(t, file+" of another run", err, filepath.FromSlash(file))
			}
		}
	}
}

// A result that was written in the moment of a kill, and is not sealed, is none.
func TestAResultThatIsNotSealedIsNone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	play(t, dir, 6)
	must(t, os.WriteFile(filepath.Join(dir, resultFile), []byte("{}"), 0o644))
	rec, err := Read(dir)
	must(t, err)
	if b, err := rec.Result(); b != nil || err != nil {
		t.Errorf("got %q, %v; want none", b, err)
	}
	if b, err := os.ReadFile(filepath.Join(ended(t, "done"), resultFile)); err != nil || len(b) == 0 {
		t.Fatal(err)
	}
}

// The seals follow a spec that is changed by the program itself.
func TestSealsFollowTheSpec(t *testing.T) {
	t.Parallel()
	dir := ended(t, "done")
	r := opened(t, dir)
	longer := strings.Replace(sealedSpec, "30", "60", 1)
	must(t, errors.Join(r.RemoveResult(), r.SetSpec([]byte(longer)), r.Close()))
	if _, step, err := Last(dir); err != nil || step != 6 {
		t.Errorf("the last is step %d, %v", step, err)
	}
	if got, err := ReadSpec(dir); err != nil || string(got) != longer {
		t.Errorf("the spec is %q, %v", got, err)
	}
	change(t, filepath.Join(dir, specFile), swap("60", "30"))
	_, err := ReadSpec(dir)
	says(t, "the old spec", err, "game.horizon is 30, was 60")
}

// A run of a program that sealed nothing but bodies is read, it is said that nothing
// vouches for it, and going on seals it and ends in the same bytes.
func TestARunThatWasNotSealedGoesOn(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	play(t, dir, 10)
	loosen(t, dir)
	rec, err := Read(dir)
	must(t, err)
	if !rec.Loose() || rec.Unsealed() == "" {
		t.Error("nothing is said about a run that is not sealed")
	}
	if _, step, err := Last(dir); err != nil || step != 9 {
		t.Errorf("the last is step %d, %v", step, err)
	}
	play(t, dir, toySteps)
	same(t, "a run that was not sealed", exact(t, dir), whole(t, toySteps))
	if rec, err := Read(dir); err != nil || rec.Unsealed() != "" {
		t.Errorf("after going on: %q, %v", rec.Unsealed(), err)
	}
}

// loosen makes a run what an earlier program left.
func loosen(t *testing.T, dir string) {
	t.Helper()
	cut := func(b []byte, from, to string) []byte {
		i, k := bytes.Index(b, []byte(from)), bytes.LastIndex(b, []byte(to))
		if i < 0 || k < i {
			t.Fatalf("%q has no %s before %s", b, from, to)
		}
		return append(bytes.Clone(b[:i]), b[k:]...)
	}
	change(t, filepath.Join(dir, envFile), func(b []byte) []byte { return cut(b, ",\n  \"record\"", "\n}") })
	for _, step := range steps(t, dir) {
		change(t, checkPath(dir, step, sealKind), func(b []byte) []byte {
			b = cut(b, ",\n  \"spec\"", "\n}")
			b = cut(b, `"findings_bytes"`, `"keep"`)
			b = cut(b, `"metrics_sha256"`, `"events_bytes"`)
			return cut(b, `"events_sha256"`, `"keep"`)
		})
	}
}

// A folder that was received may hold links to files of whoever received it.
func TestNothingIsWrittenThroughALink(t *testing.T) {
	t.Parallel()
	for _, file := range []string{metricsFile, eventsFile, logFile, checkDir} {
		dir, outside := ended(t, ""), filepath.Join(t.TempDir(), "outside")
		path := filepath.Join(dir, file)
		must(t, os.Rename(path, outside))
		if os.Symlink(outside, path) != nil {
			t.Skip("no links here")
		}
		if r, err := Open(dir); err == nil {
			r.Close()
			t.Errorf("%s: a run whose file is a link to another place can be written", file)
		} else {
			says(t, file, err, dir)
		}
	}
}

// A checkpoint that is put beside those of a run that has ended is not its newest.
func TestACheckpointAddedToAnEndedRunIsNamed(t *testing.T) {
	t.Parallel()
	dir, longer := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "run")
	for i, dir := range []string{dir, longer} {
		r, err := Create(dir, []byte(sealedSpec), Info{Preset: "toy", Seed: 3})
		must(t, err)
		for step := range int64(i + 1) {
			must(t, r.Checkpoint(step, toyBody(1), 0, Keep{}))
		}
		must(t, r.Finish("stopped"))
		must(t, r.Close())
	}
	for _, kind := range []string{bodyKind, sealKind} {
		must(t, os.Link(checkPath(longer, 1, kind), checkPath(dir, 1, kind)))
	}
	_, _, err := Last(dir)
	says(t, "an added checkpoint", err, checkPath(dir, 1, sealKind)+" is not of this run")
	c, err := (&Reader{AcceptOlder: true}).Last(dir)
	if err != nil || c.Step != 0 {
		t.Errorf("the run's own checkpoint: %+v, %v", c, err)
	}
}
