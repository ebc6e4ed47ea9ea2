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

// A constant that is read as a whole vector of 64 bytes straddles two lines of the cache where
// the linker happens to put it so.
func TestConstantsAreReadAsNumbers(t *testing.T) {
	text, err := os.ReadFile("kernels_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); strings.Contains(line, "c_") && strings.Contains(line, ", Z") && strings.HasPrefix(f[0], "V") {
			if read++; f[0] != "VBROADCASTSS" && !strings.HasSuffix(f[0], ".BCST") {
				t.Errorf("%s reads a whole vector; run go generate", strings.TrimSpace(line))
			}
		}
	}
	if read < 300 {
		t.Errorf("found %d constants, want over three hundred: is this the right file?", read)
	}
}
