package record

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/num/npz"
)

// Dump is one recorded run. Arrays are flat, [T][A] and what follows.
type Trajectories struct {
	Name   string   // of the file
	Agents []string // [A]
	Role   []int    // [A] agents of one role are built alike; all 0 if it was not recorded

	Steps   int       // T
	Starts  []int     // the first step of each episode
	Alive   []bool    // [T][A] may act at this step
	Action  []int32   // [T][A] negative: none
	Reward  []float32 // [T][A]
	Done    []bool    // [T][A] leaves with this step; nil: not recorded
	Cut     []bool    // [T][A] is cut off after this step, from outside; nil: not recorded
	Seat    []int32   // [T][A]; nil: not recorded
	Horizon int       // a time limit that is a rule of the game; 0: none known

	Obs, Next []float32 // [T][A][Shape]; nil: not recorded
	Shape     []int     // of one observation
	Last      bool      // planes are the last dimension, not the first
	Legal     []bool    // [T][A][K]; nil: not recorded
	Actions   int       // K, from Legal or from the largest action
	Label     []int32   // [T][A] negative: none; nil: not recorded
	Goal      []float32 // [T][A][GoalLen]; nil: not recorded
	GoalLen   int
	Joint     []int32 // [T][A][A] the last joint action as each agent recorded it; nil: not recorded

	Recorded []npz.Array // what hop.Recorder adds of learners; ReadLearners reads it, and sets these two:
	Learns   []bool      // [A] who has a network or batches; nil: nothing of learners is recorded
	Shared   bool        // one network acts for all agents and cannot tell them apart
}

// At returns the place of a step and agent in [T][A] arrays.
func (d *Trajectories) At(t, a int) int { return t*len(d.Agents) + a }

// End returns the step after an episode's last.
func (d *Trajectories) End(episode int) int {
	if episode+1 < len(d.Starts) {
		return d.Starts[episode+1]
	}
	return d.Steps
}

// Open reads one file.
func Open(path string) (*Trajectories, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("record: %s is a folder; name an .npz, or use --data for a folder of them", path)
	}
	f, err := disk.Open(path)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	return Read(f, info.Size(), filepath.Base(path))
}

// OpenDir reads all .npz of a folder, by name: runs of the same agents.
func OpenDir(dir string) ([]*Trajectories, error) {
	paths, err := disk.Match(dir, "*.npz")
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("record: there is no .npz in %s; docs/examples/dump.py shows how to write one", dir)
	}
	var list []*Trajectories
	var errs []error
	for _, path := range paths {
		d, err := Open(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, d)
		if first := list[0]; len(d.Agents) != len(first.Agents) {
			errs = append(errs, fmt.Errorf("record: %s has %d agents, %s has %d; put runs of different teams into different folders",
				d.Name, len(d.Agents), first.Name, len(first.Agents)))
		}
	}
	return list, errors.Join(errs...)
}

// Read reads trajectories of size bytes; name is for messages.
func Read(r io.ReaderAt, size int64, name string) (*Trajectories, error) {
	file, err := npz.Read(r, size)
	if err != nil {
		return nil, fmt.Errorf("record: %s: %w", name, err)
	}
	l := &loader{file: file, d: &Trajectories{Name: name}, used: map[string]bool{}}
	l.load()
	if len(l.errs) > 0 {
		return nil, fmt.Errorf("record: %s: %w", name, errors.Join(l.errs...))
	}
	return l.d, nil
}

// recorded are the arrays that hop.Recorder adds, and the folders that it puts them in.
var recorded = []string{"open", "env", "seed", "learners", "learn/", "mini/", "updates/", "policy/", "moa/", "world/"}

// ofRecorder reports whether an array is one that hop.Recorder adds.
func ofRecorder(name string) bool {
	return slices.ContainsFunc(recorded, func(r string) bool { return name == r || strings.HasSuffix(r, "/") && strings.HasPrefix(name, r) })
}

// KnownArrays are the arrays that a recording may have.
var KnownArrays = []string{
	"rewards", "actions", "alive", "dones", "truncated", "episode", "seats", "horizon", "obs", "next_obs", "channels_last",
	"legal", "labels", "goals", "joint", "names", "roles",
}

// loader reads arrays and keeps all that is wrong with them.
type loader struct {
	file npz.File
	d    *Trajectories
	used map[string]bool // arrays that were asked for and are there
	errs []error
}

func (l *loader) bad(format string, a ...any) { l.errs = append(l.errs, fmt.Errorf(format, a...)) }

