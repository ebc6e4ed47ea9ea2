package npz

import (
	"archive/zip"
	"fmt"
	"io"
)

// WriteNpy writes one array as np.save does.
var WriteNpy = writeNpy

// WriteDeflated is Write with compression, like np.savez_compressed.
func WriteDeflated(w io.Writer, arrays []Array) error { return write(w, arrays, zip.Deflate) }

// ReadNpy reads an .npy file that is size bytes long.
func ReadNpy(r io.Reader, size int64) (Array, error) {
	a, err := readNpy(r, size, "")
	if err != nil {
		return Array{}, err
	}
	if n, _ := io.ReadFull(r, make([]byte, 1)); n != 0 {
		return Array{}, fmt.Errorf("npz: reading an array: more than %d bytes; pass the size of the file", size)
	}
	return a, nil
}
