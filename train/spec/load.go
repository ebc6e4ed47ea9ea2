package spec

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/pybot"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/played"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/eval"
)

// Saved is a run's checkpoint, from which agents are made to play, to adapt or to be
// looked at. There is no other way from a checkpoint to agents.
type Saved struct {
	Spec Spec
	Game game.Game
	Step int64       // of the checkpoint
	Used runlog.Used // which it is, and why
	dir  string
	file *safetensors.File
}

// Open reads the newest checkpoint of a run, or an older one if it is damaged and that
// was accepted. sets change the game's parameters or how the agents think, not what
// their networks are.
func (r *Registry) Open(dir string, sets []string) (*Saved, error) {
	last, err := r.Runs.Last(dir)
	if err != nil {
		return nil, err
	}
	return r.open(dir, last, sets)
}

// OpenAt reads the checkpoint of a run at an env step.
func (r *Registry) OpenAt(dir string, step int64, sets []string) (*Saved, error) {
	saved, err := r.Runs.At(dir, step)
	if err != nil {
		return nil, err
	}
	return r.open(dir, saved, sets)
}

// open reads a checkpoint of a run.
func (r *Registry) open(dir string, last *runlog.Checkpoint, sets []string) (x *Saved, err error) {
	x = &Saved{dir: dir, Step: last.Step, Used: last.Used}
	if x.Spec, err = r.Parse(last.Spec, filepath.Join(dir, "spec.yaml"), "run", sets); err != nil {
		return nil, err
	}
	if x.file, err = safetensors.Parse(last.Body); err != nil {
		return nil, fmt.Errorf("spec: the checkpoint of %s: %w", dir, err)
	}
	x.Game, err = x.Spec.Resolve()
	return x, err
}

// Saved is the checkpoint of a run of the spec that stands in no folder.
func (s *Spec) Saved(body []byte) (x *Saved, err error) {
	x = &Saved{dir: s.Name, Spec: *s}
	if x.file, err = safetensors.Parse(body); err != nil {
		return nil, fmt.Errorf("spec: the checkpoint of %s: %w", s.Name, err)
	}
	x.Game, err = x.Spec.Resolve()
	return x, err
}

// Minds makes minds with the saved weights, and says which is each agent's. Their
// optimisers and what they remember are fresh.
func (x *Saved) Minds() ([]learner.Mind, []int, error) {
	minds, of, err := x.Spec.minds(x.Game, rng.Key{}, x.file)
	if err != nil {
		return nil, nil, fmt.Errorf("spec: the agents of %s: %w", x.dir, err)
	}
	for i, m := range minds {
		w, ok := learner.As[learner.Weighted](m)
		if !ok {
			return nil, nil, fmt.Errorf("spec: the agents of %s cannot be loaded: mind %s saves no weights", x.dir,
				x.Spec.LearnsAs(m.Agents()[0]).Mind.Name)
		}
		if err := w.LoadWeights(x.file, train.Prefix(i)); err != nil {
			return nil, nil, fmt.Errorf("spec: loading the agents of %s: %w", x.dir, err)
		}
	}
	return minds, of, nil
}

// mind makes the mind of one agent.
func (x *Saved) mind(id agent.ID) (learner.Mind, error) {
	minds, of, err := x.Minds()
	if err != nil {
		return nil, err
	}
	if int(id) < 0 || int(id) >= len(of) {
		return nil, fmt.Errorf("%s has agents 0 to %d, not %d", x.dir, len(of)-1, id)
	}
	return minds[of[id]], nil
}

// newcomer makes a mind with what agent id has learnt, in agent 0's place: there sits
// whoever lives among others.
func (x *Saved) newcomer(id agent.ID) (learner.Mind, error) {
	minds, of, err := x.like(id)
	if err != nil {
		return nil, err
	}
	return minds[of[0]], nil
}

// like makes minds for all places with what agent id has learnt, and says which is each place's.
func (x *Saved) like(id agent.ID) ([]learner.Mind, []int, error) {
	at, _ := x.Spec.mindOf(x.Game.Spec().Seats)
	if int(id) < 0 || int(id) >= len(at) {
		return nil, nil, fmt.Errorf("%s has agents 0 to %d, not %d", x.dir, len(at)-1, id)
	}
	own := *x
	own.Spec = *x.Spec.LearnsAs(id)
	minds, of, err := own.Spec.minds(x.Game, rng.Key{}, x.file)
	if err != nil {
		return nil, nil, fmt.Errorf("spec: the agents of %s: %w", x.dir, err)
	}
	for _, m := range minds {
		w, ok := learner.As[learner.Weighted](m)
		if !ok {
			return nil, nil, fmt.Errorf("spec: the agents of %s cannot be loaded: mind %s saves no weights", x.dir, own.Spec.Mind.Name)
		}
		if err := w.LoadWeights(x.file, train.Prefix(at[id])); err != nil {
			return nil, nil, fmt.Errorf("spec: loading agent %d of %s: %w", id, x.dir, err)
		}
	}
	return minds, of, nil
}

