package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/npz"
	"github.com/hop-marl/hop/num/rng"
)

// recording is a run in the making: what hop.Recorder would write of three agents that
// learn as they should. Tests change it and write it.
type recording struct {
	names                           []string
	steps                           int
	episode, env, actions, open     []int64
	rewards, obs, next              []float32
	dones, truncated, alive, legal  []bool
	nets                            []record.Network
	upLearner, upNumber, upAt       []int64
	rate, gradient, change, outside []float64
	logits, probs                   []float32
	policyRow                       []int64
	learn                           []drill
	moaRow, moaOf                   []int64
	moa                             []float32
	worldRow                        []int64
	world                           []float32
	worldReward                     []float32
	seed                            []int64           // that resets were given; nil: none
	without                         string            // arrays to leave out, between commas
	taken                           map[int64]float64 // the probability of a row's action when it was taken
	deal                            func(a int) int
}

// drill is a batch in the making.
type drill struct {
	who   int
	at    int64
	row   []int64
	kind  []int64
	cols  map[string][]float64
	gamma float64
	steps bool // returns of some steps, without lambda
}

const (
	actions  = 4
	obsWidth = 6
	gamma    = 0.9
	lambda   = 0.8
)

// value is what a state is worth to the critic of the made-up run.
func value(obs []float32) float64 { return 0.3*float64(obs[2]) + 0.1*float64(obs[3]) }

// made makes a run of made-up play: agents that look different, leave with a reward or
// are cut off after eight steps, two copies of the environment.
func made(t testing.TB, agents, episodes int) *recording {
	t.Helper()
	r := rng.New(7).Rand()
	m := &recording{taken: map[int64]float64{}}
	for a := range agents {
		m.names = append(m.names, fmt.Sprintf("agent_%d", a))
	}
	for e := range episodes {
		in := make([]bool, agents)
		for a := range in {
			in[a] = true
		}
		see := func(a, at int) []float32 {
			return []float32{float32(a), float32(at), float32(r.Float64()), float32(r.Float64()), float32(r.Float64()), 1}
		}
		now := make([][]float32, agents)
		for a := range now {
			now[a] = see(a, 0)
		}
		for at := range 8 {
			left := 0
			m.episode, m.env, m.open = append(m.episode, int64(e)), append(m.env, int64(2*e/episodes)), append(m.open, 0)
			then := make([][]float32, agents)
			for a := range agents {
				row := int64(m.steps*agents + a)
				then[a] = see(a, at+1)
				m.obs, m.next = append(m.obs, now[a]...), append(m.next, then[a]...)
				m.alive = append(m.alive, in[a])
				closed := r.IntN(actions)
				for k := range actions {
					m.legal = append(m.legal, k != closed)
				}
				if !in[a] {
					m.actions, m.rewards = append(m.actions, -1), append(m.rewards, 0)
					m.dones, m.truncated = append(m.dones, false), append(m.truncated, false)
					continue
				}
				x, p, sum := make([]float32, actions), make([]float64, actions), 0.
				for k := range actions {
					x[k] = float32(2 * (r.Float64() - 0.5))
					if k != closed {
						p[k] = math.Exp(float64(x[k]))
						sum += p[k]
					}
				}
				u, act := r.Float64()*sum, -1
				for k := range actions {
					if p[k] /= sum; u >= 0 && p[k] > 0 {
						act, u = k, u-p[k]*sum
					}
					m.probs = append(m.probs, float32(p[k]))
				}
				m.logits, m.policyRow = append(m.logits, x...), append(m.policyRow, row)
				exit := r.Float64() < 0.12
				reward := float32(0)
				if exit {
					reward = float32(1 + r.IntN(3))
				} else if r.Float64() < 0.3 {
					reward = float32(r.Float64())
				}
				m.taken[row] = p[act]
				m.actions, m.rewards = append(m.actions, int64(act)), append(m.rewards, reward)
				m.dones, m.truncated = append(m.dones, exit), append(m.truncated, !exit && at == 7)
				if in[a] = !exit; !exit {
					left++
				}
			}
			now = then
			m.steps++
			if left == 0 {
				break
			}
		}
	}
	m.learners()
	m.learning()
	m.models(&r)
	return m
}

// learners makes networks of their own, watched through six updates.
func (m *recording) learners() {
	for i, name := range m.names {
		n := record.Network{Agents: []string{name}, Part: "ppo", Steps: 6, FirstAt: 20, LastAt: 120, Compared: 5, Strange: []string{}}
		for k, p := range []string{"trunk.weight", "actor.weight", "critic.weight"} {
			n.Parameters = append(n.Parameters, record.Parameter{Name: p, Shape: []int{2, 2}, Held: true, Storage: 3*i + k,
				First: uint32(100*i + k + 1)})
		}
		m.nets = append(m.nets, n)
		for u := range 6 {
			m.upLearner, m.upNumber, m.upAt = append(m.upLearner, int64(i)), append(m.upNumber, int64(u)), append(m.upAt, int64(20*(u+1)))
			for range 3 {
				m.rate, m.gradient = append(m.rate, 1e-3), append(m.gradient, 0.5)
				m.change, m.outside = append(m.change, 0.01), append(m.outside, 0)
			}
		}
	}
}

func (m *recording) agents() int { return len(m.names) }

// rowsOf lists the rows of an agent's life.
func (m *recording) rowsOf(a int) (rows []int64) {
	for t := range m.steps {
		if row := t*m.agents() + a; m.alive[row] {
			rows = append(rows, int64(row))
		}
	}
	return rows
}

// chance is the probability of a row's action when it was taken.
func (m *recording) chance(row int64) float64 { return m.taken[row] }

// learning makes three updates of every agent from its own rows.
func (m *recording) learning() {
	m.learn = nil
	for a := range m.agents() {
		of := a
		if m.deal != nil {
			of = m.deal(a)
		}
		rows := m.rowsOf(of)
		for k := range 3 {
			m.learn = append(m.learn, m.drill(a, int64(k+1), rows[k*len(rows)/3:(k+1)*len(rows)/3]))
		}
	}
}

// drill is an update from rows, with everything computed as it should be.
func (m *recording) drill(who int, at int64, rows []int64) drill {
	k := int64(m.agents())
	l := drill{who: who, at: at, row: rows, kind: make([]int64, len(rows)), cols: map[string][]float64{}, gamma: gamma}
	n := len(rows)
	adv, last := make([]float64, n), 0.
	for i := n - 1; i >= 0; i-- {
		row := rows[i]
		v, r := value(m.obs[row*obsWidth:(row+1)*obsWidth]), float64(m.rewards[row])
		then := value(m.next[row*obsWidth : (row+1)*obsWidth])
		if i == n-1 || rows[i+1] != row+k {
			last = 0 // a cut, an exit, or the end of the window
		}
		if m.dones[row] {
			then = 0
		}
		adv[i] = r + gamma*then - v + gamma*lambda*last
		last = adv[i]
		if m.dones[row] || m.truncated[row] {
			adv[i], last = r+gamma*then-v, r+gamma*then-v
		}
	}
	for i, row := range rows {
		v := value(m.obs[row*obsWidth : (row+1)*obsWidth])
		p := math.Log(m.chance(row))
		done := 0.
		if m.dones[row] || m.truncated[row] {
			done = 1
		}
		for name, x := range map[string]float64{"actions": float64(m.actions[row]), "rewards": float64(m.rewards[row]), "dones": done,
			"values":   v,
			"logprobs": p, "new_logprobs": p, "advantages": adv[i], "returns": adv[i] + v,
			"after_logprobs": p + 0.01*adv[i], "after_values": v + 0.1*adv[i]} {
			l.cols[name] = append(l.cols[name], x)
		}
	}
	return l
}

// models makes a good model of agent 1 and a good world model, both of agent 0.
func (m *recording) models(r *rng.Rand) {
	k := m.agents()
	for t := range m.steps {
		me, mate := t*k, t*k+1
		if m.alive[me] && k > 1 && m.alive[mate] {
			p := []float32{0.1, 0.1, 0.1, 0.1}
			p[m.actions[mate]] = 0.7
			m.moaRow, m.moaOf, m.moa = append(m.moaRow, int64(me)), append(m.moaOf, 1), append(m.moa, p...)
		}
		if m.alive[me] {
			m.worldRow, m.worldReward = append(m.worldRow, int64(me)), append(m.worldReward, m.rewards[me])
			for i := range obsWidth {
				m.world = append(m.world, m.next[me*obsWidth+i]+float32(0.05*r.Float64()))
			}
		}
	}
}

