package film

import (
	"bytes"
	"compress/lzw"
	"testing"

	"github.com/hop-marl/hop/num/rng"
)

// The standard library's packing is the slow twin: the bytes must be the same,
// also with runs of zeros of any length and after the codes have run out.
func TestPackedPixelsAreTheStandardLibrarys(t *testing.T) {
	r := rng.New(1).Rand()
	var p packer
	for _, colours := range []int{1, 2, 8, 256} {
		for _, n := range []int{1, 2, 7, 8, 9, 300, 70_000} {
			pix := make([]byte, n)
			for i := 0; i < n; {
				v := byte(r.IntN(colours))
				for range 1 + r.IntN(40)*r.IntN(40) { // runs of a few to many
					if i < n {
						pix[i] = v * byte(r.IntN(2))
						if v == 0 {
							pix[i] = 0
						}
						i++
					}
				}
			}
			var want bytes.Buffer
			w := lzw.NewWriter(&want, lzw.LSB, 8)
			w.Write(pix)
			w.Close()
			if got := p.pack(nil, pix); !bytes.Equal(got, want.Bytes()) {
				t.Errorf("%d pixels of %d colours: %d bytes, want the %d of compress/lzw", n, colours, len(got), want.Len())
			}
		}
	}
}
