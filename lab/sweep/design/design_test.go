package design

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

func TestGridIsEveryCombinationInOrder(t *testing.T) {
	list, err := Grid([]Field{{Path: "game.stags", Values: []string{"1", "2"}},
		{Path: "search.trees", Values: []string{"8", "16", "32"}}, {Path: "ppo.lr", Values: []string{"0.1"}}})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, v := range list {
		names = append(names, v.Name)
	}
	want := []string{"stags=1,trees=8", "stags=1,trees=16", "stags=1,trees=32", "stags=2,trees=8", "stags=2,trees=16", "stags=2,trees=32"}
	if !slices.Equal(names, want) {
		t.Fatalf("got %v", names)
	}
	if s := list[4].Settings; len(s) != 3 || s[1] != (Setting{"search.trees", "16"}) || s[2] != (Setting{"ppo.lr", "0.1"}) {
		t.Fatalf("settings %v", s)
	}
}

func TestPathsThatEndAlikeKeepMoreOfTheirNames(t *testing.T) {
	list, err := Grid([]Field{{Path: "actor.lr", Values: []string{"1", "2"}}, {Path: "ppo.lr", Values: []string{"1", "2"}}})
	if err != nil {
		t.Fatal(err)
	}
	if list[1].Name != "actor.lr=1,ppo.lr=2" {
		t.Fatalf("got %q", list[1].Name)
	}
}

func TestDrawsAreUniformInTheirLogarithmAndStay(t *testing.T) {
	f := []Field{{Path: "ppo.lr", Range: &Range{From: 1e-4, To: 1e-2, Log: true}}, {Path: "mind", Values: []string{"a", "b", "c"}}}
	list, err := Draw(f, 3000, 5)
	if err != nil {
		t.Fatal(err)
	}
	few, _ := Draw(f, 10, 5)
	below, kinds := 0, map[string]int{}
	for i, v := range list {
		x, err := strconv.ParseFloat(v.Settings[0].Value, 64)
		if err != nil || x < 1e-4*.9999 || x > 1e-2*1.0001 {
			t.Fatalf("drew %v", v)
		}
		if x < 1e-3 {
			below++
		}
		kinds[v.Settings[1].Value]++
		if i < 10 && !slices.Equal(few[i].Settings, v.Settings) {
			t.Fatalf("draw %d differs between 10 and 3,000: %v and %v", i, few[i], v)
		}
	}
	if math.Abs(float64(below)/3000-.5) > .03 { // a tenth of its standard error more than three
		t.Errorf("%d of 3,000 are below the geometric middle", below)
	}
	for k, n := range kinds {
		if math.Abs(float64(n)/3000-1./3) > .03 {
			t.Errorf("%s was drawn %d times of 3,000", k, n)
		}
	}
	for _, bad := range []Range{{From: 2, To: 1}, {From: 0, To: 1, Log: true}, {From: math.NaN(), To: 1}} {
		if _, err := Draw([]Field{{Path: "x", Range: &bad}}, 1, 1); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

func TestSplitLeavesBracketsWhole(t *testing.T) {
	if got := Split("[1,2],3,{a: [4,5]},"); !slices.Equal(got, []string{"[1,2]", "3", "{a: [4,5]}", ""}) {
		t.Fatalf("got %q", got)
	}
}

// Whoever is ready first, the same variants go on; and without a latecomer nobody waits.
func TestWhoGoesOnFollowsFromScoresAlone(t *testing.T) {
	h := &Halving{Metric: "x", Rungs: []int{1, 3, 9}, Keep: 3}
	if err := h.Validate(); err != nil {
		t.Fatal(err)
	}
	score := func(at, v int) float64 {
		if v == 7 {
			return math.NaN() // fails
		}
		return float64(v*37%101) + float64(at)*.1*float64(v%5)
	}
	var first [][]int
	for try := range uint64(50) {
		r := rand.New(rand.NewPCG(try, 1))
		l := NewLadder(h, 30)
		type done struct{ at, v int }
		var ready []done
		for v := range 30 {
			ready = append(ready, done{0, v})
		}
		for len(ready) > 0 {
			i := r.IntN(len(ready))
			d := ready[i]
			ready = slices.Delete(ready, i, i+1)
			for _, v := range l.Score(d.at, d.v, score(d.at, d.v)) {
				ready = append(ready, done{d.at + 1, v})
			}
		}
		var on [][]int
		for _, r := range l.rungs {
			on = append(on, slices.Sorted(slices.Values(r.order)))
		}
		if try == 0 {
			first = on
			if len(on[1]) < 10 || len(on[2]) < 3 || slices.Contains(on[1], 7) {
				t.Fatalf("on the rungs are %v", on)
			}
			best := slices.MaxFunc(on[0], func(a, b int) int { return int(math.Copysign(1, score(0, a)-score(0, b))) })
			if !slices.Contains(on[2], best) {
				t.Errorf("the best variant, %d, is not on the last rung %v", best, on[2])
			}
			if got := len(l.Stopped()); got != 30-len(on[2]) {
				t.Errorf("%d stopped, %d of 30 came to the end", got, len(on[2]))
			}
			continue
		}
		for i := range on {
			if !slices.Equal(on[i], first[i]) {
				t.Fatalf("in another order, rung %d holds %v and not %v", i, on[i], first[i])
			}
		}
	}
}
