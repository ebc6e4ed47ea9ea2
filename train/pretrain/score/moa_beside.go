package score

import (
	"fmt"
	"slices"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/card"
	"github.com/hop-marl/hop/train/pretrain"
)

// About predicts what agent a does if it pursues goal: probs [Actions] from a's
// own observation. It reports false where it cannot say.
type About func(probs, obs []float32, a agent.ID, goal int) bool

// MOABeside is what an agent's own model of another, learnt while playing, is
// worth on the scored rows.
type MOABeside struct {
	Of        agent.ID       `json:"of"`
	About     agent.ID       `json:"about"`
	Rows      int            `json:"rows"`
	Top1      float64        `json:"top1"`
	CE        float64        `json:"ce"`
	ECE       float64        `json:"ece"`
	Recall    []stats.Number `json:"recall"`
	OfOffline stats.Number   `json:"of_offline"` // top1 / that of the model learnt here, on the same rows

	online, offline *card.Classes
}

// Beside holds what agents have learnt about each other while playing against
// the model learnt here, row by row, and adds it to score and card: want it to
// reach four fifths of the top-1, and to lose no action.
func Beside(t *pretrain.MOA, agents map[agent.ID]About, s *MOAScore, k *card.Card) {
	d, m := t.Data, t.Learner.Model
	here := make([]nn.Probs, t.Rows.Len())
	t.Learner.Each(t.Rows, t.Parts[2], func(row int, p nn.Probs) { here[row] = slices.Clone(p) })
	obs, probs := make([]float32, d.ObsLen()), make([]float32, m.Actions)
	all, ref := card.NewClasses(d.Layout.Actions), card.NewClasses(d.Layout.Actions)
	for of := range agent.ID(d.Layout.Seats) {
		about := agents[of]
		if about == nil {
			continue
		}
		pairs := make([]MOABeside, d.Layout.Seats)
		for j := range pairs {
			pairs[j] = MOABeside{Of: of, About: agent.ID(j), online: card.NewClasses(d.Layout.Actions), offline: card.NewClasses(d.Layout.Actions)}
		}
		for _, q := range t.Parts[2] {
			for i := int(t.Rows.Seqs[q].Lo); i < int(t.Rows.Seqs[q].Hi); i++ {
				row := int(t.Source[i])
				d.Observation(row, obs)
				j := agent.ID(d.Agent[row])
				if !about(probs, obs, j, int(d.Goal[row])) {
					continue
				}
				was := int(t.Rows.Action[i])
				pairs[j].online.Add(was, probs)
				pairs[j].offline.Add(was, here[i])
				all.Add(was, probs)
				ref.Add(was, here[i])
			}
		}
		for _, p := range pairs {
			if p.online.N == 0 {
				continue
			}
			p.Rows, p.Top1, p.CE, p.ECE = p.online.N, p.online.Accuracy(), p.online.CE(), p.online.ECE()
			p.Recall, _ = counted(p.online)
			p.OfOffline = stats.Number(p.Top1 / p.offline.Accuracy())
			s.Beside = append(s.Beside, p)
			k.Add(card.Number{
				Name: fmt.Sprintf("agent %d's own model of agent %d: top-1", p.Of, p.About), Value: p.Top1, N: p.Rows,
				Limit: &card.Ref{Name: "learnt here", Value: p.offline.Accuracy(), Loose: true},
			})
		}
	}
	if all.N == 0 {
		k.Check("online models keep up", false, false, "no scored row has a goal that they could be told", "collect rows of the run's own agents")
		return
	}
	worst := s.Beside[0]
	for _, p := range s.Beside {
		if p.OfOffline < worst.OfOffline {
			worst = p
		}
	}
	s.BesideTop1, s.BesideOf = all.Accuracy(), stats.Number(all.Accuracy()/ref.Accuracy())
	k.Check("online models keep up", worst.OfOffline >= 0.8, worst.OfOffline >= 0.5,
		fmt.Sprintf("learnt while playing: top-1 %.3f, cross-entropy %.3f, calibration error %.3f on %d rows; learnt here: %.3f, %.3f, %.3f. "+
			"The weakest, agent %d's of agent %d, reaches %.0f %%",
			all.Accuracy(), all.CE(), all.ECE(), all.N, ref.Accuracy(), ref.CE(), ref.ECE(), worst.Of, worst.About, 100*worst.OfOffline),
		"more passes (moa.passes), or a higher moa.lr")
	if at, least := all.Weakest(ref, 0.03); at >= 0 {
		k.Check("online models lose no action", least >= 0.5, least >= 0.25,
			fmt.Sprintf("the weakest is %s: where it is taken it has probability %.2f on average, learnt here %.2f", d.Layout.Actions[at],
				all.Given(at), ref.Given(at)), "more rows of it, or moa.balance: true")
	}
}
