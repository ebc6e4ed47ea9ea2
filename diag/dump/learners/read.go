package learners

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"hop/diag/dump"
)

// net is a network and its optimiser, as hop.Recorder describes them in JSON.
type net struct {
	Agents     []string    `json:"agents"`
	Part       string      `json:"part"`
	Steps      int         `json:"steps"`     // of the optimiser
	FirstAt    int         `json:"first_at"`  // steps played before its first one; -1: none
	LastAt     int         `json:"last_at"`   // and before its last one
	Uncleared  int         `json:"uncleared"` // steps whose gradients were those of the step before, added to
	Compared   int         `json:"compared"`  // of so many
	Strange    []string    `json:"strange"`   // what the optimiser holds of other learners: "agent_1: head.weight"
	Unknown    int         `json:"unknown"`   // tensors that it holds of nobody
	Parameters []parameter `json:"parameters"`
}

type parameter struct {
	Name     string `json:"name"`
	Shape    []int  `json:"shape"`
	Held     bool   `json:"held"`
	Frozen   bool   `json:"frozen"`
	Replaced bool   `json:"replaced"` // the network has another tensor in its place now
	Storage  int    `json:"storage"`  // the memory it lies in
	First    uint32 `json:"first"`    // a checksum of its first weights; 0: they are all one number
}

// update is a watched step of an optimiser, by parameter.
type update struct {
	net, number, at                 int
	rate, gradient, change, outside []float64
}

// batch is what one update learnt from.
type batch struct {
	agents        []int // whose it was handed in as
	at            int   // steps played before
	gamma, lambda float64
	row           []int                // t*A+a; -1: none that was played
	kind          []int                // why there is none
	sure          []bool               // it can be no other row
	col           map[string][]float64 // nil: not given
}

// Kinds of learnt rows.
const (
	played = iota
	gone   // after the agent left
	zeros  // nothing but zeros
	unseen // an observation that nobody had
	other  // not what the row that it claims to be had
)

// table is rows of numbers; NaN where one has fewer.
type table struct {
	row   []int
	width int
	x     []float32
}

func (t table) at(i int) []float32 { return t.x[i*t.width : (i+1)*t.width] }

// record is a dump with what was recorded of its learners.
type record struct {
	*dump.Dump
	agents  int
	open    []bool // [T] the recording of the episode stops here, not the episode
	env     []int  // [T] which copy of the environment; nil: not recorded
	start   []int  // [T] the first step of the episode
	nets    []net
	updates []update
	batches []batch

	logits, probs, moa, next table
	of                       []int // of moa's rows, whom they are about
	worldRow                 []int
	worldReward              []float64
}

// before returns the row of the same agent a step before in its episode, -1 if there
// is none.
func (r *record) before(row int) int {
	if t := row / r.agents; t == r.start[t] || !r.Alive[row-r.agents] {
		return -1
	}
	return row - r.agents
}

// after returns the row of the same agent a step later in its episode, -1 if there is
// none.
func (r *record) after(row int) int {
	if t := row / r.agents; t+1 == r.Steps || r.start[t+1] != r.start[t] || !r.Alive[row+r.agents] {
		return -1
	}
	return row + r.agents
}

// ends says how an agent's episode ends with a row: by the rules, or cut off. A
// recording that stops is neither.
func (r *record) ends(row int) (exit, cut bool) {
	exit = r.Done != nil && r.Done[row]
	return exit, r.Cut != nil && r.Cut[row] && !exit && !r.open[row/r.agents]
}

// each visits all learnt rows that were played, by somebody, and are sure.
func (r *record) each(visit func(b *batch, i, row int)) {
	for k := range r.batches {
		for i, row := range r.batches[k].row {
			if row >= 0 && r.batches[k].sure[i] {
				visit(&r.batches[k], i, row)
			}
		}
	}
}

// owns reports whether a row is of an agent that the batch was handed in for, and of
// its life.
func (r *record) owns(b *batch, row int) bool {
	return slices.Contains(b.agents, row%r.agents) && r.Alive[row]
}

// reader reads a dump's recorded arrays and keeps all that is wrong with them.
type reader struct {
	r    *record
	used map[string]bool
	errs []error
}

func (l *reader) bad(format string, a ...any) { l.errs = append(l.errs, fmt.Errorf(format, a...)) }

// read takes a dump's arrays apart.
func read(d *dump.Dump) (*record, error) {
	r := &record{Dump: d, agents: len(d.Agents), open: make([]bool, d.Steps), start: make([]int, d.Steps)}
	for e, first := range d.Starts {
		for t := first; t < d.End(e); t++ {
			r.start[t] = first
		}
	}
	l := &reader{r: r, used: map[string]bool{}}
	if x := l.numbers("open", d.Steps); x != nil {
		for t, v := range x {
			r.open[t] = v != 0
		}
	}
	if l.numbers("env", d.Steps) != nil {
		r.env = l.whole("env", d.Steps, 0, largest)
	}
	l.nets()
	l.updates()
	l.batches()
	l.tables()
	for _, a := range d.Recorded {
		if !l.used[a.Name] {
			l.bad("%q is no array that hop.Recorder writes, or others that belong to it are missing", a.Name)
		}
	}
	if len(l.errs) > 0 {
		return nil, fmt.Errorf("learners: %s: %w", d.Name, errors.Join(l.errs...))
	}
	return r, nil
}

// numbers returns a flat array, nil if there is none; n below 0: of any length.
func (l *reader) numbers(name string, n int) []float64 {
	for _, a := range l.r.Recorded {
		if a.Name != name {
			continue
		}
		l.used[name] = true
		x, ok := dump.Numbers[float64](a.Data)
		if !ok || len(a.Shape) != 1 || n >= 0 && len(x) != n {
			l.bad("%s has shape %v of %T, want [%d] numbers", name, a.Shape, a.Data, n)
			return nil
		}
		return x
	}
	return nil
}