// arrays returns the run as hop.Recorder writes it.
func (m *recording) arrays(t testing.TB) []npz.Array {
	text := func(x any) []uint8 {
		b, err := json.Marshal(x)
		must(t, err)
		return b
	}
	ta := func(more ...int) []int { return append([]int{m.steps, m.agents()}, more...) }
	all := []npz.Array{
		{Name: "names", Data: []uint8(strings.Join(m.names, ","))}, {Name: "episode", Data: m.episode},
		{Name: "env", Data: m.env}, {Name: "open", Data: m.open},
		{Name: "actions", Shape: ta(), Data: m.actions}, {Name: "rewards", Shape: ta(), Data: m.rewards},
		{Name: "dones", Shape: ta(), Data: m.dones}, {Name: "truncated", Shape: ta(), Data: m.truncated},
		{Name: "alive", Shape: ta(), Data: m.alive}, {Name: "legal", Shape: ta(actions), Data: m.legal},
		{Name: "obs", Shape: ta(obsWidth), Data: m.obs}, {Name: "next_obs", Shape: ta(obsWidth), Data: m.next},
		{Name: "learners", Data: text(m.nets)},
		{Name: "updates/learner", Data: m.upLearner}, {Name: "updates/number", Data: m.upNumber}, {Name: "updates/at", Data: m.upAt},
		{Name: "updates/rate", Data: m.rate}, {Name: "updates/gradient", Data: m.gradient}, {Name: "updates/change", Data: m.change},
		{Name: "updates/outside", Data: m.outside},
		{Name: "policy/row", Data: m.policyRow},
		{Name: "policy/logits", Shape: []int{len(m.policyRow), actions}, Data: m.logits},
		{Name: "policy/probs", Shape: []int{len(m.policyRow), actions}, Data: m.probs},
		{Name: "moa/row", Data: m.moaRow}, {Name: "moa/of", Data: m.moaOf}, {Name: "moa/probs", Shape: []int{len(m.moaRow), actions},
			Data: m.moa},
		{Name: "world/row", Data: m.worldRow}, {Name: "world/next", Shape: []int{len(m.worldRow), obsWidth}, Data: m.world},
		{Name: "world/reward", Data: m.worldReward},
	}
	if m.seed != nil {
		all = append(all, npz.Array{Name: "seed", Data: m.seed})
	}
	var who, size, at, row, kind []int64
	var sure []bool
	var gammas, lambdas []float64
	cols := map[string][]float64{}
	var whose [][]string
	for _, n := range m.names {
		whose = append(whose, []string{n})
	}
	for _, l := range m.learn {
		who, size, at = append(who, int64(l.who)), append(size, int64(len(l.row))), append(at, l.at)
		gammas, lambdas = append(gammas, l.gamma), append(lambdas, lambda)
		if l.steps {
			lambdas[len(lambdas)-1] = math.NaN()
		}
		row, kind = append(row, l.row...), append(kind, l.kind...)
		for range l.row {
			sure = append(sure, true)
		}
		for _, c := range record.BatchColumns {
			x := l.cols[c]
			if x == nil {
				x = make([]float64, len(l.row))
				for i := range x {
					x[i] = math.NaN()
				}
			}
			cols[c] = append(cols[c], x...)
		}
	}
	all = append(all, npz.Array{Name: "learn/agents", Data: text(whose)}, npz.Array{Name: "learn/learner", Data: who},
		npz.Array{Name: "learn/size", Data: size}, npz.Array{Name: "learn/at", Data: at}, npz.Array{Name: "learn/gamma", Data: gammas},
		npz.Array{Name: "learn/lambda", Data: lambdas}, npz.Array{Name: "learn/row", Data: row}, npz.Array{Name: "learn/kind", Data: kind},
		npz.Array{Name: "learn/sure", Data: sure})
	for _, c := range record.BatchColumns {
		all = append(all, npz.Array{Name: "learn/" + c, Data: cols[c]})
	}
	kept := all[:0]
	for _, a := range all {
		if a.Shape == nil {
			a.Shape = []int{length(a.Data)}
		}
		if !strings.Contains(","+m.without+",", ","+a.Name+",") && !(strings.HasPrefix(a.Name, "learn/") && strings.Contains(m.without,
			"learn/*")) {
			kept = append(kept, a)
		}
	}
	return kept
}

func length(data any) int {
	return reflect.ValueOf(data).Len()
}

// asked writes the run, reads it and audits it.
func asked(t testing.TB, arrays []npz.Array) (*check.Report, error) {
	t.Helper()
	var b bytes.Buffer
	must(t, npz.Write(&b, arrays))
	d, err := record.Read(bytes.NewReader(b.Bytes()), int64(b.Len()), "run.npz")
	if err != nil {
		return nil, err
	}
	return Recorded("test", []*record.Trajectories{d})
}

// A faithful recording passes, whatever it leaves out, and what it leaves out is said.
func TestFaithfulRecordingsPass(t *testing.T) {
	for _, c := range []struct{ without, says string }{
		{"", ""},
		{"policy/row,policy/logits,policy/probs", "rec.policy("},
		{"learners,updates/learner,updates/number,updates/at,updates/rate,updates/gradient,updates/change,updates/outside", "rec.learner("},
		{"learn/*", "rec.batch("},
		{"moa/row,moa/of,moa/probs,world/row,world/next,world/reward", "rec.predictions("},
		{"learn/after_logprobs,learn/after_values", "rec.learnt("},
		{"legal", "Masks are not recorded"},
	} {
		m := made(t, 3, 60)
		m.without = c.without
		r, err := asked(t, m.arrays(t))
		must(t, err)
		said := ""
		for _, f := range r.Findings {
			if f.Status > check.Pass {
				t.Errorf("without %q: %s: %s %s", c.without, f.Check, f.Status, f.Says)
			}
			if f.Says == "" {
				t.Errorf("without %q: %s says nothing", c.without, f.Check)
			}
			if f.Status == check.NotAsked {
				said += f.Says
			}
		}
		if !strings.Contains(said, c.says) {
			t.Errorf("without %q: what to record is not said: %s", c.without, said)
		}
		if c.without == "" && r.Asked() < 35 {
			t.Errorf("%d questions were asked of a whole recording, want at least 35", r.Asked())
		}
	}
}

// edit changes a column of all learning, row by row.
func edit(name string, change func(m *recording, l *drill, i int) float64) func(*recording) {
	return func(m *recording) {
		for k := range m.learn {
			l := &m.learn[k]
			x := make([]float64, len(l.row))
			for i := range x {
				x[i] = change(m, l, i)
			}
			l.cols[name] = x
		}
	}
}

// shift returns the row of the same agent some steps away in the same drill, -1 if it is
// of another episode.
func (m *recording) shift(l *drill, i, by int) int64 {
	row := l.row[i] + int64(by*m.agents())
	if t := row / int64(m.agents()); row < 0 || int(t) >= m.steps || m.episode[t] != m.episode[l.row[i]/int64(m.agents())] || !m.alive[row] {
		return -1
	}
	return row
}

// again computes advantages again with something else added to the reward where the next
// value and advantage would be; NaN: as it should be.
func (m *recording) again(then func(l *drill, i int) float64) {
	for k := range m.learn {
		l := &m.learn[k]
		for i := len(l.row) - 1; i >= 0; i-- {
			row := l.row[i]
			add := then(l, i)
			if math.IsNaN(add) {
				if m.dones[row] || m.truncated[row] || i+1 == len(l.row) || m.shift(l, i, 1) != l.row[i+1] {
					continue
				}
				add = gamma*l.cols["values"][i+1] + gamma*lambda*l.cols["advantages"][i+1]
			}
			l.cols["advantages"][i] = float64(m.rewards[row]) - l.cols["values"][i] + add
		}
	}
	m.without = "learn/returns"
}

