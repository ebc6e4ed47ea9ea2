package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hop/runlog"
)

// harms are what can happen to a file; other is a file of the same place of another
// run, dataset or model.
var harms = []struct {
	name string
	do   func(b, other []byte) []byte // nil: the file is removed
}{
	{"flip", func(b, _ []byte) []byte { b = bytes.Clone(b); b[len(b)/2] ^= 1; return b }},
	{"truncate", func(b, _ []byte) []byte { return b[:len(b)/2] }},
	{"empty", func([]byte, []byte) []byte { return []byte{} }},
	{"zero", func(b, _ []byte) []byte { return make([]byte, len(b)) }},
	{"swap", func(_, other []byte) []byte { return other }},
	{"delete", nil},
}

// What a command may do about a harmed file.
const (
	sameResult = "same result"
	fileNamed  = "error naming the file"
	doneAnew   = "said, and older or done anew"
)

// place is a folder of everything that commands read, a copy of it to mend it with, and
// a twin to swap files with.
type place struct{ root, whole, twin string }

// reader is a command, in which ROOT stands for the place and OUT for a new folder.
type reader struct {
	name  string
	args  string
	reads string // folders or files that are harmed
	slow  bool   // only some harms are tried unless all are asked for
}

var matrixReaders = []reader{
	{"show", "show ROOT/runs/a-001/seed-1", "runs/a-001", false},
	{"report", "report ROOT/runs/a-001 --no-gif", "runs/a-001", true},
	{"report with episodes", "report ROOT/runs/a-001", "runs/a-001/seed-1/checkpoints runs/a-001/seed-2/checkpoints", true},
	{"zoo list", "zoo list --out ROOT/runs", "runs/a-001", false},
	{"adapt", "adapt ROOT/runs/a-001 --vs ns,ns,ns --steps 40 --last 20 --lives 1 --starts 2 --json", "runs/a-001", true},
	{"crossplay", "crossplay ROOT/runs/a-001 ns --episodes 1 --out OUT --json", "runs/a-001", true},
	{"audit", "audit ROOT/runs/a-001 --updates 3 --episodes 20 --out OUT --json", "runs/a-001", true},
	{"collect --agents", "collect --agents ROOT/runs/a-001/seed-1 --rows 40 --out OUT --json", "runs/a-001/seed-1", true},
	{"play --run", "play --run ROOT/runs/a-001 --plain --episodes 1", "runs/a-001/seed-1", true},
	{"train RUN#AGENT", "train ROOT/b.yaml --out OUT --json", "runs/a-001/seed-1", true},
	{"train --resume", "train --resume ROOT/runs/a-001 --json", "runs/a-001", true},
	{"compare", "compare ROOT/a.yaml --seeds 1-2 --reuse ROOT/runs --out OUT --json", "runs/a-001", true},
	{"adapt --accept-older", "adapt ROOT/runs/a-001 --vs ns,ns,ns --steps 40 --last 20 --lives 1 --starts 2 --accept-older --json",
		"runs/a-001/seed-1/checkpoints", true},
	{"going on after a kill", "train --resume ROOT/runs/k-001 --json", "runs/k-001", true},
	{"report of a killed run", "report ROOT/runs/k-001 --no-gif", "runs/k-001", true},
	{"pretrain on a dataset", "pretrain vae --data ROOT/data --out OUT --set epochs=1 --set model.hidden=[8] --json", "data", true},
	{"collect again", "collect --mix ns,nh --rows 500 --shard 200 --seed 7 --out ROOT/data --json", "data", true},
	{"pretrain on a model", "pretrain cvae --data ROOT/data --vae ROOT/vae --out OUT --set epochs=1 --set model.gru=8 --json", "vae", true},
	{"pretrain again", "pretrain vae --data ROOT/data --out ROOT/vae --set epochs=1 --set model.hidden=[8] --json", "vae", true},
	{"train with stages", "train ROOT/s.yaml --out ROOT/staged --json", "staged/stages", true},
	{"report with stages", "report ROOT/staged/s-001 --no-gif", "staged/s-001/follow staged/s-001/stages.json", true},
}

// weak are files of which not every change is noticed, and by whom; docs/reliability.md
// says so.
var weak = map[string]string{
	"stages.json": "report with stages",
}

