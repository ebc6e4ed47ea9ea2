package nn

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hop-marl/hop/num/safetensors"
)

// Save adds a copy of the weights to f, each part under prefix and its name.
func (p *Params) Save(f *safetensors.File, prefix string) {
	for _, q := range p.Parts {
		f.PutFloat32(prefix+q.Name, p.w(q.Span), q.Shape...)
	}
}

// Alloc does what Init does, but for drawing: weights are zero until Load fills them
// from f. It is an error, and nothing is allocated, if f is too small to hold them: what
// a file says about a model's size may be wrong.
func (p *Params) Alloc(f *safetensors.File) error {
	held := 0
	for _, t := range f.Tensors {
		held += len(t.Data)
	}
	if n := p.Len(); n > held/4 {
		return fmt.Errorf("nn: loading: the model has %d weights, the file holds %d bytes; what it says about the model is not true", n, held)
	}
	p.alloc()
	return nil
}

// Load copies the weights that Save stored under prefix. Parts that are missing,
// of another dtype or shape, and tensors under prefix that the model does not
// have, are all named in the error; nothing is changed then.
func (p *Params) Load(f *safetensors.File, prefix string) error {
	l := loader{f: f, prefix: prefix}
	for _, q := range p.Parts {
		l.read(p.w(q.Span), q.Name, q.Shape)
	}
	return l.finish("model")
}

// loader reads a set of tensors, all or none.
type loader struct {
	f      *safetensors.File
	prefix string
	want   map[string]bool
	reads  []func()
	faults []error
}

func (l *loader) note(name string, err error) {
	if l.want == nil {
		l.want = map[string]bool{}
	}
	l.want[name] = true
	if err != nil {
		l.faults = append(l.faults, fmt.Errorf("nn: loading: %w", err))
	}
}

func (l *loader) read(dst []float32, name string, shape []int) {
	name = l.prefix + name
	x := make([]float32, len(dst))
	l.note(name, l.f.Float32(x, name, shape...))
	l.reads = append(l.reads, func() { copy(dst, x) })
}

func (l *loader) finish(what string) error {
	for _, t := range l.f.Tensors {
		if strings.HasPrefix(t.Name, l.prefix) && !l.want[t.Name] {
			l.faults = append(l.faults, fmt.Errorf("nn: loading: the %s has no tensor %q", what, t.Name))
		}
	}
	if len(l.faults) > 0 {
		return errors.Join(append(l.faults, errors.New("nn: loading: other settings, or another version of hop, made these weights: "+
			"load them with those (a run's spec.yaml and env.json name them), or train anew"))...)
	}
	for _, read := range l.reads {
		read()
	}
	return nil
}
