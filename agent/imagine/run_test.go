package imagine_test

import (
	"strings"
	"testing"

	"github.com/hop-marl/hop/train/spec/spectest"
)

// The world model and its steps are among what is restored.
func TestRunsKeepTheirPromises(t *testing.T) { spectest.Promises(t, spectest.Imagining, 4) }

// So is what agents know of each other, in play and where each imagines for itself or
// all imagine together.
func TestRunsThatModelOthersKeepTheirPromises(t *testing.T) {
	for _, others := range []string{"model", "brains"} {
		t.Run(others, func(t *testing.T) {
			spectest.Promises(t, spectest.With(t, spectest.ImaginingAlone, "imagine.others="+others), 4)
		})
	}
}

// How many rows each agent has to learn from is reported, and is as many for all as the
// rules allow.
func TestBuffersAreReportedByAgent(t *testing.T) {
	run := spectest.Play(t, spectest.ImaginingAlone, 5, 1)
	for _, p := range run.Seen {
		rows, world := map[string][]float64{}, 0.
		for _, r := range p.Rows {
			if strings.HasPrefix(r.Name, "buffer/") {
				rows[r.Name] = append(rows[r.Name], r.Value)
				if r.Name == "buffer/world" {
					world += r.Value
				}
			}
		}
		for _, name := range []string{"buffer/real", "buffer/imagined", "buffer/world", "buffer/others"} {
			if len(rows[name]) != 4 {
				t.Fatalf("update %d: %s is reported of %d agents", p.Update, name, len(rows[name]))
			}
		}
		for a, list := range p.Stats {
			for _, st := range list {
				name := map[string]string{
					"ppo/explained": "buffer/real", "ppo/explained_imagined": "buffer/imagined", "moa/ce": "buffer/others",
				}[st.Name]
				if name != "" && rows[name][a] != float64(st.N) {
					t.Errorf("update %d, agent %d: %s is %v, %s has %d rows", p.Update, a, name, rows[name][a], st.Name, st.N)
				}
			}
		}
		if want := min(300, float64(p.Step)); world < want-40 || world > 300 {
			t.Errorf("update %d, step %d: the world model learns from %v steps, of at most 300", p.Update, p.Step, world)
		}
	}
}

// Imagination is self-play of networks on one game; all else is refused with the
// field to change.
func TestWhatCannotBeImaginedIsRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"actor: {lstm: 8}\nimagine: {on: true}", "actor.lstm"},
		{"train: {team: [learn, nh, nh, nh]}\nimagine: {on: true}", "train.team"},
		{"train: {standins: {share: 0.1, who: [nh]}}\nimagine: {on: true}", "train.standins"},
		{"train: {stages: [{at: 0, set: [game.hares=0]}]}\nimagine: {on: true}", "train.stages"},
		{"train: {goal_weight: [{goal: hare, from: 0, to: 1, over: 9}]}\nimagine: {on: true}", "train.goal_weight"},
		{"imagine: {on: true, real_ratio: 1}", "imagine.real_ratio"},
		{"imagine: {on: true, world: nowhere}", "nowhere"},
		{"game: {name: matrix}\nimagine: {on: true}", "board"},
		{"mind: hop\nimagine: {on: true}", "search.kind"},
		{"mind: hop\nown: ppo\nsearch: {kind: none}\nleaf: {kind: both}\nimagine: {on: true}", "leaf.kind"},
		{"imagine: {on: true, others: model}", "has no model of others"},
		{"mind: lola\nimagine: {on: true}", "imagine.on"},
		{"mind: influence\nimagine: {on: true}", "imagine.on"},
	} {
		spectest.Refused(t, c.want, c.text)
	}
	for set, want := range map[string]string{
		"imagine.from=slots": "imagine.from", "ppo.prosocial=0.5": "ppo.prosocial", "ppo.prosocial_end=0.5": "ppo.prosocial",
		"train.brains=[0,0,0,0]": "train.brains", "train.team=[learn,nh,nh,nh]": "train.team", "search.kind=onestep": "search.kind",
	} {
		spectest.Refused(t, want, spectest.ImaginingAlone, set)
	}
}