func twice(m *recording) {
	for i := range m.policyRow {
		p := m.probs[i*actions : (i+1)*actions]
		once := append([]float32{}, p...)
		sum := float32(0)
		for k := range p {
			if p[k] = 0; m.legal[int(m.policyRow[i])*actions+k] {
				p[k] = float32(math.Exp(float64(once[k])))
				sum += p[k]
			}
		}
		for k := range p {
			p[k] /= sum
		}
		copy(m.logits[i*actions:], once)
	}
}

// begin gives every episode a seed, -1 for none, and all of them one start if they are alike.
func (m *recording) begin(alike bool, seed func(episode int64) int64) {
	n := m.agents() * obsWidth
	for t, e := range m.episode {
		m.seed = append(m.seed, seed(e))
		if alike && (t == 0 || m.episode[t-1] != e) {
			copy(m.obs[t*n:(t+1)*n], m.obs[:n])
		}
	}
}

// windows deals every agent's rows to so many updates.
func (m *recording) windows(n int) {
	m.learn = nil
	for a := range m.agents() {
		rows := m.rowsOf(a)
		for k := range n {
			m.learn = append(m.learn, m.drill(a, int64(k+1), rows[k*len(rows)/n:(k+1)*len(rows)/n]))
		}
	}
}

// normalise hands in rows by their indices, with observations that nobody had.
func normalise(m *recording) {
	for _, l := range m.learn {
		for i := range l.kind {
			l.kind[i] = record.Other
		}
	}
}

// random replaces every other action by one that is drawn from all that are allowed.
func random(m *recording) {
	r := rng.New(3).Rand()
	for row, act := range m.actions {
		if act < 0 || row%2 == 0 {
			continue
		}
		for m.actions[row] = int64(r.IntN(actions)); !m.legal[row*actions+int(m.actions[row])]; {
			m.actions[row] = int64(r.IntN(actions))
		}
	}
}

// Bets against the policy come to a hundred times their stake in less than one healthy run of a hundred.
func TestBetsAreFair(t *testing.T) {
	r := rng.New(5).Rand()
	const runs = 3000
	won := 0
	for range runs {
		var b bets
		for range 200 {
			p, sum := make([]float32, 3), float32(0)
			for k := range p {
				p[k] = float32(math.Exp(6 * r.Float64())) // some are very unlikely
				sum += p[k]
			}
			act, u := 0, float32(r.Float64())*sum
			for k := range p {
				if u -= p[k]; u < 0 {
					act = k
					break
				}
			}
			for k := range p {
				p[k] /= sum
			}
			b.add(p, nil, act)
		}
		all := 0.
		for _, x := range b {
			all += math.Exp(x) / float64(len(b))
		}
		won += one(all > 100)
	}
	if won > runs/100 {
		t.Errorf("%d of %d healthy runs win a hundred times the stake", won, runs)
	}
}

// schedule makes the agents' updates anew: so many steps of each agent's optimiser at each of eight updates, at a rate.
func (m *recording) schedule(steps func(a, update int) int, rate func(a, update, number int) float64) {
	m.upLearner, m.upNumber, m.upAt, m.rate, m.gradient, m.change, m.outside = nil, nil, nil, nil, nil, nil, nil
	for a := range m.nets {
		n := 0
		for u := range 8 {
			for range steps(a, u) {
				m.upLearner, m.upNumber, m.upAt = append(m.upLearner, int64(a)), append(m.upNumber, int64(n)), append(m.upAt, int64(20*(u+1)))
				for range 3 {
					m.rate, m.gradient = append(m.rate, rate(a, u, n)), append(m.gradient, 0.5)
					m.change, m.outside = append(m.change, 0.01), append(m.outside, 0)
				}
				n++
			}
		}
		m.nets[a].Steps, m.nets[a].Compared = n, n-1
	}
}

// Rates are compared where they belong together: agents that make different numbers of steps may anneal together, and
// the one whose rate is another is named.
func TestRatesAreComparedLikeWithLike(t *testing.T) {
	steps := func(a, u int) int { return 4 + (a+u)%2 + a }
	total := []float64{0, 0, 0}
	for a := range total {
		for u := range 8 {
			total[a] += float64(steps(a, u))
		}
	}
	byUpdate := func(_, u, _ int) float64 { return 1e-3 * (1 - float64(u)/8) }
	for _, c := range []struct {
		name string
		rate func(a, update, number int) float64
		who  []int
	}{
		{"by updates", byUpdate, nil},
		{"by own steps", func(_, _, n int) float64 { return 1e-3 * math.Pow(0.95, float64(n)) }, nil},
		{"by the share of own steps", func(a, _, n int) float64 { return 1e-3 * (1 - float64(n)/total[a]) }, nil},
		{"to 0 at the end", func(_, u, _ int) float64 { return 1e-3 * (1 - float64(u)/7) }, nil},
		{"one at a hundredth", func(a, u, n int) float64 {
			if a == 2 {
				return byUpdate(a, u, n) / 100
			}
			return byUpdate(a, u, n)
		}, []int{2}},
		{"one that is not annealed", func(a, u, n int) float64 {
			if a == 1 {
				return 1e-3
			}
			return byUpdate(a, u, n)
		}, []int{1}},
		{"one that is annealed three times as fast", func(a, u, _ int) float64 {
			return 1e-3 * math.Pow(0.9, float64(u+2*u*one(a == 0)))
		}, []int{0}},
	} {
		m := made(t, 3, 20)
		m.schedule(steps, c.rate)
		r, err := asked(t, m.arrays(t))
		must(t, err)
		for _, f := range r.Findings {
			if f.Check != "rates and gradients" {
				continue
			}
			if accused := f.Status > check.Pass; accused != (c.who != nil) || accused && !slices.Equal(f.Who, c.who) {
				t.Errorf("%s: got %s of %v, %q; want %v", c.name, f.Status, f.Who, f.Says, c.who)
			}
		}
	}
}

// What one run's agents earn tells something only if they cannot have learnt to differ, and scripts are not compared.
func TestEarningsOfLearners(t *testing.T) {
	net := func(width int, agents ...string) record.Network {
		return record.Network{Agents: agents, Part: "ppo", Steps: 6, FirstAt: 20, LastAt: 120, Compared: 5, Strange: []string{},
			Parameters: []record.Parameter{{Name: "trunk.weight", Shape: []int{8, width}, Held: true}}}
	}
	for _, c := range []struct {
		name  string
		nets  []record.Network
		shows bool // who one is
		want  check.Status
	}{
		{"networks of their own", nil, true, check.Note},
		{"one network", []record.Network{net(obsWidth, "agent_0", "agent_1", "agent_2")}, false, check.Suspect},
		{"one network that sees who one is", []record.Network{net(obsWidth, "agent_0", "agent_1", "agent_2")}, true, check.Note},
		{"one network that is told who one is", []record.Network{net(obsWidth+3, "agent_0", "agent_1", "agent_2")}, false, check.Note},
		{"two scripts", []record.Network{net(obsWidth, "agent_0")}, true, check.NotAsked},
	} {
		m := made(t, 3, 60)
		for i := range m.rewards {
			if m.alive[i] && i%3 == 0 {
				m.rewards[i] += 2
			}
			if !c.shows {
				m.obs[i*obsWidth] = 0
			}
		}
		if c.nets != nil {
			m.nets = c.nets
			m.without = "learn/*,updates/learner,updates/number,updates/at,updates/rate,updates/gradient,updates/change,updates/outside"
		}
		r, err := asked(t, m.arrays(t))
		must(t, err)
		if f := r.Findings[0]; f.Status != c.want {
			t.Errorf("%s: got %s, %q, want %s", c.name, f.Status, f.Says, c.want)
		}
	}
}