// member lets a mind play agent id; lanes are remembered anew for each call.
func (x *Saved) member(m learner.Mind, id agent.ID) eval.Member {
	return eval.Member{Name: fmt.Sprintf("%s#%d", x.Spec.Name, id), Players: func(workers, lanes int) ([]rollout.Player, error) {
		if r, ok := learner.As[learner.Rememberer](m); ok {
			r.Remember(lanes, 1)
		}
		return m.Players(id, workers, lanes)
	}}
}

// Agents are the agents of a run, loaded to play.
type Agents struct {
	Spec    Spec
	Game    game.Game
	Step    int64         // env step of the checkpoint
	Used    runlog.Used   // which it is, and why
	Members []eval.Member // [A]
	Greedy  []eval.Member // [A] the same, taking the likeliest action
	Sure    bool          // Members take the likeliest action too: their search ends in one
}

// LoadAgents loads the agents of a run's checkpoint.
func (r *Registry) LoadAgents(dir string) (*Agents, error) { return r.LoadAgentsFor(dir, nil) }

// LoadAgentsFor loads them for the game with parameters changed; sets are like
// game.stags=2.
func (r *Registry) LoadAgentsFor(dir string, sets []string) (*Agents, error) {
	for _, set := range sets {
		if !strings.HasPrefix(set, "game.") || strings.HasPrefix(set, "game.name=") {
			return nil, fmt.Errorf("--set %s: only parameters of the game can change, such as game.stags=2", set)
		}
	}
	x, err := r.Open(dir, sets)
	if err != nil {
		return nil, err
	}
	return x.Agents()
}

// Agents loads the agents of the checkpoint to play.
func (x *Saved) Agents() (*Agents, error) {
	a := &Agents{Spec: x.Spec, Game: x.Game, Step: x.Step, Used: x.Used}
	var sure bool
	var err error
	if a.Members, a.Sure, err = x.Frozen(false); err != nil {
		return nil, err
	}
	if a.Greedy, sure, err = x.Frozen(true); err != nil {
		return nil, err
	}
	a.Sure = a.Sure && sure
	return a, nil
}

// Frozen makes the agents of the checkpoint to play, greedy ones taking their likeliest action, and
// says whether they do so in any case. Who is to play elsewhere at the same time is made again.
func (x *Saved) Frozen(greedy bool) (list []eval.Member, sure bool, err error) {
	minds, of, err := x.Minds()
	if err != nil {
		return nil, false, err
	}
	sure = true
	for _, m := range minds {
		f, ok := learner.As[learner.Freezer](m)
		if ok {
			f.Freeze(greedy)
		}
		sure = sure && ok && f.Sure()
	}
	for id, i := range of {
		list = append(list, x.member(minds[i], agent.ID(id)))
	}
	return list, sure, nil
}

// Seated returns who plays each seat, agents frozen, greedy ones taking their likeliest action: the
// run's team, agent a on seat a and whom it was trained with where that is no agent, or if id is not
// -1 what agent id has learnt on every seat.
func (x *Saved) Seated(id int, greedy bool) ([]eval.Member, error) {
	minds, of, err := x.Minds()
	if id != -1 && err == nil {
		minds, of, err = x.like(agent.ID(id))
	}
	if err != nil {
		return nil, err
	}
	for _, m := range minds {
		if f, ok := learner.As[learner.Freezer](m); ok {
			f.Freeze(greedy)
		}
	}
	var own []eval.Member
	for a, i := range of {
		own = append(own, x.member(minds[i], agent.ID(a)))
	}
	if id >= 0 {
		return own, nil
	}
	return x.Spec.Team(&Agents{Game: x.Game}, own)
}

// Team returns who sits with the run's agents when they are scored: the agents
// themselves, and where the spec's team ends with bots or frozen agents, those.
func (s *Spec) Team(a *Agents, own []eval.Member) ([]eval.Member, error) {
	team := make([]eval.Member, len(own))
	for i := range own {
		who := "learn"
		if len(s.Train.Team) > 0 {
			who = s.Train.Team[i]
		}
		for _, sw := range s.Train.Switch {
			if sw.Agent == i {
				who = sw.To
			}
		}
		if who == "learn" {
			team[i] = own[i]
			continue
		}
		m, err := s.member(a.Game, who)
		if err != nil {
			return nil, err
		}
		team[i] = m
	}
	return team, nil
}

