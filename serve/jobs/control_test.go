package jobs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hop-marl/hop/train/registry"
)

// TestMain is also what jobs of the tests run.
func TestMain(m *testing.M) {
	if os.Getenv("CONTROL_CHILD") == "" {
		goleak.VerifyTestMain(m)
		return
	}
	switch words := os.Args[1:]; words[0] {
	case "__interrupt":
		if err := Interrupt(words[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "print":
		fmt.Fprintln(os.Stderr, "training toy, 1 seeds, in /runs/toy-001")
		fmt.Printf(`{"run": "/runs/toy-001", "report": "/runs/toy-001/report.html", "verdict": "pass", "says": "all is well"}`)
	case "fail":
		fmt.Fprint(os.Stderr, "training toy, 1 seeds, in /runs/toy-001\nhop: the disk is full;\nfree some\n")
		os.Exit(1)
	case "wait": // until it is interrupted
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		fmt.Fprintln(os.Stderr, "begun")
		select {
		case <-ctx.Done():
			fmt.Fprintln(os.Stderr, "hop: stopped; go on with hop train --resume")
			os.Exit(1)
		case <-time.After(20 * time.Second):
		}
	case "serve": // starts a job and dies
		c, err := New([]string{words[1]})
		if err == nil {
			_, err = c.Start(0, Train, "", []string{"wait"})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		time.Sleep(time.Second)
	}
}

func controlled(t *testing.T) *Control {
	t.Helper()
	t.Setenv("CONTROL_CHILD", "1")
	c, err := New([]string{t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// until waits for a job to come to a state.
func until(t *testing.T, c *Control, id string, ok func(Job) bool) Job {
	t.Helper()
	var j Job
	for range 500 {
		var err error
		if j, err = c.Job(id); err != nil {
			t.Fatal(err)
		}
		if ok(j) {
			return j
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("it stays %+v", j)
	return j
}

func ended(j Job) bool { return j.State != Running }

func begun(j Job) bool { return j.State == Running && j.Bytes > 0 }

func start(t *testing.T, c *Control, kind, run string, words ...string) Job {
	t.Helper()
	j, err := c.Start(0, kind, run, words)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestAJobEndsInItsResult(t *testing.T) {
	c := controlled(t)
	j := until(t, c, start(t, c, Train, "", "print").ID, ended)
	if j.State != Done || j.Run != "/runs/toy-001" || j.Page != "/runs/toy-001/report.html" || j.Verdict != "pass" || j.Says != "all is well" {
		t.Errorf("%+v", j)
	}
	text, next, err := c.Output(j.ID, 0, true)
	if err != nil || !strings.HasPrefix(text, "training toy") || next != j.Bytes {
		t.Errorf("%q to %d of %d, %v", text, next, j.Bytes, err)
	}
	j = until(t, c, start(t, c, Train, "", "fail").ID, ended)
	if j.State != Failed || j.Why != "the disk is full;\nfree some" || j.ID != "0:train-002" {
		t.Errorf("%+v", j)
	}
	if list := c.Jobs(); len(list) != 2 {
		t.Errorf("%d jobs", len(list))
	}
}

func TestAJobIsStoppedCleanly(t *testing.T) {
	c := controlled(t)
	j := until(t, c, start(t, c, Resume, "/runs/a", "wait").ID, begun)
	if _, err := c.Start(0, Resume, "/runs/a", []string{"wait"}); err == nil || !strings.Contains(err.Error(), "already: hop wait") {
		t.Errorf("the same twice: %v", err)
	}
	if _, err := c.Stop(j.ID); err != nil {
		t.Fatal(err)
	}
	j = until(t, c, j.ID, ended)
	if j.State != Stopped || j.Why != "stopped; go on with hop train --resume" {
		t.Errorf("%+v", j)
	}
	if _, err := c.Stop(j.ID); err == nil {
		t.Error("what has ended was stopped")
	}
}

// TestAJobOutlivesTheServer has one started by a process that is killed at once.
func TestAJobOutlivesTheServer(t *testing.T) {
	c := controlled(t)
	out, err := exec.Command(os.Args[0], "serve", c.folders[0]).CombinedOutput()
	if err == nil || len(out) > 0 {
		t.Fatalf("the server was not killed: %v %s", err, out)
	}
	list := c.Jobs()
	if len(list) != 1 || list[0].State != Running {
		t.Fatalf("%+v", list)
	}
	until(t, c, list[0].ID, begun)
	if _, err := c.Stop(list[0].ID); err != nil {
		t.Fatal(err)
	}
	if j := until(t, c, list[0].ID, ended); j.State != Stopped || j.Why == "" {
		t.Errorf("%+v", j)
	}
}

func TestJobsAreBounded(t *testing.T) {
	c := controlled(t)
	var ids []string
	for range most {
		ids = append(ids, start(t, c, Audit, "", "wait").ID)
	}
	if _, err := c.Start(0, Audit, "", []string{"wait"}); err == nil || !strings.Contains(err.Error(), "no more than that") {
		t.Errorf("one too many: %v", err)
	}
	for _, id := range ids {
		until(t, c, id, begun)
		if _, err := c.Stop(id); err != nil {
			t.Error(err)
		}
	}
	for _, id := range ids {
		until(t, c, id, ended)
	}
}

func TestNamesOfJobsStayInTheirFolder(t *testing.T) {
	c := controlled(t)
	for _, id := range []string{"", "0", "0:", "0:..", "0:../../x", "1:train-001", "-1:train-001", "00:train-001", "0:train-001/../..",
		"0:train-001\x00", "0:train-9", "0:/etc", `0:..\x`, "0:train-001"} {
		if _, err := c.Job(id); err == nil {
			t.Errorf("%q is a job", id)
		}
		if _, err := c.Stop(id); err == nil {
			t.Errorf("%q was stopped", id)
		}
	}
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(c.folders[0], ".hop-serve")); err != nil {
		t.Skip(err)
	}
	if _, err := c.Start(0, Train, "", []string{"print"}); err == nil {
		t.Error("a job was put where a link leads")
	}
}

func TestLinesAreQuoted(t *testing.T) {
	got := Line([]string{"train", "ppo-4x4", "--set", "a=b c", "--set", "x='$(rm -rf /)'", "--set", "y=[1, 2]", ""})
	want := `hop train ppo-4x4 --set 'a=b c' --set 'x='\''$(rm -rf /)'\''' --set 'y=[1, 2]' ''`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTheFormSaysWhatIsWrongBesideTheField(t *testing.T) {
	reg := registry.New()
	form := func(sets ...string) *Form {
		t.Helper()
		f, err := NewForm(reg, Asked{Preset: "ppo-4x4", Sets: sets, Seeds: "1-3"}, "runs")
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	at := func(f *Form, path string) Field {
		i := slices.IndexFunc(f.Fields, func(x Field) bool { return x.Path == path })
		if i < 0 {
			t.Fatalf("there is no %s", path)
		}
		return f.Fields[i]
	}
	f := form("ppo.lr=2e-3", "game.size=6")
	if !f.OK() || f.Command != "hop train ppo-4x4 --set ppo.lr=2e-3 --set game.size=6 --seeds 1-3 --out runs" {
		t.Errorf("%v %v %s", f.OK(), f.Faults, f.Command)
	}
	if x := at(f, "ppo.lr"); x.Default != "0.002" || x.Was != "0.001" || x.Doc == "" || x.Set != "2e-3" {
		t.Errorf("%+v", x)
	}
	if x := at(f, "actor.frame"); !slices.Contains(x.Options, "board") {
		t.Errorf("%+v", x)
	}
	f = form("ppo.lr=-1", "ppo.gamma=x", "train.envs=64", "ppo.epoch=3", "mind=hopp")
	for path, want := range map[string]string{
		"ppo.lr": "ppo.lr is -1, want", "ppo.gamma": "want a value of type number", "mind": "did you mean hop",
	} {
		if x := at(f, path); !strings.Contains(x.Fault, want) || f.OK() {
			t.Errorf("%s: %q, want %s", path, x.Fault, want)
		}
	}
	if x := at(f, "train.envs"); x.Default != "64" || x.Fault != "" {
		t.Errorf("what is right was not kept: %+v", x)
	}
	if len(f.Faults) != 1 || !strings.Contains(f.Faults[0], "did you mean ppo.epochs?") {
		t.Errorf("faults %q", f.Faults)
	}
	for _, bad := range []string{"--out=/etc", "x", "=1", "ppo.lr\x00=1"} {
		if f := form(bad); f.OK() || slices.Contains(f.Words, bad) {
			t.Errorf("%q was taken", bad)
		}
	}
	if f, err := NewForm(reg, Asked{Preset: "ppo-4x4", Seeds: "1 --out /etc"}, "runs"); err != nil || f.OK() {
		t.Error("seeds with a flag in them were taken")
	}
	if _, err := NewForm(reg, Asked{Preset: "/etc/passwd"}, "runs"); err == nil || strings.Contains(err.Error(), "root:") {
		t.Errorf("a file of the machine: %v", err)
	}
	if _, err := NewForm(reg, Asked{Preset: "ppo-4x5"}, "runs"); err == nil || !strings.Contains(err.Error(), "did you mean ppo-4x4?") {
		t.Errorf("%v", err)
	}
}

func FuzzForm(f *testing.F) {
	f.Add("ppo-4x4", "ppo.lr=1", "1-3")
	f.Add("hop-4x4", "goals.kind=none", "1")
	f.Add("x", "=", "-")
	reg := registry.New()
	f.Fuzz(func(t *testing.T, preset, set, seeds string) {
		form, err := NewForm(reg, Asked{Preset: preset, Sets: []string{set}, Seeds: seeds}, "runs")
		if err == nil && form.OK() && strings.HasPrefix(set, "-") {
			t.Errorf("%q was taken", set)
		}
	})
}
