package train

import (
	"fmt"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/runlog"
)

// Progress is what a watcher sees after an update. Its slices are valid until
// the next.
type Progress struct {
	Step, Steps int
	Update      int
	Warm        bool               // the window was of the warm-up: the returns are of bots
	Episodes    int                // that ended in the window with only the team's own players
	Return      []stats.Acc        // [A] over those that the agent was in
	Goals       [][]float64        // [A][goals] share of them in which the goal was reached
	None        []float64          // [A] share in which no goal was reached
	Stats       [][]agent.Stat     // [mind]
	Strangers   []StrangerScore    // of models of others, where the window was one to score them after
	Rows        []runlog.Row       // everything, for metrics.csv
	Findings    []check.Finding    // what the guards noticed in this window
	Phases      map[string]float64 // seconds
	Used        map[string]float64 // seconds of cores that were not waiting, by phase
}

// progress gathers the numbers of the last window. Returns are true returns of
// episodes in which nobody's place was taken by a stand-in.
func (s *SelfPlay) progress(learnt [][]agent.Stat) *Progress {
	seats, goals := s.spec.Seats, len(s.spec.Goals)
	p := &Progress{
		Step: s.step, Steps: s.cfg.Steps, Update: s.update, Warm: s.cfg.Warm.Covers(s.update - 1),
		Stats: learnt, Phases: s.phases, Used: s.used,
		Return: make([]stats.Acc, seats), Goals: make([][]float64, seats), None: make([]float64, seats),
	}
	life := make([]stats.Acc, seats)
	var length, mean stats.Acc
	for a := range p.Goals {
		p.Goals[a] = make([]float64, goals)
	}
	for _, ep := range s.envs.Episodes() {
		if ep.Mixed || s.done() {
			continue
		}
		p.Episodes++
		length.Add(float64(ep.Steps))
		sum, here := 0., 0
		for a := range seats {
			if ep.Life[a] == 0 { // not in the episode: absent is not zero
				continue
			}
			p.Return[a].Add(ep.Return[a])
			life[a].Add(float64(ep.Life[a]))
			sum, here = sum+ep.Return[a], here+1
			if g := ep.Goal[a]; g != game.NoGoal {
				p.Goals[a][g]++
			} else {
				p.None[a]++
			}
		}
		mean.Add(sum / float64(here))
	}
	add := func(name string, agent int, value float64, n int) {
		p.Rows = append(p.Rows, runlog.Row{Step: int64(s.step), Name: name, Agent: agent, Value: value, N: n})
	}
	if n := p.Episodes; n > 0 {
		add("return/mean", -1, mean.Mean(), n)
		add("episode/steps", -1, length.Mean(), n)
		for a := range seats {
			n := p.Return[a].N()
			if n == 0 {
				continue
			}
			add("return", a, p.Return[a].Mean(), n)
			add("life", a, life[a].Mean(), n)
			for g := range goals {
				p.Goals[a][g] /= float64(n)
				add("goal/"+s.spec.Goals[g], a, p.Goals[a][g], n)
			}
			if p.None[a] /= float64(n); goals > 0 {
				add("goal/none", a, p.None[a], n)
			}
		}
		s.byKind(p, add)
		const memory = 0.9 // of the score that chooses the best checkpoint
		if !s.scored {
			s.score, s.scored = mean.Mean(), true
		}
		s.score = memory*s.score + (1-memory)*mean.Mean()
	}
	if s.imagine != nil {
		for _, st := range s.imagine.Stats() {
			add(st.Name, -1, st.Value, st.N)
		}
	}
	for _, b := range s.buffers(learnt) {
		add(b.Name, b.Agent, b.Value, b.N)
	}
	for i, list := range learnt {
		m := s.minds[i]
		who := -1
		if agents := m.Agents(); len(agents) == 1 {
			who = int(agents[0])
		}
		part := "" // several shared minds would write the same name
		if who < 0 && len(s.minds) > 1 {
			part = fmt.Sprintf("/mind%d", i)
		}
		for _, st := range list {
			add(st.Name+part, who, st.Value, st.N)
		}
		if m.counting != nil {
			c := m.counting.Counts()
			add("count/updates"+part, who, float64(c.Updates), 1)
			add("count/rows"+part, who, float64(c.Rows), 1)
		}
	}
	return p
}

// KindMetric begins the names of mean returns by kind of agent, where agents differ: then
// comes the kind, or the bot or frozen agent that plays instead.
const KindMetric = "return/kind/"

// byKind adds the mean returns of each kind of agent.
func (s *SelfPlay) byKind(p *Progress, add func(name string, agent int, value float64, n int)) {
	if s.parts.Kinds == nil {
		return
	}
	of := map[string]*stats.Acc{}
	var names []string // in the agents' order
	for a, name := range s.parts.Kinds {
		if p.Return[a].N() == 0 {
			continue
		}
		if who := s.cfg.Role(a, s.began); who != "learn" {
			name = who
		}
		if of[name] == nil {
			of[name], names = &stats.Acc{}, append(names, name)
		}
		of[name].Add(p.Return[a].Mean())
	}
	for _, name := range names {
		add(KindMetric+name, -1, of[name].Mean(), of[name].N()*p.Episodes)
	}
}