// A script that plays one action is none that fails to learn.
func TestScriptsMayPlayOneAction(t *testing.T) {
	m := made(t, 3, 60)
	for i := range m.actions {
		if m.alive[i] && i%3 == 2 {
			m.actions[i] = 1
		}
	}
	m.nets = m.nets[:2]
	m.without = "learn/*,legal,policy/row,policy/logits,policy/probs,updates/learner,updates/number,updates/at,updates/rate," +
		"updates/gradient,updates/change,updates/outside"
	r, err := asked(t, m.arrays(t))
	must(t, err)
	for _, f := range r.Findings {
		if f.Check == "actions" && f.Status != check.Pass {
			t.Errorf("got %s, %q", f.Status, f.Says)
		}
	}
}

// What could not be asked says why, names the run's own agents, and names only what is missing.
func TestWhatIsMissingIsSaid(t *testing.T) {
	m := made(t, 3, 60)
	full := func(terms string) []npz.Array {
		list := m.arrays(t)
		for _, a := range m.minis(nil) {
			if !strings.HasPrefix(a.Name, "mini/loss_") || strings.Contains(terms, a.Name[len("mini/loss_"):]) {
				list = append(list, a)
			}
		}
		return list
	}
	const models = "moa/row,moa/of,moa/probs,world/row,world/next,world/reward"
	for _, c := range []struct {
		without, terms string
		says, never    string
	}{
		{"", "policy value entropy", "hand total to rec.loss", "The loss is not recorded"},
		{"", "policy entropy total", "without rec.loss(..., value=...).", "rec.minibatch(..., values=...)"},
		{"policy/row,policy/logits,policy/probs", "total", `rec.policy("eater_0"`, "Masks are not recorded"},
		{"legal", "total", "Masks are not recorded: the environment gives none", "rec.policy("},
		{"legal,policy/row,policy/logits,policy/probs", "total", "Masks are not recorded: the environment gives none", "env.step. Masks"},
		{"learn/values", "total", "hand values to rec.batch", "hand gamma"},
		{"learn/logprobs", "total", "hold no logprobs", "hold no new_logprobs"},
		{"learn/logprobs", "total", "hold no logprobs", "rec.learnt("},
		{"learn/after_logprobs,learn/after_values", "total", `rec.learnt("eater_0"`, "hold no"},
		{models, "total", "is not recorded: seats, joint actions beside planes, labels, goals, a model of others and a world model",
			"Labels are"},
		{"", "total", "is not recorded: seats, joint actions beside planes, labels and goals", "a world model"},
		{"learners,updates/learner,updates/number,updates/at,updates/rate,updates/gradient,updates/change,updates/outside", "total",
			`rec.learner("eater_0"`, "agent_0"},
	} {
		m.names, m.without = []string{"eater_0", "eater_1", "eater_2"}, c.without
		for i := range m.nets {
			m.nets[i].Agents = []string{m.names[i]}
		}
		r, err := asked(t, full(c.terms))
		must(t, err)
		said := ""
		for _, f := range r.Findings {
			if f.Status == check.NotAsked {
				said += f.Says + "\n"
			}
		}
		if !strings.Contains(said, c.says) || strings.Contains(said, c.never) || strings.Contains(said, "agent_") {
			t.Errorf("without %q: got %s, want %q and never %q", c.without, said, c.says, c.never)
		}
	}
}

// What is not asked does not read like what was passed.
func TestNothingPassesInNoRows(t *testing.T) {
	m := made(t, 1, 60) // of one agent much cannot be asked
	m.moaRow, m.moaOf, m.moa, m.without = nil, nil, nil, "moa/row,moa/of,moa/probs"
	for k := range m.learn {
		m.learn[k].row = m.learn[k].row[:1] // nothing comes next in a batch
		m.learn[k].kind = m.learn[k].kind[:1]
		for name, x := range m.learn[k].cols {
			m.learn[k].cols[name] = x[:1]
		}
	}
	for i := range m.nets {
		m.nets[i].Compared = 0
	}
	m.upLearner, m.upNumber, m.upAt = m.upLearner[:1], m.upNumber[:1], m.upAt[:1]
	m.rate, m.gradient, m.change, m.outside = m.rate[:3], m.gradient[:3], m.change[:3], m.outside[:3]
	r, err := asked(t, append(m.arrays(t), m.minis(nil)...))
	must(t, err)
	for _, f := range r.Findings {
		if f.Status == check.NotAsked && (strings.Contains(f.Says, "in 0 ") || strings.Contains(f.Says, " 0 times")) {
			t.Errorf("%s is not asked and says %q", f.Check, f.Says)
		}
	}
}

// What is rounded to half precision is off by as much, and no fault.
func TestHalfPrecisionIsNotAFault(t *testing.T) {
	for _, bits := range []int{7, 10} { // bfloat16, float16
		m := made(t, 3, 60)
		for k := range m.learn {
			l := &m.learn[k]
			half := func(x float64) float64 {
				frac, exp := math.Frexp(x)
				return math.Ldexp(math.Round(math.Ldexp(frac, bits+1)), exp-bits-1)
			}
			for i := len(l.row) - 1; i >= 0; i-- { // values far from 0, by which advantages are small differences of large numbers
				l.cols["values"][i] = half(l.cols["values"][i] + 40)
				next, row := 0., l.row[i]
				if !m.dones[row] && !m.truncated[row] && i+1 < len(l.row) {
					next = gamma*l.cols["values"][i+1] + gamma*lambda*l.cols["advantages"][i+1]
				} else if !m.dones[row] {
					next = gamma * 40
				}
				l.cols["advantages"][i] = half(l.cols["rewards"][i] + next - l.cols["values"][i])
				l.cols["returns"][i] = half(l.cols["advantages"][i] + l.cols["values"][i])
			}
		}
		r, err := asked(t, m.arrays(t))
		must(t, err)
		for _, f := range r.Findings {
			if (f.Check == "advantages" || f.Check == "returns") && f.Status != check.Pass {
				t.Errorf("%d bits: %s: %s %s", bits, f.Check, f.Status, f.Says)
			}
		}
	}
}

