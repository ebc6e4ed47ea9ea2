package imagine_test

import (
	"testing"

	"hop/exp/exptest"
)

// The world model and its steps are among what is restored.
func TestRunsKeepTheirPromises(t *testing.T) { exptest.Promises(t, exptest.Imagining, 4) }

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
		{"mind: hop\nimagine: {on: true}", "imagine.on"},
		{"mind: lola\nimagine: {on: true}", "imagine.on"},
		{"mind: influence\nimagine: {on: true}", "imagine.on"},
	} {
		exptest.Refused(t, c.want, c.text)
	}
}
