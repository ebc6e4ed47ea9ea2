package lab

import (
	"slices"

	"github.com/hop-marl/hop/game/stranger"
)

// SplitOf returns the split that a member of a zoo is in: that of its kind. A member of the train
// split is learnt from and one of the others is held out; who is otherwise is in none, "".
func (l *Lab) SplitOf(e *ZooEntry) stranger.Split {
	for _, b := range Breeds(l.Reg) {
		if b.Name == e.Kind && e.HeldOut == (b.Split != stranger.Train) {
			return b.Split
		}
	}
	return ""
}

// ZooStrangers lists the members of a zoo for a game that are in a split, or in any.
func (l *Lab) ZooStrangers(dir string, about map[string]any, split string) (list StrangerList, err error) {
	splits := stranger.Splits
	if split != "" {
		one, err := stranger.Parse(split)
		if err != nil {
			return nil, err
		}
		splits = []stranger.Split{one}
	}
	zoo, err := l.Zoo(dir)
	if err != nil {
		return nil, err
	}
	if len(zoo) == 0 {
		return nil, Misused("--zoo %s: it holds no co-players; train some with: hop zoo train --out %[1]s", dir)
	}
	for i := range zoo {
		e := &zoo[i]
		if s := l.SplitOf(e); slices.Contains(splits, s) && e.Status == "done" && l.GameWords(e.Game) == l.GameWords(about) {
			list = append(list, Named{e.Name, about["name"].(string), e.Name, s})
		}
	}
	return list, nil
}
