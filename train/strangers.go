package train

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/runlog"
)

// Strangers says on whom models of others are scored while they learn.
type Strangers struct {
	Every int      `yaml:"every" doc:"windows between two scorings of the models of others on fixed episodes of strangers, which nobody learns from; 0: never" range:"0.."`
	Who   []string `yaml:"who" doc:"the strangers: bots, or RUN#AGENT for a frozen agent of an earlier run; empty: those of warm.who, else of standins.who, else the game's first two bots"`
}

// strangers returns who they are.
func (c Config) strangers(g game.Game) []string {
	who := c.Strangers.Who
	if len(who) == 0 {
		who = c.Warm.Who
	}
	if len(who) == 0 {
		who = c.Standins.Who
	}
	for _, b := range g.Bots() {
		if len(who) == 2 || len(c.Strangers.Who)+len(c.Warm.Who)+len(c.Standins.Who) > 0 {
			break
		}
		if b.Name != "random" {
			who = append(who, b.Name)
		}
	}
	var list []string // each once
	for _, w := range who {
		if w != "past" && !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}

// Size of what is scored: some hundred steps of every agent's co-players, which takes
// less than a tenth of a second.
const (
	StrangerEnvs  = 80
	StrangerSteps = 64 // longer episodes are cut
)

// strangers are fixed episodes in which known policies play all places: the same in all
// runs on a game, at every scoring. An agent's model of others is scored there by what
// the agent would expect of its co-players if it sat in its place, mixed over its
// hypotheses by its beliefs, which begin anew: the top-1 and the cross-entropy of play,
// whatever the model is trained on and how.
//
// Twins of the minds watch, which are loaded from the minds as they are. Streams, players
// and memories are the strangers' own, so nothing of the training changes.
type strangers struct {
	who     []string
	hire    []PlayerMaker // [who]
	kind    [][]int       // [N][A] who plays
	game    game.Game
	envs    *rollout.Envs
	ro      *batch.Rollout
	make    func() ([]learner.Mind, error) // of the twins
	twins   []learner.Mind                 // made when they are first needed
	watch   map[agent.ID]learner.Watching  // twins' players; nil: it cannot watch
	limited bool                           // the Bayes observer knows them all
}

// newStrangers returns nil if nobody is to be scored.
func newStrangers(c Config, parts Parts) (*strangers, error) {
	who := c.strangers(parts.Game)
	models := slices.ContainsFunc(parts.Minds, func(m learner.Mind) bool {
		_, ok := learner.As[learner.Predicting](m)
		return ok
	})
	if c.Strangers.Every == 0 || len(who) == 0 || parts.Twins == nil || !models {
		return nil, nil
	}
	s := &strangers{who: who, game: parts.Game, make: parts.Twins, watch: map[agent.ID]learner.Watching{}}
	for _, name := range who {
		hire, err := parts.Players(name)
		if err != nil {
			return nil, fmt.Errorf("train: strangers: %w", err)
		}
		s.hire = append(s.hire, hire)
	}
	var err error
	if s.envs, err = rollout.New(rollout.Config{Game: parts.Game, Envs: StrangerEnvs, Key: strangerKey, Workers: 1}); err != nil {
		return nil, err
	}
	s.ro = batch.New(s.envs.Shape(min(parts.Game.Spec().Horizon, StrangerSteps), 0))
	_, err = oracle.NewObserver(parts.Game, who, nil)
	s.limited = err == nil
	s.deal()
	return s, nil
}

// strangerKey names the streams of the fixed episodes.
var strangerKey = rng.New(17).Child("strangers")

// deal says who plays whom: of two, 0 to all of the places are the first's, in turn; of
// more, everybody is any of them.
func (s *strangers) deal() {
	agents := s.game.Spec().Seats
	r := strangerKey.Child("kinds").Rand()
	for n := range StrangerEnvs {
		s.kind = append(s.kind, make([]int, agents))
		for a := range agents {
			switch {
			case len(s.who) != 2:
				s.kind[n][a] = r.IntN(len(s.who))
			case !(&shown{a: a, agents: agents}).isFirst(n): // as in a warm-up
				s.kind[n][a] = 1
			}
		}
	}
}

// allKinds stands for the strangers of all kinds together.
const allKinds = "all"

// StrangerScore is how well an agent's model of others foresees strangers of a kind, or
// of all kinds together. The limit of a single kind can be passed by who takes everybody
// for that kind; that of all together cannot.
type StrangerScore struct {
	Mind           int
	Agent          agent.ID
	Kind           string
	Top1, CE       stats.Acc
	Limit, LimitCE stats.Acc // of the Bayes observer, who knows the scripts; none where there are none
}

// score scores the minds as they are, by agent and kind.
func (s *strangers) score(minds []abilities) ([]StrangerScore, error) {
	agents := s.game.Spec().Seats
	reads, of, players := make([]*learner.Predictions, agents), make([]int, agents), make([]rollout.Player, agents)
	for a := range players {
		var err error
		if players[a], err = s.strangerAt(a); err != nil {
			return nil, err
		}
	}
	if s.twins == nil {
		var err error
		if s.twins, err = s.make(); err != nil {
			return nil, err
		}
	}
	for i, m := range s.twins {
		if err := load(m, minds[i]); err != nil {
			return nil, err
		}
		for _, a := range m.Agents() {
			p, err := s.watcher(m, a)
			if err != nil {
				return nil, err
			}
			if p == nil {
				continue
			}
			of[a], reads[a] = i, &learner.Predictions{Beside: s.observers}
			read := reads[a].Take([]rollout.Player{&onlooker{p, players[a]}}, StrangerEnvs)[0]
			players[a] = &first{Player: read, then: players[a], over: make([]bool, StrangerEnvs)}
		}
	}
	if err := s.envs.Restart(strangerKey); err != nil {
		return nil, err
	}
	if err := s.envs.Collect(s.ro, [][]rollout.Player{players}); err != nil {
		return nil, err
	}
	var list []StrangerScore
	for a, r := range reads {
		if r != nil {
			list = append(list, s.sum(of[a], agent.ID(a), r)...)
		}
	}
	return list, nil
}

// watcher returns the twin's player of agent a, made once; nil if it cannot watch.
func (s *strangers) watcher(m learner.Mind, a agent.ID) (learner.Watching, error) {
	if p, made := s.watch[a]; made {
		return p, nil
	}
	list, err := m.Players(a, 1, StrangerEnvs)
	if err != nil {
		return nil, err
	}
	s.watch[a], _ = list[0].(learner.Watching)
	return s.watch[a], nil
}

// load makes a twin what a mind is now, with nothing remembered.
func load(twin learner.Mind, m abilities) error {
	w, ok := learner.As[learner.Weighted](twin)
	if !ok || m.saver == nil {
		return errors.New("train: a mind that cannot be saved and loaded cannot be scored on strangers; set train.strangers.every to 0")
	}
	var f safetensors.File
	if err := m.saver.Save(&f, ""); err != nil {
		return err
	}
	if err := w.LoadWeights(&f, ""); err != nil {
		return err
	}
	if r, ok := learner.As[learner.Rememberer](twin); ok {
		r.Remember(StrangerEnvs, 1)
	}
	return nil
}

// strangerAt returns who plays agent a: in each env whoever was dealt to it.
func (s *strangers) strangerAt(a int) (rollout.Player, error) {
	var all []rollout.Player // [who]
	for _, hire := range s.hire {
		players, err := hire(1, StrangerEnvs)
		if err != nil {
			return nil, err
		}
		all = append(all, players[0])
	}
	return &rollout.Split{
		Who: func(n int) int { return s.kind[n][a] }, Player: func(who int) rollout.Player { return all[who] },
	}, nil
}

// observers makes the Bayes observer of an env, if there is one.
func (s *strangers) observers(_ int, others []agent.ID) []learner.Witness {
	if !s.limited {
		return nil
	}
	o, err := oracle.NewObserver(s.game, s.who, others)
	if err != nil {
		panic("train: strangers that can be observed cannot be")
	}
	return []learner.Witness{o}
}

// sum sums up an agent's looks, by kind.
func (s *strangers) sum(m int, me agent.ID, r *learner.Predictions) []StrangerScore {
	list := make([]StrangerScore, 0, len(s.who)+1)
	for _, name := range append(slices.Clone(s.who), allKinds) {
		list = append(list, StrangerScore{Mind: m, Agent: me, Kind: name})
	}
	r.Each(func(l *learner.Prediction) {
		if !l.Acted {
			return
		}
		a := l.Other // counted without oneself
		if a >= int(me) {
			a++
		}
		for _, x := range []*StrangerScore{&list[s.kind[l.Env][a]], &list[len(s.who)]} {
			x.Top1.Add(l.Held[0].Top1)
			x.CE.Add(l.Held[0].CE)
			if s.limited {
				x.Limit.Add(l.Held[1].Top1)
				x.LimitCE.Add(l.Held[1].CE)
			}
		}
	})
	return slices.DeleteFunc(list, func(x StrangerScore) bool { return x.Top1.N() == 0 })
}

// onlooker watches while somebody else plays its place.
type onlooker struct {
	learner.Watching
	plays rollout.Player
}

// Act watches, and lets the other act.
func (p *onlooker) Act(v *rollout.View, envs []int32) {
	p.Watch(v, envs)
	p.plays.Act(v, envs)
}

// Evaluate writes nothing.
func (p *onlooker) Evaluate(*rollout.View, []int32) {}

// first plays the first episode of each env; then somebody else plays.
type first struct {
	rollout.Player
	then       rollout.Player
	over       []bool // [N]
	mine, left []int32
}

// Act lets the one whose turn it is act.
func (p *first) Act(v *rollout.View, envs []int32) {
	p.mine, p.left = p.mine[:0], p.left[:0]
	for _, n := range envs {
		if p.over[n] {
			p.left = append(p.left, n)
		} else {
			p.mine = append(p.mine, n)
		}
	}
	if len(p.mine) > 0 {
		p.Player.Act(v, p.mine)
	}
	if len(p.left) > 0 {
		p.then.Act(v, p.left)
	}
}

// EpisodeOver ends the first episode.
func (p *first) EpisodeOver(_ *rollout.View, n int) { p.over[n] = true }

// scoreStrangers scores the models of others if it is time: before the first window, every
// so many windows, when the warm-up ends and when the run does.
func (s *SelfPlay) scoreStrangers() ([]StrangerScore, error) {
	due := s.update%max(s.cfg.Strangers.Every, 1) == 0 || s.update == s.cfg.Warm.Windows || s.step >= s.cfg.Steps
	if s.strangers == nil || !due {
		return nil, nil
	}
	var list []StrangerScore
	var err error
	s.timed("score", func() { list, err = s.strangers.score(s.minds) })
	if err != nil {
		return nil, fmt.Errorf("train: scoring on strangers at env step %d: %w", s.step, err)
	}
	for i := range list {
		s.guards.knew(&list[i], s.update <= s.cfg.Warm.Windows)
	}
	return list, nil
}

// strangerRows writes scores for metrics.csv.
func (s *SelfPlay) strangerRows(list []StrangerScore) (rows []runlog.Row) {
	for _, x := range list {
		add := func(name string, value float64, n int) {
			if name = StrangerMetric + x.Kind + "/" + name; n > 0 {
				rows = append(rows, runlog.Row{Step: int64(s.step), Name: name, Agent: int(x.Agent), Value: value, N: n})
			}
		}
		n := x.Top1.N()
		add("top1", x.Top1.Mean(), n)
		add("ce", x.CE.Mean(), n)
		add("limit", x.Limit.Mean(), x.Limit.N())
		add("limit_ce", x.LimitCE.Mean(), x.LimitCE.N())
		if s.update >= s.cfg.Warm.Windows {
			add("start", s.guards.start(&x), n)
		}
	}
	return rows
}

// StrangerMetric begins the names of these scores: then comes the kind, then the number.
const StrangerMetric = "moa/strangers/"
