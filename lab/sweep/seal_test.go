package sweep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/lab/sweep/design"
	"github.com/hop-marl/hop/lab/sweep/queue"
	"github.com/hop-marl/hop/num/disk"
)

// plainSweep is a sweep as a folder has it.
func plainSweep() *Sweep {
	return &Sweep{ID: strings.Repeat("a", 16), Base: "ppo-4x4", Build: "b", Seeds: []uint64{1}, Each: Each{Cores: 1},
		Variants: []Variant{{Variant: design.Variant{Name: "all"}, Spec: "{}"}}}
}

// hostile are sweeps with good seals that somebody would like others to go on with.
func hostile() map[string]*Sweep {
	list := map[string]*Sweep{}
	with := func(name string, f func(*Sweep)) {
		s := plainSweep()
		f(s)
		list[name] = s
	}
	for _, name := range []string{"../x", "/etc", "..", ".", "", "a/../../b", "a/b", "--env=evil:make", ".ssh", `a\b`, "a\x00"} {
		with("a variant called "+name, func(s *Sweep) { s.Variants[0].Name = name })
	}
	for _, text := range []string{"sh -c {run}", "train {run} --env evil:make", "adapt {run} --out /etc", "adapt /etc/{run}",
		"train {run} --set game.python=/bin/sh"} {
		with("then "+text, func(s *Sweep) { s.Then = []string{text} })
		with("after "+text, func(s *Sweep) { s.After = []string{strings.ReplaceAll(text, "{run}", "{variants}")} })
	}
	with("no variants", func(s *Sweep) { s.Variants = nil })
	with("no seeds", func(s *Sweep) { s.Seeds = nil })
	with("an id that is a subject", func(s *Sweep) { s.ID = "*.>" })
	with("more cores than there are", func(s *Sweep) { s.Each.Cores = 1 << 62 })
	with("less than no time", func(s *Sweep) { s.Each.Limit = -1 })
	with("a halving without rungs", func(s *Sweep) { s.Halving = &design.Halving{} })
	return list
}

// A seal says that a file is as it was written, and not that what it says is good.
func TestASealedSweepIsStillChecked(t *testing.T) {
	dir := t.TempDir()
	if err := disk.WriteSealed(filepath.Join(dir, sweepFile), plainSweep()); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err != nil {
		t.Fatal(err)
	}
	for name, s := range hostile() {
		if err := disk.WriteSealed(filepath.Join(dir, sweepFile), s); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir); err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
	for _, place := range []string{"../x", "/etc", "", `a\b`} {
		x := &Index{Jobs: []Entry{{Place: place}}}
		if err := x.write(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadIndex(dir); err == nil {
			t.Errorf("a job at %q is taken", place)
		}
	}
}

// Whatever a sweep's folder holds, it is read or refused, and its report is made or is not.
func FuzzASweepsFolder(f *testing.F) {
	add := func(s *Sweep, x *Index) {
		a, err := disk.Seal(s)
		b, other := disk.Seal(x)
		if err != nil || other != nil {
			f.Fatal(err, other)
		}
		f.Add(a, b)
		f.Add(a[:len(a)/2], b[:len(b)/2])
	}
	x := &Index{Jobs: []Entry{{Place: "all/seed-1", Variant: "all", Kind: Training, State: queue.State{Phase: queue.Done}},
		{Place: "then", Variant: "nobody", Kind: Training, Rung: 1 << 60, State: queue.State{Phase: queue.Done, Attempt: -1 << 60}}}}
	add(plainSweep(), x)
	for _, s := range hostile() {
		add(s, x)
	}
	f.Add([]byte(`{"check":""}`), []byte(`{"jobs":[{"place":"..","phase":"done","kind":"train"}]}`))
	f.Add([]byte(`{"seeds":[1e400]}`), []byte(`{"jobs":[{"rung":-1}],"counts":null}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for name, text := range map[string][]byte{sweepFile: a, IndexFile: b} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		s, err := Read(dir)
		if err != nil {
			return
		}
		for _, v := range s.Variants {
			if rel, err := filepath.Rel(dir, filepath.Join(dir, v.Name)); err != nil || rel != v.Name {
				t.Fatalf("a variant is called %q", v.Name)
			}
		}
		if x, err := ReadIndex(dir); err == nil {
			_ = x.Line()
			s.table(dir, x)
		}
	})
}
