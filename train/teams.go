package train

import (
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

// teams deals whole teams: in some episodes one learner meets bots in all other
// learners' places, 0 to all of them the first of the population and the rest
// the second, or all of them the same one. Stand-ins that are drawn one by one hardly ever
// make such a team.
type teams struct {
	share float64    // of two kinds
	alike float64    // of one
	rand  []rng.Rand // [N]
	dealt []bool     // [N] the episode that starts is of that kind
}

func newTeams(share, alike float64, envs int, key rng.Key) *teams {
	if share == 0 && alike == 0 {
		return nil
	}
	return &teams{share, alike, key.Child("team").Rands("env", envs), make([]bool, envs)}
}

// deal chooses for the episode that starts in env n.
func (t *teams) deal(d *dealing, n int) {
	r := &t.rand[n]
	var learners []int
	for a, learns := range d.learns {
		if learns {
			learners = append(learners, a)
		}
	}
	u := r.Float64()
	if t.dealt[n] = u < t.share+t.alike && len(learners) > 1; !t.dealt[n] {
		for _, a := range learners { // who is shown stand-ins reads no choice of the one before
			d.choice[a][n] = own
		}
		return
	}
	order := make([]int, len(learners))
	r.Perm(order)
	first, kind := r.IntN(len(learners)), int16(0)
	if u >= t.share {
		kind = int16(r.IntN(d.who))
	}
	for i, at := range order {
		switch who := &d.choice[learners[at]][n]; {
		case i == 0:
			*who = own
		case u >= t.share:
			*who = kind
		case i <= first:
			*who = 0
		default:
			*who = 1
		}
	}
}

// firstDealt is the agent whose turn comes first when an episode starts.
const firstDealt = agent.ID(0)

func (t *teams) save(f *safetensors.File) error {
	if t == nil {
		return nil
	}
	var b []byte
	for n := range t.rand {
		var err error
		if b, err = t.rand[n].AppendBinary(b); err != nil {
			return err
		}
	}
	f.PutBytes("dealing/teams", b)
	return nil
}

func (t *teams) load(f *safetensors.File) error {
	if t == nil {
		return nil
	}
	b, err := f.Bytes("dealing/teams")
	if err != nil {
		return err
	}
	size := len(b) / len(t.rand)
	for n := range t.rand {
		if err := t.rand[n].UnmarshalBinary(b[n*size : (n+1)*size]); err != nil {
			return err
		}
	}
	return nil
}
