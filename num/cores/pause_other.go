//go:build !amd64 && !arm64

package cores

func pause(n uint32) {
	for ; n > 0; n-- {
	}
}
