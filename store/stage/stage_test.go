package stage

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fake does stages by writing their commands into their folders, and counts them.
type fake struct {
	mu  sync.Mutex
	ran []string
	err error
}

func (f *fake) do(_ context.Context, command, dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ran = append(f.ran, strings.Fields(command)[0])
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "out.txt"), []byte(command), 0o644); err != nil {
		return err
	}
	return f.err
}

// plan is a stage that a test asks for: in its command, {NAME} is the folder of another one.
type plan struct{ name, run string }

// stages returns what is run for plans, by do.
func stages(do func(ctx context.Context, command, dir string) error, plans ...plan) (list []Stage) {
	for _, p := range plans {
		var reads []string
		for _, q := range plans {
			if strings.Contains(p.run, "{"+q.name+"}") {
				reads = append(reads, q.name)
			}
		}
		command := func(at Folders) string {
			text := p.run
			for _, name := range reads {
				text = strings.ReplaceAll(text, "{"+name+"}", at(name))
			}
			return text
		}
		list = append(list, Stage{Name: p.name, Reads: reads, Command: command,
			Do: func(ctx context.Context, at Folders) error { return do(ctx, command(at), at(p.name)) }})
	}
	return list
}

var list = []plan{{"data", "collect --rows 10"}, {"vae", "learn --data {data}"}, {"moa", "learn2 --data {data} --vae {vae}"}}

func TestStagesRunOnceUntilTheirInputsChange(t *testing.T) {
	root := t.TempDir()
	ran := func(r Runner, list []plan) []string {
		t.Helper()
		f := &fake{}
		r.Root = root
		if _, err := r.Run(context.Background(), stages(f.do, list...)); err != nil {
			t.Fatal(err)
		}
		return f.ran
	}
	changed := slices.Clone(list)
	changed[1].run += " --dim 8"
	for _, c := range []struct {
		name string
		run  Runner
		list []plan
		want []string
	}{
		{"first", Runner{}, list, []string{"collect", "learn", "learn2"}},
		{"again", Runner{}, list, nil},
		{"a stage in the middle changed, so what reads it runs too", Runner{}, changed, []string{"learn", "learn2"}},
		{"back", Runner{}, list, nil},
		{"another program", Runner{Salt: "v2"}, list, []string{"collect", "learn", "learn2"}},
		{"another order of independent stages", Runner{}, []plan{list[0], {"other", "x {data}"}, list[1]}, []string{"x"}},
	} {
		if got := ran(c.run, c.list); !slices.Equal(got, c.want) {
			t.Errorf("%s: ran %v, want %v", c.name, got, c.want)
		}
	}
}

func TestAFolderWhoseFilesChangedIsDoneAnew(t *testing.T) {
	root := t.TempDir()
	f := &fake{}
	r := Runner{Root: root}
	all, err := r.Run(context.Background(), stages(f.do, list...))
	if err != nil {
		t.Fatal(err)
	}
	stray := filepath.Join(all[0].Dir, "stray.txt")
	for _, harm := range []func() error{
		func() error { return os.WriteFile(filepath.Join(all[0].Dir, "out.txt"), []byte("other"), 0o644) },
		func() error { return os.Remove(filepath.Join(all[0].Dir, "out.txt")) },
		func() error { return os.WriteFile(filepath.Join(all[0].Dir, markFile), []byte("{"), 0o644) },
		func() error { // what was done is another command now
			path := filepath.Join(all[0].Dir, markFile)
			b, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, bytes.Replace(b, []byte(`"command": "`), []byte(`"command": "x`), 1), 0o644))
		},
	} {
		if err := errors.Join(os.WriteFile(stray, nil, 0o644), harm()); err != nil {
			t.Fatal(err)
		}
		f.ran = nil
		if _, err := r.Run(context.Background(), stages(f.do, list...)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(f.ran, []string{"collect"}) {
			t.Errorf("ran %v, want [collect]", f.ran)
		}
		if _, err := os.Stat(stray); err == nil {
			t.Error("what lay in the changed folder is still there")
		}
	}
}

