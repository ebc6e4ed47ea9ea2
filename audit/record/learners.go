package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/num/check"
)

// Network is a network and its optimiser, as hop.Recorder describes them in JSON.
type Network struct {
	Agents     []string    `json:"agents"`
	Part       string      `json:"part"`
	Steps      int         `json:"steps"`     // of the optimiser
	FirstAt    int         `json:"first_at"`  // steps played before its first one; -1: none
	LastAt     int         `json:"last_at"`   // and before its last one
	Uncleared  int         `json:"uncleared"` // steps whose gradients were those of the step before, added to
	Compared   int         `json:"compared"`  // of so many
	Strange    []string    `json:"strange"`   // what the optimiser holds of other learners: "agent_1: head.weight"
	Unknown    int         `json:"unknown"`   // tensors that it holds of nobody
	Parameters []Parameter `json:"parameters"`
}

// Title names a network by its agents.
func (n *Network) Title() string {
	if n.Part == check.PPO {
		return check.List(n.Agents)
	}
	return fmt.Sprintf("%s (%s)", check.List(n.Agents), n.Part)
}

// Apart reports whether two networks are of the same part of different agents.
func (n *Network) Apart(m *Network) bool {
	return n.Part == m.Part && !slices.ContainsFunc(n.Agents, func(a string) bool { return slices.Contains(m.Agents, a) })
}

// Alike reports whether two networks have the same tensors, by name and shape.
func (n *Network) Alike(m *Network) bool {
	same := func(p, q Parameter) bool { return p.Name == q.Name && slices.Equal(p.Shape, q.Shape) }
	return slices.EqualFunc(n.Parameters, m.Parameters, same)
}

// Parameter is a tensor of a network.
type Parameter struct {
	Name     string `json:"name"`
	Shape    []int  `json:"shape"`
	Held     bool   `json:"held"`
	Frozen   bool   `json:"frozen"`
	Replaced bool   `json:"replaced"` // the network has another tensor in its place now
	Storage  int    `json:"storage"`  // the memory it lies in
	First    uint32 `json:"first"`    // a checksum of its first weights; 0: they are all one number
}

// Update is a watched step of an optimiser, by parameter.
type Update struct {
	Net, Number                     int
	At                              int // steps played before
	Rate, Gradient, Change, Outside []float64
}

// Batch is what one update learnt from.
type Batch struct {
	Agents        []int // whose it was handed in as
	At            int   // steps played before
	Gamma, Lambda float64
	Row           []int                // t*A+a; -1: none that was played
	Kind          []int                // why there is none
	Sure          []bool               // it can be no other row
	Col           map[string][]float64 // nil: not given
	Mini          []Mini               // what its loss was computed of, in order
}

// Mini is what one loss of an update was computed of.
type Mini struct {
	At    []int                // rows of the batch, by their place in it; -1: one that was not kept; nil: not recorded
	Col   map[string][]float64 // advantages, ratios and values as the loss read them; nil: not given
	Terms map[string]float64   // policy, value, entropy and total of the loss; those that were given
}

// MiniColumns and MiniTerms are what minibatches may hold beside their rows.
var (
	MiniColumns = []string{"advantages", "ratios", "values"}
	MiniTerms   = []string{"policy", "value", "entropy", "total"}
)

// Kinds of learnt rows.
const (
	Played = iota
	Gone   // after the agent left
	Zeros  // nothing but zeros
	Unseen // an observation that nobody had
	Other  // not what the row that it claims to be had
	Moved  // what was seen at another step than that of the row that it claims to be
)

// Table is rows of numbers; NaN where one has fewer.
type Table struct {
	Row   []int
	Width int
	x     []float32
}

// At returns row i, a view.
func (t Table) At(i int) []float32 { return t.x[i*t.Width : (i+1)*t.Width] }

// Learners is trajectories with what was recorded of its learners.
type Learners struct {
	*Trajectories
	Count   int
	Open    []bool // [T] the recording of the episode stops here, not the episode
	Env     []int  // [T] which copy of the environment; nil: not recorded
	Seed    []int  // [T] which of the seeds that resets were given, -1: none; nil: no reset was given one
	Start   []int  // [T] the first step of the episode
	Nets    []Network
	Updates []Update
	Batches []Batch

	Logits, Probs, MOA, Foreseen Table
	Of                           []int // of moa's rows, whom they are about
	WorldRow                     []int
	WorldReward                  []float64
}

// Before returns the row of the same agent a step before in its episode, -1 if there
// is none.
func (r *Learners) Before(row int) int {
	if t := row / r.Count; t == r.Start[t] || !r.Alive[row-r.Count] {
		return -1
	}
	return row - r.Count
}

