package games

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/spec"
)

// Agents of ours act in the process of the env that they play in. A host names one of them
// ("seat") and gets a number for it; a tick of that number lets it choose for one seat or for all
// of them, and writes the actions where the host's stand. It chooses once a slot: asked again, it
// has already answered.
//
// It remembers within and across episodes, each copy apart, as in hop eval. An episode that starts
// from a seed begins a new life: the same seed plays the same. One that was asked in an episode and
// then is not asked in one of its slots looks all the same, and what it would have done is dropped:
// else it would take what happened in two steps for what happened in one.

// tickAct is the first of the ticks that let somebody act: tickAct + number*seatsOf + seat + 1, or
// 0 in place of seat + 1 for all seats.
const (
	tickAct uint32 = 1 << 16
	seatsOf uint32 = 256
)

// guest is somebody of ours who plays on some of the seats.
type guest struct {
	name    string
	members []eval.Member // [A]
	scale   []float32     // [A] of rewards in the values of networks

	players [][]rollout.Player // [A][worker]; nil: nobody was asked since its life began
	asked   []bool             // [N][A] it has chosen at this slot
	here    []bool             // [N][A] it was asked in this episode
	chosen  []int32            // [N][A] what it chose last
	vectors []float32          // [N][A][actions] and the vectors, where actions are vectors
	rows    [][][]int32        // [A][worker] copies of its last choice, by their place in it
	seen    []bool             // [N][A][A] who was alive at the last choice
}

// newGuest returns one who has not been asked yet; a scale that is not given is 1.
func (s *Server) newGuest(name string, members []eval.Member, scale ...float32) *guest {
	agents, rows := s.spec.Seats, s.envs()*s.spec.Seats
	g := &guest{name: name, members: members, scale: slices.Repeat([]float32{1}, agents), asked: make([]bool, rows),
		here: make([]bool, rows), chosen: make([]int32, rows),
		seen: make([]bool, rows*agents), rows: make([][][]int32, agents)}
	for a := range g.rows {
		g.rows[a] = make([][]int32, len(s.workers))
	}
	if s.spec.Continuous {
		g.vectors = make([]float32, rows*len(s.spec.Actions))
	}
	copy(g.scale, scale)
	g.forget()
	return g
}

// forget begins a new life.
func (g *guest) forget() {
	g.players = make([][]rollout.Player, len(g.members))
	clear(g.asked)
	clear(g.here)
}

// forget lets all guests begin a new life.
func (s *Server) forget() {
	for _, g := range s.guests {
		g.forget()
	}
}

// Who names one of our agents.
type Who struct {
	Bot    string `json:"bot"`    // a bot or a planner of the game; "": a run's
	Run    string `json:"run"`    // folder of a run, or of several seeds, of which the first counts
	Agent  int    `json:"agent"`  // what this one has learnt, on every seat; -1: the run's team
	Step   int64  `json:"step"`   // of the checkpoint; 0: the newest
	Greedy bool   `json:"greedy"` // takes the likeliest action
	Trust  bool   `json:"trust"`  // what the run names to run may be run
}

// About is what a run says of itself.
type About struct {
	Run    string         `json:"run"`
	Mind   string         `json:"mind"`
	Game   string         `json:"game"`
	Params map[string]any `json:"params"`
	Agents int            `json:"agents"`
	Step   int64          `json:"step"`
	Own    bool           `json:"own"` // the game is an environment of the user's, which was not started: its agents are not known
}

// saved reads the checkpoint that is asked for, with parameters of the game changed.
func (s *Server) saved(w Who, sets []string) (x *spec.Saved, dir string, err error) {
	dirs, err := lab.Folders(w.Run)
	if err != nil {
		return nil, "", err
	}
	reg := *s.lab.Reg
	reg.Trust.All = reg.Trust.All || w.Trust
	if w.Step > 0 {
		x, err = reg.OpenAt(dirs[0], w.Step, sets)
	} else {
		x, err = reg.Open(dirs[0], sets)
	}
	return x, dirs[0], err
}

