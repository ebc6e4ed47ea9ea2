package f32

import (
	"os"
	"strings"
	"testing"
)

// A kernel that returns with the upper halves of its registers in use slows all
// scalar code after it down, thirtyfold as measured once.
func TestEveryKernelClearsTheUpperHalves(t *testing.T) {
	text, err := os.ReadFile("kernels_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	name, cleared, returns := "", false, 0
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
		case f[0] == "TEXT":
			name, cleared = f[1], false
		case f[0] == "VZEROUPPER":
			cleared = true
		case f[0] == "RET":
			returns++
			if !cleared {
				t.Errorf("%s returns without VZEROUPPER", name)
			}
			cleared = false
		case strings.ContainsAny(line, "YZ") && strings.HasPrefix(f[0], "V"):
			cleared = false
		}
	}
	if returns < 100 {
		t.Errorf("found %d returns, want over a hundred: is this the right file?", returns)
	}
}
