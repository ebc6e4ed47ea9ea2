// Package games serves our games to Python: it is the guest of hop bridge.
//
// A host opens a game with some parameters and a number of copies, shares memory for
// the arrays that it is told of, and then asks by ticks: start episodes, step, draw
// random actions. All that is played lies in the shared arrays, so a tick of a thousand
// copies costs no more messages than one of a single copy.
//
// Agent a sits on seat a. A copy whose episode is over shows its last observations until
// the next step, which only starts the next episode: nothing is lost, and no step of one
// episode leads into another. Copies are split among workers in fixed ranges, and every
// copy has streams of its own, so the same bytes come out for any number of workers and
// of copies.
package games

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/bridge"
	"github.com/hop-marl/hop/game/pyenv"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/play"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/cpu"
	"github.com/hop-marl/hop/train/spec"
)

// The ticks.
const (
	tickStep   uint32 = 1 // plays actions
	tickStart  uint32 = 2 // starts the episodes that restart names
	tickRandom uint32 = 3 // writes random legal actions
)

// What restart may hold for a copy.
const (
	restartNot  uint8 = iota
	restartNext       // the next episode; streams go on
	restartSeed       // the first episode of its seed
)

// Server answers one host, with one game. Make it with New.
type Server struct {
	lab     *lab.Lab
	game    game.Game // nil: nothing is open
	spec    game.Spec
	name    string   // of the game, as the registry has it
	sets    []string // its parameters, as --set takes them
	guests  []*guest // agents of ours, by number
	asking  *guest   // who is asked,
	from    int      // for seats from here
	to      int      // to before here
	live    *rollout.Live
	workers []*worker
	replace bool           // an action that is not legal is replaced, not refused
	lenient bool           // also one that is no action at all
	stay    int            // by this one, if it is legal
	first   string         // what the first one was that was replaced
	rec     *play.Recorder // of copy 0; nil: nothing is drawn
	names   []string       // [A] who plays, for pictures
	shared  bool           // the arrays are there
	host    *pyenv.Hosted  // the host's own environment, if that is what is played

	// The arrays. A is agents, N copies, L numbers of an observation, K actions.
	obs        []float32 // [N][A][L] zero if the agent has left before the last step
	legal      []bool    // [N][A][K] action 0 alone if the agent has left: it is not looked at
	alive      []bool    // [N][A]
	actions    []int32   // [N][A] the host's; those of players are written here too
	vectors    []float32 // [N][A][actions] what players chose where actions are vectors
	rewards    []float32 // [N][A]
	terminated []bool    // [N][A] left in the last step, by the rules
	truncated  []bool    // [N][A] stopped in the last step, by an outside limit
	returns    []float64 // [N][A] rewards of the episode so far
	over       []bool    // [N] the episode is over; the next step starts another
	steps      []int32   // [N] of the episode so far
	seeds      []int64   // [N] for restartSeed
	restart    []uint8   // [N]
	replaced   []int64   // [1] how many actions were replaced so far

	// What the host may have written into the arrays above decides nothing: these do.
	living []bool // [N][A]
	shown  []bool // [N][A] the agent's observation is not zero
}

// New returns a server of what the lab's registry names.
func New(l *lab.Lab) *Server { return &Server{lab: l} }

// Open is what a host asks for.
type Open struct {
	Game    string                     `json:"game"`
	Params  map[string]json.RawMessage `json:"params"`
	Envs    int                        `json:"envs"`
	Threads int                        `json:"threads"`
	Illegal string                     `json:"illegal"` // "error"; "warn" replaces what is not legal; "replace" also what is no action
	Render  bool                       `json:"render"`  // keep what pictures of copy 0 need
}

// Opened tells the host what it has got, and which arrays to share.
type Opened struct {
	Game          string         `json:"game"`
	Label         string         `json:"label"`
	Kind          string         `json:"kind"`
	Params        map[string]any `json:"params"`
	Agents        int            `json:"agents"`
	Actions       []string       `json:"actions"`
	Goals         []string       `json:"goals"`
	Bots          []string       `json:"bots"`
	Horizon       int            `json:"horizon"`
	Symmetric     bool           `json:"symmetric"`
	Deterministic bool           `json:"deterministic"`
	Obs           Observation    `json:"obs"`
	Arrays        []bridge.Array `json:"arrays"`
}

