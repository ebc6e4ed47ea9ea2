//go:build unix

package disk

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A process that is being started has a copy of every open file until it runs its
// program. A folder that was given up is free all the same.
func TestAFolderThatWasGivenUpIsFree(t *testing.T) {
	dir := t.TempDir()
	f, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(dir); !errors.Is(err, ErrHeld) {
		t.Errorf("a folder that is held: error %v", err)
	}
	started, err := syscall.Dup(int(f.Fd())) // what fork does
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(started)
	if err := Unlock(f); err != nil {
		t.Fatal(err)
	}
	if f, err = Lock(dir); err != nil {
		t.Fatal(err)
	}
	if err := Unlock(f); err != nil {
		t.Error(err)
	}
}

func TestAPipeIsRefusedAtOnce(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := Read(name, 10); err == nil || !strings.Contains(err.Error(), "a pipe") {
		t.Errorf("error %v, want one about a pipe", err)
	}
}
