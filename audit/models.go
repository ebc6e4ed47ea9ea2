package audit

import (
	"fmt"
	"slices"

	"github.com/hop-marl/hop/agent/hop/pretrained"
	"github.com/hop-marl/hop/agent/learner"
	checks "github.com/hop-marl/hop/audit/check"
	"github.com/hop-marl/hop/audit/probe"
	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/runlog"
)

// begins is a model that was trained before the run: where its folder is, where a
// mind's checkpoint holds it, and whose module it is.
type begins struct{ name, dir, best, at, module string }

// pretrained compares the models that a mind starts from with those in the folders
// that the spec names: f is the mind before it learns.
func (u *session) pretrained(f *safetensors.File) error {
	c := u.hop.Models
	for _, b := range []begins{
		{"model of others", c.MOA, "best/", "moa/net/", "moa"}, {"VAE", c.VAE, "best/", "goals/vae/model/", "goals"},
		{"inference of goals", c.CVAE, "best/", "goals/cvae/model/", "goals"}, {"world model", c.World, "best/", "models/world/", "world"},
		{"response network", c.Response, "brain/net/", "models/response/", "planner"},
		{"sequence model", c.Sequence, "best/", "models/sequence/", "goals"},
	} {
		if b.dir == "" {
			continue
		}
		last, err := (&runlog.Reader{AcceptOlder: true}).Last(b.dir)
		if err != nil {
			return err
		}
		file, err := safetensors.Parse(last.Body)
		if err != nil {
			return err
		}
		want, err := reference.LoadNet(file, b.best)
		if err != nil {
			return err
		}
		got, err := reference.LoadNet(f, b.at)
		if err != nil {
			continue // this kind of mind has no use for it
		}
		same, odd := 0, ""
		for name, m := range want {
			g, ok := got[name]
			if !ok || g.Rows != m.Rows || g.Cols != m.Cols {
				continue // a layer that was widened for what the mind adds
			}
			if same++; !slices.Equal(g.V, m.V) && (odd == "" || name < odd) {
				odd = name
			}
		}
		x := check.Finding{
			Step: 2, Check: "the " + b.name + " starts from its folder", Module: b.module, Unit: "layers", Rows: same,
			Says: fmt.Sprintf("The %s begins with the weights of %s.", b.name, b.dir),
		}
		if odd != "" {
			x.Accuse(check.Fault, 1, fmt.Sprintf("The %s does not begin with the weights of %s: %s differs.", b.name, b.dir, odd),
				"where models are loaded and handed to minds: registry, agent/hop.New")
		}
		u.started = append(u.started, x)
	}
	return nil
}

// bots counts rows in which bots are shown and what the window holds as the policy
// to learn from them.
type bots struct{ alive, rows, wrong int }

func (b *bots) take(ro *batch.Rollout) {
	for a := range agent.ID(ro.Agents) {
		record.Each(ro, a, func(_, _, step, slot int) {
			if ro.Alive[slot] {
				b.alive++
			}
			if !ro.Alive[slot] || !ro.Own[step] {
				return
			}
			b.rows++
			for k, p := range ro.TargetAt(step) {
				if hit := int32(k) == ro.Action[step]; hit && p != 1 || !hit && p != 0 {
					b.wrong++
					break
				}
			}
		})
	}
}

// shownBots says whether what bots played is the policy to learn from them.
func (u *session) shownBots() check.Finding {
	b := u.bots
	if b.rows == 0 {
		return check.Finding{
			Step: 3, Check: "what bots show is what they played", Module: "rollout", Unit: "share of rows", Rows: b.alive, Effect: 1,
			Status: check.Fault, Says: fmt.Sprintf("None of the %d rows that bots played in the warm-up is marked as one to learn from.", b.alive),
			Next: "train: shown.Act must mark its rows as the agent's own",
		}
	}
	return counted(check.Finding{
		Step: 3, Check: "what bots show is what they played", Module: "rollout", Unit: "share of rows", Rows: b.rows,
		Says: "In the warm-up the policy to learn is all on the action that was played.",
	}, float64(b.wrong)/float64(max(b.rows, 1)), fmt.Sprintf("In %d of %d rows of the warm-up the policy to learn is not the action that "+
		"was played.", b.wrong, b.rows), "train: shown.Act, and what it leaves in Target")
}

// foreseen asks the world model that planners search on what it predicts of played
// steps, once, and their searches what they make of it.
func (u *session) foreseen(ro *batch.Rollout) {
	if u.hop == nil || u.hop.Search.Dynamics != "world" || u.world != nil {
		return
	}
	fail := func(err error) {
		f := check.Finding{Step: 4, Check: "the world model can be read", Module: "world", Unit: "models", Rows: 1}
		f.Accuse(check.Fault, 1, fmt.Sprintf("The planners' world model cannot be asked: %v.", err), "agent/hop: Models and rules")
		u.world = append(u.world, f)
	}
	f, err := probe.Saved(u.taps[slices.IndexFunc(u.taps, func(t *tap) bool { return t.hop != nil })].Mind)
	if err != nil {
		fail(err)
		return
	}
	models, err := pretrained.Of(f)
	if err != nil || models.World == nil {
		fail(fmt.Errorf("it is not among what agents save (%w)", err))
		return
	}
	var layers, search checks.Layers
	layers.Ask(models.World, models.Steps, ro)
	w := checks.WorldOf(models.World, models.Steps)
	for i, t := range u.taps {
		s, ok := learner.As[learner.Searching](t.Mind)
		if !ok {
			continue
		}
		_, made := s.Search()
		if err := search.Search(u.parts.Game, w, *made, rng.New(uint64(i)+7)); err != nil {
			fail(err)
		}
	}
	u.world = append(u.world, layers.Say("planners ask", "model/world.Work.Step and what it reads (encode.go)"))
	steps := search.Say("searches ask", "search/learned: Set, Expand and predict (joint actions by place, what is packed), Observe")
	steps.Module, steps.Check = "planner", "the search plays on its world model"
	steps.Says = steps.Else("Steps of the search are what the world model's layers come to in float64, from every place.")
	u.world = append(u.world, steps)
}