// Every fault is found by its question, in the right module.
func TestFaultsOfLearnersAreFound(t *testing.T) {
	for _, c := range []struct {
		name          string
		agents        int
		plant         func(m *recording)
		check, module string
		want          check.Status
		says          string
	}{
		{"one network for all", 3, func(m *recording) {
			for i := range m.nets {
				m.nets[i].Parameters = m.nets[0].Parameters
			}
		}, "networks of their own", "spec", check.Fault, "agent_0, agent_1 and agent_2 share one network"},
		{"a shared trunk", 3, func(m *recording) { m.nets[2].Parameters[0].Storage = 0 }, "networks of their own", "spec", check.Suspect,
			"agent_0 and agent_2 share some tensors: trunk.weight"},
		{"the same first weights", 3, func(m *recording) {
			for k := range 3 {
				m.nets[1].Parameters[k].First = m.nets[0].Parameters[k].First
			}
		}, "networks start apart", "spec", check.Suspect, "agent_0 and agent_1 began with the very same weights"},
		{"a head that nobody holds", 3, func(m *recording) { m.nets[1].Parameters[2].Held = false }, "the optimiser holds every parameter", "ppo",
			check.Fault, "of agent_1 does not hold critic.weight: 1 of 3"},
		{"another agent's parameters", 3, func(m *recording) { m.nets[1].Strange = []string{"agent_0: actor.weight"} },
			"the optimiser holds every parameter", "ppo", check.Fault, "holds what is another agent's"},
		{"a layer that was replaced", 3, func(m *recording) { m.nets[1].Parameters[1].Replaced = true },
			"the optimiser holds every parameter", "ppo",
			check.Fault, "other tensors now in place of actor.weight"},
		{"a layer without gradient", 3, func(m *recording) {
			for u := range m.upLearner {
				if m.upLearner[u] == 2 {
					m.gradient[3*u+1], m.change[3*u+1] = -1, 0
				}
			}
		}, "every layer learns", "ppo", check.Fault, "of agent_2 never change actor.weight: no loss reaches it"},
		{"a gradient that is no number", 3, func(m *recording) { m.gradient[7] = math.NaN() }, "rates and gradients", "ppo", check.Fault,
			"gradient of agent_0 in actor.weight is NaN"},
		{"a rate of 0", 3, func(m *recording) {
			for i := range m.rate {
				if m.upLearner[i/3] == 1 {
					m.rate[i] = 0
				}
			}
		}, "rates and gradients", "ppo", check.Fault, "rate of agent_1 is 0"},
		{"another rate", 3, func(m *recording) { m.rate[3*6], m.rate[3*6+1], m.rate[3*6+2] = 1e-2, 1e-2, 1e-2 }, "rates and gradients", "ppo",
			check.Suspect, "agent_1 learns at a rate of 0.01, agent_0 at 0.001"},
		{"a rate that is soon 0", 3, func(m *recording) {
			for i := range m.rate {
				if u := i / 3; m.upLearner[u] == 1 && m.upNumber[u] > 1 {
					m.rate[i] = 0
				}
			}
		}, "rates and gradients", "ppo", check.Fault, "rate of agent_1 is 0 in 4 of 6"},
		{"gradients never cleared", 3, func(m *recording) { m.nets[0].Uncleared = 5 }, "gradients are cleared", "ppo", check.Fault, "5 of 5"},
		{"never updated", 3, func(m *recording) { m.nets[2].Steps, m.nets[2].FirstAt, m.nets[2].LastAt = 0, -1, -1 }, "updates by agent", "ppo",
			check.Fault, "agent_2 is never updated"},
		{"updated for a while", 3, func(m *recording) { m.nets[1].LastAt = 40 }, "updates by agent", "ppo", check.Fault,
			"agent_1 is last updated (ppo) after 40"},
		{"updated less", 3, func(m *recording) { m.nets[1].Steps = 2 }, "updates by agent", "ppo", check.Suspect, "agent_1 is updated 2 times"},
		{"weights written by something else", 3, func(m *recording) { m.outside[3] = 0.1 }, "weights change by the own optimiser only", "spec",
			check.Suspect, "Weights of agent_0"},
		{"agent 0's rows for all", 3, func(m *recording) { m.deal = func(int) int { return 0 }; m.learning() },
			"every agent learns from its own rows",
			"buffers", check.Fault, "agent_1 and agent_2 learn from agent_0's rows: 100 %"},
		{"names sorted as strings", 12, func(m *recording) {
			order := sorted(m.names)
			m.deal = func(a int) int { return order[a] }
			m.learning()
		}, "every agent learns from its own rows", "buffers", check.Fault, "Names are sorted as strings"},
		{"columns move up", 3, func(m *recording) {
			for k := range m.learn {
				l := &m.learn[k]
				for i, row := range l.row {
					t := row / 3
					if next := row + 1; row%3 < 2 && m.alive[next] && (!m.alive[t*3] || !m.alive[t*3+1]) {
						l.row[i] = next
					}
				}
			}
		}, "every agent learns from its own rows", "buffers", check.Fault, "columns move up"},
		{"rows after exit", 3, func(m *recording) {
			l := &m.learn[0]
			for i := range 5 {
				l.row[i], l.kind[i] = -1, record.Gone
			}
		}, "learnt rows after exit", "buffers", check.Fault, "agent_0 learns from rows after an exit: 5 of"},
		{"rows of the dead by number", 3, func(m *recording) {
			n := 0
			for row, alive := range m.alive {
				if !alive && n < 9 {
					m.learn[0].row[n] = int64(row)
					n++
				}
			}
		}, "learnt rows after exit", "buffers", check.Fault, "rows after an exit"},
		{"rows of zeros", 3, func(m *recording) {
			l := &m.learn[4]
			for i := range 5 {
				l.row[i], l.kind[i] = -1, record.Zeros
			}
		}, "learnt rows after exit", "buffers", check.Fault, "nothing but zeros"},
		{"agents that a wrapper keeps in the game", 3, func(m *recording) {
			for row := range m.alive { // from the fourth step on agent 1 sees nothing any more
				if t := row / 3; row%3 == 1 && t > 2 && m.episode[t-3] == m.episode[t] {
					clear(m.obs[row*obsWidth : (row+1)*obsWidth])
					m.rewards[row] = 0
				}
			}
			m.learning()
		}, "learnt rows after exit", "buffers", check.Fault, "agent_1 learns from rows after an exit"},
		{"rows that nobody played", 3, func(m *recording) {
			for i := range 20 {
				m.learn[0].row[i], m.learn[0].kind[i] = -1, record.Unseen
			}
		}, "learnt rows were played", "buffers", check.Fault, "nothing that was played"},
		{"half of an agent's rows are lost", 3, func(m *recording) { m.learn = append(m.learn[:1], m.learn[3:]...) }, "rows by agent", "buffers",
			check.Suspect, "Of the rows of agent_0 less is learnt from"},
		{"a buffer that is never emptied", 3, func(m *recording) {
			for a := range 3 {
				l := m.drill(a, 9, m.rowsOf(a))
				m.learn = append(m.learn, l)
			}
		}, "rows are learnt from once", "buffers", check.Suspect, "was learnt from before"},
		{"actions of the step before", 3, edit("actions", func(m *recording, l *drill, i int) float64 {
			return float64(m.actions[max(m.shift(l, i, -1), 0)])
		}), "learnt actions", "buffers", check.Fault, "those of the step before"},
		{"another agent's actions", 12, func(m *recording) {
			order := sorted(m.names)
			edit("actions", func(m *recording, l *drill, i int) float64 {
				if to := l.row[i] - l.row[i]%12 + int64(order[l.who]); m.alive[to] {
					return float64(m.actions[to])
				}
				return float64(m.actions[l.row[i]])
			})(m)
		}, "learnt actions", "buffers", check.Fault, "names are sorted as strings"},
		{"rewards a step late", 3, edit("rewards", func(m *recording, l *drill, i int) float64 {
			if i == 0 {
				return 0
			}
			return float64(m.rewards[l.row[i-1]])
		}), "learnt rewards", "buffers", check.Fault, "a step late"},
		{"rewards a step early", 3, edit("rewards", func(m *recording, l *drill, i int) float64 {
			if next := m.shift(l, i, 1); next >= 0 {
				return float64(m.rewards[next])
			}
			return 0
		}), "learnt rewards", "buffers", check.Fault, "a step early"},
		{"agent 2's rewards", 3, edit("rewards", func(m *recording, l *drill, i int) float64 {
			return float64(m.rewards[l.row[i]-l.row[i]%3+2])
		}), "learnt rewards", "buffers", check.Fault, "They are agent_2's"},
		{"the next agent's rewards", 3, edit("rewards", func(m *recording, l *drill, i int) float64 {
			return float64(m.rewards[l.row[i]-l.row[i]%3+(l.row[i]%3+1)%3])
		}), "learnt rewards", "buffers", check.Fault, "the next agent's"},
		{"the team's rewards", 3, edit("rewards", func(m *recording, l *drill, i int) float64 {
			t := l.row[i] / 3 * 3
			return float64(m.rewards[t]) + float64(m.rewards[t+1]) + float64(m.rewards[t+2])
		}), "learnt rewards", "buffers", check.Note, "sum of all agents'"}, // it may be meant
		{"rewards of exits are missing", 3, edit("rewards", func(m *recording, l *drill, i int) float64 {
			if m.dones[l.row[i]] {
				return 0
			}
			return float64(m.rewards[l.row[i]])
		}), "learnt rewards", "buffers", check.Fault, "with which an agent leaves are missing"},
		{"no ends", 3, edit("dones", func(*recording, *drill, int) float64 { return 0 }), "learnt ends", "buffers", check.Fault,
			"No end is marked"},
		{"ends of episodes", 3, edit("dones", func(m *recording, l *drill, i int) float64 {
			if t := l.row[i] / 3; int(t)+1 == m.steps || m.episode[t+1] != m.episode[t] {
				return 1
			}
			return 0
		}), "learnt ends", "buffers", check.Fault, "ends of the whole episode"},
		{"copies seeded alike", 3, func(m *recording) {
			first := map[int64]int{}
			for t, e := range m.episode {
				if _, known := first[e]; !known {
					first[e] = t
				}
			}
			for e := range int64(30) {
				copy(m.obs[first[e+30]*3*obsWidth:(first[e+30]+1)*3*obsWidth], m.obs[first[e]*3*obsWidth:])
			}
		}, "copies start apart", "rollout", check.Fault, "begin alike: 30 of 30"},
		{"one seed for all episodes", 3, func(m *recording) { m.begin(true, func(int64) int64 { return 0 }) }, "seeds of episodes", "rollout",
			check.Suspect, "58 of 60 episodes are reset with a seed that their copy of the environment had before"},
		{"one seed for all episodes, which start apart", 3, func(m *recording) { m.begin(false, func(int64) int64 { return 0 }) },
			"seeds of episodes", "rollout", check.Pass, "do not start alike"},
		{"a seed for every episode", 3, func(m *recording) { m.begin(true, func(e int64) int64 { return e }) }, "seeds of episodes", "rollout",
			check.Pass, "do not start alike"},
		{"a seed at first", 3, func(m *recording) {
			m.begin(true, func(e int64) int64 { return min(0, 0-min(e, 1)) })
		}, "seeds of episodes", "rollout", check.Pass, "do not start alike"},
		{"no seeds", 3, func(*recording) {}, "seeds of episodes", "rollout", check.NotAsked, "No reset was given a seed"},
		{"softmax twice", 3, twice, "the policy is the network's", "ppo", check.Fault, "A softmax is applied twice"},
		{"a temperature", 3, func(m *recording) {
			for i := range m.logits {
				m.logits[i] *= 3
			}
		}, "the policy is the network's", "ppo", check.Suspect, "does not follow from the network's outputs"},
		{"masks ignored", 3, func(m *recording) {
			for i := range m.policyRow {
				p := distribution(m.logits[i*actions:(i+1)*actions], nil)
				for k := range p {
					m.probs[i*actions+k] = float32(p[k])
				}
			}
		}, "the policy keeps to masks", "ppo", check.Fault, "that the mask forbids"},
		{"another agent's actions are played", 3, func(m *recording) {
			for t := range m.steps {
				if m.alive[3*t+1] && m.alive[3*t+2] {
					m.actions[3*t+1], m.actions[3*t+2] = m.actions[3*t+2], m.actions[3*t+1]
				}
			}
			m.without = "legal"
		}, "actions follow the policy", "rollout", check.Fault, "drawn from agent_2's"},
		{"always the likeliest", 3, func(m *recording) {
			for i, row := range m.policyRow {
				best := 0
				for k := range actions {
					if m.probs[i*actions+k] > m.probs[i*actions+best] {
						best = k
					}
				}
				m.actions[row] = int64(best)
			}
		}, "actions follow the policy", "rollout", check.Suspect, "always takes the likeliest"},
		{"probabilities for log-probabilities", 3, edit("logprobs", func(m *recording, l *drill, i int) float64 { return m.chance(l.row[i]) }),
			"old log-probabilities", "ppo", check.Fault, "They are probabilities"},
		{"other probabilities when learning", 3, edit("new_logprobs", func(m *recording, l *drill, i int) float64 {
			return math.Log(m.chance(l.row[i])) - 0.2
		}), "new log-probabilities", "ppo", check.Fault, "the ratio is not 1 in 100 %"},
		{"other probabilities, to either side", 3, edit("new_logprobs", func(m *recording, l *drill, i int) float64 {
			return math.Log(m.chance(l.row[i])) + 0.2*float64(2*(i%2)-1)
		}), "new log-probabilities", "ppo", check.Fault, "off by a factor of 1.22 on average"},
		{"one array that every step fills anew", 3, func(m *recording) {
			for _, l := range m.learn {
				for i := range l.row {
					l.row[i] = l.row[0]
				}
			}
		}, "rows of a batch differ", "buffers", check.Fault, "hold an observation that another row of their batch holds"},
		{"one array that every step fills anew, asked of its actions", 3, func(m *recording) {
			for _, l := range m.learn {
				for i := range l.row {
					l.row[i] = l.row[0]
				}
			}
		}, "learnt actions", "buffers", check.NotAsked, "the same few observations"},
		{"windows that overlap", 3, func(m *recording) {
			for a := range 3 {
				rows := m.rowsOf(a)
				l := m.drill(a, 1, rows[:len(rows)/3])
				for i := range len(l.row) { // every row twice, with all that belongs to it
					l.row, l.kind = append(l.row, l.row[i]), append(l.kind, 0)
					for name, x := range l.cols {
						l.cols[name] = append(x, x[i])
					}
				}
				m.learn[3*a] = l
			}
		}, "rows of a batch differ", "buffers", check.Pass, "No row is in a batch twice"},
		{"half of the actions are random", 3, random, "actions follow the policy", "rollout", check.Fault,
			"as if about 50 % of all agents' were taken at random"},
		{"actions of normalised observations beside indices", 3, func(m *recording) {
			normalise(m)
			edit("actions", func(m *recording, l *drill, i int) float64 { return float64(m.actions[max(m.shift(l, i, -1), 0)]) })(m)
		}, "learnt actions", "buffers", check.Fault, "those of the step before"},
		{"normalised observations beside indices", 3, normalise, "advantages", "ppo", check.Pass, "Advantages follow"},
		{"normalised observations beside indices, asked whether they were played", 3, normalise, "learnt rows were played", "buffers",
			check.NotAsked, "normalised perhaps"},
		{"no value after a batch's end", 3, func(m *recording) {
			m.windows(12)
			m.again(func(l *drill, i int) float64 {
				if row := l.row[i]; i+1 == len(l.row) && !m.dones[row] && !m.truncated[row] {
					return 0
				}
				return math.NaN()
			})
		}, "advantages", "ppo", check.Suspect, "The end of a batch is learnt as an exit"},
		{"values after a batch's end", 3, func(m *recording) { m.windows(12) }, "advantages", "ppo", check.Pass, "Advantages follow"},
		{"one value for everything", 3, edit("values", func(*recording, *drill, int) float64 { return 0.5 }), "values", "ppo", check.Fault,
			"is 0.5 in all of"},
		{"a value that is no number", 3, func(m *recording) { m.learn[3].cols["values"][4] = math.Inf(1) }, "values", "ppo", check.Fault,
			"values of agent_1 holds +Inf"},
		{"advantages of one step", 3, edit("advantages", func(m *recording, l *drill, i int) float64 {
			row := l.row[i]
			then := value(m.next[row*obsWidth : (row+1)*obsWidth])
			if m.dones[row] {
				then = 0
			}
			return float64(m.rewards[row]) + gamma*then - value(m.obs[row*obsWidth:(row+1)*obsWidth])
		}), "advantages", "ppo", check.Fault, "errors of one step"},
		{"advantages a little off, one in ten", 3, edit("advantages", func(m *recording, l *drill, i int) float64 {
			return l.cols["advantages"][i] + 5e-4*float64((i+9)%10/9)
		}), "advantages", "ppo", check.Fault, "do not follow"},
		{"advantages over exits", 3, func(m *recording) {
			m.again(func(l *drill, i int) float64 {
				if m.dones[l.row[i]] && i+1 < len(l.row) {
					return gamma*l.cols["values"][i+1] + gamma*lambda*l.cols["advantages"][i+1]
				}
				return math.NaN()
			})
		}, "advantages", "ppo", check.Fault, "They reach into the next episode"},
		{"cuts as exits", 3, func(m *recording) {
			m.again(func(l *drill, i int) float64 {
				if m.truncated[l.row[i]] {
					return 0
				}
				return math.NaN()
			})
		}, "advantages", "ppo", check.Suspect, "A cut is learnt as an exit"},
		{"returns of rewards alone", 3, edit("returns", func(m *recording, l *drill, i int) float64 { return l.cols["rewards"][i] }),
			"returns", "ppo",
			check.Fault, "are not advantages and values together"},
		{"the loss has the wrong sign", 3, edit("after_logprobs", func(m *recording, l *drill, i int) float64 {
			return l.cols["logprobs"][i] - 0.01*l.cols["advantages"][i]
		}), "updates follow advantages", "ppo", check.Fault, "lower the probability"},
		{"values learn the mean", 3, edit("after_values", func(m *recording, l *drill, i int) float64 {
			return 0.9*l.cols["values"][i] + 0.1
		}), "values follow returns", "ppo", check.NotAsked, ""}, // a straight line of the value tells nothing
		{"values move away", 3, edit("after_values", func(m *recording, l *drill, i int) float64 {
			return l.cols["values"][i] - 0.1*l.cols["advantages"][i]
		}), "values follow returns", "ppo", check.Fault, "away from returns"},
		{"the model of the wrong co-player", 3, func(m *recording) {
			n := 0
			for i, row := range m.moaRow {
				if m.alive[row+2] {
					m.moaRow[n], m.moaOf[n] = row, 2
					copy(m.moa[n*actions:(n+1)*actions], m.moa[i*actions:])
					n++
				}
			}
			m.moaRow, m.moaOf, m.moa = m.moaRow[:n], m.moaOf[:n], m.moa[:n*actions]
		}, "predictions of others", "moa", check.Fault, "the agent before in the list"},
		{"a model of those who left", 3, func(m *recording) {
			for t := range m.steps {
				if !m.alive[3*t+1] && m.alive[3*t] {
					m.moaRow, m.moaOf = append(m.moaRow, int64(3*t)), append(m.moaOf, 1)
					m.moa = append(m.moa, 0.25, 0.25, 0.25, 0.25)
				}
			}
		}, "predictions of others", "moa", check.Fault, "co-players that have left"},
		{"a flat model", 3, func(m *recording) {
			for i := range m.moa {
				m.moa[i] = 0.2
				if i%actions == int(m.actions[m.moaRow[i/actions]+1]) {
					m.moa[i] = 0.4
				}
			}
		}, "predictions of others", "moa", check.Fault, "what two softmaxes allow"},
		{"predictions that are logits", 3, func(m *recording) {
			for i := range m.moa {
				m.moa[i] *= 3
			}
		}, "predictions of others", "moa", check.Fault, "no distributions"},
		{"a world that stands still", 3, func(m *recording) {
			for i, row := range m.worldRow {
				copy(m.world[i*obsWidth:(i+1)*obsWidth], m.obs[int(row)*obsWidth:])
			}
		}, "predictions of the world", "world", check.Suspect, "no better than copying"},
		{"the next agent's world", 3, func(m *recording) {
			for i, row := range m.worldRow {
				copy(m.world[i*obsWidth:(i+1)*obsWidth], m.next[(int(row)+1)*obsWidth:])
			}
		}, "predictions of the world", "world", check.Fault, "the next agent's"},
		{"rewards of the step before", 3, func(m *recording) {
			for i, row := range m.worldRow {
				if m.worldReward[i] = 0; row >= 3 {
					m.worldReward[i] = m.rewards[row-3]
				}
			}
		}, "predictions of the world", "world", check.Fault, "the step before"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := made(t, c.agents, 60)
			c.plant(m)
			r, err := asked(t, m.arrays(t))
			must(t, err)
			for _, f := range r.Findings {
				if !strings.Contains(f.Check, c.check) || len(f.Check) > len(c.check) && f.Status != check.NotAsked {
					continue
				}
				if f.Status != c.want || !strings.Contains(f.Says, c.says) {
					t.Errorf("got %s, %q, want %s with %q", f.Status, f.Says, c.want, c.says)
				}
				if f.Status > check.Pass && (f.Next == "" || f.Module != c.module || f.Rows == 0) {
					t.Errorf("module %q, next %q, %d rows; want module %q", f.Module, f.Next, f.Rows, c.module)
				}
				if _, err := f.MarshalJSON(); err != nil {
					t.Error(err)
				}
				return
			}
			t.Errorf("nothing asks %q", c.check)
		})
	}
}

