package script_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/cleanup"
	"github.com/hop-marl/hop/game/coin"
	"github.com/hop-marl/hop/game/commons"
	"github.com/hop-marl/hop/game/foraging"
	"github.com/hop-marl/hop/game/matrix"
	"github.com/hop-marl/hop/game/script"
	"github.com/hop-marl/hop/game/snowdrift"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/game/tag"
	"github.com/hop-marl/hop/num/rng"
)

// speaker is a game with a language.
type speaker interface {
	game.Game
	game.Speaker
	Language() *script.Language
}

func made[G any](g G, err error) G {
	if err != nil {
		panic(err)
	}
	return g
}

func games() []speaker {
	hunt, blocks := staghunt.Default(), staghunt.Default()
	hunt.Stags = 2
	blocks.Size, blocks.Blocks = 8, 5
	chased := tag.Default()
	chased.Predators, chased.Prey, chased.Blocks = 2, 2, 2
	return []speaker{
		made(staghunt.New(hunt)), made(staghunt.New(blocks)), made(snowdrift.New(snowdrift.Default())), made(coin.New(coin.Default())),
		made(cleanup.New(cleanup.Default())), made(foraging.New(foraging.Default())), made(matrix.New(matrix.Default())),
		made(tag.New(tag.Default())), made(tag.New(chased)), made(commons.New(commons.Default())),
	}
}

// sentences returns a text with every word of a language, and some with several.
func sentences(l *script.Language) (list []string) {
	who, thing := l.Pair[0], ""
	if len(l.Things) > 0 {
		thing = l.Things[0]
	}
	for _, w := range l.Words {
		text := strings.NewReplacer("thing", thing, "which=nearest", "nearest", "who=random", "random", "who=together", who,
			"who=alone", l.Pair[1],
			"n=", "", "share=", "", "share", ".25", "when", "early(3)", "who", who).Replace(w.Signature())
		text = strings.ReplaceAll(text, "(n)", "(3)")
		switch w.Kind {
		case script.When:
			text = "if(" + text + "," + who + "," + l.Pair[1] + ")"
		case script.Which:
			text = "go(" + thing + "," + w.Name + ")"
		}
		list = append(list, text)
	}
	return append(list, "noisy(lazy(slow("+who+",3),.2),.1)", "quits(noisy("+who+",.2),wsls,2)", "wsls")
}

// Every sentence plays only legal actions, with probabilities that sum to 1 and that it acts by,
// and is called by one name whatever blanks stand in it.
func TestSentencesPlayByTheRules(t *testing.T) {
	for _, g := range games() {
		l := g.Language()
		for _, text := range sentences(l) {
			p, err := l.Parse(text)
			if err != nil {
				t.Errorf("%s: %v", g.Spec().Name, err)
				continue
			}
			again, err := l.Parse(strings.ReplaceAll(p.Name(), ",", " , "))
			if err != nil || again.Name() != p.Name() {
				t.Errorf("%s: %s is called %s, and that %v", g.Spec().Name, text, p.Name(), err)
			}
			plays(t, g, text)
		}
	}
}

// plays lets four of a kind play some episodes.
func plays(t *testing.T, g speaker, text string) {
	t.Helper()
	n, actions := g.Spec().Seats, len(g.Spec().Actions)
	var team []game.Policy
	for range n {
		team = append(team, made(g.Speak(text)))
	}
	key := rng.New(5)
	r, rules := key.Child("act").Rand(), key.Child("rules").Rand()
	st := g.New()
	acts, rewards := make([]int32, n), make([]float32, n)
	legal, probs := make([]bool, actions), make([]float32, actions)
	for range 6 {
		for st.Reset(&rules); !st.Over(); {
			for s := range acts {
				if acts[s] = game.NoAction; !st.Alive(game.Seat(s)) {
					continue
				}
				st.Legal(game.Seat(s), legal)
				team[s].Probs(st, game.Seat(s), probs)
				sum := 0.
				for k, p := range probs {
					if sum += float64(p); p < 0 || p > 0 && !legal[k] {
						t.Fatalf("%s, %s: action %d has probability %v and is legal: %v", g.Spec().Name, text, k, p, legal[k])
					}
				}
				if math.Abs(sum-1) > 1e-5 {
					t.Fatalf("%s, %s: probabilities sum to %v", g.Spec().Name, text, sum)
				}
				if acts[s] = team[s].Act(st, game.Seat(s), &r); probs[acts[s]] == 0 {
					t.Fatalf("%s, %s: played %d, which it says it never does", g.Spec().Name, text, acts[s])
				}
			}
			st.Step(acts, rewards, &rules)
		}
		for s := range acts {
			if w, ok := team[s].(game.Watcher); ok {
				w.Watch(st, game.Seat(s))
			}
		}
	}
	st.Reset(&rules)
	p := team[0]
	p.Probs(st, 0, probs) // what is made once is made
	if allocs := testing.AllocsPerRun(20, func() { p.Probs(st, 0, probs); p.Act(st, 0, &r) }); allocs > 0 {
		t.Errorf("%s, %s: %v allocations a decision", g.Spec().Name, text, allocs)
	}
}

