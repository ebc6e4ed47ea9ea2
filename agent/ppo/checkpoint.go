package ppo

import (
	"encoding/binary"
	"fmt"

	"github.com/hop-marl/hop/num/safetensors"
)

// LoadWeights restores the network alone, to play.
func (b *Brain) LoadWeights(f *safetensors.File, prefix string) error {
	return b.Params.Load(f, prefix+"net/")
}

// Save adds weights, optimiser, stream and counters to f under prefix.
func (b *Brain) Save(f *safetensors.File, prefix string) error {
	if b.held != nil {
		if err := b.held.Fetch(); err != nil {
			return err
		}
	}
	b.trainer.Save(f, prefix)
	if err := f.PutBinary(prefix+"stream", &b.rand); err != nil {
		return err
	}
	b.counts.Save(f, prefix)
	for i, m := range b.memory {
		f.PutFloat32(fmt.Sprintf("%smemory/%d/h", prefix, i), m.h, len(m.h))
		f.PutFloat32(fmt.Sprintf("%smemory/%d/c", prefix, i), m.c, len(m.c))
		if m.last != nil {
			b, err := binary.Append(nil, binary.LittleEndian, m.last)
			if err != nil {
				return err
			}
			f.PutBytes(fmt.Sprintf("%slast/%d", prefix, i), b)
		}
	}
	return nil
}

// Load restores what Save stored, exactly.
func (b *Brain) Load(f *safetensors.File, prefix string) error {
	if err := b.trainer.Load(f, prefix); err != nil {
		return err
	}
	if b.held != nil {
		if err := b.held.Put(); err != nil {
			return err
		}
	}
	if err := f.Binary(&b.rand, prefix+"stream"); err != nil {
		return err
	}
	if err := b.counts.Load(f, prefix); err != nil {
		return err
	}
	for i, m := range b.memory {
		if err := f.Float32(m.h, fmt.Sprintf("%smemory/%d/h", prefix, i), len(m.h)); err != nil {
			return err
		}
		if err := f.Float32(m.c, fmt.Sprintf("%smemory/%d/c", prefix, i), len(m.c)); err != nil {
			return err
		}
		if m.last == nil {
			continue
		}
		name := fmt.Sprintf("%slast/%d", prefix, i)
		b, err := f.Bytes(name)
		if err == nil && len(b) != binary.Size(m.last) {
			err = fmt.Errorf("ppo: loading %s: %d bytes, want %d; use the spec of the saved run", name, len(b), binary.Size(m.last))
		}
		if err == nil {
			_, err = binary.Decode(b, binary.LittleEndian, m.last)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
