package check

import (
	"math"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
)

// stretches makes every agent learn from the first steps of its episodes, so that each batch ends in many places.
func (m *recording) stretches() {
	m.learn = nil
	k := int64(m.agents())
	for a := range m.agents() {
		var rows []int64
		for _, row := range m.rowsOf(a) {
			if t := row / k; t < 4 || m.episode[t] == m.episode[t-4] { // all but the first four
				continue
			}
			rows = append(rows, row)
		}
		for i := range 3 {
			m.learn = append(m.learn, m.drill(a, int64(i+1), rows[i*len(rows)/3:(i+1)*len(rows)/3]))
		}
	}
}

// open reports whether row i of a batch is the last of it in its episode, which goes on.
func (m *recording) opens(l *drill, i int) bool {
	row := l.row[i]
	return !m.dones[row] && !m.truncated[row] && (i+1 == len(l.row) || l.row[i+1] != row+int64(m.agents()))
}

// said returns what a check says of a recording, and what else is accused.
func said(t *testing.T, m *recording, name string) (f check.Finding, others []string) {
	t.Helper()
	r, err := asked(t, m.arrays(t))
	must(t, err)
	for _, x := range r.Findings {
		if x.Check == name {
			f = x
		} else if x.Status > check.Pass {
			others = append(others, x.Check+": "+x.Says)
		}
	}
	return f, others
}

// onward computes a batch's advantages back from what comes after each row where the batch ends, discounted.
func (m *recording) onward(comes func(l *drill, i int) float64) {
	for k := range m.learn {
		l := &m.learn[k]
		adv, v := l.cols["advantages"], l.cols["values"]
		for i := len(adv) - 1; i >= 0; i-- {
			row := l.row[i]
			switch {
			case m.opens(l, i):
				adv[i] = l.cols["rewards"][i] - v[i] + comes(l, i)
			case !m.dones[row] && !m.truncated[row]:
				adv[i] = l.cols["rewards"][i] - v[i] + gamma*v[i+1] + gamma*lambda*adv[i+1]
			}
			l.cols["returns"][i] = adv[i] + v[i]
		}
	}
}

// What follows the last row of a batch is the value of what was seen next, and nothing else.
func TestBatchesEndWithTheValueOfWhatComes(t *testing.T) {
	for _, c := range []struct {
		name, says string
		want       check.Status
		comes      func(m *recording, l *drill, i int) float64
	}{
		{"healthy", "follow from rewards", check.Pass, func(m *recording, l *drill, i int) float64 {
			row := l.row[i]
			return gamma * value(m.next[row*obsWidth:(row+1)*obsWidth])
		}},
		{"its own", "of that row counts once more", check.Fault, func(_ *recording, l *drill, i int) float64 {
			return gamma * l.cols["values"][i]
		}},
		{"nothing", "The end of a batch is learnt as an exit", check.Suspect, func(*recording, *drill, int) float64 { return 0 }},
		{"the first one's", "the same value counts for all", check.Fault, func(_ *recording, l *drill, _ int) float64 {
			return gamma * l.cols["values"][0]
		}},
	} {
		m := made(t, 3, 60)
		m.stretches()
		m.onward(func(l *drill, i int) float64 { return c.comes(m, l, i) })
		f, others := said(t, m, "advantages")
		if f.Status != c.want || !strings.Contains(f.Says, c.says) || f.Rows == 0 {
			t.Errorf("%s: %s, %q in %d rows; want %s with %q", c.name, f.Status, f.Says, f.Rows, c.want, c.says)
		}
		if c.want == check.Pass && len(others) > 0 {
			t.Errorf("%s: accused besides: %s", c.name, others)
		}
	}
}

// Where all steps come to the same, it is worth the same in all environments.
func TestStepsThatComeToTheSameAreWorthTheSame(t *testing.T) {
	m := made(t, 3, 60)
	m.stretches()
	for i := range m.next {
		m.next[i] = 1
	}
	m.onward(func(*drill, int) float64 { return gamma * 0.4 })
	if f, _ := said(t, m, "advantages"); f.Status != check.Pass || f.Rows == 0 {
		t.Errorf("%s, %q in %d rows", f.Status, f.Says, f.Rows)
	}
}