// What is wrong with a text is said with its place and with what was meant.
func TestFaultsSayWhereAndWhat(t *testing.T) {
	l := games()[0].Language()
	for _, c := range []struct {
		text string
		at   int
		says string
	}{
		{"nosy(nh,.3)", 1, "did you mean noisy?"},
		{"noisy(nh,3)", 10, "a share from 0 to 1"},
		{"noisy(nx,.3)", 7, "did you mean nh?"},
		{"noisy(,.3)", 7, "a word or a number"},
		{"noisy(nh,.3", 12, "a closing bracket"},
		{"noisy(nh,.3))", 13, "nothing more"},
		{"go(deer)", 4, "there are stag, hare"},
		{"go(stag,neerest)", 9, "did you mean nearest?"},
		{"go", 3, "a thing is missing"},
		{"if(wait(stag),ns,nh)", 4, "did you mean waits?"},
		{"if(early(0),ns,nh)", 10, "a whole number from 1"},
		{"slow(nh,2.5)", 9, "a whole number from 1"},
		{"noisy(nh,.3,ns)", 13, "no more than noisy(who,share=.3)"},
		{"noisy(switcher)", 7, "remembers nothing"},
		{"", 1, "a word or a number"},
		{"7(nh)", 2, "no bracket after a number"},
		{strings.Repeat("noisy(", 10) + "nh" + strings.Repeat(")", 10), 55, "at most 8 brackets"},
	} {
		_, err := l.Parse(c.text)
		var f *script.Fault
		if !errors.As(err, &f) || f.At != c.at || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v; want a fault at %d that says %q", c.text, err, c.at, c.says)
		}
	}
}