// What is wrong with the arrays is said all at once, by name.
// An accusation says where it is seen first: the array, the row of the batch, whose it is and of which step of play.
func TestTheFirstWrongNumberIsNamed(t *testing.T) {
	for column, name := range map[string]string{"rewards": "learnt rewards", "actions": "learnt actions", "returns": "returns",
		"advantages": "advantages", "logprobs": "old log-probabilities"} {
		m := made(t, 3, 60)
		l := &m.learn[1]
		x := slices.Clone(l.cols[column])
		for i := 5; i < len(x); i++ {
			x[i] += 2
		}
		l.cols[column] = x
		r, err := asked(t, m.arrays(t))
		must(t, err)
		at := 5
		if column == "advantages" {
			at = 4 // whose advantage does not follow from the next one any more
		}
		row := int(l.row[at])
		want := fmt.Sprintf("first in %s[%d] of batch 1, that of %s after %d steps of play, of what %s did at step %d", column, at,
			m.names[l.who], l.at, m.names[row%3], row/3)
		for _, f := range r.Findings {
			if f.Check == name && !strings.HasSuffix(f.Next, want) {
				t.Errorf("%s is %s: %q, want %q", name, f.Status, f.Next, want)
			} else if f.Check == name {
				name = ""
			}
		}
		if name != "" {
			t.Errorf("nothing asks %q", name)
		}
	}
}