// about tells which run it is and which game it plays.
func (s *Server) about(args json.RawMessage) (*About, error) {
	w := Who{Agent: -1}
	if err := json.Unmarshal(args, &w); err != nil {
		return nil, err
	}
	if about, err := s.aboutEnv(w); about != nil || err != nil {
		return about, err
	}
	x, dir, err := s.saved(w, nil)
	if err != nil {
		return nil, err
	}
	seats := x.Game.Spec().Seats
	if w.Agent < -1 || w.Agent >= seats {
		return nil, fmt.Errorf("%s has agents 0 to %d, not %d", dir, seats-1, w.Agent)
	}
	params, err := x.Spec.Game.Map()
	if err != nil {
		return nil, err
	}
	delete(params, "name")
	return &About{Run: dir, Mind: x.Spec.Mind.Name, Game: x.Spec.Game.Name, Params: params, Agents: seats, Step: x.Step}, nil
}

// asked builds the game that a question is about.
func (s *Server) asked(args json.RawMessage) (game.Game, error) {
	var asked struct {
		Game   string
		Params map[string]json.RawMessage
	}
	if err := json.Unmarshal(args, &asked); err != nil {
		return nil, err
	}
	g, err := s.build(asked.Game, asked.Params)
	if err != nil {
		return nil, err
	}
	return g.Build()
}

// strangers lists the co-players of a split in a game.
func (s *Server) strangers(args json.RawMessage) (any, error) {
	var of struct{ Split string }
	if err := json.Unmarshal(args, &of); err != nil {
		return nil, err
	}
	g, err := s.asked(args)
	if err != nil {
		return nil, err
	}
	list, err := lab.Strangers(g, of.Split, nil)
	return map[string]any{"strangers": list}, err
}

// bots lists a game's bots.
func (s *Server) bots(args json.RawMessage) (any, error) {
	built, err := s.asked(args)
	if err != nil {
		return nil, err
	}
	docs, names := map[string]string{}, []string{}
	for _, b := range game.AllBots(built) {
		docs[b.Name], names = b.Doc, append(names, b.Name)
	}
	return map[string]any{"names": names, "docs": docs}, nil
}

// invite takes somebody in, and returns the number to ask by.
func (s *Server) invite(args json.RawMessage) (any, error) {
	w := Who{Agent: -1}
	if err := json.Unmarshal(args, &w); err != nil {
		return nil, err
	}
	if uint32(s.spec.Seats) >= seatsOf {
		return nil, fmt.Errorf("%s has %d seats; agents can be asked for %d at most", s.spec.Name, s.spec.Seats, seatsOf-1)
	}
	g, err := s.guest(w)
	if err != nil {
		return nil, err
	}
	s.live.Views()
	s.guests = append(s.guests, g)
	var names []string
	for _, m := range g.members {
		names = append(names, m.Name)
	}
	return map[string]any{"number": len(s.guests) - 1, "seats": names}, nil
}

// guest makes one.
func (s *Server) guest(w Who) (*guest, error) {
	if w.Bot != "" {
		var members []eval.Member
		for a := range s.spec.Seats {
			names := slices.Repeat([]string{"random"}, s.spec.Seats) // whom it may not need to know
			names[a] = w.Bot
			if lab.IsPlanner(w.Bot) && w.Bot != "plan-infer" {
				return nil, fmt.Errorf("%s needs to know the others' bots, which nobody says here; plan-infer infers them", w.Bot)
			}
			m, err := lab.Member(s.game, names, a, nil)
			if err != nil {
				return nil, err
			}
			members = append(members, m)
		}
		return s.newGuest(w.Bot, members), nil
	}
	x, dir, err := s.saved(w, nil)
	if err != nil {
		return nil, err
	}
	if name := x.Spec.Game.Name; name != s.name {
		return nil, fmt.Errorf("%s was trained on %s, this env is %s; make one with hop.parallel_env(agent.game, **agent.params)",
			dir, name, s.name)
	}
	x, _, err = s.saved(w, s.sets)
	var members []eval.Member
	if err == nil {
		members, err = x.Seated(w.Agent, w.Greedy)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot play %s as it is set here: %w; make an env with hop.parallel_env(agent.game, **agent.params)",
			dir, game.Label(s.game), err)
	}
	var scale []float32
	for a := range agent.ID(s.spec.Seats) {
		if w.Agent >= 0 {
			a = agent.ID(w.Agent)
		}
		scale = append(scale, float32(x.Spec.LearnsAs(a).PPO.RewardScale))
	}
	return s.newGuest(dir, members, scale...), nil
}

// hireFor makes the players of a seat, if there are none yet.
func (s *Server) hireFor(g *guest, a int) error {
	if g.players[a] != nil {
		return nil
	}
	players, err := g.members[a].Players(len(s.workers), s.envs())
	if err != nil {
		return err
	}
	for _, p := range players {
		if t, ok := p.(learner.Thinking); ok && s.envs() == 1 {
			t.Trace()
		}
	}
	g.players[a] = players
	return nil
}