// Observation says what the numbers of an observation are, in this order: planes
// [Height][Width][Planes], features, the own mask, the time, the last joint action.
type Observation struct {
	Length   int      `json:"length"`
	Height   int      `json:"height"`
	Width    int      `json:"width"`
	Planes   []string `json:"planes"`
	Features int      `json:"features"` // these alone may be any numbers; the rest is 0 to 1
	Legal    int      `json:"legal"`
	Time     int      `json:"time"`
	Last     int      `json:"last"`
}

// Call answers "games", "open", "host", "render", "replaced", "save" and "load".
func (s *Server) Call(op string, args json.RawMessage) (any, error) {
	switch op {
	case "games":
		docs := map[string]string{}
		for _, name := range s.lab.Reg.PlainGames() {
			docs[name] = s.lab.Reg.GameDoc(name)
		}
		return map[string]any{"games": docs}, nil
	case "open":
		var o Open
		if err := json.Unmarshal(args, &o); err != nil {
			return nil, fmt.Errorf("open: %w", err)
		}
		return s.open(o)
	case "host":
		return s.hostEnv(args)
	case "bots":
		return s.bots(args)
	case "strangers":
		return s.strangers(args)
	case "run":
		return s.about(args)
	}
	if s.game == nil || !s.shared {
		return nil, fmt.Errorf("%s: no game is open yet", op)
	}
	switch op {
	case "render":
		var how struct{ Mode string }
		if err := json.Unmarshal(args, &how); err != nil {
			return nil, fmt.Errorf("render: %w", err)
		}
		return s.render(how.Mode)
	case "replaced":
		return map[string]any{"first": s.first}, nil
	case "save":
		b, err := s.live.AppendBinary(nil)
		return map[string]any{"state": b}, err
	case "load":
		var saved struct{ State []byte }
		if err := json.Unmarshal(args, &saved); err != nil {
			return nil, fmt.Errorf("load: %w", err)
		}
		return nil, s.load(saved.State)
	case "seat":
		return s.invite(args)
	case "look":
		return s.lookAt(args)
	}
	return nil, fmt.Errorf("hop bridge cannot %s", op)
}

// open builds the game and says which arrays are needed.
func (s *Server) open(o Open) (*Opened, error) {
	if s.game != nil {
		return nil, errors.New("a game is open already; another one needs a hop bridge of its own")
	}
	if o.Envs < 1 || o.Threads < 1 {
		return nil, fmt.Errorf("%d copies on %d threads: want at least one of both", o.Envs, o.Threads)
	}
	if o.Illegal != "error" && o.Illegal != "warn" && o.Illegal != "replace" {
		return nil, fmt.Errorf(`illegal is %q, want "error", "warn" or "replace"`, o.Illegal)
	}
	g, err := s.build(o.Game, o.Params)
	if err != nil {
		return nil, err
	}
	return s.opened(g, o)
}

// opened builds the game and says what it is like.
func (s *Server) opened(g spec.Game, o Open) (*Opened, error) {
	built, err := g.Build()
	if err != nil {
		return nil, err
	}
	params, err := g.Map()
	if err != nil {
		return nil, err
	}
	delete(params, "name")
	if need, have := bytes(built.Spec(), o.Envs), float64(cpu.Memory()); have > 0 && need > have {
		return nil, fmt.Errorf("%d copies of %s take about %.0f GB, and this machine has %.0f GB: make fewer", o.Envs, o.Game, need/1e9, have/1e9)
	}
	if s.live, err = rollout.NewLive(built, o.Envs); err != nil {
		return nil, err
	}
	s.name = o.Game
	for _, f := range g.Fields() {
		s.sets = append(s.sets, f.Path+"="+f.Default)
	}
	s.game, s.spec, s.replace = built, built.Spec(), o.Illegal != "error"
	s.lenient = o.Illegal == "replace"
	s.stay = max(0, slices.Index(s.spec.Actions, "stay"))
	for a := range s.spec.Seats {
		s.names = append(s.names, fmt.Sprintf("agent_%d", a))
	}
	if o.Render {
		s.rec = play.NewRecorder(built, game.Label(built))
	}
	s.hire(o.Envs, min(o.Threads, o.Envs))
	if o.Threads > o.Envs { // who has no copy helps planners with theirs
		pool := cores.New(o.Threads, nil)
		pool.Open()
		s.live.Share(pool, len(s.workers))
	}
	bots := []string{}
	for _, b := range built.Bots() {
		bots = append(bots, b.Name)
	}
	obs := s.spec.Obs
	return &Opened{
		Game: s.spec.Name, Label: game.Label(built), Kind: s.spec.Kind.String(), Params: params,
		Agents: s.spec.Seats, Actions: s.spec.Actions, Goals: s.spec.Goals, Bots: bots, Horizon: s.spec.Horizon,
		Symmetric: s.spec.Symmetric, Deterministic: s.spec.Deterministic,
		Obs: Observation{
			Length: obs.Len(), Height: obs.Height, Width: obs.Width, Planes: obs.Planes,
			Features: obs.Features, Legal: obs.Legal, Time: obs.Time, Last: obs.Last,
		},
		Arrays: s.arrays(o.Envs),
	}, nil
}

