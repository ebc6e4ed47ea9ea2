package reference

import "github.com/hop-marl/hop/num/safetensors"

// readerShape is the shape of a sequence model, as saved.
type readerShape struct {
	History         string
	Width, Code     int
	Across, Untyped bool
}

// length is how many numbers are read of a co-player: its code's or, without one, the context's.
func (s readerShape) length() int {
	if s.Code > 0 {
		return s.Code
	}
	return s.Width
}

// Untyped reports that nothing is asked but what has been read: there are no types.
func (g *Goals) Untyped() bool { return g.Kind == "context" && g.reader.Untyped }

// Reads reports whether what is read of co-players is defined here: what a transformer reads is not.
func (g *Goals) Reads() bool { return g.Kind == "context" && g.reader.History != "attention" }

// Lifelong reports that what is read goes on from episode to episode.
func (g *Goals) Lifelong() bool { return g.reader.Across }

// Token is a step of a co-player as the agent saw it.
type Token struct {
	Obs    []float32 // what the co-player saw, from its own place
	Start  bool      // the episode began there
	Action int32     // what it did
	Left   bool      // it left by that,
	Goal   int       // and reached this goal; below 0: none
}

// Reader is what has been read of one co-player over the episodes of a life: a GRU's state after
// a token for each of its steps (docs/opponents.md).
type Reader struct {
	g     *Goals
	state *Mat
	Waits *Token // a step of which it is not seen yet what came; nil: none
}

// NewReader returns a reader that has read nothing.
func (g *Goals) NewReader() *Reader { return &Reader{g: g, state: NewMat(1, g.reader.Width)} }

// Load takes over what was read at a place of those that were saved.
func (r *Reader) Load(f *safetensors.File, place, places int) error {
	width, obs := r.g.reader.Width, r.g.Spec.Obs.Len()
	context, seen := make([]float32, places*width), make([]float32, places*obs)
	waits, err := f.Bytes("goals/waits")
	if err == nil {
		err = f.Float32(context, "goals/memory/context", len(context))
	}
	if err == nil {
		err = f.Float32(seen, "goals/seen", len(seen))
	}
	if err != nil {
		return err
	}
	copy(r.state.V, Wide(context[place*width:(place+1)*width]))
	if waits[place] > 0 {
		r.Waits = &Token{Obs: seen[place*obs : (place+1)*obs], Start: waits[place] == 2}
	}
	return nil
}

// Forget begins a life.
func (r *Reader) Forget() { r.state = NewMat(1, r.g.reader.Width) }

// Read takes in what came of the step that waits, if there is one.
func (r *Reader) Read(action int32, left bool, goal int) {
	x := r.Waits
	if r.Waits = nil; x == nil || r.g.reader.History == "none" {
		return
	}
	x.Action, x.Left, x.Goal = action, left, goal
	g, t := r.g, &Tape{}
	row := g.Model.Row(x.Obs)
	does, marks, reached := make([]float64, len(g.Spec.Actions)), make([]float64, 2), make([]float64, len(g.Spec.Goals))
	does[x.Action] = 1
	if x.Start {
		marks[0] = 1
	}
	if x.Left {
		if marks[1] = 1; x.Goal >= 0 {
			reached[x.Goal] = 1
		}
	}
	for _, more := range [][]float64{does, marks, reached} {
		row = append(row, more...)
	}
	y := t.ReLU(t.Affine(rowOf(row), g.sequence["first/w"], g.sequence["first/b"]))
	y = t.Affine(y, g.sequence["embed/w"], g.sequence["embed/b"])
	r.state = t.GRU(g.sequence, "gru", y, r.state)
}

// Says returns what networks read of what has been read: tanh of a layer on it or, where there is
// no code, itself.
func (r *Reader) Says() []float64 {
	if r.g.reader.Code == 0 {
		return r.state.V
	}
	t := &Tape{}
	return t.Tanh(t.Affine(r.state, r.g.sequence["code/w"], r.g.sequence["code/b"])).V
}

// Unbound returns the same without the bound of tanh.
func (r *Reader) Unbound() []float64 {
	if r.g.reader.Code == 0 {
		return r.state.V
	}
	return (&Tape{}).Affine(r.state, r.g.sequence["code/w"], r.g.sequence["code/b"]).V
}

// Copy returns a reader that has read the same.
func (r *Reader) Copy() *Reader {
	c := *r
	if r.Waits != nil {
		x := *r.Waits
		c.Waits = &x
	}
	return &c
}