// Where nothing that is seen ever changes, what comes is worth what was there, at a batch's end and after a cut.
func TestGamesOfOneStateAreNotAccusedOfOldValues(t *testing.T) {
	m := made(t, 3, 60)
	m.stretches()
	for i := range m.obs { // of each batch another value, as the value learns
		m.obs[i], m.next[i] = 1, 1
	}
	for k := range m.learn {
		l := &m.learn[k]
		for i := range l.row {
			l.cols["values"][i] = 0.3 + 0.1*float64(k)
		}
		for i := len(l.row) - 1; i >= 0; i-- {
			row, v := l.row[i], l.cols["values"][i]
			adv := l.cols["rewards"][i] - v
			switch {
			case m.truncated[row], m.opens(l, i):
				adv += gamma * v
			case !m.dones[row]:
				adv += gamma*v + gamma*lambda*l.cols["advantages"][i+1]
			}
			l.cols["advantages"][i], l.cols["returns"][i] = adv, adv+v
		}
	}
	if f, _ := said(t, m, "advantages"); f.Status != check.Pass || f.Rows == 0 {
		t.Errorf("%s, %q in %d rows", f.Status, f.Says, f.Rows)
	}
}

// The value of what comes after a cut may be part of the learnt reward; that of what was seen before it must not.
func TestCutsMayPayTheValueOfWhatComes(t *testing.T) {
	for _, c := range []struct {
		name, says string
		want       check.Status
		scale      float64
		adds       func(now, then float64) float64
	}{
		{"of what comes", "follow from rewards", check.Pass, 1, func(_, then float64) float64 { return gamma * then }},
		{"of what comes, scaled", "follow from rewards", check.Pass, 0.1, func(_, then float64) float64 { return gamma * then }},
		{"of what was seen before", "what was seen before the step counts", check.Fault, 1, func(now, _ float64) float64 { return gamma * now }},
		{"nothing", "A cut is learnt as an exit", check.Suspect, 1, func(_, _ float64) float64 { return 0 }},
		{"nothing, scaled", "A cut is learnt as an exit", check.Suspect, 0.1, func(_, _ float64) float64 { return 0 }},
	} {
		m := made(t, 3, 60)
		for k := range m.learn {
			l := &m.learn[k]
			rewards, adv, v := l.cols["rewards"], l.cols["advantages"], l.cols["values"]
			for i := len(l.row) - 1; i >= 0; i-- {
				row := l.row[i]
				rewards[i] *= c.scale
				comes := gamma * value(m.next[row*obsWidth:(row+1)*obsWidth])
				switch {
				case m.truncated[row]:
					rewards[i] += c.adds(v[i], comes/gamma)
					comes = 0
				case m.dones[row]:
					comes = 0
				case !m.opens(l, i):
					comes += gamma * lambda * adv[i+1]
				}
				adv[i] = rewards[i] - v[i] + comes
				l.cols["returns"][i] = adv[i] + v[i]
			}
		}
		f, others := said(t, m, "advantages")
		if f.Status != c.want || !strings.Contains(f.Says, c.says) {
			t.Errorf("%s: %s, %q; want %s with %q", c.name, f.Status, f.Says, c.want, c.says)
		}
		if c.want == check.Pass && len(others) > 0 {
			t.Errorf("%s: accused besides: %s", c.name, others)
		}
	}
}

// Returns of n steps are computed again where no lambda is handed in; what no known slip explains is not accused.
func TestReturnsOfSomeStepsFollow(t *testing.T) {
	power := func(n int) float64 { return math.Pow(gamma, float64(n)) }
	for _, c := range []struct {
		name, says string
		want       check.Status
		of         func(r []float64, v float64) float64
	}{
		{"healthy", "3 discounted rewards", check.Pass, func(r []float64, v float64) float64 { return series(r, gamma) + power(len(r))*v }},
		{"the value as of one step", "like that of the next step", check.Fault, func(r []float64, v float64) float64 {
			return series(r, gamma) + gamma*v
		}},
		{"too early", "first reward is discounted already", check.Fault, func(r []float64, v float64) float64 {
			return gamma*series(r, gamma) + power(len(r))*v
		}},
		{"undiscounted", "Nothing is discounted", check.Fault, func(r []float64, v float64) float64 { return series(r, 1) + v }},
		{"something else", "no number of steps", check.NotAsked, func(r []float64, v float64) float64 { return 3*r[0] + 0.2*v }},
	} {
		m := made(t, 3, 60)
		m.without = "learn/advantages"
		for k := range m.learn {
			l := &m.learn[k]
			for i := range l.row {
				var rewards []float64
				v := 0.
				for j := i; j < len(l.row) && len(rewards) < 3; j++ {
					row := l.row[j]
					rewards = append(rewards, l.cols["rewards"][j])
					v = value(m.next[row*obsWidth : (row+1)*obsWidth])
					if m.dones[row] {
						v = 0
					}
					if m.dones[row] || m.truncated[row] {
						break
					}
				}
				l.cols["returns"][i] = c.of(rewards, v)
			}
			l.cols["after_values"], l.steps = l.cols["returns"], true
		}
		f, _ := said(t, m, "advantages")
		if f.Status != c.want || !strings.Contains(f.Says, c.says) {
			t.Errorf("%s: %s, %q; want %s with %q", c.name, f.Status, f.Says, c.want, c.says)
		}
	}
}