// act lets a guest choose, for one seat or for all.
func (s *Server) act(code uint32) error {
	number, seat := int(code/seatsOf), int(code%seatsOf)-1
	if number >= len(s.guests) || seat >= s.spec.Seats {
		return errors.New("nobody of that number is in the game")
	}
	g, lo, hi := s.guests[number], seat, seat+1
	if seat < 0 {
		lo, hi = 0, s.spec.Seats
	}
	for a := lo; a < hi; a++ {
		if err := s.hireFor(g, a); err != nil {
			return err
		}
	}
	s.asking, s.from, s.to = g, lo, hi
	return s.all((*worker).answer)
}

// answer lets the guest that is asked choose, and writes its actions.
func (w *worker) answer() {
	g, lo, hi := w.asking, w.from, w.to
	w.look()
	for a := lo; a < hi; a++ {
		w.choose(g, a, false)
	}
	for n := w.lo; n < w.hi; n++ {
		for a := lo; a < hi; a++ {
			i := n*w.spec.Seats + a
			w.actions[i] = 0
			if w.living[i] {
				w.actions[i] = g.chosen[i]
				if k := len(w.spec.Actions); w.spec.Continuous {
					copy(w.vectors[i*k:(i+1)*k], g.vectors[i*k:])
				}
			}
		}
	}
}

// look shows the copies as they are now to players.
func (w *worker) look() {
	for n := w.lo; n < w.hi; n++ {
		w.live.Look(n)
	}
}

// choose lets a guest choose for agent a in the copies in which it is alive and has not chosen yet;
// of those who catch up, only in episodes in which it was asked before.
func (w *worker) choose(g *guest, a int, catchUp bool) {
	agents, rows := w.spec.Seats, g.rows[a][w.id]
	fresh := false
	for n := w.lo; n < w.hi; n++ {
		i := n*agents + a
		if w.living[i] && !g.asked[i] && (g.here[i] || !catchUp) {
			if !fresh {
				fresh, rows = true, rows[:0]
			}
			rows = append(rows, int32(n))
		}
	}
	if !fresh {
		return
	}
	g.rows[a][w.id] = rows
	view := &w.live.Views()[a]
	g.players[a][w.id].Act(view, rows)
	for _, n := range rows {
		i := int(n)*agents + a
		g.asked[i], g.here[i] = true, true
		g.chosen[i] = view.Action[view.StepOf(int(n))]
		if k := len(w.spec.Actions); w.spec.Continuous {
			copy(g.vectors[i*k:(i+1)*k], view.VectorAt(view.StepOf(int(n))))
		}
		copy(g.seen[i*agents:(i+1)*agents], w.living[int(n)*agents:])
	}
}

// catchUp lets guests who were asked earlier in an episode see the slots at which they were not.
func (w *worker) catchUp() {
	looked := false
	for _, g := range w.guests {
		for a, players := range g.players {
			if players == nil || !w.behind(g, a) {
				continue
			}
			if !looked {
				w.look()
				looked = true
			}
			w.choose(g, a, true)
		}
	}
}

// behind reports whether a guest has not been asked at a slot of an episode that it is in.
func (w *worker) behind(g *guest, a int) bool {
	for n := w.lo; n < w.hi; n++ {
		if i := n*w.spec.Seats + a; w.living[i] && g.here[i] && !g.asked[i] {
			return true
		}
	}
	return false
}

// stepped tells guests that copy n has been stepped: they may be asked again, and those who played
// an episode to its end remember it.
func (w *worker) stepped(n int) {
	agents := w.spec.Seats
	for _, g := range w.guests {
		for a := range agents {
			i := n*agents + a
			g.asked[i] = false
			if !w.over[n] || !g.here[i] {
				continue
			}
			g.here[i] = false
			if p, ok := g.players[a][w.id].(rollout.Watcher); ok {
				p.EpisodeOver(&w.live.Views()[a], n)
			}
		}
	}
}

// began tells guests that another episode of copy n has begun.
func (w *worker) began(n int) {
	agents := w.spec.Seats
	for _, g := range w.guests {
		clear(g.asked[n*agents : (n+1)*agents])
		clear(g.here[n*agents : (n+1)*agents])
	}
}

