package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/train/prepare"
)

// smallZoo is of the prisoner's dilemma, with members of two ages and one held out.
func smallZoo(t *testing.T) zooAsk {
	return zooAsk{
		prepare.Zoo{Who: []string{"selfish-3", "selfish-3-young", "aggressive-1"}, Hold: []string{"prosocial"}, Steps: 12_000, Seed: 2},
		siteOf(t, quiet(), "matrix", filepath.Join(t.TempDir(), "zoo"), "game.rounds=4"),
	}
}

// zooAsk is a zoo that is asked for, and where.
type zooAsk struct {
	prepare.Zoo
	Site
}

// A zoo's index names its members, at what age they are, and who is held out, wherever
// the folder lies; the same command keeps all of them.
func TestAZooIsAPopulation(t *testing.T) {
	c, l := smallZoo(t), quiet()
	list, err := l.TrainZoo(t.Context(), c.Zoo, c.Site)
	if err != nil {
		t.Fatal(err)
	}
	moved := c
	moved.Dir += "-moved"
	if err := os.Rename(c.Dir, moved.Dir); err != nil {
		t.Fatal(err)
	}
	index, err := l.Zoo(moved.Dir)
	if err != nil || len(index) != 4 {
		t.Fatalf("%d members, %v", len(index), err)
	}
	for i, want := range []struct {
		name, kind, age string
		seed            uint64
		held            bool
	}{
		{"selfish-3", "selfish", "final", 3, false}, {"selfish-3-young", "selfish", "young", 3, false},
		{"aggressive-1", "aggressive", "final", 1, false}, {"prosocial-2", "prosocial", "final", 2, true},
	} {
		e := index[i]
		if e.Name != want.name || e.Kind != want.kind || e.Age != want.age || e.Seed != want.seed || e.HeldOut != want.held {
			t.Errorf("member %d is %+v, want %+v", i, e, want)
		}
		if e.Mean != list[i].Mean || e.SHA256 != list[i].SHA256 || len(e.Agents) != 2 || e.Reused {
			t.Errorf("%s: the index has %+v, the training returned %+v", e.Name, e, list[i])
		}
	}
	old, young := index[0], index[1]
	if young.Run != old.Run || young.Step < 1500 || young.Step > 3000 || old.Step < 12_000 || young.Mean < old.Mean+0.5 {
		t.Errorf("the young one is of step %d and gets %v, the final one of %d and %v; want an eighth of the way, where less is defected",
			young.Step, young.Mean, old.Step, old.Mean)
	}
	again, err := l.TrainZoo(t.Context(), moved.Zoo, moved.Site)
	for i := range again {
		if !again[i].Reused || again[i].SHA256 != list[i].SHA256 || again[i].Mean != list[i].Mean {
			t.Errorf("the same command made %+v of %+v", again[i], list[i])
		}
	}
	if err != nil || len(again) != 4 {
		t.Errorf("%d members, %v", len(again), err)
	}
	g, err := c.build()
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Reg.Member(g, fmt.Sprintf("%s#0@%d", old.Run, young.Step+1))
	if err == nil || !strings.Contains(err.Error(), "no checkpoint") {
		t.Errorf("an age that there is not: error %v", err)
	}
	about, err := c.Game.Map()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"prosocial-2", "prosocial"} {
		if e := l.FindZoo(index, name, about); e == nil || e.Name != "prosocial-2" {
			t.Errorf("%s is not found: %+v", name, e)
		}
	}
}