// A scale that follows the run is a normaliser's; one that jumps from step to step is noise.
func TestNoiseIsNoScale(t *testing.T) {
	r := rng.New(3).Rand()
	for _, c := range []struct {
		name   string
		want   check.Status
		factor func(i int, paid float64) float64
	}{
		{"a running scale", check.Pass, func(i int, _ float64) float64 { return 1 / (1 + math.Sqrt(float64(i)/50)) }},
		{"a root", check.Pass, func(_ int, paid float64) float64 { return 1 / math.Sqrt(paid) }},
		{"noise", check.Fault, func(int, float64) float64 { return 0.9 + 0.2*r.Float64() }},
	} {
		m := made(t, 3, 60)
		for row := range m.rewards {
			if m.alive[row] {
				m.rewards[row]++
			}
		}
		m.learning()
		at := 0
		edit("rewards", func(m *recording, l *drill, i int) float64 {
			at++
			return float64(m.rewards[l.row[i]]) * c.factor(at, float64(m.rewards[l.row[i]]))
		})(m)
		m.without = "learn/advantages,learn/returns"
		if f, _ := said(t, m, "learnt rewards"); f.Status != c.want {
			t.Errorf("%s: %s, %q; want %s", c.name, f.Status, f.Says, c.want)
		}
	}
}

// Rows that are named by their number may show something else than was seen there: a transformation of it, of all
// rows alike, or what was seen at another step.
func TestWhatOtherStepsShowedIsFound(t *testing.T) {
	for _, c := range []struct {
		name, says string
		want       check.Status
		kind       func(i int) int64
	}{
		{"healthy", "were played", check.Pass, func(int) int64 { return 0 }},
		{"normalised", "normalised perhaps", check.NotAsked, func(int) int64 { return 4 }},
		{"a tenth is another", "nothing that was played", check.Fault, func(i int) int64 { return int64(4 * (1 - min(1, i%10))) }},
		{"all are of other steps", "seen at other steps", check.Fault, func(int) int64 { return 5 }},
		{"a tenth is of other steps", "seen at other steps", check.Fault, func(i int) int64 { return int64(5 * (1 - min(1, i%10))) }},
	} {
		m := made(t, 3, 60)
		for k := range m.learn {
			for i := range m.learn[k].kind {
				m.learn[k].kind[i] = c.kind(i)
			}
		}
		f, others := said(t, m, "learnt rows were played")
		if f.Status != c.want || !strings.Contains(f.Says, c.says) {
			t.Errorf("%s: %s, %q; want %s with %q", c.name, f.Status, f.Says, c.want, c.says)
		}
		if len(others) > 0 {
			t.Errorf("%s: accused besides: %s", c.name, others)
		}
	}
}

// An update moves the policy by something, unless it is sure already or has nothing to learn from.
func TestUpdatesThatMoveNothingAreFound(t *testing.T) {
	for _, c := range []struct {
		name, says string
		want       check.Status
		change     func(l *drill)
	}{
		{"healthy", "change the probabilities", check.Pass, func(*drill) {}},
		{"a thousandth of the rate", "hardly change what it does", check.Suspect, func(l *drill) {
			for i, p := range l.cols["logprobs"] {
				l.cols["after_logprobs"][i] = p + 1e-5*l.cols["advantages"][i]
			}
		}},
		{"a policy that is sure", "", check.NotAsked, func(l *drill) {
			for i := range l.cols["logprobs"] {
				l.cols["logprobs"][i], l.cols["after_logprobs"][i] = -0.01, -0.01
			}
		}},
	} {
		m := made(t, 3, 120)
		m.learn = nil
		for a := range m.agents() {
			rows := m.rowsOf(a)
			for k := range 6 {
				m.learn = append(m.learn, m.drill(a, int64(k+1), rows[k*len(rows)/6:(k+1)*len(rows)/6]))
			}
		}
		for k := range m.learn {
			c.change(&m.learn[k])
		}
		if f, _ := said(t, m, "updates move the policy"); f.Status != c.want || !strings.Contains(f.Says, c.says) {
			t.Errorf("%s: %s, %q; want %s with %q", c.name, f.Status, f.Says, c.want, c.says)
		}
	}
}

