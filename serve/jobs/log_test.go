package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The log only grows, up to a bound from which on there is another, and lines that are not
// whole take nothing else down.
func TestTheLogGrowsAndIsBounded(t *testing.T) {
	root := t.TempDir()
	c, err := New([]string{root})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(root, logFile)
	var before []byte
	for i := range 5 {
		if err := c.Note(0, Entry{Role: "act", From: "127.0.0.1:1", Did: "start", What: fmt.Sprint("hop train ", i)}); err != nil {
			t.Fatal(err)
		}
		now, err := os.ReadFile(name)
		if err != nil || !strings.HasPrefix(string(now), string(before)) || len(now) <= len(before) {
			t.Fatalf("the log did not only grow: %v", err)
		}
		before = now
	}
	if err := os.WriteFile(name, append(before, `{"at": "20`...), 0o600); err != nil {
		t.Fatal(err)
	}
	if list := c.Log(3); len(list) != 3 || list[0].What != "hop train 0" && list[0].What != "hop train 4" || list[0].At.IsZero() {
		t.Errorf("%+v", list)
	}
	for range 500 {
		if err := c.Note(0, Entry{What: strings.Repeat("x", 1<<20)}); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(name))
	if err != nil || len(entries) != 2 {
		t.Errorf("%d files, %v", len(entries), err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Size() > maxLog || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has %d bytes, %v", e.Name(), info.Size(), info.Mode())
		}
	}
}

// A link in the place of the log, or of its folder, leads nowhere.
func TestTheLogIsWrittenThroughNoLink(t *testing.T) {
	for _, link := range []string{logFile, filepath.Dir(logFile)} {
		root, elsewhere := t.TempDir(), t.TempDir()
		c, err := New([]string{root})
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(root, link)
		_ = os.MkdirAll(filepath.Dir(at), 0o755)
		if os.Symlink(filepath.Join(elsewhere, "x"), at) != nil {
			t.Skip("no links here")
		}
		if link != logFile {
			_ = os.Mkdir(filepath.Join(elsewhere, "x"), 0o755)
		}
		if err := c.Note(0, Entry{Did: "start"}); err == nil || !strings.Contains(err.Error(), "nothing was done") {
			t.Errorf("%s: %v", link, err)
		}
		if _, err := os.Stat(filepath.Join(elsewhere, "x", "log.jsonl")); err == nil {
			t.Errorf("%s: it was written elsewhere", link)
		}
	}
}

func TestJobsDoNotGetTheToken(t *testing.T) {
	got := withoutToken([]string{"A=1", "HOP_TOKEN=secret", "HOP_TOKENS=x"})
	if fmt.Sprint(got) != "[A=1 HOP_TOKENS=x]" {
		t.Error(got)
	}
}
