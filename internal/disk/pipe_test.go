//go:build unix

package disk

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAPipeIsRefusedAtOnce(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := Read(name, 10); err == nil || !strings.Contains(err.Error(), "a pipe") {
		t.Errorf("error %v, want one about a pipe", err)
	}
}