// A value loss with the wrong sign makes the error of each update's own rows grow, however little.
func TestValuesThatLeaveReturnsSlowlyAreFound(t *testing.T) {
	for _, c := range []struct {
		name string
		want check.Status
		step float64
	}{{"healthy", check.Pass, 0.02}, {"the wrong sign", check.Fault, -0.02}} {
		m := made(t, 2, 120)
		m.learn = nil
		rows := m.rowsOf(0)
		for k := range 8 {
			l := m.drill(0, int64(k+1), rows[k*len(rows)/8:(k+1)*len(rows)/8])
			for i, v := range l.cols["values"] {
				l.cols["after_values"][i] = v + c.step*l.cols["advantages"][i]
			}
			m.learn = append(m.learn, l)
		}
		if f, _ := said(t, m, "values follow returns"); f.Status != c.want {
			t.Errorf("%s: %s, %q; want %s", c.name, f.Status, f.Says, c.want)
		}
	}
}

// Without a discount advantages follow from everything but gamma, and where no end is marked it is said so even if
// nothing was cut off.
func TestWhatIsLeftOutIsNamed(t *testing.T) {
	m := made(t, 3, 60)
	m.again(func(l *drill, i int) float64 {
		row := l.row[i]
		if m.dones[row] || m.truncated[row] || i+1 == len(l.row) || m.shift(l, i, 1) != l.row[i+1] {
			return math.NaN()
		}
		return l.cols["values"][i+1] + lambda*l.cols["advantages"][i+1]
	})
	if f, _ := said(t, m, "advantages"); f.Status != check.Fault || !strings.Contains(f.Says, "The discount is left out") {
		t.Errorf("no discount: %s, %q", f.Status, f.Says)
	}
	m = made(t, 3, 60)
	for row, cut := range m.truncated {
		m.dones[row], m.truncated[row] = m.dones[row] || cut, false
	}
	m.learning()
	edit("dones", func(*recording, *drill, int) float64 { return 0 })(m)
	if f, _ := said(t, m, "learnt ends"); f.Status != check.Fault || !strings.Contains(f.Says, "No end is marked") {
		t.Errorf("no end: %s, %q", f.Status, f.Says)
	}
}

// The value of the next episode after a cut shows only where the batch goes on with it; of the other cuts nothing is asked.
func TestCutsThatLeakAreFoundInShortBatches(t *testing.T) {
	for _, planted := range []bool{false, true} {
		m := made(t, 3, 90)
		m.learn = nil
		for a := range m.agents() {
			var rows []int64
			cuts := 0
			for _, row := range m.rowsOf(a) {
				if rows = append(rows, row); !m.truncated[row] {
					continue
				}
				if cuts++; cuts%2 == 0 {
					m.learn, rows = append(m.learn, m.drill(a, int64(cuts), rows)), nil
				}
			}
		}
		for k := range m.learn {
			l := &m.learn[k]
			for i := len(l.row) - 2; i >= 0 && planted; i-- {
				row := l.row[i]
				switch v := l.cols["values"]; {
				case m.truncated[row]:
					l.cols["advantages"][i] = l.cols["rewards"][i] - v[i] + gamma*v[i+1]
				case !m.dones[row] && !m.opens(l, i):
					l.cols["advantages"][i] = l.cols["rewards"][i] - v[i] + gamma*v[i+1] + gamma*lambda*l.cols["advantages"][i+1]
				}
				l.cols["returns"][i] = l.cols["advantages"][i] + l.cols["values"][i]
			}
		}
		f, _ := said(t, m, "advantages")
		if leaks := f.Status == check.Fault && strings.Contains(f.Says, "the value of the next episode counts"); leaks != planted {
			t.Errorf("planted: %v; %s, %q", planted, f.Status, f.Says)
		}
	}
}

// Where everybody is said to draw from the same policy and nobody does, no agent's explains another's actions.
func TestAPolicyThatNobodyPlaysIsNobodys(t *testing.T) {
	m := made(t, 3, 120)
	for i := range m.policyRow {
		for k, p := range []float32{0.4, 0.3, 0.2, 0.1} {
			m.logits[i*actions+k], m.probs[i*actions+k] = float32(math.Log(float64(p))), p
		}
	}
	m.without = "legal,learn/*"
	f, _ := said(t, m, "actions follow the policy")
	if f.Status != check.Fault || !strings.Contains(f.Says, "not drawn from its policy") || strings.Contains(f.Says, "They are drawn from") {
		t.Errorf("%s, %q", f.Status, f.Says)
	}
}
