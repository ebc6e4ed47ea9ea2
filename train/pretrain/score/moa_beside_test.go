package score

import (
	"strings"
	"testing"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/num/check"
)

func TestModelsLearntWhilePlayingAreHeldAgainstTheBest(t *testing.T) {
	d, g := goalData(t, 8000)
	m := smallMOA(t, d, "goal", folder(t))
	ws := m.Learner.Model.Work(1)
	// same knows what the model learnt here knows; stuck says that all stand still.
	same := func(me agent.ID) About {
		return func(probs, obs []float32, a agent.ID, goal int) bool {
			if a == me || goal < 0 {
				return false
			}
			want := make([]float32, 2)
			want[goal] = 1
			ws.Predict(m.Learner.Params, obs, want, probs)
			return true
		}
	}
	stuck := func(probs, _ []float32, a agent.ID, _ int) bool {
		clear(probs)
		probs[4] = 1
		return a == 2
	}
	s, k := scoreMOA(t, m, g)
	Beside(m, map[agent.ID]About{0: same(0), 1: same(1)}, s, k)
	if len(s.Beside) != 6 || s.BesideOf < 0.999 || s.BesideOf > 1.001 {
		t.Fatalf("%d pairs reach %.3f of the model they are copies of, want 6 and 1", len(s.Beside), s.BesideOf)
	}
	for _, p := range s.Beside {
		if p.Of == p.About || p.Rows == 0 || p.OfOffline < 0.999 {
			t.Errorf("pair %+v, want another agent's rows and all of the top-1", p)
		}
	}
	for _, name := range []string{"online models keep up", "online models lose no action"} {
		if q := k.Find(name); q == nil || q.Status != check.Pass {
			t.Errorf("check %q of copies is %+v", name, q)
		}
	}
	s, k = scoreMOA(t, m, g)
	Beside(m, map[agent.ID]About{3: stuck}, s, k)
	broken(t, k, "online models keep up", "agent 3's of agent 2")
	broken(t, k, "online models lose no action", "probability 0.00")
	if q := k.Find("online models keep up"); !strings.Contains(q.Says, "learnt while playing: top-1 0.") {
		t.Errorf("the check says %q", q.Says)
	}
}