func TestMalformedRecordingsAreRefused(t *testing.T) {
	change := func(name string, with any, shape ...int) func([]npz.Array) []npz.Array {
		return func(list []npz.Array) []npz.Array {
			for i := range list {
				if list[i].Name == name {
					list[i].Data, list[i].Shape = with, shape
				}
			}
			return list
		}
	}
	long := int(1e6)
	for _, c := range []struct {
		name   string
		change func([]npz.Array) []npz.Array
		want   []string
	}{
		{"an array of nobody", func(l []npz.Array) []npz.Array {
			return append(l, npz.Array{Name: "learn/regret", Shape: []int{1}, Data: []float32{1}})
		}, []string{`"learn/regret" is no array that hop.Recorder writes`}},
		{"no JSON", change("learners", []uint8("[{]"), 3), []string{"learners: invalid character"}},
		{"an unknown field", change("learners", []uint8(`[{"agents":["agent_0"],"soul":1}]`), 33), []string{`unknown field "soul"`}},
		{"nobody's learner", change("learners", []uint8(`[{"agents":["bob"],"parameters":[{"name":"w"}]}]`), 48),
			[]string{`"bob", who is no agent`}},
		{"numbers for text", change("learners", []float32{1}, 1), []string{"learners holds []float32"}},
		{"rows beyond the end", change("learn/row", []int64{int64(long)}, 1), []string{"learn/row has shape [1]"}},
		{"kinds that are none", func(l []npz.Array) []npz.Array {
			for i := range l {
				if l[i].Name == "learn/kind" {
					l[i].Data.([]int64)[3] = 9
				}
			}
			return l
		}, []string{"learn/kind[3] is 9, want a whole number from 0 to 5"}},
		{"fractions as rows", change("policy/row", []float64{0.5}, 1), []string{"policy/row[0] is 0.5"}},
		{"too few actions", func(l []npz.Array) []npz.Array {
			for i := range l {
				if l[i].Name == "policy/probs" {
					n := l[i].Shape[0]
					l[i].Data, l[i].Shape = make([]float32, 2*n), []int{n, 2}
				}
			}
			return l
		}, []string{"room for 2 actions, there are 4"}},
		{"gradients of other sizes", change("updates/gradient", []float64{1, 2}, 2), []string{"updates/gradient has shape [2]"}},
		{"observations of another width", func(l []npz.Array) []npz.Array {
			for i := range l {
				if l[i].Name == "world/next" {
					n := l[i].Shape[0]
					l[i].Data, l[i].Shape = make([]float32, 2*n), []int{n, 2}
				}
			}
			return l
		}, []string{"world/next has 2 numbers a row"}},
		{"sizes below 0", func(l []npz.Array) []npz.Array {
			for i := range l {
				if l[i].Name == "learn/size" {
					l[i].Data.([]int64)[0] = -5
				}
			}
			return l
		}, []string{"learn/size[0] is -5"}},
		{"a batch without its rows", func(l []npz.Array) []npz.Array {
			kept := l[:0]
			for _, a := range l {
				if a.Name != "learn/row" && a.Name != "learn/gamma" {
					kept = append(kept, a)
				}
			}
			return kept
		}, []string{"learn/row is missing", "learn/gamma"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := asked(t, c.change(made(t, 3, 4).arrays(t)))
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "run.npz") {
					t.Errorf("got %v, want an error with %q that names the file", err, want)
				}
			}
		})
	}
}