// TestCorruptionMatrix harms every file of a run, a dataset, a model and a stage in
// every way, and has every command read it: each gives the same result, or an error that
// names the file, or says that it used an older checkpoint or did something anew.
// HOP_MATRIX=1 tries all; otherwise slow commands meet one harm of each file.
func TestCorruptionMatrix(t *testing.T) {
	p := buildPlace(t)
	all := os.Getenv("HOP_MATRIX") != ""
	counts := map[string]map[string]int{}
	for r, c := range matrixReaders {
		begun := time.Now()
		want := c.result(t, p, "", nil)
		each := time.Since(begun)
		if want.code != 0 {
			t.Fatalf("%s, nothing harmed: exit %d\n%s", c.name, want.code, want.errs)
		}
		t.Logf("%s: %v", c.name, each)
		for f, file := range p.files(t, c.reads) {
			for h, harm := range harms {
				if c.slow && !all && h != (f+r)%len(harms) {
					continue
				}
				got := c.result(t, p, file, harm.do)
				kind := got.kind(want, file)
				if kind == "" {
					if c.name == weak[filepath.Base(file)] {
						kind = "not noticed"
					} else {
						t.Errorf("%s, %s of %s: exit %d, and none of what is allowed; it says\n%s\nit gives\n%s", c.name, harm.name, file,
							got.code, got.errs, cut(got.out))
						continue
					}
				}
				if counts[c.name] == nil {
					counts[c.name] = map[string]int{}
				}
				counts[c.name][kind]++
				if all {
					t.Logf("%s | %s | %s | %s", c.name, file, harm.name, kind)
				}
			}
		}
	}
	for _, c := range matrixReaders {
		var words []string
		for _, kind := range slices.Sorted(maps.Keys(counts[c.name])) {
			words = append(words, fmt.Sprintf("%s %d", kind, counts[c.name][kind]))
		}
		t.Logf("%-22s %s", c.name, strings.Join(words, ", "))
	}
}

func cut(s string) string { return s[:min(len(s), 2000)] }

// outcome is what a command came to.
type outcome struct {
	code      int
	out, errs string
}