// Nothing may learn from members that are held out, and nobody becomes a stranger who
// was learnt from.
func TestHeldOutMembersAreNoPopulation(t *testing.T) {
	c, l := smallZoo(t), quiet()
	c.Who, c.Steps = []string{"selfish"}, 500
	if _, err := l.TrainZoo(t.Context(), c.Zoo, c.Site); err != nil {
		t.Fatal(err)
	}
	g, err := c.build()
	if err != nil {
		t.Fatal(err)
	}
	about, err := c.Game.Map()
	if err != nil {
		t.Fatal(err)
	}
	p, err := l.Population(c.Dir, g, about)
	if err != nil || !slices.Equal(p.Names, []string{"selfish-2"}) {
		t.Fatalf("the population is %+v, %v", p, err)
	}
	if _, err := p.Players("selfish-2", 1, 1, 1); err != nil {
		t.Error(err)
	}
	refused := func(what string, err error, word string) {
		t.Helper()
		if m := (Misuse{}); !errors.As(err, &m) || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: error %v", what, err)
		}
	}
	_, err = p.Players("prosocial-2", 1, 1, 1)
	refused("a held-out member as a co-player", err, "held out")
	_, err = p.Held([]string{"selfish-2", "prosocial-2"})
	refused("a held-out member in a population", err, "held out")
	about["rounds"] = 5
	_, err = l.Population(c.Dir, g, about)
	refused("another game's zoo", err, "no members for matrix rounds=5")
	c.Who, c.Hold = []string{"prosocial"}, nil
	_, err = l.TrainZoo(t.Context(), c.Zoo, c.Site)
	refused("a stranger to be learnt from", err, "held out already")
	c.Who, c.Hold = []string{"aggressive"}, []string{"selfish"}
	_, err = l.TrainZoo(t.Context(), c.Zoo, c.Site)
	refused("a member to be a stranger", err, "learnt from already")
	c.Hold = []string{"aggressive-2"}
	_, err = l.TrainZoo(t.Context(), c.Zoo, c.Site)
	refused("one to be both", err, "--hold aggressive-2: ")
}

// Every game has members for its kind of interests, and none whose reward says nothing.
func TestTheUsualMembersFitTheGame(t *testing.T) {
	l := quiet()
	for name, want := range map[string][2]int{
		"staghunt": {6, 3}, "snowdrift": {6, 3}, "coin": {6, 3}, "cleanup": {6, 3}, "commons": {6, 3}, "matrix": {6, 3},
		"foraging": {5, 2}, "tag": {5, 2},
	} {
		g, _, err := l.NewGame(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := zooAsk{prepare.DefaultZoo(), siteOf(t, l, name, "")}
		list, err := l.zooMembers(c.Zoo, c.Site, g)
		if err != nil {
			t.Fatal(err)
		}
		held, seen := 0, map[string]bool{}
		for _, e := range list {
			_, b, err := l.parseMember(e.Name, 0)
			if err != nil || seen[e.Name] {
				t.Errorf("%s: %s: %v", name, e.Name, err)
			}
			if seen[e.Name] = true; e.HeldOut {
				held++
			}
			s, err := l.breedSpec(c.Zoo, c.Site, b)
			if err != nil || s.Game.Name != name || s.Train.Steps > zooSteps {
				t.Errorf("%s: %s learns from %+v, %v", name, e.Name, s.Train, err)
			}
			if g.Spec().Kind != game.GeneralSum && s.PPO.Prosocial != 0 {
				t.Errorf("%s: %s counts what others earn, where that says nothing", name, e.Name)
			}
		}
		if got := [2]int{len(list) - held, held}; got != want {
			t.Errorf("%s: %v members and held-out ones, want %v", name, got, want)
		}
	}
}

// A co-player that another build trained is kept only if that is accepted, and it is
// said.
func TestTheZooOfAnotherBuildIsAcceptedOrRefused(t *testing.T) {
	c := zooAsk{prepare.Zoo{Who: []string{"selfish"}, Steps: 500, Seed: 1}, siteOf(t, quiet(), "staghunt", t.TempDir(), "game.horizon=8")}
	if _, err := quiet().TrainZoo(t.Context(), c.Zoo, c.Site); err != nil {
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
	_, err := other.TrainZoo(t.Context(), c.Zoo, c.Site)
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
	list, err := other.TrainZoo(t.Context(), c.Zoo, c.Site)
	if err != nil || len(list) != 1 || !list[0].Reused || !strings.Contains(list[0].Build, "hop test,") {
		t.Errorf("accepted: %+v, %v", list, err)
	}
	if text := strings.Join(notes, "\n"); !strings.Contains(text, "which another build trained: hop test,") {
		t.Errorf("it says %q", text)
	}
}
