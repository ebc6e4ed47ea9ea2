package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/train/registry"
)

// notified writes a program that appends its words to a file, and returns --notify's value and a reader of that file.
func notified(t *testing.T) (line string, read func() string) {
	t.Helper()
	dir := t.TempDir()
	script, said := filepath.Join(dir, "tell"), filepath.Join(dir, "said")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"$@\" >> "+said+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return script, func() string {
		text, _ := os.ReadFile(said)
		os.Remove(said)
		return string(text)
	}
}

// The end is told in a sentence with the result, of failures too; a run that goes on tells nobody who was not named again.
func TestTheEndIsSaid(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("no shell")
	}
	t.Chdir(t.TempDir())
	line, read := notified(t)
	quick := []string{"train", "ppo-matrix", "--set", "train.steps=400", "--set", "train.envs=4", "--set", "eval.episodes=4"}
	ok(t, append(quick, "--notify", line+" done:")...)
	if got := read(); !strings.HasPrefix(got, "done: hop train: ppo-matrix has a mean return of ") ||
		!strings.HasSuffix(got, "ppo-matrix-001\n") {
		t.Errorf("told %q", got)
	}
	ok(t, "train", "--resume", "runs/ppo-matrix-001", "--steps", "800")
	if got := read(); got != "" {
		t.Errorf("a command that a folder holds was run: %q", got)
	}
	ok(t, "train", "--resume", "runs/ppo-matrix-001", "--steps", "1200", "--notify", line+" {} -end")
	if got := read(); !strings.HasSuffix(got, " -end\n") || !strings.HasPrefix(got, "hop train: ppo-matrix ") {
		t.Errorf("told %q", got)
	}
	if code, _, _ := hop(t, "eval", "--team", "nobody", "--notify", line); code != 2 || !strings.HasPrefix(read(), "hop eval failed: ") {
		t.Errorf("a failure: exit %d", code)
	}
	refused(t, "train ppo-matrix --notify no-such-program", "--notify no-such-program")
	refused(t, "train ppo-matrix --set notify=touch", "notify")
	if list, _ := filepath.Glob("runs/*"); len(list) != 1 {
		t.Errorf("%v was left behind", list)
	}
}

// A folder's name does not speak to the terminal, and whom a user tells stands in no folder.
func TestWhatIsSaidIsPlain(t *testing.T) {
	var b bytes.Buffer
	ring(&b, "a\x1b]0;evil\ab")
	if b.String() != "\x1b]2;a]0;evilb\x1b\\\a" {
		t.Errorf("the terminal gets %q", &b)
	}
	typed := []string{"hop", "train", "--notify", "curl secret", "x", "--notify=y"}
	if got := withoutNotify(typed); !slices.Equal(got, []string{"hop", "train", "x"}) {
		t.Errorf("kept %q", got)
	}
}

// A command that is typed without what it needs, or a group without its command, answers with an example of itself.
func TestEveryCommandAnswersWithAnExample(t *testing.T) {
	k := newParser(&app{out: io.Discard, err: io.Discard, reg: registry.New()}, "")
	var asked []string
	var visit func(n *kong.Node) // commands and groups
	visit = func(n *kong.Node) {
		for _, c := range n.Children {
			if c.Hidden || c.Type != kong.CommandNode {
				continue
			}
			visit(c)
			args := strings.Fields(c.Path())
			if _, err := k.Parse(args); err != nil {
				asked = append(asked, c.Path())
				if help := brieflyHelp(err); !strings.Contains(help, "\nExample: hop "+args[0]) {
					t.Errorf("hop %s: %s", c.Path(), help)
				}
			}
		}
	}
	visit(k.Model.Node)
	if len(asked) < 15 {
		t.Errorf("only %q need something", asked)
	}
	for _, line := range []string{"trust", "worker"} {
		refused(t, line, "Example: hop "+line)
	}
	said := &bytes.Buffer{}
	ctx, stop := context.WithCancel(t.Context())
	stop() // nothing is trained
	t.Chdir(t.TempDir())
	Run(ctx, registry.New(), []string{"ladder"}, nil, io.Discard, said)
	if !strings.Contains(said.String(), "hop ladder alone trains ppo-4x4 and hop-4x4") {
		t.Errorf("hop ladder alone says\n%s", said)
	}
}
