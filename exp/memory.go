package exp

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hop/batch"
	"hop/game"
	"hop/internal/cpu"
	"hop/mind"
	"hop/model/actor"
	"hop/model/world"
	"hop/page"
	"hop/rng"
	"hop/rollout"
)

// Memory estimates what a training of the spec takes, part by part, the largest first:
// so many seeds beside each other, with so many workers each. Nothing large is made to
// know it. Models that stages are still to train count as they are by default.
func (s *Spec) Memory(beside, workers int) ([]mind.Part, error) {
	g, err := s.Game.Build()
	if err != nil {
		return nil, err
	}
	e := estimate{Spec: s, game: g, spec: g.Spec(), size: mind.Sizes{Envs: s.Train.Envs, Window: s.Train.Window, Workers: max(workers, 1)}}
	e.size.Workers = min(e.size.Workers, e.size.Envs)
	goals := 0
	if m, ok := s.Mind.params.(memoryMind); ok {
		goals = m.GoalNumbers(e.spec)
	}
	if err := e.brains(goals); err != nil {
		return nil, err
	}
	e.windows(goals)
	if m, ok := s.Mind.params.(memoryMind); ok {
		parts, err := m.Memory(g, s.Actor, e.size)
		if err != nil {
			return nil, err
		}
		e.parts = append(e.parts, parts...)
	}
	for i := range e.parts {
		e.parts[i].Bytes *= float64(max(beside, 1))
	}
	slices.SortStableFunc(e.parts, func(a, b mind.Part) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return e.parts, nil
}

// memoryMind is the settings of minds that take more than a network and its players.
type memoryMind interface {
	// GoalNumbers returns how many numbers about the others' goals the own network reads.
	GoalNumbers(spec game.Spec) int
	// Memory says what the minds of all agents take beyond their own networks.
	Memory(g game.Game, net actor.Config, size mind.Sizes) ([]mind.Part, error)
}

// estimate adds up parts.
type estimate struct {
	*Spec
	game  game.Game
	spec  game.Spec
	size  mind.Sizes
	parts []mind.Part
}

func (e *estimate) add(name string, bytes float64, fields ...string) {
	if bytes > 0 {
		e.parts = append(e.parts, mind.Part{Name: name, Bytes: bytes, Fields: fields})
	}
}

// windows counts the copies of the game and what is recorded of them.
func (e *estimate) windows(goals int) {
	shape := func(steps, envs int) batch.Shape {
		return batch.Shape{Agents: e.spec.Seats, Steps: steps, Envs: envs, ObsLen: e.spec.Obs.Len(), Actions: len(e.spec.Actions), GoalLen: goals}
	}
	envs := func(steps int) float64 { // of a copy, with room for the episodes that may end in a window
		one := mind.Each(func(n int) any {
			list, err := rollout.New(rollout.Config{Game: e.game, Envs: n, Key: rng.New(1), Workers: 1})
			if err != nil {
				return nil
			}
			return list
		})
		episode := 2*float64(cpu.Size(rollout.Episode{})) + 24*float64(e.spec.Seats)
		return one + float64((steps+1)/2)*episode
	}
	t, n := e.size.Window, e.size.Envs
	e.add("the windows", shape(t, n).Bytes(), "train.envs", "train.window")
	e.add("the copies of the game", envs(t)*float64(n), "train.envs", "train.window")
	if c := e.Imagine; c.On {
		imagined := int(float64(t*n)*(1-c.RealRatio)/(c.RealRatio*float64(c.Length))) + 1
		bytes := shape(c.Length, imagined).Bytes() + float64(imagined)*envs(c.Length)
		l := e.spec.Obs
		row := world.Input{
			Height: l.Height, Width: l.Width, Planes: len(l.Planes), Agents: e.spec.Seats, Actions: len(e.spec.Actions), Horizon: e.spec.Horizon,
			Legal: l.Legal, Time: l.Time, Last: l.Last,
		}
		bytes += mind.Each(func(n int) any { return world.NewBatch(row, n) }) * float64(c.Rows+c.Batch)
		e.add("imagination", bytes, "train.envs", "imagine.rows", "train.window")
	}
}

// brains counts the own networks, what they learn from and who plays by them.
func (e *estimate) brains(goals int) error {
	in := Input(e.spec)
	in.Extra = goals
	m, p, err := actor.Layers(e.Actor, in)
	if err != nil {
		return err
	}
	_, agents := e.mindOf(e.spec.Seats)
	minds, seats := float64(len(agents)), float64(e.spec.Seats)
	shards := max(1, 4/len(agents))
	weights := 4 * float64(p.Len())
	copies := 4 + float64(shards) // weights, gradients, two of Adam's, the shards' gradients
	if m.Folds() {
		copies++
	}
	if slices.Contains(e.Train.Standins.Who, "past") {
		copies += 2 * 8
	}
	row := mind.Each(func(n int) any {
		ws := m.Work(n)
		if m.LSTM > 0 {
			ws.State()
		}
		return ws
	}) + 4*2*float64(m.Actions) + float64(m.Actions)
	nonzeros := e.nonzeros(m)
	per := min(e.PPO.Minibatch, 128)
	if m.LSTM > 0 {
		per = max(e.PPO.Minibatch, e.PPO.SeqLen) + e.PPO.SeqLen
	}
	e.add("the own networks", minds*(copies*weights+float64(shards*per)*(row+8*nonzeros)), "actor.hidden", "ppo.minibatch")

	players := float64(e.size.Workers) * seats * float64(e.size.Envs) * (row + 8*nonzeros)
	if m.Folds() {
		players += 2 * weights * float64(e.size.Workers) * seats
	}
	if m.LSTM > 0 {
		chunks := (e.size.Window + e.PPO.SeqLen - 1) / e.PPO.SeqLen
		players += seats * float64(e.size.Envs) * float64(2+2*chunks) * 4 * float64(m.LSTM)
	}
	if e.Mind.Name == "ppo" || !e.searches() {
		e.add("the players", players, "train.envs", "actor.hidden")
	}
	rows := seats * float64(e.size.Window) * float64(e.size.Envs)
	e.add("the rows to learn from", rows*(12+32+8+4+float64(m.Actions)+8*nonzeros), "train.envs", "train.window")
	return nil
}

// searches reports whether players are not those of the own network.
func (e *estimate) searches() bool { _, ok := e.Mind.params.(memoryMind); return ok }

// nonzeros returns how many numbers of a row are not zero, at an episode's start.
func (e *estimate) nonzeros(m *actor.Model) float64 {
	st, r := e.game.New(), rng.New(1).Rand()
	st.Reset(&r)
	obs, goal := make([]float32, e.spec.Obs.Len()), make([]float32, m.Extra)
	st.Observe(0, obs)
	for i := range goal {
		goal[i] = 1
	}
	ws := m.Work(1)
	ws.AddNarrow(obs, goal)
	return float64(len(ws.X.Idx))
}

// FitsMemory refuses what the machine has too little memory for, and says what would
// fit. have is the machine's, in bytes; 0: not known.
func (s *Spec) FitsMemory(have uint64, beside, workers int) error {
	parts, err := s.Memory(beside, workers)
	if err != nil || have == 0 {
		return err
	}
	total := sum(parts)
	if total <= float64(have) {
		return nil
	}
	first := parts[0]
	values := map[string]string{}
	for _, f := range s.Fields() {
		values[f.Path] = f.Default
	}
	var made []string
	for _, path := range first.Fields {
		made = append(made, path+" "+values[path])
	}
	what := "this training"
	if beside > 1 {
		what = fmt.Sprintf("this training, %d seeds beside each other,", beside)
	}
	return fmt.Errorf("%s takes about %s of memory, and the machine has %s; the largest part is %s with %s, by %s; %s", what,
		page.Bytes(uint64(total)), page.Bytes(have), first.Name, page.Bytes(uint64(first.Bytes)), strings.Join(made, " and "),
		s.lower(first.Fields, values, have, beside, workers))
}

// lower says how far one of the fields must be lowered for the training to fit.
func (s *Spec) lower(fields []string, values map[string]string, have uint64, beside, workers int) string {
	for _, path := range fields {
		n, err := strconv.Atoi(values[path])
		for n /= 2; err == nil && n >= 1; n /= 2 {
			less := *s
			if less.Set(fmt.Sprintf("%s=%d", path, n)) != nil {
				break
			}
			if parts, err := less.Memory(beside, workers); err == nil && sum(parts) <= float64(have) {
				return fmt.Sprintf("with --set %s=%d it would fit", path, n)
			}
		}
	}
	if beside > 1 {
		return "train fewer seeds at a time, or lower several of these"
	}
	return "lower several of these"
}

func sum(parts []mind.Part) (bytes float64) {
	for _, p := range parts {
		bytes += p.Bytes
	}
	return bytes
}
