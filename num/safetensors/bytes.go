package safetensors

import (
	"encoding"
	"fmt"
)

// PutBytes adds a copy of x as a U8 tensor of one dimension: streams, envs and
// other binary forms in a checkpoint. It panics like PutFloat32.
func (f *File) PutBytes(name string, x []byte) {
	f.put(Tensor{name, "U8", []int{len(x)}, append([]byte(nil), x...)})
}

// Bytes returns the U8 tensor called name, a view. It is an error, naming the
// tensor, if there is none or its dtype is another.
func (f *File) Bytes(name string) ([]byte, error) {
	t, ok := f.Get(name)
	if !ok {
		return nil, fmt.Errorf("safetensors: tensor %q is missing", name)
	}
	if t.DType != "U8" || len(t.Shape) != 1 {
		return nil, fmt.Errorf("safetensors: tensor %q is %s%v, want a row of U8", name, t.DType, t.Shape)
	}
	return t.Data, nil
}

// PutBinary adds the binary form of x, such as a stream, as PutBytes does.
func (f *File) PutBinary(name string, x encoding.BinaryMarshaler) error {
	b, err := x.MarshalBinary()
	if err != nil {
		return fmt.Errorf("safetensors: saving %q: %w", name, err)
	}
	f.PutBytes(name, b)
	return nil
}

// Binary restores x from what PutBinary added.
func (f *File) Binary(x encoding.BinaryUnmarshaler, name string) error {
	b, err := f.Bytes(name)
	if err != nil {
		return err
	}
	if err := x.UnmarshalBinary(b); err != nil {
		return fmt.Errorf("safetensors: loading %q: %w", name, err)
	}
	return nil
}
