package belief

import (
	"fmt"

	"github.com/hop-marl/hop/num/safetensors"
)

// Save adds the beliefs of all envs to a file.
func Save(f *safetensors.File, name string, list []*Beliefs) error {
	var b []byte
	var err error
	for _, x := range list {
		if b, err = x.AppendBinary(b); err != nil {
			return err
		}
	}
	f.PutBytes(name, b)
	return nil
}

// Load restores what Save stored, of as many envs.
func Load(f *safetensors.File, name string, list []*Beliefs) error {
	b, err := f.Bytes(name)
	if err != nil {
		return err
	}
	if len(list) == 0 || len(b)%len(list) != 0 {
		return fmt.Errorf("belief: loading %s: made for another number of envs", name)
	}
	size := len(b) / len(list)
	for n, x := range list {
		if err := x.UnmarshalBinary(b[n*size : (n+1)*size]); err != nil {
			return err
		}
	}
	return nil
}
