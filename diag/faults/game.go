package faults

import (
	"slices"

	"hop/exp"
	"hop/game"
	"hop/rng"
	"hop/train"
)

// bent is a game whose states are bent in some respect; nil ones are straight.
type bent struct {
	game.Game
	pay     func(st *state, acted []bool, rewards []float32)
	legal   func(st *state, s game.Seat, dst []bool)
	observe func(st *state, s game.Seat, dst []float32)
	alive   func(st *state, s game.Seat) bool
	cut     func(st *state) bool
}

// state is an episode of a bent game.
type state struct {
	in    game.State
	g     *bent
	steps int
	gone  []int // [seats] the step at which it left; -1: it has not
	last  []int32
	count int // steps of all episodes, which no rule may depend on
}

func (g *bent) New() game.State {
	n := g.Spec().Seats
	return &state{in: g.Game.New(), g: g, gone: make([]int, n), last: make([]int32, n)}
}

// Bots act on the straight state.
func (g *bent) Bots() []game.BotInfo {
	var out []game.BotInfo
	for _, b := range g.Game.Bots() {
		out = append(out, game.BotInfo{Name: b.Name, Doc: b.Doc, New: func() game.Bot {
			in := b.New()
			if p, ok := in.(game.Policy); ok {
				return policy{bot{in}, p}
			}
			return bot{in}
		}})
	}
	return out
}

type bot struct{ in game.Bot }

func (b bot) Name() string { return b.in.Name() }

// Act keeps to the bent mask, by taking its first action where the bot would not.
func (b bot) Act(st game.State, s game.Seat, r *rng.Rand) int32 {
	w := st.(*state)
	legal := make([]bool, len(w.g.Spec().Actions))
	st.Legal(s, legal)
	if w.in.Alive(s) {
		if a := b.in.Act(w.in, s, r); legal[a] {
			return a
		}
	}
	return int32(slices.Index(legal, true))
}

type policy struct {
	bot
	p game.Policy
}

func (p policy) Probs(st game.State, s game.Seat, dst []float32) { p.p.Probs(st.(*state).in, s, dst) }

func (st *state) AppendText(b []byte) ([]byte, error) { return st.in.AppendText(b) }

func (st *state) Reset(r *rng.Rand) {
	st.in.Reset(r)
	st.steps = 0
	for s := range st.gone {
		st.gone[s], st.last[s] = -1, game.NoAction
	}
}

func (st *state) Step(actions []int32, rewards []float32, r *rng.Rand) {
	acted := make([]bool, len(actions))
	played := slices.Clone(actions)
	for s := range actions {
		acted[s] = st.in.Alive(game.Seat(s))
		if !acted[s] && st.g.alive != nil {
			played[s] = game.NoAction
		}
	}
	st.in.Step(played, rewards, r)
	st.steps++
	st.count++
	copy(st.last, actions)
	for s := range st.gone {
		if acted[s] && !st.in.Alive(game.Seat(s)) {
			st.gone[s] = st.steps
		}
	}
	if st.g.pay != nil {
		st.g.pay(st, acted, rewards)
	}
}

func (st *state) Alive(s game.Seat) bool {
	if st.g.alive != nil && !st.in.Over() {
		return st.g.alive(st, s)
	}
	return st.in.Alive(s)
}

func (st *state) Over() bool { return st.in.Over() }

func (st *state) Legal(s game.Seat, dst []bool) {
	st.in.Legal(s, dst)
	if st.g.legal != nil {
		st.g.legal(st, s, dst)
	}
}

func (st *state) Observe(s game.Seat, dst []float32) {
	st.in.Observe(s, dst)
	if st.g.observe != nil {
		st.g.observe(st, s, dst)
	}
}

func (st *state) CopyFrom(src game.State) {
	o := src.(*state)
	st.in.CopyFrom(o.in)
	st.steps, st.count = o.steps, o.count
	copy(st.gone, o.gone)
	copy(st.last, o.last)
}