// After returns the row of the same agent a step later in its episode, -1 if there is
// none.
func (r *Learners) After(row int) int {
	if t := row / r.Count; t+1 == r.Steps || r.Start[t+1] != r.Start[t] || !r.Alive[row+r.Count] {
		return -1
	}
	return row + r.Count
}

// Ends says how an agent's episode ends with a row: by the rules, or cut off. A
// recording that stops is neither.
func (r *Learners) Ends(row int) (exit, cut bool) {
	exit = r.Done != nil && r.Done[row]
	return exit, r.Cut != nil && r.Cut[row] && !exit && !r.Open[row/r.Count]
}

// Each visits all learnt rows that were played, by somebody, and are sure.
func (r *Learners) Each(visit func(b *Batch, i, row int)) {
	for k := range r.Batches {
		for i, row := range r.Batches[k].Row {
			if row >= 0 && r.Batches[k].Sure[i] {
				visit(&r.Batches[k], i, row)
			}
		}
	}
}

// Owns reports whether a row is of an agent that the batch was handed in for, and of
// its life.
func (r *Learners) Owns(b *Batch, row int) bool {
	return slices.Contains(b.Agents, row%r.Count) && r.Alive[row]
}

// learnersReader takes apart what hop.Recorder adds.
type learnersReader struct {
	loader
	r *Learners
}

// ReadLearners takes the arrays apart that hop.Recorder adds to trajectories.
func ReadLearners(d *Trajectories) (*Learners, error) {
	r := &Learners{Trajectories: d, Count: len(d.Agents), Open: make([]bool, d.Steps), Start: make([]int, d.Steps)}
	for e, first := range d.Starts {
		for t := first; t < d.End(e); t++ {
			r.Start[t] = first
		}
	}
	l := &learnersReader{loader{file: d.Recorded, d: d, used: map[string]bool{}}, r}
	for t, v := range l.flat("open", d.Steps) {
		r.Open[t] = v != 0
	}
	if l.has("env") {
		r.Env = l.whole("env", d.Steps, 0, largest)
	}
	if l.has("seed") {
		r.Seed = l.whole("seed", d.Steps, -1, largest)
	}
	l.nets()
	l.updates()
	l.batches()
	l.minis()
	l.tables()
	for _, a := range d.Recorded {
		if !l.used[a.Name] {
			l.bad("%q is no array that hop.Recorder writes, or others that belong to it are missing", a.Name)
		}
	}
	if len(l.errs) > 0 {
		return nil, fmt.Errorf("learners: %s: %w", d.Name, errors.Join(l.errs...))
	}
	d.Learns, d.Shared = r.learns(), r.shared()
	return r, nil
}

// learns says who has a network or batches; nil: nothing of learners is recorded.
func (r *Learners) learns() []bool {
	if len(r.Nets)+len(r.Batches) == 0 {
		return nil
	}
	out := make([]bool, r.Count)
	for _, n := range r.Nets {
		for _, name := range n.Agents {
			out[slices.Index(r.Agents, name)] = true
		}
	}
	for _, b := range r.Batches {
		for _, a := range b.Agents {
			out[a] = true
		}
	}
	return out
}

// shared reports whether one network acts for all agents and cannot tell them apart: it reads an
// observation and nothing more, and no number of observations is one agent's own.
func (r *Learners) shared() bool {
	if r.Obs == nil {
		return false
	}
	n := len(r.Obs) / len(r.Alive)
	reads := func(p Parameter) bool { return len(p.Shape) == 2 && p.Shape[1] == n }
	if !slices.ContainsFunc(r.Nets, func(m Network) bool {
		return m.Part == check.PPO && len(m.Agents) == r.Count && slices.ContainsFunc(m.Parameters, reads)
	}) {
		return false
	}
	for k := range n {
		own, moves := make([]float32, r.Count), false
		seen, differ := make([]bool, r.Count), false
		for row, alive := range r.Alive {
			if x, a := r.Obs[row*n+k], row%r.Count; alive {
				moves = moves || seen[a] && own[a] != x
				own[a], seen[a] = x, true
			}
		}
		for a := range own {
			differ = differ || seen[a] && seen[0] && own[a] != own[0]
		}
		if differ && !moves {
			return false
		}
	}
	return true
}

