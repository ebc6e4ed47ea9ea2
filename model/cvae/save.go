package cvae

import "github.com/hop-marl/hop/num/safetensors"

// Save adds all memories to f under prefix.
func (mem *Memory) Save(f *safetensors.File, prefix string) {
	f.PutFloat32(prefix+"h", mem.h, len(mem.h))
	f.PutFloat32(prefix+"f", mem.f, len(mem.f))
}

// Load restores what Save stored for as many places, exactly.
func (mem *Memory) Load(f *safetensors.File, prefix string) error {
	if err := f.Float32(mem.h, prefix+"h", len(mem.h)); err != nil {
		return err
	}
	return f.Float32(mem.f, prefix+"f", len(mem.f))
}