func (st *state) Permute(src game.State, perm []game.Seat) {
	o := src.(*state)
	st.in.(game.Permuter).Permute(o.in, perm)
	st.steps, st.count = o.steps, o.count
	for s, to := range perm {
		st.gone[to], st.last[to] = o.gone[s], o.last[s]
	}
}

func (st *state) Reached(s game.Seat) int { return st.in.(game.Goaler).Reached(s) }

func (st *state) Cut() bool {
	if st.g.cut != nil {
		return st.g.cut(st)
	}
	return false
}

// bend plants a bent game.
func bend(b bent) change {
	return func(_ *exp.Spec, p *train.Parts) {
		g := b
		g.Game = p.Game
		p.Game = &g
	}
}

// Straight wraps the game and bends nothing, to show that wrapping is harmless.
func Straight(_ *exp.Spec, p *train.Parts) { bend(bent{})(nil, p) }

func inGame() []Fault {
	return []Fault{
		{Name: "ties go to the lowest seat",
			Says: "what a step pays is handed to the seats in the order of their numbers (docs/faults.md#time-limit-as-death)",
			Change: bend(bent{pay: func(st *state, acted []bool, rewards []float32) {
				var paid []float32
				for s, ok := range acted {
					if ok {
						paid = append(paid, rewards[s])
					}
				}
				slices.Sort(paid)
				for s, ok := range acted {
					if ok {
						rewards[s], paid = paid[len(paid)-1], paid[:len(paid)-1]
					}
				}
			}})},
		{Name: "seat 0 is paid a tenth more", Says: "a reward that follows the seat's number",
			Change: bend(bent{pay: func(_ *state, _ []bool, rewards []float32) { rewards[0] *= 1.1 }})},
		{Name: "who has left is paid", Says: "a tenth a step after the exit",
			Change: bend(bent{pay: func(_ *state, acted []bool, rewards []float32) {
				for s, ok := range acted {
					if !ok {
						rewards[s] = 0.1
					}
				}
			}})},
		{Name: "rewards go to the next seat", Says: "an index off by one",
			Change: bend(bent{pay: func(_ *state, acted []bool, rewards []float32) {
				last := rewards[len(rewards)-1]
				copy(rewards[1:], rewards[:len(rewards)-1])
				rewards[0] = last
			}})},
		{Name: "a legal action is masked", Says: "seats above 1 are not offered their last legal action",
			Change: bend(bent{legal: func(_ *state, s game.Seat, dst []bool) {
				n, last := 0, 0
				for k, ok := range dst {
					if ok {
						n, last = n+1, k
					}
				}
				if s > 1 && n > 1 {
					dst[last] = false
				}
			}})},
		{Name: "last actions in seat order", Says: "joint actions in global order, planes ego-first (docs/faults.md#mixed-order)",
			Change: func(s *exp.Spec, p *train.Parts) {
				l, k := p.Game.Spec().Obs, len(p.Game.Spec().Actions)
				bend(bent{observe: func(st *state, _ game.Seat, dst []float32) {
					last := dst[l.LastAt():]
					clear(last)
					for s, a := range st.last {
						if a >= 0 {
							last[s*k+int(a)] = 1
						}
					}
				}})(s, p)
			}},
		{Name: "the dead come back", Says: "a seat that left is alive again three steps later",
			Change: bend(bent{
				alive: func(st *state, s game.Seat) bool {
					return st.in.Alive(s) || st.gone[s] >= 0 && st.steps-st.gone[s] >= 3
				},
				legal: func(st *state, s game.Seat, dst []bool) {
					if !st.in.Alive(s) && !st.in.Over() && st.gone[s] >= 0 && st.steps-st.gone[s] >= 3 {
						dst[0] = true
					}
				},
			})},
		{Name: "rewards depend on a global counter", Says: "the same seed does not give the same episode",
			Change: bend(bent{pay: func(st *state, _ []bool, rewards []float32) {
				for s := range rewards {
					rewards[s] *= 1 + float32(st.count%7)/10
				}
			}})},
		{Name: "every exit is called a cut", Says: "a limit inside the rules is reported as one outside of them",
			Change: bend(bent{cut: func(st *state) bool { return st.steps > 0 }})},
	}
}