// Whatever the arrays hold, reading and asking ends without a panic.
func FuzzRecording(f *testing.F) {
	m := made(f, 3, 2)
	f.Add(uint8(3), []byte{1, 2, 3}, uint8(0))
	f.Add(uint8(30), []byte{0, 0, 255, 7}, uint8(1))
	f.Fuzz(func(t *testing.T, which uint8, data []byte, kind uint8) {
		list := m.arrays(t)
		i := int(which) % len(list)
		n := length(list[i].Data)
		switch x := make([]float64, n); {
		case kind%3 == 0: // numbers of the right count
			for j := range x {
				if len(data) > 0 {
					x[j] = float64(int8(data[j%len(data)]))
				}
			}
			list[i].Data = x
		case kind%3 == 1: // left out
			list = append(list[:i], list[i+1:]...)
		default: // text
			list[i].Data, list[i].Shape = data, []int{len(data)}
		}
		if r, err := asked(t, list); err == nil {
			for _, f := range r.Findings {
				if _, err := f.MarshalJSON(); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// minis returns the arrays of minibatches: two of each batch, its even rows and its odd ones, twice.
func (m *recording) minis(change func(batch, mini int, at []int64, adv, ratio, value []float64, loss map[string]float64)) []npz.Array {
	var of, size, at []int64
	cols, terms := map[string][]float64{}, map[string][]float64{}
	for b := range m.learn {
		l := &m.learn[b]
		for k := range 4 {
			var rows []int64
			for i := k % 2; i < len(l.row); i += 2 {
				rows = append(rows, int64(i))
			}
			adv, ratio, value := make([]float64, len(rows)), make([]float64, len(rows)), make([]float64, len(rows))
			s := spreadOf(pick(l.cols["advantages"], rows), nil)
			off := 0.
			for i, at := range rows {
				adv[i] = (l.cols["advantages"][at] - s.mean) / s.sd
				ratio[i], value[i] = 1+0.01*float64(k*(i%3-1)), l.cols["values"][at]
				off += (value[i] - l.cols["returns"][at]) * (value[i] - l.cols["returns"][at]) / float64(len(rows))
			}
			loss := map[string]float64{"policy": 0.1 * float64(k), "value": off, "entropy": 1 - 0.1*float64(k) - 0.01*float64(b)}
			loss["total"] = loss["policy"] + 0.5*loss["value"] - 0.01*loss["entropy"]
			if change != nil {
				change(b, k, rows, adv, ratio, value, loss)
			}
			of, size, at = append(of, int64(b)), append(size, int64(len(rows))), append(at, rows...)
			cols["advantages"], cols["ratios"] = append(cols["advantages"], adv...), append(cols["ratios"], ratio...)
			cols["values"] = append(cols["values"], value...)
			for name, x := range loss {
				terms[name] = append(terms[name], x)
			}
		}
	}
	list := []npz.Array{{Name: "mini/batch", Data: of}, {Name: "mini/size", Data: size}, {Name: "mini/at", Data: at}}
	for name, x := range cols {
		list = append(list, npz.Array{Name: "mini/" + name, Data: x})
	}
	for name, x := range terms {
		list = append(list, npz.Array{Name: "mini/loss_" + name, Data: x})
	}
	for i := range list {
		list[i].Shape = []int{length(list[i].Data)}
	}
	return list
}

func pick(x []float64, at []int64) (out []float64) {
	for _, i := range at {
		out = append(out, x[i])
	}
	return out
}

// What stays inside a loss is found by minibatches and the terms of the loss, and healthy ones pass.
func TestLossesAreHeldToTheirBatch(t *testing.T) {
	m := made(t, 3, 60)
	for _, c := range []struct {
		name, check, says string
		change            func(batch, mini int, at []int64, adv, ratio, value []float64, loss map[string]float64)
	}{
		{"healthy", "", "", nil},
		{"half the rows", "every row is learnt from", "in none of their minibatches",
			func(_, _ int, at []int64, _, _, _ []float64, _ map[string]float64) {
				for i := range at {
					at[i] -= at[i] % 2
				}
			}},
		{"over the dead", "advantages are normalised over what is learnt from", "agents that have left",
			func(b, _ int, at []int64, adv, _, _ []float64, _ map[string]float64) {
				x := m.learn[b].cols["advantages"]
				s := spreadOf(x, nil)
				s = s.with(s.n)
				for i, k := range at {
					adv[i] = (x[k] - s.mean) / s.sd
				}
			}},
		{"others' advantages", "advantages are normalised over what is learnt from", "not those of their rows",
			func(_, _ int, _ []int64, adv, _, _ []float64, _ map[string]float64) {
				for i := range adv {
					adv[i] = float64(i % 5)
				}
			}},
		{"ratio of 1", "ratios", "exactly 1", func(_, _ int, _ []int64, _, ratio, _ []float64, _ map[string]float64) {
			for i := range ratio {
				ratio[i] = 1
			}
		}},
		{"entropy", "the terms of the loss", "pushed down", func(_, _ int, _ []int64, _, _, _ []float64, loss map[string]float64) {
			loss["total"] += 0.02 * loss["entropy"]
		}},
		{"values away", "the terms of the loss", "away from returns", func(_, _ int, _ []int64, _, _, _ []float64, loss map[string]float64) {
			loss["total"] -= loss["value"]
		}},
		{"pairs that are hardly further apart", "the value loss", "every value against every row",
			func(b, _ int, at []int64, _, _, value []float64, loss map[string]float64) {
				sum := 0.
				for i := range at {
					for _, k := range at {
						sum += (value[i] - m.learn[b].cols["returns"][k]) * (value[i] - m.learn[b].cols["returns"][k])
					}
				}
				pairs := float64(float32(sum / float64(len(at)*len(at))))
				loss["total"] += 0.5 * (pairs - loss["value"])
				loss["value"] = pairs
			}},
		{"a value loss of another kind", "", "", func(b, _ int, at []int64, _, _, value []float64, loss map[string]float64) {
			sum := 0.
			for i, k := range at { // Huber's
				if off := math.Abs(value[i] - m.learn[b].cols["returns"][k]); off < 1 {
					sum += off * off / 2
				} else {
					sum += off - 0.5
				}
			}
			loss["total"] += 0.5 * (sum/float64(len(at)) - loss["value"])
			loss["value"] = sum / float64(len(at))
		}},
		{"pairs", "the value loss", "every value against every row", func(b, _ int, at []int64, _, _, value []float64, loss map[string]float64) {
			sum := 0.
			for i, own := range at {
				value[i] = 0.8 * m.learn[b].cols["returns"][own] // else pairs are hardly further apart
			}
			for i := range at {
				for _, k := range at {
					sum += (value[i] - m.learn[b].cols["returns"][k]) * (value[i] - m.learn[b].cols["returns"][k])
				}
			}
			pairs := sum / float64(len(at)*len(at))
			loss["total"] += 0.5 * (pairs - loss["value"])
			loss["value"] = pairs
		}},
		{"pairs that are hardly apart", "the value loss", "every value against every row", func(b, _ int, at []int64, _, _, value []float64,
			loss map[string]float64) {
			sum := 0.
			for i, own := range at {
				value[i] = 0.01 * m.learn[b].cols["returns"][own]
			}
			for i := range at {
				for _, k := range at {
					sum += (value[i] - m.learn[b].cols["returns"][k]) * (value[i] - m.learn[b].cols["returns"][k])
				}
			}
			pairs := sum / float64(len(at)*len(at))
			loss["total"] += 0.5 * (pairs - loss["value"])
			loss["value"] = pairs
		}},
	} {
		r, err := asked(t, append(m.arrays(t), m.minis(c.change)...))
		must(t, err)
		named := c.check == ""
		for _, f := range r.Findings {
			if f.Status > check.Pass && f.Check != c.check {
				t.Errorf("%s: %s is accused: %s", c.name, f.Check, f.Says)
			}
			named = named || f.Check == c.check && f.Status == check.Fault && strings.Contains(f.Says, c.says)
		}
		if !named {
			t.Errorf("%s is not found by %s", c.name, c.check)
		}
	}
}