// decimal is what an array's numbers are read as: large arrays as float32, which most
// are saved as and which then need no copy.
type decimal interface{ float32 | float64 }

// numbers returns an array of any numeric type, or nil.
func numbers[F decimal](l *loader, name string) ([]F, []int) {
	a := l.array(name)
	if a == nil {
		return nil, nil
	}
	x, ok := convertible[F](a.Data)
	if !ok {
		l.bad("%s holds %T; save it as numbers", name, a.Data)
	}
	return x, a.Shape
}

// array returns an array, nil if there is none.
func (l *loader) array(name string) *npz.Array {
	i := slices.IndexFunc(l.file, func(a npz.Array) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	l.used[name] = true
	return &l.file[i]
}

// convertible converts the data of an array of any numeric type, unless it is of this one
// already.
func convertible[F decimal](data any) ([]F, bool) {
	switch x := data.(type) {
	case []F:
		return x, true
	case []bool:
		out := make([]F, len(x))
		for i, v := range x {
			if v {
				out[i] = 1
			}
		}
		return out, true
	case []float64:
		return convert[F](x), true
	case []float32:
		return convert[F](x), true
	case []int64:
		return convert[F](x), true
	case []int32:
		return convert[F](x), true
	case []int16:
		return convert[F](x), true
	case []int8:
		return convert[F](x), true
	case []uint8:
		return convert[F](x), true
	}
	return nil, false
}

func convert[F decimal, T float64 | float32 | int64 | int32 | int16 | int8 | uint8](x []T) []F {
	out := make([]F, len(x))
	for i, v := range x {
		out[i] = F(v)
	}
	return out
}

func (l *loader) has(name string) bool { return l.array(name) != nil }

// load fills in what there is as far as its arrays allow, and lists all faults.
func (l *loader) load() {
	d := l.d
	for _, a := range l.file {
		if ofRecorder(a.Name) {
			d.Recorded = append(d.Recorded, a)
		} else if !slices.Contains(KnownArrays, a.Name) {
			l.bad("there is no array %q in the format; it has %s", a.Name, strings.Join(KnownArrays, ", "))
		}
	}
	reward, shape := numbers[float32](l, "rewards")
	switch {
	case reward == nil && !l.has("rewards"):
		l.bad("rewards is missing: a number for each step and agent, [T][A]")
	case len(shape) != 2 || shape[0] == 0 || shape[1] == 0:
		l.bad("rewards has shape %v, want [T][A]: steps of all episodes one after the other, then agents", shape)
	case shape[1] > 64:
		l.bad("rewards has %d agents (shape %v), want at most 64; is it [A][T]?", shape[1], shape)
	}
	if len(l.errs) > 0 {
		return
	}
	d.Steps, d.Reward = shape[0], reward
	l.names(shape[1])
	l.roles()
	d.Action = l.ints("actions", true)
	l.episodes()
	d.Done, d.Cut = l.flags("dones"), l.flags("truncated")
	if alive := l.flags("alive"); alive != nil {
		d.Alive = alive
	} else if d.Done != nil {
		d.Alive = d.AliveByDone()
	} else {
		l.bad("alive and dones are both missing; one is needed to know who may act: alive[t][a] 1 while agent a is in the " +
			"game, or dones[t][a] 1 at the step with which it leaves")
	}
	d.Seat, d.Label = l.ints("seats", false), l.ints("labels", false)
	d.Horizon = l.scalar("horizon")
	d.Last = l.scalar("channels_last") != 0
	l.observations()
	l.wide()
	if len(l.errs) == 0 {
		l.meaning()
	}
}

// names reads the agents' names: text separated by commas, as bytes.
func (l *loader) names(agents int) {
	for a := range agents {
		l.d.Agents = append(l.d.Agents, fmt.Sprintf("agent %d", a))
	}
	if !l.has("names") {
		return
	}
	text, _, err := npz.Get[uint8](l.file, "names", 1)
	if err != nil {
		l.bad("names: %w; write np.frombuffer(b\"alice,bob\", np.uint8)", err)
		return
	}
	list := strings.Split(string(text), ",")
	if len(list) != agents {
		l.bad("names has %d names, rewards has %d agents", len(list), agents)
		return
	}
	for a, n := range list {
		if n = strings.TrimSpace(n); n != "" && len(n) <= 40 && strings.IndexFunc(n, func(r rune) bool { return r < ' ' }) < 0 {
			l.d.Agents[a] = n
		}
	}
}

// roles reads which agents are built alike.
func (l *loader) roles() {
	l.d.Role = make([]int, len(l.d.Agents))
	x, shape := numbers[float64](l, "roles")
	if x == nil {
		return
	}
	if len(shape) != 1 || len(x) != len(l.d.Role) {
		l.bad("roles has shape %v, want [%d]: a number for each agent, the same for those that are built alike", shape, len(l.d.Role))
		return
	}
	for a, v := range x {
		if v != math.Trunc(v) || math.Abs(v) > 1<<20 {
			l.bad("roles[%d] is %v, want a whole number", a, v)
			return
		}
		l.d.Role[a] = int(v)
	}
}

// grid returns an array whose first dimensions are [T][A], and the others.
func grid[F decimal](l *loader, name string) ([]F, []int) {
	x, shape := numbers[F](l, name)
	if x == nil {
		return nil, nil
	}
	if len(shape) < 2 || shape[0] != l.d.Steps || shape[1] != len(l.d.Agents) {
		l.bad("%s has shape %v, want [%d][%d]... as rewards", name, shape, l.d.Steps, len(l.d.Agents))
		return nil, nil
	}
	return x, shape[2:]
}

// ints reads whole numbers, [T][A].
func (l *loader) ints(name string, needed bool) []int32 {
	if !l.has(name) {
		if needed {
			l.bad("%s is missing: a whole number for each step and agent, [T][A], -1 for an agent that has left", name)
		}
		return nil
	}
	x, more := grid[float64](l, name)
	if x == nil {
		return nil
	}
	if len(more) != 0 {
		l.bad("%s has %d more dimensions than [T][A]; save indices, not one-hot vectors", name, len(more))
		return nil
	}
	return l.whole(name, x)
}

func (l *loader) whole(name string, x []float64) []int32 {
	out := make([]int32, len(x))
	for i, v := range x {
		if v != math.Trunc(v) || math.Abs(v) > 1<<20 {
			l.bad("%s[%d][%d] is %v, want a whole number of at most %d", name, i/len(l.d.Agents)%max(l.d.Steps, 1), i%len(l.d.Agents), v, 1<<20)
			return nil
		}
		out[i] = int32(v)
	}
	return out
}

// flags reads 0 and 1, [T][A] or [T] for all agents alike.
func (l *loader) flags(name string) []bool {
	x, shape := numbers[float32](l, name)
	if x == nil {
		return nil
	}
	n := len(l.d.Agents)
	out := make([]bool, l.d.Steps*n)
	switch {
	case len(shape) == 1 && shape[0] == l.d.Steps:
		for i := range out {
			out[i] = x[i/n] != 0
		}
	case len(shape) == 2 && shape[0] == l.d.Steps && shape[1] == n:
		for i := range out {
			out[i] = x[i] != 0
		}
	default:
		l.bad("%s has shape %v, want [%d][%d], or [%d] for all agents alike", name, shape, l.d.Steps, n, l.d.Steps)
		return nil
	}
	for i, v := range x {
		if v != 0 && v != 1 {
			l.bad("%s has %v at %d, want 0 or 1", name, v, i)
			return nil
		}
	}
	return out
}

func (l *loader) scalar(name string) int {
	x, shape := numbers[float64](l, name)
	if x == nil {
		return 0
	}
	if len(x) != 1 || x[0] != math.Trunc(x[0]) || x[0] < 0 || x[0] > 1<<30 {
		l.bad("%s has shape %v, want one whole number, 0 or more", name, shape)
		return 0
	}
	return int(x[0])
}

// episodes reads which episode each step belongs to.
func (l *loader) episodes() {
	x, shape := numbers[float64](l, "episode")
	switch {
	case !l.has("episode"):
		l.bad("episode is missing: the number of the episode that each step belongs to, [T]")
		return
	case len(shape) != 1 || len(x) != l.d.Steps:
		l.bad("episode has shape %v, want [%d]", shape, l.d.Steps)
		return
	}
	seen := map[float64]bool{}
	for t, e := range x {
		if math.IsNaN(e) {
			l.bad("episode[%d] is not a number", t)
			return
		}
		if t > 0 && e == x[t-1] {
			continue
		}
		if seen[e] {
			l.bad("episode %v goes on at step %d after another one began; put each episode's steps together (with several envs: one env after the "+
				"other)", e, t)
			return
		}
		seen[e] = true
		l.d.Starts = append(l.d.Starts, t)
	}
}

// observations reads obs and next_obs.
func (l *loader) observations() {
	for _, o := range []struct {
		name string
		to   *[]float32
	}{{"obs", &l.d.Obs}, {"next_obs", &l.d.Next}} {
		x, shape := grid[float32](l, o.name)
		if x == nil {
			continue
		}
		if len(shape) == 0 || len(shape) > 4 {
			l.bad("%s has %d dimensions after [T][A], want 1 to 4", o.name, len(shape))
			continue
		}
		if l.d.Shape != nil && !slices.Equal(shape, l.d.Shape) {
			l.bad("next_obs has shape [T][A]%v, obs [T][A]%v", shape, l.d.Shape)
			continue
		}
		l.d.Shape, *o.to = shape, x
	}
}

// wide reads the arrays with a third dimension.
func (l *loader) wide() {
	d := l.d
	legal, actions := third[float32](l, "legal", 0, "[T][A][actions]")
	if d.Actions = actions; legal != nil {
		d.Legal = make([]bool, len(legal))
		for i, v := range legal {
			d.Legal[i] = v != 0
		}
	}
	d.Goal, d.GoalLen = third[float32](l, "goals", 0, "[T][A][numbers]; hand-made goals go into labels")
	n := len(d.Agents)
	if x, _ := third[float64](l, "joint", n, fmt.Sprintf("[T][A][%d]: one action for each agent, as indices", n)); x != nil {
		d.Joint = l.whole("joint", x)
	}
}

// third reads an array [T][A][n] and returns n; size 0: any.
func third[F decimal](l *loader, name string, size int, want string) ([]F, int) {
	x, more := grid[F](l, name)
	if x == nil {
		return nil, 0
	}
	if len(more) != 1 || more[0] == 0 || size > 0 && more[0] != size {
		l.bad("%s has shape [T][A]%v, want %s", name, more, want)
		return nil, 0
	}
	return x, more[0]
}

// meaning checks what shapes do not tell.
func (l *loader) meaning() {
	d := l.d
	top := int32(0)
	for i, a := range d.Action {
		top = max(top, a)
		if a < -1 {
			l.bad("actions has %d at step %d, want -1 for none, or 0 and above", a, i/len(d.Agents))
			return
		}
	}
	if d.Legal == nil {
		d.Actions = int(top) + 1
	} else if int(top) >= d.Actions {
		l.bad("actions goes up to %d, legal has room for %d actions", top, d.Actions)
	}
	taken := make([]bool, len(d.Agents))
	for i, s := range d.Seat {
		if i%len(taken) == 0 {
			clear(taken)
		}
		if s < 0 || int(s) >= len(taken) || taken[s] {
			l.bad("seats has %d at step %d, want each of 0 to %d once", s, i/len(taken), len(taken)-1)
			return
		}
		taken[s] = true
	}
}

// Returns gives each agent's return of every episode from one on; by says whose column a
// reward goes to.
func (d *Trajectories) Returns(first int, by func(t, a int) int) [][]float64 {
	var out [][]float64
	for e := first; e < len(d.Starts); e++ {
		row := make([]float64, len(d.Agents))
		for t := d.Starts[e]; t < d.End(e); t++ {
			for a := range d.Agents {
				if x := float64(d.Reward[d.At(t, a)]); !math.IsNaN(x) && !math.IsInf(x, 0) { // said by a check
					row[by(t, a)] += x
				}
			}
		}
		out = append(out, row)
	}
	return out
}

// ByAgent puts every reward into its own agent's column.
func ByAgent(_, a int) int { return a }

// LateFrom returns the first episode of the last fifth, or of the last hundred if that
// is more.
func (d *Trajectories) LateFrom() int {
	n := len(d.Starts)
	return max(n-max(n/5, 100), 0)
}

// Late returns each agent's mean return late in the recording.
func (d *Trajectories) Late() []float64 {
	rows, out := d.Returns(d.LateFrom(), ByAgent), make([]float64, len(d.Agents))
	for _, row := range rows {
		for a, x := range row {
			out[a] += x / float64(len(rows))
		}
	}
	return out
}

// AliveByDone says that an agent is in the game up to the step with which it
// leaves.
func (d *Trajectories) AliveByDone() []bool {
	alive := make([]bool, d.Steps*len(d.Agents))
	for e := range d.Starts {
		for a := range d.Agents {
			for t := d.Starts[e]; t < d.End(e); t++ {
				alive[d.At(t, a)] = true
				if d.Done[d.At(t, a)] {
					break
				}
			}
		}
	}
	return alive
}
