package lab

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game/stranger"
	"github.com/hop-marl/hop/lab/report/adapted"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/registry"
)

// Every kind of learner is in one split, and what one of the test split is rewarded for, or how
// it learns, is in no other split; nobody whom a zoo is usually learnt from is outside of train.
func TestLearnersAreSplitByRewardAndAlgorithm(t *testing.T) {
	l := &Lab{Reg: registry.New()}
	all := Breeds(l.Reg)
	in := map[stranger.Split]int{}
	for _, b := range all {
		if in[b.Split]++; !slices.Contains(stranger.Splits, b.Split) || b.Reward == "" || b.Learns == "" {
			t.Errorf("%s is in the split %q, learns %q from %q", b.Name, b.Split, b.Learns, b.Reward)
		}
		alike := func(by func(Breed) string) bool {
			return slices.ContainsFunc(all, func(o Breed) bool { return o.Split != b.Split && by(o) == by(b) })
		}
		if b.Split == stranger.Test && alike(func(b Breed) string { return b.Reward }) && alike(func(b Breed) string { return b.Learns }) {
			t.Errorf("%s is of the test split, and both its reward and how it learns are in another one", b.Name)
		}
	}
	for _, s := range stranger.Splits {
		if in[s] == 0 {
			t.Errorf("no kind is in the split %s", s)
		}
	}
	for _, weans := range []bool{false, true} {
		who, _ := l.usual(0, weans, 1)
		for _, name := range who {
			if _, b, err := l.parseMember(name, 1); err != nil || b.Split != stranger.Train {
				t.Errorf("%s, whom zoos are learnt from, is in the split %s; %v", name, b.Split, err)
			}
		}
	}
}

// A zoo's members of a split are strangers beside the texts: named by their zoo, met by who is
// scored, and no one who may be learnt from is among those of the test split.
func TestLearnersOfAZooAreStrangers(t *testing.T) {
	l := quiet()
	dir := filepath.Join(t.TempDir(), "zoo")
	at := siteOf(t, l, "staghunt", dir, "game.horizon=8")
	ask := prepare.Zoo{Who: []string{"selfish-1"}, Hold: []string{"single-1", "selfish-2", "lstm-1"}, Steps: 400, Seed: 1}
	if _, err := l.TrainZoo(t.Context(), ask, at); err != nil {
		t.Fatal(err)
	}
	about, err := at.Game.Map()
	if err != nil {
		t.Fatal(err)
	}
	for split, want := range map[string]string{
		"train": "selfish-1 train", "validation": "lstm-1 validation", "test@1": "single-1 test",
		"": "selfish-1 train, single-1 test, lstm-1 validation",
	} {
		list, err := l.ZooStrangers(dir, about, split)
		var got []string
		for _, n := range list {
			got = append(got, n.Text+" "+string(n.Split))
		}
		if said := strings.Join(got, ", "); err != nil || said != want {
			t.Errorf("the zoo has in the split %q: %s, want %s; %v", split, said, want, err)
		}
	}
	adapt := prepare.DefaultAdapt()
	adapt.Strangers, adapt.Zoo, adapt.Some, adapt.Lives, adapt.Steps, adapt.Last, adapt.Starts = "test", prepare.Folder(dir), 1, 1, 80, 60, 4
	table, err := l.Adapt(t.Context(), adapt, Site{Game: at.Game, Runs: []string{"nh"}})
	if err != nil {
		t.Fatal(err)
	}
	s := table.First
	met := slices.ContainsFunc(table.Table, func(r *adapted.Row) bool { return r.VS[0] == "single-1" })
	if s.N != 2 || !slices.Equal(s.Zoo, []string{"single-1"}) || !met {
		t.Errorf("%d strangers were met, of the zoo %v", s.N, s.Zoo)
	}
	adapt.Zoo = prepare.Folder(t.TempDir())
	_, err = l.Adapt(t.Context(), adapt, Site{Game: at.Game, Runs: []string{"nh"}})
	if err == nil || !strings.Contains(err.Error(), "no co-players") {
		t.Errorf("an empty zoo: %v", err)
	}
	if _, err := l.TrainZoo(t.Context(), prepare.Zoo{Who: []string{"single-1"}, Steps: 100, Seed: 1},
		siteOf(t, l, "tag", t.TempDir())); err == nil || !strings.Contains(err.Error(), "no second goal") {
		t.Errorf("one goal of none: %v", err)
	}
}
