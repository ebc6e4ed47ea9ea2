package disk

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
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

func TestGrowingFilesFollowNoLink(t *testing.T) {
	precious := filepath.Join(t.TempDir(), "precious")
	link := filepath.Join(t.TempDir(), "metrics.csv")
	if err := errors.Join(os.WriteFile(precious, []byte("keep"), 0o644), os.Symlink(precious, link)); err != nil {
		t.Skip(err)
	}
	if _, _, err := Append(link); err == nil || !strings.Contains(err.Error(), link+" is a link") {
		t.Errorf("error %v, want one about the link", err)
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

func TestMatchLooksIntoFolders(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[1]")
	for _, n := range []string{"b-001/seed-1", "a-001/seed-10", "a-001/seed-2", "a-001/other"} {
		if err := os.MkdirAll(filepath.Join(dir, n), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "compare.html"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := Match(dir, "*/seed-*")
	for i, n := range []string{"a-001/seed-10", "a-001/seed-2", "b-001/seed-1"} {
		if err != nil || len(got) != 3 || got[i] != filepath.Join(dir, filepath.FromSlash(n)) {
			t.Fatalf("got %v (%v), want %s as number %d", got, err, n, i)
		}
	}
}

func TestNamesFromFilesStayBelowTheirFolder(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "run")
	for _, n := range []string{"run/stages/world", "secret"} {
		if err := os.MkdirAll(filepath.Join(top, n), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Below(dir, "stages/../stages/world"); err != nil || got != filepath.Join(dir, "stages", "world") {
		t.Errorf("%s %v", got, err)
	}
	names := []string{"../../internal/secret", "stages/../../secret", filepath.Join(top, "secret"), "none"}
	if err := os.Symlink(filepath.Join(top, "secret"), filepath.Join(dir, "link")); err == nil {
		names = append(names, "link")
	}
	for _, n := range names {
		if got, err := Below(dir, n); err == nil {
			t.Errorf("%s became %s", n, got)
		}
	}
}

func TestASecondLockSaysWhoHoldsTheFirst(t *testing.T) {
	dir := t.TempDir()
	first, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Lock(dir)
	if want := fmt.Sprintf("process %d, is writing %s", os.Getpid(), dir); !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()

	precious := filepath.Join(t.TempDir(), "precious")
	other := t.TempDir()
	if err := errors.Join(os.WriteFile(precious, []byte("keep"), 0o644), os.Symlink(precious, filepath.Join(other, LockFile))); err != nil {
		t.Skip(err)
	}
	if _, err := Lock(other); err == nil || !strings.Contains(err.Error(), "a link") {
		t.Errorf("a lock that is a link was taken: %v", err)
	}
	if b, _ := os.ReadFile(precious); string(b) != "keep" {
		t.Errorf("what the link pointed at is now %q", b)
	}
}

// number writes itself, as stats.Number does.
type number float64

func (x number) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

func TestJSONNamesTheFieldThatHasNoValue(t *testing.T) {
	type seed struct {
		Mean float64 `json:"mean"`
	}
	type base struct {
		Best *float64 `json:"best"`
	}
	type all struct {
		base
		Fine  number             `json:"fine"`
		Seeds []seed             `json:"seeds"`
		By    map[string]float64 `json:"by"`
		Never float64            `json:"-"`
		Any   any
	}
	nan := math.NaN()
	for want, v := range map[string]any{
		"":                   all{Fine: number(nan), Never: nan},
		"seeds[1].mean has":  all{Fine: number(nan), Seeds: []seed{{1}, {nan}}},
		"by.return has":      map[string]any{"by": map[string]float64{"return": math.Inf(1)}},
		"Any.best has":       &all{Any: base{&nan}},
		"best has":           &all{base: base{&nan}},
		"seeds[0].Any[0] ha": map[string]any{"seeds": []any{all{Any: [1]float64{nan}}}},
	} {
		_, err := JSON(v)
		switch {
		case want == "" && err != nil:
			t.Error(err)
		case want != "" && (err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "no value")):
			t.Errorf("error %v, want one about %s", err, want)
		}
	}
}

func TestWhoeverAsksKeepsNobodyOut(t *testing.T) {
	dir := t.TempDir()
	if h, err := Held(dir); err != nil || h != (Holder{}) {
		t.Errorf("no lock yet: %+v %v", h, err)
	}
	if _, err := os.Stat(filepath.Join(dir, LockFile)); err == nil {
		t.Error("asking made a lock")
	}
	stop, done := make(chan struct{}), make(chan error, 3)
	for range cap(done) { // those who ask, without a pause
		go func() {
			for {
				select {
				case <-stop:
					done <- nil
					return
				default:
				}
				if _, err := Held(dir); err != nil {
					done <- err
					return
				}
			}
		}()
	}
	for i := range 40 {
		f, err := Lock(dir)
		if err != nil {
			t.Fatalf("time %d: %v", i, err)
		}
		if _, err := Lock(dir); !errors.Is(err, ErrHeld) {
			t.Fatalf("time %d: a second one: %v", i, err)
		}
		if h, err := Held(dir); err != nil || !h.Held || h.PID != os.Getpid() {
			t.Fatalf("time %d: %+v %v", i, h, err)
		}
		if err := Unlock(f); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if h, err := Held(dir); err != nil || h.Held || h.PID != 0 {
		t.Errorf("given up: %+v %v", h, err)
	}
}

func TestASignOfLifeIsSeen(t *testing.T) {
	dir := t.TempDir()
	f, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer Unlock(f)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(f.Name(), old, old); err != nil {
		t.Fatal(err)
	}
	if h, err := Held(dir); err != nil || time.Since(h.Seen) < 50*time.Minute {
		t.Fatalf("%+v %v", h, err)
	}
	if err := Beat(f, time.Now()); err != nil {
		t.Fatal(err)
	}
	if h, err := Held(dir); err != nil || time.Since(h.Seen) > time.Minute {
		t.Errorf("%+v %v", h, err)
	}
}