// What was put into a stage's folder might be read, as a seed beside those that were
// trained there: it is named. Of what is done anew it is said why.
func TestAFileAddedToAStageIsNamed(t *testing.T) {
	f := &fake{}
	var anew []string
	r := Runner{Root: t.TempDir(), Now: func(s Status) { anew = append(anew, s.Anew) }}
	all, err := r.Run(t.Context(), stages(f.do, list...))
	if err != nil {
		t.Fatal(err)
	}
	added := filepath.Join(all[1].Dir, "seed-2", "spec.yaml")
	hidden := filepath.Join(all[1].Dir, ".DS_Store")
	err = errors.Join(os.Mkdir(filepath.Dir(added), 0o755), os.WriteFile(added, nil, 0o644), os.WriteFile(hidden, nil, 0o644))
	if err != nil {
		t.Fatal(err)
	}
	f.ran = nil
	_, err = r.Run(t.Context(), stages(f.do, list...))
	if err == nil || !strings.Contains(err.Error(), "stage vae: "+added) || len(f.ran) > 0 {
		t.Errorf("error %v, and ran %v; want nothing done and %s named", err, f.ran, added)
	}
	out := filepath.Join(all[1].Dir, "out.txt")
	if err := errors.Join(os.RemoveAll(filepath.Dir(added)), os.WriteFile(out, []byte("other"), 0o644)); err != nil {
		t.Fatal(err)
	}
	anew = nil
	if _, err := r.Run(t.Context(), stages(f.do, list...)); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(anew, "\n"); !slices.Equal(f.ran, []string{"learn"}) || !strings.Contains(text, out+" is not as it was") {
		t.Errorf("ran %v, and it says %q", f.ran, text)
	}
}

func TestAnInterruptedStageIsNotDoneAndKeepsItsFolder(t *testing.T) {
	root := t.TempDir()
	f := &fake{err: context.Canceled}
	r := Runner{Root: root}
	if _, err := r.Run(context.Background(), stages(f.do, list...)); !errors.Is(err, context.Canceled) ||
		!strings.Contains(err.Error(), "stage data (collect") {
		t.Fatalf("error %v, want one that names the stage and wraps the cause", err)
	}
	dirs, _ := filepath.Glob(filepath.Join(root, "data-*", "out.txt"))
	if len(dirs) != 1 {
		t.Errorf("the folder of the interrupted stage is gone: %v", dirs)
	}
	f.err = nil
	if _, err := r.Run(context.Background(), stages(f.do, list...)); err != nil {
		t.Fatal(err)
	}
	if want := []string{"collect", "collect", "learn", "learn2"}; !slices.Equal(f.ran, want) {
		t.Errorf("ran %v, want %v", f.ran, want)
	}
}

func TestFoldersStandForNames(t *testing.T) {
	f := &fake{}
	var seen []Status
	r := Runner{Root: t.TempDir(), Now: func(s Status) { seen = append(seen, s) }}
	all, err := r.Run(context.Background(), stages(f.do, list...))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.Folder("vae"), all[1].Dir; got != want {
		t.Errorf("vae is in %s, want %s", got, want)
	}
	if got := r.Folder("other"); got != "" {
		t.Errorf("a stage that there is not is in %s", got)
	}
	b, err := os.ReadFile(filepath.Join(all[2].Dir, "out.txt"))
	if want := "learn2 --data " + all[0].Dir + " --vae " + all[1].Dir; err != nil || string(b) != want {
		t.Errorf("ran %q, want %q", b, want)
	}
	if len(seen) != 6 || seen[0].State != Running || seen[1].State != Done || seen[5].Name != "moa" || seen[5].Of != 3 {
		t.Errorf("told %v", seen)
	}
}

