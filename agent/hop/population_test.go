package hop

import (
	"math"
	"slices"
	"testing"

	"github.com/hop-marl/hop/agent/hop/pretrained"
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

// amid is a population of whom one, who is not the last, acts at random.
var amid = []string{"ns", "random", "nh", "self"}

// among returns a mind whose co-players are of a population.
func among(t testing.TB, g game.Game, who []string, envs int, set func(c *Config)) (*Mind, *player) {
	t.Helper()
	return makeMind(t, g, 1, envs, func(c *Config) {
		c.Goals.Kind, c.Leaf.Kind, c.Leaf.Partners, c.Belief.Count = "latent", "response", who, "evidence"
		if set != nil {
			set(c)
		}
	})
}

// opinions makes what a model of others says of types differ.
func opinions(m *Mind) {
	head, _ := m.others.model.Params.Find("head/w")
	for i := range head.Len {
		m.others.model.Params.W[head.Off+i] *= 300
	}
}

// There is a hypothesis for each type but the one that acts at random, which is doubt,
// wherever it stands. A goal's features are the point, then the type, then doubt.
func TestHypothesesAreTheTypesOfAPopulation(t *testing.T) {
	for _, c := range []struct {
		who    []string
		types  []int32
		random int32
	}{
		{amid, []int32{0, 2, 3}, 1},
		{[]string{"random", "ns"}, []int32{1}, 0},
		{[]string{"ns", "nh", "random"}, []int32{0, 1}, 2},
		{[]string{"ns", "self"}, []int32{0, 1}, 1},
	} {
		m, _ := among(t, hunt(t, 12), c.who, 1, nil)
		w, n := m.goals.play.(*latent), len(c.types)
		want := shape{hypotheses: n + 1, doubt: n, features: 3 + n, width: 3 + n + 1}
		if !slices.Equal(w.types, c.types) || m.population.random != c.random || m.shape != want || w.features() != want.features {
			t.Errorf("%v: types %v, %d acts at random, %+v; want %v, %d and %+v", c.who, w.types, m.population.random, m.shape, c.types,
				c.random, want)
		}
		if m.goalLen != 3*want.width || m.others.model.Model.GoalLen != want.width+3 {
			t.Errorf("%v: %d numbers about all, the model of others reads %d", c.who, m.goalLen, m.others.model.Model.GoalLen)
		}
		copy(w.x.Mean[3:], []float32{1, -2, 3}) // of the second co-player
		w.hold(1)
		for g := range n {
			want := append([]float32{1, -2, 3}, make([]float32, n)...)
			want[3+g] = 1
			if got := w.x.of(1, g); !slices.Equal(got, want) {
				t.Errorf("%v: the goal of hypothesis %d is %v, want %v", c.who, g, got, want)
			}
		}
	}
	m, _ := makeMind(t, hunt(t, 12), 1, 1, func(c *Config) { c.Goals.Kind, c.Leaf.Kind = "latent", "net" })
	if m.shape.doubt != 1 || m.shape.features != 3 || len(m.inferred.of(0, 0)) != 3 {
		t.Errorf("without a population there are %d hypotheses of %d features", m.shape.doubt, m.shape.features)
	}
}

// What is believed of somebody new is how often the response network met each type.
func TestSomebodyNewIsWhomTheResponseNetworkMet(t *testing.T) {
	met := []float64{.1, .2, .3, .4}
	for _, c := range []struct {
		doubt float64
		want  []float64
	}{{-1, []float64{.1, .3, .4, .2}}, {0.5, []float64{.0625, .1875, .25, .5}}, {0, []float64{.125, .375, .5, 0}}} {
		m, _ := among(t, hunt(t, 12), amid, 1, func(c2 *Config) { c2.Goals.DoubtStart = c.doubt })
		m.models.Met = met
		m.beliefs.prior = m.prior()
		m.Remember(2, 40)
		for n, b := range m.beliefs.held {
			for j := range 3 {
				for g, want := range c.want {
					if got := b.At(0, j)[g]; math.Abs(got-want) > 1e-9 {
						t.Errorf("doubt %v: env %d begins with %v about co-player %d, want %v", c.doubt, n, b.At(0, j), j, c.want)
						break
					}
				}
			}
		}
	}
}

// The type of a label is a draw from the posterior over the types and acting at random,
// given all that the co-player did: Bayes' rule, step by step and type by type.
func TestTypesOfLabelsFollowBayes(t *testing.T) {
	g := hunt(t, 12)
	m, _ := among(t, g, amid, 4, nil)
	opinions(m)
	w := m.goals.play.(*latent)
	ro := collect(t, rollout.Config{Game: g}, batch.Shape{Envs: 4, Steps: 30}, []string{"ns", "random", "nh", "random"}, nil)
	list := w.Trajectories(ro)[:6]
	steps, width := 0, 6
	for _, p := range list {
		steps += p.hi - p.lo
	}
	z, r := make([]float32, steps*width), rng.New(5).Rand()
	for i := range z {
		if i%width < 3 {
			z[i] = float32(r.Norm())
		}
	}
	ws, probs, read := m.others.model.Model.Work(1), make([]float32, 7), make([]float32, m.others.model.Model.GoalLen)
	var want [][]float64
	at, surest := 0, 0.
	for _, p := range list {
		b := &reference.Beliefs{BeliefSettings: reference.BeliefSettings{Within: true, Smooth: m.cfg.Belief.Smooth},
			B: [][]float64{{.25, .25, .25, .25}}}
		for t := p.lo; t < p.hi; t, at = t+1, at+1 {
			slot := ro.Slot(p.agent, t, p.env)
			var likely []float32
			for k := range 3 {
				clear(read)
				copy(read, z[at*width:][:3])
				read[3+k], read[7+p.other] = 1, 1
				ws.Predict(m.others.model.Params, ro.ObsAt(slot), read, probs)
				likely = append(likely, probs...)
			}
			for _, p := range reference.Softmax(make([]float32, len(probs)), ro.LegalAt(slot)) {
				likely = append(likely, float32(p))
			}
			b.Did(0, likely, ro.Action[ro.Step(p.agent, t, p.env)])
		}
		surest = max(surest, slices.Max(b.B[0][:3]))
		want = append(want, b.B[0])
	}
	if surest < 0.6 {
		t.Errorf("no type is likelier than %.2f: the test sees nothing", surest)
	}
	const draws = 1000
	count := make([][4]float64, len(list))
	for range draws {
		dst := slices.Clone(z)
		w.labelTypes(dst, ro, list, &r)
		row := 0
		for i, p := range list {
			which := slices.Index(dst[row*width+3:][:3], 1)
			if which < 0 {
				which = 3
			}
			count[i][which] += 1. / draws
			for ; p.lo < p.hi; p.lo, row = p.lo+1, row+1 {
				is := [4]float32{}
				is[which] = 1
				if got := dst[row*width:][:width]; !slices.Equal(got[:3], z[row*width:][:3]) || !slices.Equal(got[3:], is[:3]) {
					t.Fatalf("a step of a trajectory of type %d is labelled %v; its point is %v", which, got, z[row*width:][:3])
				}
			}
		}
	}
	for i, b := range want {
		for k, p := range b {
			// Five standard errors: wrong once in a million.
			if math.Abs(count[i][k]-p) > 5*math.Sqrt(p*(1-p)/draws)+1e-3 {
				t.Errorf("trajectory %d is labelled %.3f, by Bayes' rule it is %.3f", i, count[i], b)
				break
			}
		}
	}
}

// A tree that draws a type plans with it: the model of others is given its hypothesis,
// the response network its number in the population.
func TestTreesReadTheTypesThatTheyDraw(t *testing.T) {
	g := hunt(t, 35)
	m, p := among(t, g, amid, 4, func(c *Config) { c.Search.Kind, c.Belief.Count = "onestep", "goal" })
	sure := []int{2, 3, 0} // of agents 0, 2 and 3: self, acting at random, ns
	for _, b := range m.beliefs.held {
		for j, g := range sure {
			clear(b.Counts(j))
			b.Counts(j)[g] = 1
		}
	}
	replied, asked := &recorder{actions: 7}, &recorder{actions: 7}
	p.search.parts[0].leaves.response.Net, p.search.parts[0].drawn.net.Net = replied, asked
	shape := batch.Shape{Envs: 4, Steps: 40, GoalLen: m.goalLen}
	collect(t, rollout.Config{Game: g, FixSeat: true}, shape, []string{"ns", "", "nh", "random"}, p)
	number, there, left := []int{1, 0, 3}, 0, 0 // in the population, of agents 2, 3 and 0, who sit after agent 1
	for i, obs := range replied.obs {
		for place := range 3 {
			want := [4]float32{}
			if cell(obs, 1+place) >= 0 {
				there++
				want[number[place]] = 1
			} else {
				left++
			}
			if got := [4]float32(replied.goals[i][place*4:]); got != want {
				t.Fatalf("of the co-player at place %d the response network reads %v, want %v", place, got, want)
			}
		}
	}
	of := [3]int{}
	for _, read := range asked.goals {
		if j := slices.Index(read[m.shape.width:], 1); j < 0 {
			of[1]++ // nothing is asked of who acts at random
		} else if of[j]++; j == 1 || slices.Index(read[3:6], 1) != sure[j] || read[m.shape.width-1] != 0 {
			t.Fatalf("about co-player %d the model of others reads %v", j, read)
		}
	}
	if there < 50 || left < 50 || min(of[0], of[1], of[2]) < 20 {
		t.Errorf("%d co-players were there, %d had left, of each %v were asked: the test saw too little", there, left, of)
	}
}

// However large a population is, no point has the name of acting at random.
func TestPointsAreNeverNamedAsDoubt(t *testing.T) {
	var many []string
	for i := range 100 {
		many = append(many, string(rune('a'+i/10))+string(rune('a'+i%10)))
	}
	for _, n := range []int{15, 16, 17, 100} {
		m, p := among(t, hunt(t, 12), append(slices.Clone(many[:n]), "random"), 1, nil)
		for range 200 {
			if name := p.search.names.of(0, 0, m.inferred.Alike); int(name) < m.shape.hypotheses {
				t.Fatalf("among %d types a point is named %d, which is a hypothesis", n, name)
			}
		}
	}
}

// What a checkpoint says of the response network holds whom it met and how often.
func TestPopulationsAreSaved(t *testing.T) {
	m, _ := among(t, hunt(t, 12), amid, 1, nil)
	m.models.Population, m.models.Met = amid, []float64{.1, .2, .3, .4}
	f := &safetensors.File{}
	if err := m.Save(f, ""); err != nil {
		t.Fatal(err)
	}
	got, err := pretrained.Of(f)
	if err != nil || !slices.Equal(got.Population, amid) || !slices.Equal(got.Met, m.models.Met) {
		t.Errorf("loaded are %v, met %v (%v)", got.Population, got.Met, err)
	}
	other, _ := among(t, hunt(t, 12), amid, 1, nil)
	copy(other.beliefs.held[0].At(0, 1), []float64{.7, .1, .1, .1})
	if err := other.Load(f, ""); err != nil || !slices.Equal(other.beliefs.held[0].At(0, 1), m.beliefs.held[0].At(0, 1)) {
		t.Errorf("beliefs over types are loaded as %v (%v)", other.beliefs.held[0].At(0, 1), err)
	}
}

// Types of labels follow from what co-players did, and the mind says so.
func TestTypesAreDeclaredToBeRead(t *testing.T) {
	w := &learner.Window{Rollout: batch.New(batch.Shape{Agents: 4, Steps: 1, Envs: 1, ObsLen: 1, Actions: 7})}
	for _, leaf := range []string{"response", "net"} {
		m, _ := among(t, hunt(t, 12), amid, 1, func(c *Config) { c.Leaf.Kind = leaf })
		if r := m.Reads(w); r.Action != (leaf == "response") || !r.Obs {
			t.Errorf("leaf %s: it declares to read %+v", leaf, r)
		}
	}
}

// A greedy planner of a mixed policy plays its mode.
func TestGreedyIsTheModeOfAMixedPolicy(t *testing.T) {
	for _, c := range []struct{ act, greedy, want string }{
		{"mixed", "greedy", "prior"}, {"mixed", "", "mixed"}, {"prior", "greedy", "prior"}, {"visits", "greedy", "q"},
	} {
		m, _ := among(t, hunt(t, 12), amid, 1, func(s *Config) { s.Search.Act = c.act })
		if m.Freeze(c.greedy != ""); m.search.Act != c.want {
			t.Errorf("%s becomes %s, want %s", c.act, m.search.Act, c.want)
		}
	}
}

// thrifty counts what its decisions allocate.
type thrifty struct {
	rollout.Player
	seen   int
	allocs float64
}

func (p *thrifty) Act(v *rollout.View, envs []int32) {
	if p.seen++; p.seen != 3 {
		p.Player.Act(v, envs)
		return
	}
	p.allocs = testing.AllocsPerRun(5, func() { p.Player.Act(v, envs) })
}

// A decision allocates nothing: inferring, believing, drawing types, searching, choosing.
func TestDecisionsAllocateNothing(t *testing.T) {
	g := hunt(t, 35)
	for _, how := range [][2]string{{"latent", "mixed"}, {"latent", "prior"}, {"context", "mixed"}} {
		m, p := among(t, g, amid, 2, func(c *Config) { c.Goals.Kind, c.Search.Act = how[0], how[1] })
		count := &thrifty{Player: p, allocs: -1}
		collect(t, rollout.Config{Game: g}, batch.Shape{Envs: 2, Steps: 8, GoalLen: m.goalLen}, []string{"ns", "", "nh", "random"}, count)
		if count.allocs != 0 {
			t.Errorf("goals %s, act %s: a decision allocates %v times, want 0", how[0], how[1], count.allocs)
		}
	}
}

// What z leads to is weighed by what agents of the type reached: a goal that nobody of
// whom z was learnt ever reached is still that of a type that did, and each type's words
// sum to 1.
func TestWordsFollowTheType(t *testing.T) {
	w := &latent{reached: []float32{60, 40, 0, 100}, types: []int32{0, 2}}
	for _, c := range []struct {
		which int
		z     []float64
		want  string
	}{{0, []float64{1, 0}, "stag"}, {1, []float64{1, 0}, "hare"}, {0, []float64{0.05, 0.95}, "hare"}, {1, []float64{0.5, 0.5}, "hare"}} {
		list := []Word{{"stag", c.z[0]}, {"hare", c.z[1]}}
		w.weigh(list, c.which)
		best := list[0]
		if list[1].Share > best.Share {
			best = list[1]
		}
		if sum := list[0].Share + list[1].Share; best.Name != c.want || math.Abs(sum-1) > 1e-9 {
			t.Errorf("z leads to %v; for type %d that is %v, want %s and a sum of 1", c.z, c.which, list, c.want)
		}
	}
}

// Whom a mind takes co-players to be is what its checkpoint's response network knows, so
// that nobody of them is called a stranger.
func TestAMindNamesItsPopulation(t *testing.T) {
	m, _ := among(t, hunt(t, 35), amid, 1, func(*Config) {})
	if a, ok := learner.As[learner.Acquainted](m); !ok || !slices.Equal(a.Population(), amid) {
		t.Errorf("a mind among %v does not say so", amid)
	}
}
