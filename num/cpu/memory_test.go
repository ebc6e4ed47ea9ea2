package cpu

import (
	"runtime"
	"testing"
)

func TestMemoryIsThatOfAMachine(t *testing.T) {
	switch runtime.GOOS {
	case "linux", "darwin", "windows":
	default:
		t.Skip("not known here")
	}
	if n := Memory(); n < 64<<20 || n > 1<<50 {
		t.Errorf("the machine has %d bytes", n)
	}
	before := Peak()
	b := make([]byte, 64<<20)
	for i := range b {
		b[i] = 1
	}
	if after := Peak(); before < 1<<20 || after < 64<<20 || after > Memory() {
		t.Errorf("peak %d, then %d bytes, of %d", before, after, Memory())
	}
	runtime.KeepAlive(b)
}