// shaped returns an array's numbers if it has so many rows and dimensions; nil: it is not
// there, or not like that.
func shaped[F decimal](l *learnersReader, name string, rows, dims int, want string) ([]F, []int) {
	a := l.array(name)
	if a == nil {
		return nil, nil
	}
	x, ok := convertible[F](a.Data)
	if !ok || len(a.Shape) != dims || rows >= 0 && a.Shape[0] != rows || slices.Contains(a.Shape[1:], 0) {
		l.bad("%s has shape %v of %T, want [%d]%s", name, a.Shape, a.Data, rows, want)
		return nil, nil
	}
	return x, a.Shape
}

// flat returns a flat array, nil if there is none; n below 0: of any length.
func (l *learnersReader) flat(name string, n int) []float64 {
	x, _ := shaped[float64](l, name, n, 1, " numbers")
	return x
}

// whole returns a flat array of whole numbers within limits; it is an error if it is
// not there.
func (l *learnersReader) whole(name string, n, low, high int) []int {
	x := l.flat(name, n)
	if x == nil {
		l.need(name)
		return nil
	}
	out := make([]int, len(x))
	for i, v := range x {
		if v != math.Trunc(v) || v < float64(low) || v > float64(high) {
			l.bad("%s[%d] is %v, want a whole number from %d to %d", name, i, v, low, high)
			return nil
		}
		out[i] = int(v)
	}
	return out
}

// need says that an array is missing.
func (l *learnersReader) need(name string) {
	if !l.used[name] {
		l.bad("%s is missing", name)
	}
}

// text decodes an array of bytes that hold JSON; false if there is none.
func (l *learnersReader) text(name string, into any) bool {
	a := l.array(name)
	if a == nil {
		return false
	}
	b, ok := a.Data.([]uint8)
	if !ok {
		l.bad("%s holds %T, want bytes of JSON", name, a.Data)
		return false
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		l.bad("%s: %w; write it with hop.Recorder", name, err)
		return false
	}
	return true
}

// names turns agents' names into their numbers.
func (l *learnersReader) names(where string, list []string) []int {
	var out []int
	for _, n := range list {
		a := slices.Index(l.r.Agents, n)
		if a < 0 {
			l.bad("%s names %.40q, who is no agent; agents are %.200q", where, n, l.r.Agents)
			return nil
		}
		out = append(out, a)
	}
	if len(out) == 0 {
		l.bad("%s names nobody", where)
	}
	return out
}

func (l *learnersReader) nets() {
	if !l.text("learners", &l.r.Nets) {
		return
	}
	for i, n := range l.r.Nets {
		l.names(fmt.Sprintf("learners[%d]", i), n.Agents)
		if len(n.Parameters) == 0 {
			l.bad("learners[%d] has no parameters", i)
		}
	}
}

const largest = 1 << 40 // of counters

func (l *learnersReader) updates() {
	if !l.has("updates/learner") || len(l.r.Nets) == 0 {
		return
	}
	who := l.whole("updates/learner", -1, 0, len(l.r.Nets)-1)
	number := l.whole("updates/number", len(who), 0, largest)
	at := l.whole("updates/at", len(who), 0, largest)
	total := 0
	for _, w := range who {
		total += len(l.r.Nets[w].Parameters)
	}
	var parts [4][]float64
	for k, name := range []string{"rate", "gradient", "change", "outside"} {
		if parts[k] = l.flat("updates/"+name, total); parts[k] == nil {
			l.need("updates/" + name)
		}
	}
	if len(l.errs) > 0 {
		return
	}
	lo := 0
	for i, w := range who {
		hi := lo + len(l.r.Nets[w].Parameters)
		l.r.Updates = append(l.r.Updates, Update{w, number[i], at[i], parts[0][lo:hi], parts[1][lo:hi], parts[2][lo:hi], parts[3][lo:hi]})
		lo = hi
	}
}

// BatchColumns are what batches may hold beside their rows.
var BatchColumns = []string{"actions", "rewards", "dones", "values", "logprobs", "new_logprobs", "advantages", "returns",
	"after_logprobs", "after_values"}

