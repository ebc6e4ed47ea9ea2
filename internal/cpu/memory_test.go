package cpu

import (
	"runtime"
	"testing"
	"unsafe"
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

func TestSizeCountsWhatIsPointedToOnce(t *testing.T) {
	type node struct {
		next *node
		data []int32
		any  any
	}
	shared := make([]int32, 10, 100)
	ring := &node{data: shared}
	ring.next = &node{next: ring, data: shared[:1], any: [3]int64{}}
	one := uint64(unsafe.Sizeof(node{}))
	if got, want := Size(ring), 8+2*one+400+24; got != want {
		t.Errorf("got %d bytes, want %d", got, want)
	}
}