// result runs a command in the place, in which a file is harmed, and mends it.
func (c reader) result(t *testing.T, p place, file string, harm func(b, other []byte) []byte) (o outcome) {
	t.Helper()
	defer p.mend(t, c.args)
	if path := filepath.Join(p.root, filepath.FromSlash(file)); file != "" {
		b, err := os.ReadFile(path)
		if err == nil && harm == nil {
			err = os.Remove(path)
		} else if err == nil {
			err = os.WriteFile(path, harm(b, p.other(t, file)), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	words := strings.NewReplacer("ROOT", p.root, "OUT", filepath.Join(p.root, "out")).Replace(c.args)
	o.code, o.out, o.errs = hop(t, strings.Fields(words)...)
	if strings.HasPrefix(c.name, "report") && o.code == 0 {
		b, err := os.ReadFile(filepath.Join(strings.Fields(words)[1], "report.md"))
		if err != nil {
			t.Fatal(err)
		}
		o.out += string(b)
	}
	o.out = clocks.ReplaceAllString(used.ReplaceAllString(o.out, ""), "")
	return o
}

// clocks are the lines in which equal results differ: they say how long something took,
// when, and what was done again.
var clocks = regexp.MustCompile(`(?m)^.*(_s"|"reused"|[0-9] s\b|started).*$`)

// used says which checkpoints were read: more of them, where a page is written anew.
var used = regexp.MustCompile(`(?s),\s*"checkpoints": \[.*?\]`)

// mend brings what a command may have changed back to what it was.
func (p place) mend(t *testing.T, args string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(p.root, "out")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"runs", "data", "vae", "staged"} {
		if !strings.Contains(args, "ROOT/"+name) && !strings.Contains(args, "ROOT/b.yaml") {
			continue
		}
		if err := os.RemoveAll(filepath.Join(p.root, name)); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(filepath.Join(p.root, name), os.DirFS(filepath.Join(p.whole, name))); err != nil {
			t.Fatal(err)
		}
	}
}

// again is how commands say that they did something anew.
var again = regexp.MustCompile(`older checkpoint|checkpoint before|starting over|scored again|not reused`)

// kind says which of what is allowed an outcome is, "" if none.
func (o outcome) kind(want outcome, file string) string {
	base := filepath.Base(file)
	said := strings.Contains(o.errs, base) || base == "env.json" && strings.Contains(o.errs, "spec.yaml")
	switch {
	case o.code != 0 && said && !strings.Contains(o.errs, "goroutine "):
		return fileNamed
	case o.code != 0:
		return ""
	case said && again.MatchString(o.errs):
		return doneAnew
	case o.out == want.out:
		return sameResult
	}
	return ""
}

// files lists what lies in folders, but for pictures, locks and what holds nothing.
func (p place) files(t *testing.T, folders string) (list []string) {
	t.Helper()
	for _, folder := range strings.Fields(folders) {
		err := filepath.WalkDir(filepath.Join(p.whole, filepath.FromSlash(folder)), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || e.Name() == "lock" || slices.Contains([]string{".png", ".gif"}, filepath.Ext(path)) {
				return err
			}
			if info, err := e.Info(); err != nil || info.Size() == 0 {
				return err
			}
			rel, err := filepath.Rel(p.whole, path)
			list = append(list, filepath.ToSlash(rel))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// other returns what lies in the same place of the twin: there, folders and files whose
// names have numbers may have others.
func (p place) other(t *testing.T, file string) []byte {
	t.Helper()
	wild := regexp.MustCompile(`-[0-9a-f]{12}`).ReplaceAllString(file, "-*")
	list, err := filepath.Glob(filepath.Join(p.twin, filepath.FromSlash(wild)))
	if err != nil || len(list) == 0 {
		return []byte("something else\n") // the twin has none
	}
	of, _ := filepath.Glob(filepath.Join(p.whole, filepath.FromSlash(wild)))
	i := slices.Index(of, filepath.Join(p.whole, filepath.FromSlash(file)))
	b, err := os.ReadFile(list[min(max(i, 0), len(list)-1)])
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const matrixSpec = "game: {horizon: 6}\nactor: {hidden: [8]}\ntrain: {envs: 8, window: 16, steps: 600, save: 200}\neval: {episodes: 4}\n"

// buildPlace makes a place and its twin, which differs in seeds and settings.
func buildPlace(t *testing.T) place {
	t.Helper()
	p := place{root: filepath.Join(t.TempDir(), "root"), whole: filepath.Join(t.TempDir(), "whole"), twin: filepath.Join(t.TempDir(), "twin")}
	fill(t, p.root, "0.001", "7")
	fill(t, p.twin, "0.002", "8")
	if err := os.CopyFS(p.whole, os.DirFS(p.root)); err != nil {
		t.Fatal(err)
	}
	return p
}

func fill(t *testing.T, root, lr, seed string) {
	t.Helper()
	in := func(name string) string { return filepath.Join(root, name) }
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"a": "ppo: {lr: " + lr + "}\n" + matrixSpec,
		"b": strings.Replace(matrixSpec, "save: 200", "save: 200, team: [learn, '"+in("runs/a-001/seed-1#0")+"', ns, ns]", 1),
		"k": strings.Replace(matrixSpec, "steps: 600", "steps: 400", 1),
		"s": matrixSpec + `
prepare: [{name: data, run: "collect {game} --mix ns,nh --rows 200 --seed ` + seed + `"}]
follow: [{name: adapt, run: "adapt {run} --vs ns,ns,ns --steps 40 --last 20 --lives 1 --starts 2"}]
`} {
		if err := os.WriteFile(in(name+".yaml"), []byte("name: "+name+"\n"+text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ok(t, "train", in("a.yaml"), "--seeds", "1-2", "--out", in("runs"))
	ok(t, "train", in("k.yaml"), "--out", in("runs"))
	ok(t, "train", in("s.yaml"), "--out", in("staged"))
	ok(t, "collect", "--mix", "ns,nh", "--rows", "500", "--shard", "200", "--seed", seed, "--out", in("data"))
	ok(t, "pretrain", "vae", "--data", in("data"), "--out", in("vae"), "--set", "epochs=1", "--set", "model.hidden=[8]")
	kill(t, in("runs/k-001/seed-1"))
}

// kill makes of a run that was done one that was killed when it had been made longer.
func kill(t *testing.T, dir string) {
	t.Helper()
	r, err := runlog.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	longer := strings.Replace(string(r.Spec()), "steps: 400", "steps: 600", 1)
	_, step, _, err := r.Resume()
	err = errors.Join(err, r.RemoveResult(), r.SetSpec([]byte(longer)),
		r.Log([]runlog.Row{{Step: step + 8, Name: "return/mean", Agent: -1, Value: 1, N: 1}}))
	if err != nil || longer == string(r.Spec()) && !strings.Contains(longer, "steps: 600") {
		t.Fatal(err)
	}
}
