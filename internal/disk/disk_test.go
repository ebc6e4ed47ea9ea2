package disk

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWriteFollowsNoLinkAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(precious, []byte("keep"), 0o644); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "report.html")
	for _, link := range []string{name, name + ".tmp", filepath.Join(dir, Unfinished)} {
		if err := os.Symlink(precious, link); err != nil {
			t.Skip("no links here:", err)
		}
	}
	if err := Write(name, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(precious); string(b) != "keep" {
		t.Errorf("what a link pointed at is now %q", b)
	}
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		t.Errorf("%v %v, want a regular file in place of the link", info, err)
	}
	if b, _ := Read(name, 3); string(b) != "new" {
		t.Errorf("read %q", b)
	}
}

func TestReadIsBounded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(name, make([]byte, 11), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(name, 10); err == nil || !strings.Contains(err.Error(), "at most 10") {
		t.Errorf("error %v, want one about the size", err)
	}
	if _, err := Read(t.TempDir(), 10); err == nil || !strings.Contains(err.Error(), "a folder") {
		t.Errorf("error %v, want one about a folder", err)
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none"), 10); !os.IsNotExist(err) {
		t.Errorf("error %v, want that there is no file", err)
	}
}

func TestMatchTakesTheFolderAsItIs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[1]*")
	for _, n := range []string{"seed-1", "seed-2", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, n), 0o755); err != nil {
			t.Skip(err)
		}
	}
	got, err := Match(dir, "seed-*")
	if want := []string{filepath.Join(dir, "seed-1"), filepath.Join(dir, "seed-2")}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v %v, want %v", got, err, want)
	}
	if got, err := Match(filepath.Join(dir, "none"), "*"); got != nil || err != nil {
		t.Errorf("no folder: %v %v", got, err)
	}
}

func TestSweepRemovesOnlyWhatWasLeft(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{Unfinished + "123", "kept"} {
		if err := os.WriteFile(filepath.Join(dir, n), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := Sweep(dir); err != nil {
		t.Fatal(err)
	}
	if got, _ := Match(dir, "*"); len(got) != 1 || filepath.Base(got[0]) != "kept" {
		t.Errorf("left: %v", got)
	}
}