// Look is a guest's last decision for an agent of a copy.
type Look struct {
	Action int32     `json:"action"`
	Policy []float32 `json:"policy"` // [Actions] null: it cannot say
	Value  *float32  `json:"value"`  // in the game's rewards; null: it has none
	Search *Search   `json:"search"` // null: it does not search
	Others []Other   `json:"others"` // nothing for those who do not model others
}

// Search is what a search came to.
type Search struct {
	Visits []int32       `json:"visits"` // [Actions]
	Q      []float32     `json:"q"`      // [Actions] 0 where never tried
	Prior  []float32     `json:"prior"`  // [Actions]
	Line   []search.Move `json:"line"`   // what it expects to happen; of a single copy
}

// Other is what is held of a co-player.
type Other struct {
	Agent     int       `json:"agent"`
	Left      bool      `json:"left"`
	Predicted []float64 `json:"predicted"` // [Actions] what it is expected to do now; null: nothing
	Goals     []string  `json:"goals"`     // in words
	Probs     []float64 `json:"probs"`     // of each
	Posterior []float64 `json:"posterior"` // over hypotheses
	Mean      []float32 `json:"mean"`      // of the goal that is inferred, where goals are points
	Spread    []float32 `json:"spread"`
}

// lineLen is how far ahead a shown line goes at most.
const lineLen = 12

// lookAt returns the last decision of a guest for an agent of a copy.
func (s *Server) lookAt(args json.RawMessage) (*Look, error) {
	var at struct{ Number, Agent, Env int }
	if err := json.Unmarshal(args, &at); err != nil {
		return nil, err
	}
	if at.Number < 0 || at.Number >= len(s.guests) || at.Agent < 0 || at.Agent >= s.spec.Seats || at.Env < 0 || at.Env >= s.envs() {
		return nil, fmt.Errorf("there is no agent %d in env %d", at.Agent, at.Env)
	}
	g, agents := s.guests[at.Number], s.spec.Seats
	w := s.workers[slices.IndexFunc(s.workers, func(w *worker) bool { return at.Env < w.hi })]
	place := slices.Index(g.rows[at.Agent][w.id], int32(at.Env))
	if g.players[at.Agent] == nil || place < 0 {
		return nil, fmt.Errorf("agent_%d has not chosen in this env yet; let it act first", at.Agent)
	}
	i, p := at.Env*agents+at.Agent, g.players[at.Agent][w.id]
	out := &Look{Action: g.chosen[i], Others: []Other{}}
	if d, ok := p.(learner.Deciding); ok {
		probs, value := d.Decision(place)
		value /= g.scale[at.Agent]
		out.Policy, out.Value = slices.Clone(probs), &value
	}
	var thought *search.Thought
	if f, ok := p.(learner.Timed); ok {
		t := f.Forest().Think(place, lineLen)
		thought = &t
	} else if t, ok := p.(learner.Thinking); ok { // it remembers the last one alone
		if s.envs() > 1 {
			return nil, errors.New("this planner can be looked at in an env of a single copy alone; use hop.parallel_env or num_envs=1")
		}
		t := t.Think()
		thought = &t
		for _, b := range t.Posteriors {
			out.Others = append(out.Others, Other{Agent: b.Seat, Left: b.Left, Goals: b.Names, Probs: b.Probs, Posterior: b.Probs})
		}
	}
	if thought != nil {
		out.Policy, out.Value = thought.Policy, &thought.Value
		out.Search = &Search{Visits: thought.Visits, Q: thought.Q, Prior: thought.Prior, Line: append([]search.Move{}, thought.Line...)}
	}
	if r, ok := p.(learner.Predictor); ok {
		out.Others = s.read(r, at.Env, g.seen[i*agents:(i+1)*agents])
	}
	return out, nil
}

// read returns what a player holds of its co-players in copy n.
func (s *Server) read(r learner.Predictor, n int, alive []bool) []Other {
	list := []Other{}
	for j, a := range r.Others() {
		o := Other{Agent: int(a), Left: !alive[a]}
		probs := make([]float64, len(s.spec.Actions))
		o.Posterior = slices.Clone(r.Read(probs, n, j))
		if !o.Left {
			o.Predicted = probs
		}
		if w, ok := r.(learner.Explainer); ok {
			o.Goals, o.Probs = w.InWords(n, j)
		}
		if b, ok := r.(learner.Believing); ok {
			held := b.Believes(n, j)
			o.Mean, o.Spread = slices.Clone(held.Mean), slices.Clone(held.Spread)
		}
		list = append(list, o)
	}
	return list
}
