package check

import (
	"fmt"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/stranger"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/train"
)

// Placed deals who plays which place once more, from the spec and the streams that docs/architecture.md names, and holds those
// who act against it: a learner where a learner is due, and elsewhere what the bot that is due may do.
type Placed struct {
	g      game.Game
	cfg    train.Config
	trial  int // episodes that a choice holds for
	agents int
	Who    []string       // the population
	dealt  [][]rng.Rand   // [A][N]
	team   []rng.Rand     // [N]; nil: no whole teams are dealt
	choice [][]place      // [A][N]
	begun  []int          // [N] episodes
	bots   map[string]bot // by name

	Shown bool // bots are shown in this window
	Steps int  // env steps before it

	rows, wrong int
	first       string
}

// place is who plays: a learner's own mind, "", or a bot's name.
type place string

// bot says how it acts; nil: it does not say, or remembers.
type bot struct {
	game.Policy
	often *Likeliest
}

// NewPlaced begins at a run's first step.
func NewPlaced(g game.Game, cfg train.Config, key rng.Key, trial int) (*Placed, error) {
	p := &Placed{g: g, cfg: cfg, trial: trial, agents: g.Spec().Seats, begun: make([]int, cfg.Envs), bots: map[string]bot{}}
	var err error
	if p.Who, err = stranger.Population(g, cfg.Standins.Who); err != nil {
		return nil, err
	}
	for a := range p.agents {
		p.dealt, p.choice = append(p.dealt, key.Child("cast", a).Rands("env", cfg.Envs)), append(p.choice, make([]place, cfg.Envs))
	}
	if cfg.Standins.Teams > 0 || cfg.Standins.Alike > 0 {
		p.team = key.Child("team").Rands("env", cfg.Envs)
	}
	return p, nil
}

// learns reports whether a place is a learner's now.
func (p *Placed) learns(a int) bool { return !p.Shown && p.role(a) == "learn" }

// role returns who plays a place in a window, but for stand-ins: as the team says, then as the last of the switches that have come.
func (p *Placed) role(a int) string {
	who := "learn"
	if len(p.cfg.Team) > 0 {
		who = p.cfg.Team[a]
	}
	for _, sw := range p.cfg.Switch {
		if sw.Agent == a && sw.At <= p.Steps {
			who = sw.To
		}
	}
	return who
}

// Begin deals the places of an episode that begins in env n.
func (p *Placed) Begin(n int) {
	if p.begun[n]++; (p.begun[n]-1)%p.trial > 0 {
		return
	}
	whole := p.team != nil && p.dealTeam(n)
	const earlier = 8 // selves that can be met
	for a := range p.agents {
		if whole && p.learns(a) {
			continue
		}
		if p.choice[a][n] = ""; len(p.Who) == 0 || !p.learns(a) {
			continue
		}
		r := &p.dealt[a][n]
		share := p.cfg.Standins.Share
		if to, over := p.cfg.Standins.ShareEnd, p.cfg.Standins.Over; to >= 0 {
			if over == 0 {
				over = p.cfg.Steps
			}
			share += (to - share) * min(float64(p.Steps)/float64(over), 1)
		}
		stands, who := r.Float64() < share, p.Who[r.IntN(len(p.Who))]
		if r.IntN(earlier); stands && who != "past" { // in an audit nobody has an earlier self yet
			p.choice[a][n] = place(who)
		}
	}
}

// dealTeam deals a whole team of stand-ins around one learner, and reports whether it does.
func (p *Placed) dealTeam(n int) bool {
	r, c := &p.team[n], p.cfg.Standins
	var learners []int
	for a := range p.agents {
		if p.learns(a) {
			learners = append(learners, a)
		}
	}
	u := r.Float64()
	if u >= c.Teams+c.Alike || len(learners) < 2 {
		return false
	}
	order := make([]int, len(learners))
	for i := range order {
		order[i] = i
	}
	shuffle(order, r)
	first, kind := r.IntN(len(learners)), 0
	if u >= c.Teams {
		kind = r.IntN(len(p.Who))
	}
	for i, at := range order {
		name := p.Who[kind]
		switch {
		case i == 0:
			name = ""
		case u < c.Teams && i > first:
			name = p.Who[1]
		case u < c.Teams:
			name = p.Who[0]
		}
		p.choice[learners[at]][n] = place(name)
	}
	return true
}

func shuffle(x []int, r *rng.Rand) {
	for i := len(x) - 1; i > 0; i-- { // Fisher and Yates, as rng promises
		j := r.IntN(i + 1)
		x[i], x[j] = x[j], x[i]
	}
}

// due returns who is to act for an agent in env n.
func (p *Placed) due(a, n int) place {
	if p.Shown {
		if (a+n/(p.agents+1))%p.agents < n%(p.agents+1) { // so many are the first bot, and which ones goes round
			return place(p.cfg.Warm.Who[0])
		}
		return place(p.cfg.Warm.Who[1])
	}
	if d := p.choice[a][n]; d != "" || p.role(a) == "learn" {
		return d
	}
	return place(p.role(a))
}

// Acts holds what was played for an agent against who was due; learner: its own mind's player did it.
func (p *Placed) Acts(st game.State, s game.Seat, a agent.ID, n int, action int32, learner bool) {
	due := p.due(int(a), n)
	p.rows++
	miss := func(format string, args ...any) {
		if p.wrong++; p.first == "" {
			p.first = fmt.Sprintf("In episode %d of env %d ", p.begun[n]-1, n) + fmt.Sprintf(format, args...)
		}
	}
	switch {
	case learner != (due == ""):
		miss("agent %d is played by %s, by the spec and the streams by %s", a, played(learner, "a bot"), played(due == "", string(due)))
		return
	case learner:
		return
	}
	b, known := p.bots[string(due)]
	if !known {
		if made, err := game.NewBot(p.g, string(due)); err == nil {
			b.Policy, _ = made.(game.Policy)
			if _, remembers := made.(game.Watcher); remembers {
				b.Policy = nil
			}
		}
		b.often = &Likeliest{}
		p.bots[string(due)] = b
	}
	if b.Policy == nil {
		return
	}
	probs := make([]float32, len(p.g.Spec().Actions))
	if b.Probs(st, s, probs); action < 0 || probs[action] <= 0 {
		miss("agent %d, who is to be %s, does what that one never does there", a, string(due))
		return
	}
	wide := make([]float64, len(probs))
	for i, q := range probs {
		wide[i] = float64(q)
	}
	b.often.Add(wide, action)
}

func played(own bool, other string) string {
	if own {
		return "its own mind"
	}
	return other
}

// Finding says what came of it.
func (p *Placed) Finding() check.Finding {
	f := check.Finding{
		Step: 3, Check: "places are played by whom the spec says", Module: "rollout", Unit: "share of rows", Rows: p.rows,
		Says: "Learners, stand-ins, teams of them and bots that are shown, dealt once more, are those who played.",
	}
	const next = "train: Config.Role, dealing.draw, teams.deal, shown.isFirst, and who is hired for a name (SelfPlay.play)"
	if p.wrong > 0 {
		f.Accuse(check.Fault, float64(p.wrong)/float64(p.rows), fmt.Sprintf("%s (%d of %d rows).", p.first, p.wrong, p.rows), next)
		return f
	}
	for name, b := range p.bots {
		if z := b.often.Off(); z > 6 || z < -6 {
			f.Accuse(check.Fault, z, fmt.Sprintf("Whoever plays %s does what that one does likeliest %.1f standard deviations too often.",
				name, z), next)
		}
	}
	return f
}