// whole returns a flat array of whole numbers within limits; it is an error if it is
// not there.
func (l *reader) whole(name string, n, low, high int) []int {
	x := l.numbers(name, n)
	if x == nil {
		if !l.used[name] {
			l.bad("%s is missing", name)
		}
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

// text decodes an array of bytes that hold JSON; false if there is none.
func (l *reader) text(name string, into any) bool {
	for _, a := range l.r.Recorded {
		if a.Name != name {
			continue
		}
		l.used[name] = true
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
	return false
}

// names turns agents' names into their numbers.
func (l *reader) names(where string, list []string) []int {
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

func (l *reader) nets() {
	if !l.text("learners", &l.r.nets) {
		return
	}
	for i, n := range l.r.nets {
		l.names(fmt.Sprintf("learners[%d]", i), n.Agents)
		if len(n.Parameters) == 0 {
			l.bad("learners[%d] has no parameters", i)
		}
	}
}

const largest = 1 << 40 // of counters

func (l *reader) updates() {
	if l.numbers("updates/learner", -1) == nil || len(l.r.nets) == 0 {
		return
	}
	who := l.whole("updates/learner", -1, 0, len(l.r.nets)-1)
	number, at := l.whole("updates/number", len(who), 0, largest), l.whole("updates/at", len(who), 0, largest)
	total := 0
	for _, w := range who {
		total += len(l.r.nets[w].Parameters)
	}
	var parts [4][]float64
	for k, name := range []string{"rate", "gradient", "change", "outside"} {
		if parts[k] = l.numbers("updates/"+name, total); parts[k] == nil && !l.used["updates/"+name] {
			l.bad("updates/%s is missing", name)
		}
	}
	if len(l.errs) > 0 {
		return
	}
	lo := 0
	for i, w := range who {
		hi := lo + len(l.r.nets[w].Parameters)
		l.r.updates = append(l.r.updates, update{w, number[i], at[i], parts[0][lo:hi], parts[1][lo:hi], parts[2][lo:hi], parts[3][lo:hi]})
		lo = hi
	}
}

// columns are what batches may hold beside their rows.
var columns = []string{"actions", "rewards", "dones", "values", "logprobs", "new_logprobs", "advantages", "returns",
	"after_logprobs", "after_values"}

func (l *reader) batches() {
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
	row := l.whole("learn/row", total, -1, l.r.Steps*l.r.agents-1)
	kind := l.whole("learn/kind", total, played, other)
	sure := l.whole("learn/sure", total, 0, 1)
	gamma, lambda := l.numbers("learn/gamma", len(who)), l.numbers("learn/lambda", len(who))
	col := map[string][]float64{}
	for _, c := range columns {
		if x := l.numbers("learn/"+c, total); x != nil {
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
		b := batch{agents: whose[w], at: at[i], gamma: gamma[i], lambda: lambda[i], row: row[lo:hi], kind: kind[lo:hi],
			col: map[string][]float64{}}
		for _, s := range sure[lo:hi] {
			b.sure = append(b.sure, s == 1)
		}
		for name, x := range col {
			if part := x[lo:hi]; slices.ContainsFunc(part, func(v float64) bool { return !math.IsNaN(v) }) {
				b.col[name] = part
			}
		}
		l.r.batches = append(l.r.batches, b)
		lo = hi
	}
}

// table reads rows of numbers; width 0 if they are not there.
func (l *reader) table(row []int, name string) table {
	for _, a := range l.r.Recorded {
		if a.Name != name {
			continue
		}
		l.used[name] = true
		x, ok := dump.Numbers[float32](a.Data)
		if !ok || len(a.Shape) != 2 || a.Shape[0] != len(row) || a.Shape[1] == 0 {
			l.bad("%s has shape %v of %T, want [%d][numbers]", name, a.Shape, a.Data, len(row))
			return table{}
		}
		return table{row, a.Shape[1], x}
	}
	return table{}
}

// rows reads which rows something is about, if it is there.
func (l *reader) rows(name string) []int {
	if l.numbers(name, -1) == nil {
		return nil
	}
	return l.whole(name, -1, 0, l.r.Steps*l.r.agents-1)
}

func (l *reader) tables() {
	r := l.r
	row := l.rows("policy/row")
	if row != nil {
		r.logits, r.probs = l.table(row, "policy/logits"), l.table(row, "policy/probs")
	}
	for _, t := range []table{r.logits, r.probs} {
		if t.width > 0 && t.width < r.Actions {
			l.bad("policy/logits or policy/probs has room for %d actions, there are %d", t.width, r.Actions)
		}
	}
	if row = l.rows("moa/row"); row != nil {
		r.moa, r.of = l.table(row, "moa/probs"), l.whole("moa/of", len(row), 0, r.agents-1)
		if r.moa.width < r.Actions {
			l.bad("moa/probs has room for %d actions, there are %d", r.moa.width, r.Actions)
		}
	}
	if r.worldRow = l.rows("world/row"); r.worldRow != nil {
		r.next = l.table(r.worldRow, "world/next")
		r.worldReward = l.numbers("world/reward", len(r.worldRow))
		if r.next.width > 0 && (r.Next == nil || r.next.width != len(r.Next)/(r.Steps*r.agents)) {
			l.bad("world/next has %d numbers a row, observations have another number of them", r.next.width)
		}
		if r.next.width == 0 && r.worldReward == nil {
			l.bad("world/row is there, but neither world/next nor world/reward")
		}
	}
}