// build returns a game with parameters set; the error names one that it does not have.
func (s *Server) build(name string, params map[string]json.RawMessage) (spec.Game, error) {
	g, err := s.lab.Reg.NewGame(name)
	if err != nil {
		return g, err
	}
	var known []string
	for _, f := range g.Fields() {
		known = append(known, strings.TrimPrefix(f.Path, "game."))
	}
	slices.Sort(known)
	for _, param := range slices.Sorted(maps.Keys(params)) {
		if !slices.Contains(known, param) {
			near := config.Closest(param, known)
			if near != "" {
				near = "; did you mean " + near + "?"
			}
			return g, fmt.Errorf("%s has no parameter %q%s It has %s", name, param, cmp.Or(near, "."), strings.Join(known, ", "))
		}
		text := string(params[param])
		var word string
		if json.Unmarshal(params[param], &word) == nil {
			text = word
		}
		if err := g.Set(param, text); err != nil {
			return g, err
		}
	}
	return g, nil
}

// bytes is about what copies take: their arrays twice for observations that players see,
// and a state each.
func bytes(spec game.Spec, envs int) float64 {
	row := 8*spec.Obs.Len() + 2*len(spec.Actions) + 64
	return float64(envs) * float64(spec.Seats*row+1500)
}

// arrays lists what the host must share.
func (s *Server) arrays(envs int) []bridge.Array {
	agents := s.spec.Seats
	var own []bridge.Array
	if s.host != nil {
		own = s.host.Arrays()
	}
	if s.spec.Continuous {
		own = append(own, bridge.Array{Name: "vectors", Type: "f4", Shape: []int{envs, agents, len(s.spec.Actions)}})
	}
	return append([]bridge.Array{
		{Name: "obs", Type: "f4", Shape: []int{envs, agents, s.spec.Obs.Len()}},
		{Name: "legal", Type: "b1", Shape: []int{envs, agents, len(s.spec.Actions)}},
		{Name: "alive", Type: "b1", Shape: []int{envs, agents}},
		{Name: "actions", Type: "i4", Shape: []int{envs, agents}},
		{Name: "rewards", Type: "f4", Shape: []int{envs, agents}},
		{Name: "terminated", Type: "b1", Shape: []int{envs, agents}},
		{Name: "truncated", Type: "b1", Shape: []int{envs, agents}},
		{Name: "returns", Type: "f8", Shape: []int{envs, agents}},
		{Name: "over", Type: "b1", Shape: []int{envs}},
		{Name: "steps", Type: "i4", Shape: []int{envs}},
		{Name: "seeds", Type: "i8", Shape: []int{envs}},
		{Name: "restart", Type: "u1", Shape: []int{envs}},
		{Name: "replaced", Type: "i8", Shape: []int{1}},
	}, own...)
}

