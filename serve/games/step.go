package games

import (
	"errors"
	"fmt"
	"sync"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/lab/play"
)

// worker plays the copies lo to hi. The first one works for whoever asks; the others
// each have a goroutine that lasts as long as the process.
type worker struct {
	*Server
	id     int
	lo, hi int
	played []int32 // [A] of one copy, game.NoAction where the agent has left
	ask    chan func(*worker)
	group  *sync.WaitGroup
	err    error
}

// hire makes workers for that many copies.
func (s *Server) hire(envs, threads int) {
	group := &sync.WaitGroup{}
	for i := range threads {
		w := &worker{
			Server: s, id: i, lo: i * envs / threads, hi: (i + 1) * envs / threads, group: group,
			played: make([]int32, s.spec.Seats),
		}
		s.workers = append(s.workers, w)
		if i == 0 {
			continue
		}
		w.ask = make(chan func(*worker))
		go func() {
			for do := range w.ask {
				w.do(do)
				w.group.Done()
			}
		}()
	}
}

// all lets every worker do it, and waits.
func (s *Server) all(do func(*worker)) error {
	first := s.workers[0]
	first.group.Add(len(s.workers) - 1)
	for _, w := range s.workers[1:] {
		w.ask <- do
	}
	first.do(do)
	first.group.Wait()
	for _, w := range s.workers {
		if w.err != nil {
			return w.err
		}
	}
	return nil
}

// do does it; a panic is an error, so that the host learns of it.
func (w *worker) do(do func(*worker)) {
	defer func() {
		if r := recover(); r != nil {
			w.err = fmt.Errorf("hop panicked: %v", r)
		}
	}()
	w.err = nil
	do(w)
}

// start starts the episodes that restart names.
func (w *worker) start() {
	for n := w.lo; n < w.hi; n++ {
		switch w.restart[n] {
		case restartSeed:
			w.live.Seed(n, uint64(w.seeds[n]))
		case restartNext:
			w.live.Reset(n)
		default:
			continue
		}
		w.begin(n)
	}
}

// random draws every agent's action from its acting stream.
func (w *worker) random() {
	agents, width := w.spec.Seats, len(w.spec.Actions)
	for n := w.lo; n < w.hi; n++ {
		for a := range agents {
			i := n*agents + a
			w.actions[i] = 0
			if w.living[i] {
				w.actions[i] = game.Uniform(w.legal[i*width:(i+1)*width], w.live.Rand(n, agent.ID(a)))
			}
		}
	}
}

// step plays the actions; where an episode was over it starts the next one.
func (w *worker) step() {
	agents := w.spec.Seats
	for n := w.lo; n < w.hi; n++ {
		if w.live.State(n).Over() {
			w.live.Reset(n)
			w.begin(n)
			continue
		}
		row := n * agents
		for a, k := range w.actions[row : row+agents] {
			w.played[a] = game.NoAction
			if w.living[row+a] {
				w.played[a] = k
			}
		}
		rewards := w.rewards[row : row+agents]
		w.live.Step(n, w.played, rewards)
		w.after(n)
		if w.rec != nil && n == 0 {
			w.film(w.played, rewards)
		}
		w.stepped(n)
	}
}

// begin shows the first slot of copy n's episode.
func (w *worker) begin(n int) {
	agents := w.spec.Seats
	row := n * agents
	clear(w.living[row : row+agents])
	clear(w.rewards[row : row+agents])
	w.began(n)
	w.after(n)
	if w.rec != nil && n == 0 {
		w.film(nil, nil)
	}
}

// after shows copy n after a step or at its start. An agent that has just left sees the
// state once more; after that its observation is zero.
func (w *worker) after(n int) {
	st := w.live.State(n)
	agents, width, length := w.spec.Seats, len(w.spec.Actions), len(w.obs)/len(w.living)
	over := st.Over()
	cut := over && w.live.Cut(n)
	for a := range agents {
		i := n*agents + a
		was, now := w.living[i], st.Alive(game.Seat(a))
		w.living[i], w.alive[i] = now, now
		w.returns[i] = w.live.Return(n, agent.ID(a))
		w.terminated[i], w.truncated[i] = was && !now && !cut, was && !now && cut
		legal := w.legal[i*width : (i+1)*width]
		if now {
			st.Legal(game.Seat(a), legal)
		} else {
			clear(legal)
			legal[0] = true
		}
		switch {
		case was || now:
			st.Observe(game.Seat(a), w.obs[i*length:(i+1)*length])
			w.shown[i] = true
		case w.shown[i]:
			clear(w.obs[i*length : (i+1)*length])
			w.shown[i] = false
		}
	}
	w.over[n], w.steps[n] = over, int32(w.live.Steps(n))
}

// load goes on from what was saved. Who has just left is not known there: that is
// forgotten, and rewards of the last step with it.
func (s *Server) load(state []byte) error {
	if err := s.live.UnmarshalBinary(state); err != nil {
		return err
	}
	s.forget()
	agents := s.spec.Seats
	for n := range s.over {
		row := n * agents
		clear(s.living[row : row+agents])
		clear(s.rewards[row : row+agents])
		s.workers[0].after(n)
	}
	if s.rec != nil {
		s.workers[0].film(nil, nil)
	}
	return nil
}

// film keeps the slot of copy 0 for pictures: an episode's first, if nothing was played.
func (w *worker) film(actions []int32, rewards []float32) {
	st := w.live.State(0)
	if actions == nil {
		w.rec.Drop()
		w.rec.Start(st, "", w.names, play.Info{})
		return
	}
	w.rec.Add(st, play.Info{Actions: actions, Rewards: rewards})
}

// render returns the picture of copy 0 that hop play shows: as text, or as pixels.
func (s *Server) render(mode string) (any, error) {
	if s.rec == nil || len(s.rec.Frames()) == 0 {
		return nil, errors.New("there is nothing to draw: make the env with a render_mode, and reset it first")
	}
	switch mode {
	case "ansi":
		return map[string]any{"text": s.rec.Last().Text()}, nil
	case "rgb_array":
		pixels, wide, high, err := play.Pixels(s.rec.Last())
		return map[string]any{"pixels": pixels, "width": wide, "height": high}, err
	}
	return nil, fmt.Errorf("mode is %q, want ansi or rgb_array", mode)
}
