package pyenv

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/bridge"
	"github.com/hop-marl/hop/num/cpu"
	"github.com/hop-marl/hop/num/rng"
)

// pool is the worker processes of a game and which states they play.
type pool struct {
	mu      sync.Mutex
	workers []*worker
	waiting []*state // that no worker plays yet
	placed  int      // states, ever
}

// worker is a Python process. What is asked of it is asked under its lock.
type worker struct {
	id   int // from 1
	lock sync.Mutex
	peer *bridge.Peer
	sent error // what came of the last question's sending

	// What is waited for, and what tells where it is; under the lock of hired.
	opening   string
	waits     bool
	since     cpu.Watch
	questions int
	blocks    []*block

	free []place // of states that nobody holds any more; the pool's, under its lock
}

// block is the memory of some copies of a worker.
type block struct {
	op, mask, alive, cut []uint8   // [copies], [copies][seats][actions], then [copies][seats]
	action               []int32   // [copies][seats]
	vector               []float32 // [copies][seats][actions] where actions are vectors
	seed                 []int64   // [copies]
	obs                  []float32
	reward               []float32 // [copies][seats]
	at                   []int64   // which copy is played just now, from 1, its step and its seed; what was put up with (game.lenient)
	number               []int     // [copies] of the state
}

// place is a copy of a worker.
type place struct {
	w *worker
	b *block
	i int
}

// What is asked of a copy.
const (
	opStep  = 1
	opReset = 2
)

// add takes a state that some worker is to play.
func (p *pool) add(st *state) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = append(p.waiting, st)
}

// watch frees a state's place when nobody holds the state any more.
func (p *pool) watch(st *state) {
	runtime.AddCleanup(st, func(at place) {
		p.mu.Lock()
		defer p.mu.Unlock()
		at.w.free = append(at.w.free, at)
	}, st.at)
}

// place gives the states that wait to workers, side by side, and starts workers that have
// not been needed before. Each gets a range of them, the one that a worker of the rollout
// has: so those two talk to each other alone.
func (p *pool) place(g *Game) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, all := len(p.waiting), len(p.workers)
	if n == 0 {
		return nil
	}
	for i, st := range p.waiting { // those of a rollout come together
		st.number = i
	}
	errs := make([]error, all)
	var wg sync.WaitGroup
	for i := range all {
		w, todo := p.workers[(p.placed+i)%all], p.waiting[i*n/all:(i+1)*n/all]
		for len(todo) > 0 && len(w.free) > 0 {
			last := len(w.free) - 1
			todo[0].at, w.free = w.free[last], w.free[:last]
			todo[0].at.b.number[todo[0].at.i] = todo[0].number
			todo = todo[1:]
		}
		if len(todo) > 0 {
			wg.Go(func() { errs[i] = w.make(g, todo) })
		}
	}
	wg.Wait()
	for _, st := range p.waiting {
		if st.at.b != nil {
			p.watch(st)
		}
	}
	p.placed += n // so that states that come one by one do not meet at one worker
	p.waiting = nil
	return errors.Join(errs...)
}

// make makes copies for the states.
func (w *worker) make(g *Game, sts []*state) error {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.peer == nil {
		if err := w.start(g.cfg, false, &about{}); err != nil {
			return err
		}
	}
	n := len(sts)
	if err := w.peer.Call("copies", map[string]int{"copies": n}, nil); err != nil {
		return bridge.Traced(err)
	}
	m, err := w.peer.Share(g.arrays(n))
	if err != nil {
		return bridge.Traced(err)
	}
	b := &block{
		op: bridge.Slice[uint8](m, "op"), mask: bridge.Slice[uint8](m, "mask"), alive: bridge.Slice[uint8](m, "alive"),
		cut: bridge.Slice[uint8](m, "cut"), action: bridge.Slice[int32](m, "action"), seed: bridge.Slice[int64](m, "seed"),
		obs: bridge.Slice[float32](m, "obs"), reward: bridge.Slice[float32](m, "reward"),
		at: bridge.Slice[int64](m, "at"), number: make([]int, n),
	}
	if g.spec.Continuous {
		b.vector = bridge.Slice[float32](m, "vector")
	}
	for i, st := range sts {
		st.at, b.number[i] = place{w, b, i}, st.number
	}
	hired.Lock()
	defer hired.Unlock()
	w.blocks = append(w.blocks, b)
	return nil
}

// arrays lists what is shared of so many copies.
func (g *Game) arrays(n int) []bridge.Array {
	seats, k := g.spec.Seats, len(g.spec.Actions)
	list := []bridge.Array{
		{Name: "op", Type: "u1", Shape: []int{n}},
		{Name: "seed", Type: "i8", Shape: []int{n}},
		{Name: "at", Type: "i8", Shape: []int{4}},
		{Name: "action", Type: "i4", Shape: []int{n, seats}},
		{Name: "obs", Type: "f4", Shape: []int{n, seats, g.width}},
		{Name: "mask", Type: "u1", Shape: []int{n, seats, k}},
		{Name: "alive", Type: "u1", Shape: []int{n, seats}},
		{Name: "cut", Type: "u1", Shape: []int{n, seats}},
		{Name: "reward", Type: "f4", Shape: []int{n, seats}},
	}
	if g.spec.Continuous {
		list = append(list, bridge.Array{Name: "vector", Type: "f4", Shape: []int{n, seats, k}})
	}
	return list
}

