// Package train holds the loops, one file each, to be read from top to bottom.
//
// A loop is given finished parts (games, minds, a run folder) by package exp
// and owns their order: collect, shape rewards, learn, log, checkpoint. All that
// changes from one iteration to the next goes into a checkpoint, so a resumed
// run equals an uninterrupted one.
package train

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/search"
)

// Config sets the self-play loop.
type Config struct {
	Envs       int       `yaml:"envs" doc:"copies of the game played side by side" range:"1..65536"`
	Window     int       `yaml:"window" doc:"steps of every copy between two updates" unit:"steps" range:"1..4096"`
	Behind     bool      `yaml:"behind" doc:"play each window by the weights of a window before, while agents learn from that one: faster on many cores, with other numbers; PPO without an LSTM"`
	Steps      int       `yaml:"steps" doc:"length of the run in steps of a single copy, summed over copies" unit:"env steps" range:"1.."`
	Brains     []int     `yaml:"brains" doc:"which brain each agent uses: [0,1,2,3] independent, [0,0,1,1] two and two, [0] one for all; empty: independent" range:"0..63"`
	Team       []string  `yaml:"team" doc:"who plays each agent: learn, a bot's name, or RUN#AGENT for a frozen agent of an earlier run, RUN#AGENT@STEP for an earlier age of it; empty: all learn"`
	Switch     []Switch  `yaml:"switch" doc:"changes of the team during the run, each {at: STEP, agent: A, to: WHO}"`
	Stages     []Stage   `yaml:"stages" doc:"a curriculum over the game's parameters, each {at: STEP, set: [game.FIELD=VALUE, ...]}; evaluation uses the true game"`
	GoalWeight []Weight  `yaml:"goal_weight" doc:"factors on the reward of reaching a goal, for learning only, each {goal: NAME, from: X, to: 1, over: STEPS}"`
	Standins   Standins  `yaml:"standins"`
	Warm       Warm      `yaml:"warm"`
	Strangers  Strangers `yaml:"strangers"`
	Recorded   Recorded  `yaml:"recorded"`
	Save       int       `yaml:"save" doc:"env steps between checkpoints" unit:"env steps" range:"1.."`
	Keep       int       `yaml:"keep" doc:"newest checkpoints to keep, besides the best" range:"1.."`
	KeepEvery  int       `yaml:"keep_every" doc:"keep every so-many-th checkpoint for good; 0: none" range:"0.."`
}

// Switch changes who plays an agent.
type Switch struct {
	At    int    `yaml:"at" doc:"env step" range:"0.."`
	Agent int    `yaml:"agent" doc:"which agent" range:"0..63"`
	To    string `yaml:"to" doc:"learn, a bot's name, or RUN#AGENT"`
}

// Role returns who plays agent a in the window that begins at an env step: learn,
// unless the team or a switch says otherwise.
func (c Config) Role(a, step int) string {
	who := "learn"
	if a < len(c.Team) {
		who = c.Team[a]
	}
	for _, sw := range c.Switch {
		if sw.Agent == a && step >= sw.At {
			who = sw.To
		}
	}
	return who
}

// Stage changes parameters of the game that is trained on.
type Stage struct {
	At  int      `yaml:"at" doc:"env step" range:"0.."`
	Set []string `yaml:"set" doc:"such as game.size=6"`
}

// Weight is a factor on the reward of reaching a goal that fades over the run.
// It changes what is learnt from and nothing that is reported.
type Weight struct {
	Goal string  `yaml:"goal" doc:"a goal of the game, such as hare"`
	From float64 `yaml:"from" doc:"factor at the start" range:"0.."`
	To   float64 `yaml:"to" doc:"factor at the end of the fade" range:"0.."`
	Over int     `yaml:"over" doc:"length of the fade" unit:"env steps" range:"1.."`
}

// Standins let other policies play a learner's place for single episodes: a
// population. The learner does not learn from those episodes' own rows, only
// from having met them.
type Standins struct {
	Share    float64  `yaml:"share" doc:"probability that a learner's place is played by a stand-in for an episode" range:"0..1"`
	ShareEnd float64  `yaml:"share_end" doc:"the probability at the end of the fade; -1: as share" range:"-1..1"`
	Over     int      `yaml:"over" doc:"length of the fade; 0: the whole run" unit:"env steps" range:"0.."`
	Teams    float64  `yaml:"teams" doc:"probability that an episode is one learner's among bots: in all other learners' places the first or the second of who, 0 to all of them the first" range:"0..1"`
	Alike    float64  `yaml:"alike" doc:"probability that an episode, or a life of several, is one learner's among co-players who are all the same one of who" range:"0..1"`
	Shown    bool     `yaml:"shown" doc:"learners, all of mind ppo, read in one more input whether a stand-in plays in the episode; it is 0 where nobody knows, as in an evaluation"`
	Who      []string `yaml:"who" doc:"the population: bots, texts of the game's language, RUN#AGENT, past for the run's own earlier checkpoints, or a split of the strangers such as train@1; drawn uniformly"`
}