func TestSplitKeepsBracketsWhole(t *testing.T) {
	got := script.Split("help(stag), noisy(nh,.3),if(waits(stag),go(stag,first),nh),ns")
	want := []string{"help(stag)", "noisy(nh,.3)", "if(waits(stag),go(stag,first),nh)", "ns"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Words do what they say, seen by what they bring about: each against the game's own bots or
// a count over many episodes.
func TestWordsMeanWhatTheySay(t *testing.T) {
	c := staghunt.Default()
	c.Stags = 2
	g := made(staghunt.New(c))
	share := func(text string, what func(st *staghunt.State, s game.Seat, a int32) (asked, yes bool)) float64 {
		var team []game.Policy
		for _, who := range []string{text, "ns", "nh", "random"} {
			team = append(team, made(g.Speak(who)))
		}
		key := rng.New(3)
		r, rules := key.Child("act").Rand(), key.Child("rules").Rand()
		st := g.New().(*staghunt.State)
		acts, rewards := make([]int32, 4), make([]float32, 4)
		asked, yes := 0, 0
		for range 200 {
			for st.Reset(&rules); !st.Over(); st.Step(acts, rewards, &rules) {
				for s := range acts {
					if acts[s] = game.NoAction; st.Alive(game.Seat(s)) {
						acts[s] = team[s].Act(st, game.Seat(s), &r)
					}
				}
				if acts[0] >= 0 {
					if a, y := what(st, 0, acts[0]); a {
						asked++
						if y {
							yes++
						}
					}
				}
			}
		}
		if asked == 0 {
			t.Fatalf("%s: never in that situation", text)
		}
		return float64(yes) / float64(asked)
	}
	nearestTo := func(st *staghunt.State, s game.Seat, thing int) int16 {
		var spots [64]int16
		best := int16(1 << 14)
		for _, cell := range spots[:st.Spots(thing, s, spots[:])] {
			best = min(best, st.Steps(st.Place(s), cell))
		}
		return best
	}
	same := func(bot string) func(st *staghunt.State, s game.Seat, a int32) (bool, bool) {
		b := made(game.NewBot(g, bot)).(game.Policy)
		probs := make([]float32, 7)
		return func(st *staghunt.State, s game.Seat, a int32) (bool, bool) {
			b.Probs(st, s, probs)
			return true, probs[a] > 0
		}
	}
	takes := func(_ *staghunt.State, _ game.Seat, a int32) (bool, bool) { return true, a >= staghunt.HuntStag }
	at := func(thing int) func(st *staghunt.State, s game.Seat, a int32) (bool, bool) {
		return func(st *staghunt.State, s game.Seat, a int32) (bool, bool) {
			return st.Time() > 8 && nearestTo(st, s, thing) < 1<<14, nearestTo(st, s, thing) == 0
		}
	}
	again := func(st *staghunt.State, s game.Seat, a int32) (bool, bool) {
		legal := make([]bool, 7)
		st.Legal(s, legal)
		k := st.Played(s)
		return k >= 0 && legal[k], a == k
	}
	others := func(st *staghunt.State) int16 {
		best := int16(1 << 14)
		for o := game.Seat(1); o < 4; o++ {
			if st.Place(o) >= 0 {
				best = min(best, st.Steps(st.Place(o), st.Place(0)))
			}
		}
		return best
	}
	near := func(st *staghunt.State, _ game.Seat, _ int32) (bool, bool) {
		return st.Time() > 5 && others(st) < 1<<14, others(st) <= 1
	}
	for _, c := range []struct {
		text   string
		what   func(st *staghunt.State, s game.Seat, a int32) (bool, bool)
		lo, hi float64
	}{
		{"go(hare)", same("nh"), 1, 1},
		{"go(stag,nearest,nh)", same("ns"), 1, 1},
		{"noisy(nh,.5)", same("nh"), .55, .95},
		{"mix(nh,ns,1)", same("ns"), 1, 1},
		{"tease(stag)", at(staghunt.GoalStag), .99, 1},
		{"tease(hare)", at(staghunt.GoalHare), .97, 1},
		{"tease(hare,nearest,stay)", takes, 0, 0},
		{"wander", takes, 0, 0},
		{"follow", takes, 0, 0},
		{"flee", takes, 0, 0},
		{"stay", func(_ *staghunt.State, _ game.Seat, a int32) (bool, bool) { return true, a == 4 }, 1, 1},
		{"follow", near, .8, 1},
		{"flee", near, 0, .35},
		{"lazy(random,.8)", again, .8, 1},
		{"slow(random,3)", func(st *staghunt.State, s game.Seat, a int32) (bool, bool) {
			asked, yes := again(st, s, a)
			return asked && st.Time()%3 != 0, yes
		}, 1, 1},
		{"corner", func(st *staghunt.State, s game.Seat, _ int32) (bool, bool) {
			c := st.Place(s)
			return st.Time() > 4, c == 0 || c == 3 || c == 12 || c == 15
		}, 1, 1},
		{"middle", func(st *staghunt.State, s game.Seat, _ int32) (bool, bool) {
			c := st.Place(s)
			return st.Time() > 4, c == 5 || c == 6 || c == 9 || c == 10
		}, 1, 1},
		{"if(early(4),stay,nh)", func(st *staghunt.State, s game.Seat, a int32) (bool, bool) { return st.Time() < 4, a == 4 }, 1, 1},
		{"if(early(4),stay,nh)", func(st *staghunt.State, s game.Seat, a int32) (bool, bool) {
			_, yes := same("nh")(st, s, a)
			return st.Time() >= 4, yes
		}, 1, 1},
		{"if(turns(2),stay,wander)", func(st *staghunt.State, s game.Seat, a int32) (bool, bool) {
			return st.Time()%4 < 2,
				a == 4
		}, 1, 1},
		{"if(few(1),stay,nh)", func(st *staghunt.State, s game.Seat, a int32) (bool, bool) {
			left := 0
			for o := game.Seat(1); o < 4; o++ {
				if st.Alive(o) {
					left++
				}
			}
			return left <= 1, a == 4
		}, 1, 1},
		{"if(close(2),stay,nh)", func(st *staghunt.State, s game.Seat, a int32) (bool, bool) { return others(st) <= 2, a == 4 }, 1, 1},
		{"if(within(hare,1),stay,ns)", func(st *staghunt.State, s game.Seat, a int32) (bool, bool) {
			return nearestTo(st, s, staghunt.GoalHare) <= 1, a == 4
		}, 1, 1},
		{"if(waits(stag),stay,nh)", func(st *staghunt.State, s game.Seat, a int32) (bool, bool) {
			waits := false
			for o := game.Seat(1); o < 4; o++ {
				waits = waits || st.Place(o) >= 0 && nearestTo(st, o, staghunt.GoalStag) == 0
			}
			return waits, a == 4
		}, 1, 1},
	} {
		if got := share(c.text, c.what); got < c.lo || got > c.hi {
			t.Errorf("%s: %.3f, want %v to %v", c.text, got, c.lo, c.hi)
		}
	}
}

// What words remember follows what episodes were like: by hand, a sequence of outcomes and the
// modes that follow.
func TestMemoriesFollowEpisodes(t *testing.T) {
	c := staghunt.Default()
	c.Stags = 2
	g := made(staghunt.New(c))
	// An episode is said as what this one and another caught: s, h or -.
	for _, c := range []struct{ text, episodes, modes string }{
		{"wsls", "s- h- h- s-", "a a b a a"},
		{"grim(ns,nh,2)", "-s -- ss hh ss ss", "a a a a b b b"},
		{"tft", "ss sh -s --", "a a b a b"},
		{"copies", "sh h- -s --", "a a b a b"},
		{"quits(ns,nh,2)", "-- s- -- -- ss ss", "a a a a b b b"},
		{"forgives(ns,nh,2)", "ss -- ss ss ss", "a a b b a a"},
		{"tests(ns,nh,3)", "ss -- hh hh ss --", "a a b b a a b"},
		{"rounds(ns,nh,2)", "ss ss ss ss ss", "a a b b a a"},
	} {
		p := made(g.Speak(c.text)).(*script.Rememberer)
		modes := []string{mode(p)}
		for _, e := range strings.Fields(c.episodes) {
			p.Watch(ended(t, g, e), 0)
			modes = append(modes, mode(p))
		}
		if got := strings.Join(modes, " "); got != c.modes {
			t.Errorf("%s after %s: %s, want %s", c.text, c.episodes, got, c.modes)
		}
		saved, err := p.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		q := made(g.Speak(c.text)).(*script.Rememberer)
		if err := q.UnmarshalBinary(saved); err != nil || mode(q) != mode(p) {
			t.Errorf("%s: saved and loaded it goes mode %s, before %s: %v", c.text, mode(q), mode(p), err)
		}
	}
}

// mode says which of two modes a co-player goes now.
func mode(p *script.Rememberer) string { return string('a' + rune(p.Memory()[0]&1)) }

// ended returns the end of an episode in which seats 0 and 1 caught s, h or -.
func ended(t *testing.T, g *staghunt.Game, caught string) game.State {
	t.Helper()
	st := g.New().(*staghunt.State)
	here, gone := "23", "gone"
	for seat, what := range caught {
		if goal := map[rune]string{'s': "stag", 'h': "hare"}[what]; goal != "" {
			gone += fmt.Sprintf(" %d=%s", seat, goal)
		} else {
			here += strconv.Itoa(seat)
		}
	}
	text := "t=35 first=3 over\n" + here + " . . .\n" + strings.Repeat(" . . . .\n", 3) + gone + "\n"
	if err := st.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return st
}
