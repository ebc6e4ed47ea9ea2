package lab

import (
	"errors"
	"strings"
	"testing"
)

// A co-player that another build trained is kept only if that is accepted, and it is
// said.
func TestTheZooOfAnotherBuildIsAcceptedOrRefused(t *testing.T) {
	c := ZooConfig{Game: "staghunt", Set: []string{"game.horizon=8"}, Who: []string{"selfish"}, Steps: 500, Seed: 1, Out: t.TempDir()}
	if _, err := quiet().TrainZoo(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	other := quiet()
	other.Version = "other"
	var notes []string
	other.Watch = func(n News) {
		if n.Kind == Noted {
			notes = append(notes, n.Text)
		}
	}
	_, err := other.TrainZoo(t.Context(), c)
	var m Misuse
	if !errors.As(err, &m) {
		t.Fatalf("error %v, want that it is another build", err)
	}
	for _, want := range []string{"selfish-", "hop test,", "hop other,", "--accept-build"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("it does not say %q: %v", want, err)
		}
	}
	c.AcceptBuild = true
	list, err := other.TrainZoo(t.Context(), c)
	if err != nil || len(list) != 1 || !list[0].Reused || !strings.Contains(list[0].Build, "hop test,") {
		t.Errorf("accepted: %+v, %v", list, err)
	}
	if text := strings.Join(notes, "\n"); !strings.Contains(text, "which another build trained: hop test,") {
		t.Errorf("it says %q", text)
	}
}