// A stage that names files, datasets or runs is done anew when they hold something else.
func TestWhatAStageReadsIsPartOfItsKey(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	put("s.yaml", "a")
	put("data/manifest.json", "a")
	put("run/seed-1/spec.yaml", "a")
	put("run/seed-1/checkpoints/step-1.json", "a")
	put("zoo/zoo.json", "a")
	put("free/notes.txt", "a")
	f := &fake{}
	r := Runner{Root: filepath.Join(dir, "stages")}
	all := stages(f.do, plan{"a", "train"}, plan{"b", "learn"}, plan{"c", "meet"}, plan{"d", "answer"})
	for i, files := range [][]string{{"s.yaml"}, {"data"}, {"run", "free"}, {"zoo"}} {
		for _, file := range files {
			all[i].Files = append(all[i].Files, filepath.Join(dir, file))
		}
	}
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"s.yaml", "a", []string{"answer", "learn", "meet", "train"}},
		{"s.yaml", "a", nil},
		{"zoo/zoo.json", "b", []string{"answer"}},
		{"s.yaml", "b", []string{"train"}},
		{"data/manifest.json", "b", []string{"learn"}},
		{"data/lock", "b", nil},
		{"run/seed-1/checkpoints/step-1.json", "b", []string{"meet"}},
		{"run/seed-1/log.txt", "b", nil},
		{"free/notes.txt", "b", nil},
	} {
		put(c.name, c.text)
		f.ran = nil
		if _, err := r.Run(context.Background(), all); err != nil {
			t.Fatal(err)
		}
		slices.Sort(f.ran) // they run side by side
		if !slices.Equal(f.ran, c.want) {
			t.Errorf("%s is now %s: ran %v, want %v", c.name, c.text, f.ran, c.want)
		}
	}
}

func TestStagesWriteIntoTheirOwnFolders(t *testing.T) {
	root := t.TempDir()
	f := &fake{}
	r := Runner{Root: root}
	all, err := r.Run(context.Background(), stages(f.do, list[:1]...))
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(root, "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	had, err := sum(secret)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(all[0].Dir, markFile)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(b), `"sha256": {`, `"sha256": {"../secret": "`+had+`",`, 1)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	f.ran = nil
	if _, err := r.Run(context.Background(), stages(f.do, list[:1]...)); err != nil || len(f.ran) != 1 {
		t.Errorf("a folder whose list leads out of it counts as done: %v, %v", f.ran, err)
	}
}

func TestJoinQuotesForAShell(t *testing.T) {
	if got, want := Join([]string{"a", "b=[1,2]", "it's", ""}), `a 'b=[1,2]' 'it'\''s' ''`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Stages that do not read each other run at the same time, and each after those that it reads.
func TestStagesRunSideBySide(t *testing.T) {
	list := []plan{{"data", "collect"}, {"vae", "codes --data {data}"}, {"world", "rules --data {data}"}, {"moa", "others --vae {vae}"},
		{"wander", "roam"}}
	f := &fake{}
	var both sync.WaitGroup // the two that read the data, each waiting for the other
	both.Add(2)
	met := make(chan struct{})
	go func() { both.Wait(); close(met) }()
	do := func(ctx context.Context, command, dir string) error {
		if strings.HasPrefix(command, "codes") || strings.HasPrefix(command, "rules") {
			both.Done()
			select {
			case <-met:
			case <-time.After(time.Second):
				return errors.New("it waited for a stage that it does not read")
			}
		}
		return f.do(ctx, command, dir)
	}
	var now []string
	r := Runner{Root: t.TempDir(), Now: func(s Status) { now = append(now, s.Name) }}
	all, err := r.Run(t.Context(), stages(do, list...))
	if err != nil {
		t.Fatal(err)
	}
	at := func(word string) int { return slices.Index(f.ran, word) }
	if len(f.ran) != 5 || at("collect") > at("codes") || at("collect") > at("rules") || at("codes") > at("others") {
		t.Errorf("ran %v", f.ran)
	}
	for i, s := range all {
		if s.Name != list[i].name || s.State != Done {
			t.Errorf("%d is %s, %v; want %s, done", i, s.Name, s.State, list[i].name)
		}
	}
	if len(now) != 10 {
		t.Errorf("said %v", now)
	}
}

// When a stage fails the others are stopped, and what reads it does not begin.
func TestAStageThatFailsStopsTheOthers(t *testing.T) {
	list := []plan{{"data", "collect"}, {"vae", "codes"}, {"moa", "others --vae {vae}"}}
	broken := errors.New("it broke")
	do := func(ctx context.Context, command, _ string) error {
		switch command {
		case "collect":
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Second):
				t.Error("a stage beside the one that failed was not stopped")
				return nil
			}
		case "codes":
			return broken
		}
		t.Error("what reads the stage that failed began")
		return nil
	}
	r := Runner{Root: t.TempDir()}
	if _, err := r.Run(t.Context(), stages(do, list...)); !errors.Is(err, broken) || errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, want the one that broke", err)
	}
}