// start starts the process and opens the environment in it. The first one is to look
// whether it can be played.
func (w *worker) start(c Config, first bool, a *about) (err error) {
	if w.peer, err = bridge.Python("hop_marl.worker", c.Python, "--set game.python=PATH"); err != nil {
		return err
	}
	w.ask(c.Label())
	defer w.answered()
	err = w.peer.Call("open", map[string]any{
		"env": c.Env, "kwargs": c.Kwargs, "horizon": c.Horizon, "most_actions": game.MaxActions, "probe": first, "replay": first && c.Replay,
		"lenient": c.Lenient,
	}, a)
	if err != nil {
		w.peer.Close()
		return bridge.Traced(err)
	}
	return nil
}

// tick lets workers step or reset the states, all at once. Others may ask the same
// workers meanwhile: each is asked under its lock, and locks are taken in one order.
func (p *pool) tick(sts []game.State, actions [][]int32, rules []*rng.Rand) (failed error) {
	for _, w := range p.workers {
		if !w.plays(sts) {
			continue
		}
		w.lock.Lock()
		for i, s := range sts {
			if st := s.(*state); st.at.w == w {
				st.ask(actions[i], rules[i])
			}
		}
		w.ask("")
		w.sent = w.peer.Send(0)
	}
	for _, w := range p.workers {
		if !w.plays(sts) {
			continue
		}
		err := w.sent
		if err == nil {
			err = w.peer.Wait()
		}
		w.answered()
		w.lock.Unlock()
		if err != nil && failed == nil {
			failed = w.lost(err)
		}
	}
	return failed
}

// plays reports whether one of the states is the worker's.
func (w *worker) plays(sts []game.State) bool {
	for _, s := range sts {
		if s.(*state).at.w == w {
			return true
		}
	}
	return false
}

// Wait is something that Python has not answered yet.
type Wait struct {
	Worker  int           // its number, from 1
	Number  int           // of the question
	For     time.Duration // how long ago it was asked
	Opening bool          // it is to make the environment
	Text    string        // all of it, in words
}

// hired are the workers of all games that were opened.
var hired struct {
	sync.Mutex
	list []*worker
}

// ask remembers that a worker is asked something: to open an environment, or to play.
func (w *worker) ask(opening string) {
	hired.Lock()
	w.opening, w.since, w.waits = opening, cpu.Start(), true
	w.questions++
	hired.Unlock()
}

// answered forgets it.
func (w *worker) answered() {
	hired.Lock()
	w.waits = false
	hired.Unlock()
}

// Waiting returns what Python has not answered yet, for how long, and where it is.
func Waiting() (list []Wait) {
	hired.Lock()
	defer hired.Unlock()
	for _, w := range hired.list {
		if !w.waits {
			continue
		}
		_, wall := w.since.Spent()
		x := Wait{Worker: w.id, Number: w.questions, For: time.Duration(wall * float64(time.Second)), Opening: w.opening != ""}
		if s := x.For.Round(time.Second); x.Opening {
			x.Text = fmt.Sprintf("opening %s in Python takes %v so far", w.opening, s)
		} else {
			x.Text = fmt.Sprintf("%s has not answered for %v%s", w.name(), s, w.where())
		}
		list = append(list, x)
	}
	return list
}

// Lenient returns how much was put up with so far, of environments that are played leniently.
func Lenient() (many int64) {
	hired.Lock()
	defer hired.Unlock()
	for _, w := range hired.list {
		for _, b := range w.blocks {
			many += b.at[3]
		}
	}
	return many
}

// name says which worker it is.
func (w *worker) name() string {
	if w.peer == nil {
		return fmt.Sprintf("worker %d", w.id)
	}
	return fmt.Sprintf("worker %d (pid %d)", w.id, w.peer.Pid())
}

// where says which copy a worker plays just now, or played last; "": none yet.
func (w *worker) where() string {
	last := ""
	for _, b := range w.blocks {
		i, t, seed, how := b.at[0], b.at[1], b.at[2], "in"
		if i < 0 {
			i, how = -i, "after"
		}
		if i < 1 || int(i) > len(b.number) {
			continue
		}
		at := fmt.Sprintf(" %s step %d of env %d, whose episode has seed %d", how, t, b.number[i-1], seed)
		if t == 0 {
			at = fmt.Sprintf(" %s the reset of env %d with seed %d", how, b.number[i-1], seed)
		}
		if how == "in" {
			return at
		}
		last = at
	}
	return last
}

// lost says where a worker was that is gone.
func (w *worker) lost(err error) error {
	var said *bridge.Refusal
	if at := w.where(); err != nil && at != "" && !errors.As(err, &said) {
		return fmt.Errorf("%s was lost%s: %w", w.name(), at, err)
	}
	return bridge.Traced(err)
}