// Scoring is how a run of that seed scores its final agents, drawing their actions ("sampled") or not ("greedy"): the name is part
// of the numbers.
func (s *Spec) Scoring(a *Agents, own []eval.Member, name string, seed uint64) (eval.Config, error) {
	team, err := s.Team(a, own)
	return eval.Config{Game: a.Game, Team: team, Episodes: s.Eval.Episodes, Lanes: 256, Key: rng.New(seed).Child("judge").Child(name)}, err
}

// member returns who plays where the spec names somebody: a bot, a frozen agent of a run, or a policy
// in Python, which is started if what named it may run it.
func (s *Spec) member(g game.Game, who string) (eval.Member, error) {
	if !pybot.Is(who) {
		return s.reg.Member(g, who)
	}
	if err := s.Allowed(); err != nil {
		return eval.Member{}, err
	}
	p, err := pybot.Open(g, who)
	if err != nil {
		return eval.Member{}, err
	}
	return eval.Member{Name: who, Players: p.Players}, nil
}

// Member returns a bot of the game, the model of a person as played:FOLDER, or a frozen agent of
// a run as RUN#AGENT, which as RUN#AGENT@STEP is what it was at the checkpoint of that env step.
func (r *Registry) Member(g game.Game, who string) (eval.Member, error) {
	if _, err := game.NewBot(g, who); err == nil {
		return eval.Bot(g, who), nil
	}
	if dir, ok := played.Folder(who); ok {
		return eval.Played(g, dir)
	}
	hire, err := r.players(g, who)
	return eval.Member{Name: who, Players: hire}, err
}

// players returns a maker of a bot, or of a frozen agent of an earlier run.
func (r *Registry) players(g game.Game, who string) (train.PlayerMaker, error) {
	if _, err := game.NewBot(g, who); err == nil {
		return eval.Bot(g, who).Players, nil
	}
	dir, number, ok := strings.Cut(who, "#")
	number, at, aged := strings.Cut(number, "@")
	id, err := strconv.Atoi(number)
	step := int64(0)
	if aged && err == nil {
		step, err = strconv.ParseInt(at, 10, 64)
	}
	if !ok || err != nil {
		_, err := game.NewBot(g, who)
		return nil, fmt.Errorf("%w; or name a frozen agent as RUN#AGENT, such as runs/ppo-4x4-001/seed-1#0, or as RUN#AGENT@STEP", err)
	}
	var saved *runlog.Checkpoint
	if aged {
		saved, err = r.Runs.At(dir, step)
	} else {
		saved, err = r.Runs.Last(dir)
	}
	if err != nil {
		return nil, err
	}
	x, err := r.open(dir, saved, nil)
	if err != nil {
		return nil, err
	}
	if got, want := x.Game.Spec().Obs.Len(), g.Spec().Obs.Len(); got != want || len(x.Game.Spec().Actions) != len(g.Spec().Actions) {
		return nil, fmt.Errorf("%s was trained on another game: its observations have %d numbers, here %d", dir, got, want)
	}
	m, err := x.mind(agent.ID(id))
	if err != nil {
		return nil, err
	}
	if f, ok := learner.As[learner.Freezer](m); ok {
		f.Freeze(false)
	}
	return x.member(m, agent.ID(id)).Players, nil
}

// Predictions returns what each agent of a run has learnt about the others, by
// agent.
func (x *Saved) Predictions() (map[agent.ID]learner.Predict, error) {
	minds, of, err := x.Minds()
	if err != nil {
		return nil, err
	}
	out := map[agent.ID]learner.Predict{}
	for id, i := range of {
		p, ok := learner.As[learner.Predicting](minds[i])
		if !ok && len(x.Spec.Kinds) > 0 {
			continue // one of a kind that models nobody
		}
		if !ok {
			break
		}
		if out[agent.ID(id)], err = p.Predictions(); err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("spec: %s holds no models of others: its agents do not plan; name a run of mind hop, such as one of hop-4x4",
			x.dir)
	}
	return out, nil
}

// Focal returns agent id to play with parts replaced by the truth; the truth's team
// names the bot that every other agent is.
func (x *Saved) Focal(id agent.ID, t learner.Truth) (eval.Member, error) {
	m, err := x.mind(id)
	if err != nil {
		return eval.Member{}, err
	}
	if f, ok := learner.As[learner.Freezer](m); ok {
		f.Freeze(false)
	}
	if t.Goals || t.Others {
		s, ok := learner.As[learner.Swapper](m)
		if !ok {
			return eval.Member{}, fmt.Errorf("spec: agent %d of %s does not plan, so there is nothing to replace", id, x.dir)
		}
		if err := s.Swap(t); err != nil {
			return eval.Member{}, fmt.Errorf("spec: agent %d of %s: %w", id, x.dir, err)
		}
	}
	return x.member(m, id), nil
}

// Parts that may go on learning among others.
const (
	LearnNothing = "nothing" // beliefs neither, within an episode or across
	LearnBeliefs = "beliefs"
	LearnMOA     = "moa"
	LearnPolicy  = "policy"
	LearnAll     = "all"
)

