package safetensors

import "fmt"

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