// Warm lets agents that plan watch bots before they play: for some windows all
// places are played by teams of 0..n of the first bot and the rest of the
// second, and every agent learns from what it saw as if it had played its place.
type Warm struct {
	Windows int      `yaml:"windows" doc:"windows to watch at the start; 0: none" range:"0.."`
	Who     []string `yaml:"who" doc:"two bots"`
}

// Rewards says how true rewards become what is learnt from, over a run.
type Rewards struct {
	Scale, Gamma float64
	Prosocial    float64 // share of the team's mean at the start
	ProsocialEnd float64 // at the end; below 0: as at the start
}

// Default returns the loop that ppo-4x4 uses.
func Default() Config {
	return Config{
		Envs: 128, Window: 32, Steps: 500_000, Standins: Standins{ShareEnd: -1}, Strangers: Strangers{Every: 10}, Save: 100_000, Keep: 3,
	}
}

// Validate returns everything that is wrong for a game with that many seats and
// those goals, joined.
func (c Config) Validate(seats int, goals []string) error {
	errs := []error{config.Check(c)}
	bad := func(path string, v any, want string) { errs = append(errs, config.Bad(path, v, want)) }
	if n := len(c.Brains); n > 1 && n != seats {
		bad("brains", c.Brains, fmt.Sprintf("one number for each of the %d agents, one for all, or none", seats))
	}
	if n := len(c.Team); n != 0 && n != seats {
		bad("team", c.Team, fmt.Sprintf("one name for each of the %d agents, or none", seats))
	}
	for i, s := range c.Switch {
		if s.Agent >= seats {
			bad(fmt.Sprintf("switch[%d].agent", i), s.Agent, fmt.Sprintf("below %d", seats))
		}
	}
	for i, s := range c.Stages {
		if i > 0 && s.At <= c.Stages[i-1].At {
			bad(fmt.Sprintf("stages[%d].at", i), s.At, "later than the stage before")
		}
	}
	for i, w := range c.GoalWeight {
		if !slices.Contains(goals, w.Goal) {
			bad(fmt.Sprintf("goal_weight[%d].goal", i), w.Goal, fmt.Sprintf("one of %v", goals))
		}
	}
	if c.Warm.Windows > 0 && len(c.Warm.Who) != 2 {
		bad("warm.who", c.Warm.Who, "two bots, because warm.windows is above 0")
	}
	if w := c.Standins.Who; c.Standins.Teams > 0 && (len(w) < 2 || w[0] == "past" || w[1] == "past" || w[0] == w[1]) {
		bad("standins.who", w, "at least two, the first two neither past nor the same, because standins.teams is above 0")
	}
	if w := c.Standins.Who; c.Standins.Alike > 0 && slices.Contains(w, "past") {
		bad("standins.who", w, "no past, because standins.alike is above 0")
	}
	if s := c.Standins; s.Teams+s.Alike > 1 {
		bad("standins.alike", s.Alike, fmt.Sprintf("at most %g, because standins.teams is %g", 1-s.Teams, s.Teams))
	}
	if s := c.Standins; s.Shown && (s.Share > 0 || s.ShareEnd > 0) {
		bad("standins.shown", s.Shown, "false, because standins.share deals one place after the other and the first has acted by then")
	}
	if r := c.Recorded; r.Windows > 0 && len(r.Who) == 0 {
		bad("recorded.who", r.Who, "at least one, because recorded.windows is above 0")
	}
	if s := c.Standins; len(s.Who) == 0 && (s.Share > 0 || s.Alike > 0) {
		bad("standins.who", s.Who, "at least one, because standins.share or standins.alike is above 0")
	}
	return errors.Join(errs...)
}

// searches calls do with the searches of every player of the learners' own.
func (s *SelfPlay) searches(do func(f *search.Forest)) {
	for _, worker := range s.players {
		for _, p := range worker {
			if p, ok := p.(*dealtPlayer).own.(learner.Timed); ok {
				do(p.Forest())
			}
		}
	}
}

// collect plays a window and notes where its time went, inside searches too.
// Workers play side by side, so a search's share is the mean over workers.
func (s *SelfPlay) collect() (err error) {
	if s.parts.Clock == nil {
		return s.envs.Collect(s.ro, s.players)
	}
	s.searches(func(f *search.Forest) { f.Clock, f.Spent = s.parts.Clock, search.Spent{} })
	s.timed("collect", func() { err = s.envs.Collect(s.ro, s.players) })
	s.searches(func(f *search.Forest) {
		for name, d := range map[string]time.Duration{
			"select": f.Spent.Select, "others": f.Spent.Others, "dynamics": f.Spent.Dynamics, "leaf": f.Spent.Leaf, "backup": f.Spent.Backup,
		} {
			d := d.Seconds() / float64(len(s.players))
			s.phases["collect/search/"+name] += d
			s.phases["collect/search"] += d
		}
		f.Spent = search.Spent{}
	})
	return err
}