// Newcomer is an agent of a run, loaded to live among co-players that it may never
// have met. Each call of Member starts a life of its own: weights are as the
// run left them, optimisers and beliefs fresh.
type Newcomer struct {
	Met []string // whom it takes co-players to be, by name
	*Saved
	Models bool // it models others
	Learn  string
	id     agent.ID
}

// LoadNewcomer loads agent id of a run. sets may change the game's parameters and
// how the agent thinks, not what its networks are.
func (r *Registry) LoadNewcomer(dir string, sets []string, id int, learn string) (*Newcomer, error) {
	may := []string{"game", "search", "belief", "goals", "leaf"}
	for _, set := range sets {
		part, _, _ := strings.Cut(set, ".")
		if !slices.Contains(may, part) || strings.HasPrefix(set, "game.name=") {
			return nil, fmt.Errorf("--set %s: only %s can change, such as game.stags=2", set, strings.Join(may, ".*, ")+".*")
		}
	}
	if learn == LearnNothing {
		sets = append(slices.Clone(sets), "belief.within=false", "belief.across=false")
	}
	x, err := r.Open(dir, nil)
	if err != nil {
		return nil, err
	}
	if k := x.Spec.kindOf(id); k >= 0 { // the settings are its kind's
		sets = slices.Clone(sets)
		for i, set := range sets {
			if !strings.HasPrefix(set, "game.") {
				sets[i] = "minds." + x.Spec.Kinds[k].Name + "." + set
			}
		}
	}
	x, err = r.Open(dir, sets)
	if learn == LearnNothing && err != nil { // agents without beliefs
		x, err = r.Open(dir, sets[:len(sets)-2])
	}
	if err != nil {
		return nil, err
	}
	if x.Game.Spec().Fixed && id != 0 {
		return nil, fmt.Errorf("agent %d of %s learnt its own place, and who lives among others has agent 0's; seats of %s are not alike",
			id, dir, x.Spec.Game.Name)
	}
	st := &Newcomer{Saved: x, Learn: learn, id: agent.ID(id)}
	m, err := x.newcomer(st.id)
	if err != nil {
		return nil, err
	}
	_, st.Models = learner.As[learner.Predicting](m)
	if a, ok := learner.As[learner.Acquainted](m); ok {
		st.Met = a.Population()
	}
	others, own := false, false
	if a, ok := learner.As[learner.Adapter](m); ok {
		others, own = a.Adapts()
	}
	if learn == LearnMOA && !others {
		return nil, fmt.Errorf("%s has no model of others that could learn; use --learn policy", dir)
	}
	if !own && (learn == LearnPolicy || learn == LearnAll) {
		return nil, fmt.Errorf("%s has agents whose policy cannot go on learning here, such as an LSTM's; use --learn nothing", dir)
	}
	return st, nil
}

// Life is a focal member, and how it learns.
type Life struct {
	eval.Member
	GoalLen int
	After   func(ro *batch.Rollout) error // nil: weights stand still
}

// Member starts a life. reads, if not nil, takes what an agent that models others
// expected.
func (x *Newcomer) Member(reads *learner.Predictions) (Life, error) {
	m, err := x.newcomer(x.id)
	if err != nil {
		return Life{}, err
	}
	l := Life{Member: x.member(m, 0)}
	if g, ok := learner.As[learner.GoalReading](m); ok {
		l.GoalLen = g.GoalLen()
	}
	if plain := l.Players; reads != nil {
		l.Players = func(workers, lanes int) ([]rollout.Player, error) {
			players, err := plain(workers, lanes)
			if err != nil {
				return nil, err
			}
			return reads.Take(players, lanes), nil
		}
	}
	moa, own := x.Learn == LearnMOA || x.Learn == LearnAll, x.Learn == LearnPolicy || x.Learn == LearnAll
	if f, ok := learner.As[learner.Freezer](m); ok && !own {
		f.Freeze(false)
	}
	if a, ok := learner.As[learner.Adapter](m); ok && (moa || own) {
		rewards := x.Spec.LearnsAs(x.id).last()
		l.After = func(ro *batch.Rollout) error {
			return a.Adapt(&learner.Window{Rollout: ro, Rewards: rewards, Share: 1}, moa, own)
		}
	} else if moa || own {
		return Life{}, errors.New("spec: the agent cannot go on learning")
	}
	return l, nil
}

// last is how rewards are learnt from at the end of a run.
func (s *Spec) last() learner.Rewards {
	r := learner.Rewards{Scale: s.PPO.RewardScale, Prosocial: s.PPO.Prosocial, Gamma: s.PPO.Gamma}
	if s.PPO.ProsocEnd >= 0 {
		r.Prosocial = s.PPO.ProsocEnd
	}
	return r
}