// Share takes the memory for the arrays.
func (s *Server) Share(m *bridge.Memory) error {
	if s.game == nil || s.shared {
		return errors.New("memory was shared that nobody asked for")
	}
	got := map[string]bridge.Array{}
	for _, a := range m.Arrays() {
		got[a.Name] = a
	}
	envs := s.envs()
	for _, a := range s.arrays(envs) {
		if g := got[a.Name]; g.Type != a.Type || !slices.Equal(g.Shape, a.Shape) {
			return fmt.Errorf("the array %s that was shared is %s %v, want %s %v", a.Name, g.Type, g.Shape, a.Type, a.Shape)
		}
	}
	s.obs, s.legal, s.alive = bridge.Slice[float32](m, "obs"), bridge.Slice[bool](m, "legal"), bridge.Slice[bool](m, "alive")
	s.actions, s.rewards = bridge.Slice[int32](m, "actions"), bridge.Slice[float32](m, "rewards")
	s.terminated, s.truncated = bridge.Slice[bool](m, "terminated"), bridge.Slice[bool](m, "truncated")
	s.returns, s.over, s.steps = bridge.Slice[float64](m, "returns"), bridge.Slice[bool](m, "over"), bridge.Slice[int32](m, "steps")
	s.seeds, s.restart = bridge.Slice[int64](m, "seeds"), bridge.Slice[uint8](m, "restart")
	s.replaced = bridge.Slice[int64](m, "replaced")
	if s.host != nil {
		s.host.Share(m)
	}
	if s.spec.Continuous {
		s.vectors = bridge.Slice[float32](m, "vectors")
	}
	s.living, s.shown = make([]bool, envs*s.spec.Seats), make([]bool, envs*s.spec.Seats)
	s.shared = true
	return nil
}

// envs is the number of copies.
func (s *Server) envs() int { return s.workers[len(s.workers)-1].hi }

// Tick starts, steps or draws, as the code says.
func (s *Server) Tick(code uint32) error {
	if !s.shared {
		return errors.New("no game is open yet")
	}
	if code >= tickAct {
		return s.act(code - tickAct)
	}
	switch code {
	case tickStart:
		if slices.Contains(s.restart, restartSeed) {
			s.forget()
		}
		return s.all((*worker).start)
	case tickRandom:
		return s.all((*worker).random)
	case tickStep:
		if err := s.check(); err != nil {
			return err
		}
		if len(s.guests) > 0 {
			if err := s.all((*worker).catchUp); err != nil {
				return err
			}
		}
		return s.all((*worker).step)
	}
	return fmt.Errorf("hop bridge knows no tick %d", code)
}

// check looks for actions that are not legal before anything is played: one is refused
// with a sentence, or replaced.
func (s *Server) check() error {
	width := len(s.spec.Actions)
	for i, living := range s.living {
		k := s.actions[i]
		if !living || uint32(k) < uint32(width) && s.legal[i*width+int(k)] {
			continue
		}
		if !s.replace || uint32(k) >= uint32(width) && !s.lenient {
			return errors.New(s.illegal(i))
		}
		if s.replaced[0]++; s.first == "" {
			s.first = s.illegal(i)
		}
		mask := s.legal[i*width : (i+1)*width]
		s.actions[i] = int32(s.stay)
		if !mask[s.stay] {
			s.actions[i] = int32(slices.Index(mask, true))
		}
	}
	return nil
}

// illegal says what was played at row i and what may be.
func (s *Server) illegal(i int) string {
	name := func(k int) string { return fmt.Sprintf("%d (%s)", k, s.spec.Actions[k]) }
	var may []string
	for k, ok := range s.legal[i*len(s.spec.Actions) : (i+1)*len(s.spec.Actions)] {
		if ok {
			may = append(may, name(k))
		}
	}
	who, did := s.names[i%s.spec.Seats], fmt.Sprint(s.actions[i])
	if k := s.actions[i]; k >= 0 && int(k) < len(s.spec.Actions) {
		did = name(int(k))
	}
	if s.envs() > 1 {
		who += fmt.Sprintf(" of env %d", i/s.spec.Seats)
	}
	if k := s.actions[i]; k < 0 || int(k) >= len(s.spec.Actions) {
		return fmt.Sprintf("%s played %s in step %d, which is not in its action space: 0 to %d", who, did, s.steps[i/s.spec.Seats]+1,
			len(s.spec.Actions)-1)
	}
	return fmt.Sprintf("%s played %s, which is not legal now; it may play %s", who, did, strings.Join(may, ", "))
}