func (l *learnersReader) batches() {
	var agents [][]string
	if !l.text("learn/agents", &agents) {
		return
	}
	var whose [][]int
	for i, a := range agents {
		whose = append(whose, l.names(fmt.Sprintf("learn/agents[%d]", i), a))
	}
	who := l.whole("learn/learner", -1, 0, len(agents)-1)
	size := l.whole("learn/size", len(who), 0, 1<<30)
	at := l.whole("learn/at", len(who), 0, largest)
	total := 0
	for _, n := range size {
		total += n
	}
	row := l.whole("learn/row", total, -1, l.r.Steps*l.r.Count-1)
	kind := l.whole("learn/kind", total, Played, Moved)
	sure := l.whole("learn/sure", total, 0, 1)
	gamma, lambda := l.flat("learn/gamma", len(who)), l.flat("learn/lambda", len(who))
	col := map[string][]float64{}
	for _, c := range BatchColumns {
		if x := l.flat("learn/"+c, total); x != nil {
			col[c] = x
		}
	}
	if gamma == nil || lambda == nil {
		l.bad("learn/gamma or learn/lambda is missing")
	}
	if len(l.errs) > 0 {
		return
	}
	lo := 0
	for i, w := range who {
		hi := lo + size[i]
		b := Batch{Agents: whose[w], At: at[i], Gamma: gamma[i], Lambda: lambda[i], Row: row[lo:hi], Kind: kind[lo:hi],
			Col: map[string][]float64{}}
		for _, s := range sure[lo:hi] {
			b.Sure = append(b.Sure, s == 1)
		}
		for name, x := range col {
			if part := x[lo:hi]; slices.ContainsFunc(part, func(v float64) bool { return !math.IsNaN(v) }) {
				b.Col[name] = part
			}
		}
		l.r.Batches = append(l.r.Batches, b)
		lo = hi
	}
}

// minis reads the minibatches of batches.
func (l *learnersReader) minis() {
	if !l.has("mini/batch") || len(l.errs) > 0 {
		return
	}
	of := l.whole("mini/batch", -1, 0, len(l.r.Batches)-1)
	size := l.whole("mini/size", len(of), 0, 1<<30)
	total := 0
	for _, n := range size {
		total += n
	}
	at := l.whole("mini/at", total, -1, 1<<30)
	cols, terms := map[string][]float64{}, map[string][]float64{}
	for _, c := range MiniColumns {
		cols[c] = l.flat("mini/"+c, total)
	}
	for _, c := range MiniTerms {
		terms[c] = l.flat("mini/loss_"+c, len(of))
	}
	if len(l.errs) > 0 {
		return
	}
	known := func(v float64) bool { return !math.IsNaN(v) }
	lo := 0
	for i, b := range of {
		hi := lo + size[i]
		m := Mini{At: at[lo:hi], Col: map[string][]float64{}, Terms: map[string]float64{}}
		for _, k := range m.At {
			if k >= len(l.r.Batches[b].Row) {
				l.bad("mini/at names row %d of a batch that has %d", k, len(l.r.Batches[b].Row))
				return
			}
		}
		for name, x := range cols {
			if x != nil && slices.ContainsFunc(x[lo:hi], known) {
				m.Col[name] = x[lo:hi]
			}
		}
		for name, x := range terms {
			if x != nil && known(x[i]) {
				m.Terms[name] = x[i]
			}
		}
		l.r.Batches[b].Mini = append(l.r.Batches[b].Mini, m)
		lo = hi
	}
}

// table reads rows of numbers; width 0 if they are not there.
func (l *learnersReader) table(row []int, name string) Table {
	x, shape := shaped[float32](l, name, len(row), 2, "[numbers]")
	if x == nil {
		return Table{}
	}
	return Table{row, shape[1], x}
}

// rows reads which rows something is about, if it is there.
func (l *learnersReader) rows(name string) []int {
	if !l.has(name) {
		return nil
	}
	return l.whole(name, -1, 0, l.r.Steps*l.r.Count-1)
}

func (l *learnersReader) tables() {
	r := l.r
	row := l.rows("policy/row")
	if row != nil {
		r.Logits, r.Probs = l.table(row, "policy/logits"), l.table(row, "policy/probs")
	}
	for _, t := range []Table{r.Logits, r.Probs} {
		if t.Width > 0 && t.Width < r.Actions {
			l.bad("policy/logits or policy/probs has room for %d actions, there are %d", t.Width, r.Actions)
		}
	}
	if row = l.rows("moa/row"); row != nil {
		r.MOA, r.Of = l.table(row, "moa/probs"), l.whole("moa/of", len(row), 0, r.Count-1)
		if r.MOA.Width < r.Actions {
			l.bad("moa/probs has room for %d actions, there are %d", r.MOA.Width, r.Actions)
		}
	}
	if r.WorldRow = l.rows("world/row"); r.WorldRow != nil {
		r.Foreseen = l.table(r.WorldRow, "world/next")
		r.WorldReward = l.flat("world/reward", len(r.WorldRow))
		if r.Foreseen.Width > 0 && (r.Next == nil || r.Foreseen.Width != len(r.Next)/(r.Steps*r.Count)) {
			l.bad("world/next has %d numbers a row, observations have another number of them", r.Foreseen.Width)
		}
		if r.Foreseen.Width == 0 && r.WorldReward == nil {
			l.bad("world/row is there, but neither world/next nor world/reward")
		}
	}
}
