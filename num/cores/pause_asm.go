//go:build amd64 || arm64

package cores

// pause waits n times for a moment, above 0, in which it leaves the core to whoever shares it.
//
//go:noescape
func pause(n uint32)
