package stranger_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/script"
	"github.com/hop-marl/hop/game/stranger"
	"github.com/hop-marl/hop/num/rng"
)

// words says which split a word belongs to; those that are not here are of the base.
var words = func() map[string]stranger.Split {
	all := map[string]stranger.Split{}
	for split, list := range map[stranger.Split]string{
		stranger.Train:      "farthest crowded help wander corner stay early few noisy mix quits rounds m1",
		stranger.Validation: "first follow within lazy tft pavlov gtft stft joss bully fbf extort zdgtft alternates",
		stranger.Test: "empty last second tease flee middle waits close turns slow " +
			"wsls grim copies forgives tests m2 majority angry tf2t ttft",
	} {
		for _, w := range strings.Fields(list) {
			all[w] = split
		}
	}
	return all
}()

// composer writes the co-players of a split down.
type composer struct {
	t     *testing.T
	g     stranger.Speaker
	l     *script.Language
	split stranger.Split
	alike map[string][]string // texts that are in the list, by how they begin to play
	all   map[string]string   // by text, everything that it does, where that was asked
	list  []string
}

// add takes co-players into the list, each in its one form, unless they act as one does that is
// there, or have no word of the split: in tag, flee is a bot.
func (c *composer) add(texts ...string) {
	for _, t := range texts {
		p, err := c.l.Parse(t)
		if err != nil {
			c.t.Fatal(err)
		}
		if !slices.ContainsFunc(p.(interface{ Words() []string }).Words(), func(w string) bool { return words[w] == c.split }) {
			continue
		}
		first := plays(c.t, c.g, t, 1, 2)
		if slices.ContainsFunc(c.alike[first], func(of string) bool { return c.everything(of) == c.everything(t) }) {
			continue
		}
		c.alike[first] = append(c.alike[first], t)
		c.list = append(c.list, p.Name())
	}
}

// everything is what a text does in ten episodes beside each of the game's bots. It is asked only of those who begin alike.
func (c *composer) everything(text string) string {
	if _, ok := c.all[text]; !ok {
		c.all[text] = plays(c.t, c.g, text, len(c.g.Bots()), 10)
	}
	return c.all[text]
}

// each adds a text with every one of some others in the place of %s.
func (c *composer) each(texts []string, formats ...string) {
	for _, f := range formats {
		for _, t := range texts {
			c.add(fmt.Sprintf(f, t))
		}
	}
}

// pairs adds a text with two others in the place of %s and %s.
func (c *composer) pairs(list [][2]string, formats ...string) {
	for _, f := range formats {
		for _, p := range list {
			c.add(fmt.Sprintf(f, p[0], p[1]))
		}
	}
}

// board writes the co-players of games on a board.
func (c *composer) board() {
	a, b := c.l.Pair[0], c.l.Pair[1]
	one := c.l.Things[0]
	two := c.l.Things[len(c.l.Things)-1]
	switch c.split {
	case stranger.Train:
		c.trainBoard(a, b, one, two)
	case stranger.Validation:
		c.validationBoard(a, b, one, two)
	default:
		c.testBoard(a, b, one, two)
	}
}

func (c *composer) trainBoard(a, b, one, two string) {
	far := []string{"go(" + one + ",farthest," + b + ")", "go(" + two + ",farthest)", "go(" + one + ",crowded," + b + ")",
		"go(" + two + ",crowded)"}
	c.add("wander", "corner", "stay", "help("+one+","+b+")", "help("+two+")")
	c.add(far...)
	walks := append([]string{a, b}, far...)
	c.each(walks, "noisy(%s,.1)", "noisy(%s,.2)", "noisy(%s,.3)", "noisy(%s,.5)")
	c.pairs([][2]string{{a, b}, {b, a}, {a, "wander"}, {b, "wander"}, {a, "stay"}, {a, "corner"}, {"wander", b}, {"wander", a},
		{"stay", b}, {"corner", a}},
		"if(early(3),%s,%s)", "if(early(6),%s,%s)", "if(early(10),%s,%s)", "if(early(16),%s,%s)", "mix(%s,%s,.5)", "mix(%s,%s,.25)")
	c.pairs([][2]string{{a, b}, {b, a}, {"wander", b}, {far[0], b}}, "if(few(1),%s,%s)", "if(few(2),%s,%s)", "if(not(few(2)),%s,%s)")
	c.pairs([][2]string{{a, b}, {a, "wander"}, {far[0], b}, {"noisy(" + a + ",.2)", b}, {far[2], far[1]}, {a, "noisy(" + b + ",.3)"}},
		"quits(%s,%s,1)", "quits(%s,%s,2)", "quits(%s,%s,4)", "rounds(%s,%s,1)", "rounds(%s,%s,3)", "rounds(%s,%s,8)")
	c.pairs([][2]string{{a, b}, {far[0], b}, {a, far[1]}}, "noisy(if(early(8),%s,%s),.2)", "noisy(if(few(1),%s,%s),.2)",
		"noisy(mix(%s,%s,.4),.1)")
}

func (c *composer) validationBoard(a, b, one, two string) {
	c.add("follow", "go("+one+",first,"+b+")", "go("+two+",first)")
	walks := []string{a, b, "go(" + one + ",first," + b + ")", "go(" + two + ",first)"}
	c.each(walks, "lazy(%s,.2)", "lazy(%s,.4)", "lazy(%s,.6)", "if(within("+one+",1),%s,follow)", "if(within("+two+",1),%s,follow)",
		"if(within("+one+",2),%s,"+b+")", "if(within("+two+",2),"+b+",%s)")
	c.pairs([][2]string{{a, b}, {b, a}, {a, "follow"}, {walks[2], b}, {a, walks[3]}, {"lazy(" + a + ",.3)", b}, {"follow", b}},
		"tft(%s,%s)", "if(within("+one+",1),%s,%s)", "if(within("+one+",3),%s,%s)", "if(not(within("+two+",1)),%s,%s)",
		"lazy(if(within("+one+",2),%s,%s),.3)")
}

func (c *composer) testBoard(a, b, one, two string) {
	tease1, tease2 := "tease("+one+",nearest,"+b+")", "tease("+two+",nearest)"
	empty1, empty2 := "go("+one+",empty,"+b+")", "go("+two+",empty)"
	last1, last2 := "go("+one+",last,"+b+")", "go("+two+",last)"
	second1, second2 := "go("+one+",second,"+b+")", "go("+two+",second)"
	walks := []string{tease1, tease2, empty1, empty2, last1, last2, second1, second2, "tease(" + one + ",empty)",
		"tease(" + two + ",last)"}
	c.add(walks...)
	c.add("flee", "middle")
	c.each(append([]string{a, b}, walks...), "slow(%s,2)", "slow(%s,3)", "slow(%s,5)")
	wary := [][2]string{{a, b}, {b, a}, {a, "flee"}, {a, tease2}, {tease1, b}, {empty1, b}, {last1, last2}, {a, "middle"},
		{"flee", b}, {second1, second2}, {tease1, a}, {last1, b}}
	c.pairs(wary, "if(waits("+one+"),%s,%s)", "if(close(1),%s,%s)", "if(close(2),%s,%s)", "if(turns(2),%s,%s)",
		"if(turns(3),%s,%s)", "if(turns(6),%s,%s)")
	c.pairs(wary[:8], "if(waits("+two+"),%s,%s)", "if(not(waits("+one+")),%s,%s)", "slow(if(waits("+one+"),%s,%s),2)",
		"slow(if(close(1),%s,%s),3)", "slow(if(turns(4),%s,%s),2)", "if(waits("+one+"),%s,if(close(1),%s,flee))")
	keep := [][2]string{{a, b}, {b, a}, {a, tease2}, {a, "flee"}, {empty1, b}, {last1, last2}, {"slow(" + a + ",2)", b},
		{"if(turns(3)," + a + "," + b + ")", b}, {"if(waits(" + one + ")," + a + "," + b + ")", "middle"}, {"slow(" + a + ",3)", "flee"},
		{tease1, a}, {"if(close(1)," + a + "," + b + ")", "slow(" + b + ",2)"}}
	c.pairs(keep, "wsls(%s,%s)", "grim(%s,%s,1)", "grim(%s,%s,3)", "copies(%s,%s)", "forgives(%s,%s,1)", "forgives(%s,%s,3)",
		"tests(%s,%s,3)", "tests(%s,%s,6)")
}

// rounds writes the co-players of games of rounds. Tables are drawn, the same in every program.
func (c *composer) rounds() {
	key := rng.New(1).Child("strangers").Child(string(c.split))
	r := key.Rand()
	draw := func(word string, n int, of func() float64) {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf("%.2g", of())
		}
		c.add(word + "(" + strings.Join(parts, ",") + ")")
	}
	tenth := func() float64 { return float64(r.IntN(11)) / 10 }
	coin := func() float64 { return float64(r.IntN(2)) }
	switch c.split {
	case stranger.Train:
		for range 120 {
			draw("m1", 5, tenth)
		}
		c.pairs([][2]string{{"tft", "alld"}, {"allc", "alld"}, {"alld", "allc"}, {"grim", "alld"}},
			"quits(%s,%s,1)", "quits(%s,%s,3)", "rounds(%s,%s,2)", "noisy(%s,.1)%.0s", "noisy(%s,.3)%.0s", "mix(%s,%s,.3)",
			"if(early(4),%s,%s)")
	case stranger.Validation:
		names := []string{"pavlov", "gtft", "stft", "joss", "bully", "fbf", "extort", "zdgtft", "alternates"}
		c.add(names...)
		c.each(names, "lazy(%s,.2)", "lazy(%s,.4)", "tft(%s,alld)")
	default:
		c.add("tf2t", "ttft")
		for range 40 {
			draw("m2", 17, coin)
		}
		for range 20 {
			draw("m2", 17, tenth)
		}
		for _, share := range []string{".2", ".35", ".5", ".65", ".8", ".95"} {
			c.add("majority(" + share + ")")
		}
		for _, n := range []int{1, 2, 3, 5, 8} {
			c.add(fmt.Sprintf("angry(%d)", n))
		}
		c.pairs([][2]string{{"tf2t", "alld"}, {"majority(.5)", "alld"}, {"tft", "alld"}, {"ttft", "allc"}},
			"wsls(%s,%s)", "grim(%s,%s,1)", "copies(%s,%s)", "forgives(%s,%s,2)", "tests(%s,%s,3)", "if(turns(3),%s,%s)",
			"slow(%s,2)%.0s", "slow(%s,3)%.0s")
	}
}

// sums are how many there are in each list, and its sum.
var sums = map[string]string{
	"cleanup/test@1":         "260 464a3fd36199e931",
	"cleanup/train@1":        "131 236d799df6c45dbd",
	"cleanup/validation@1":   "59 855ac34fa648334e",
	"coin/test@1":            "200 64b176915328d5af",
	"coin/train@1":           "107 e9aed39883573476",
	"coin/validation@1":      "46 ce37e2cd6b48b39c",
	"commons/test@1":         "259 1e000bda8a8864c5",
	"commons/train@1":        "129 29e7c2115b202a99",
	"commons/validation@1":   "63 bde704bf58383bb1",
	"foraging/test@1":        "213 d18420d8aa85b2d5",
	"foraging/train@1":       "122 e2b7f3a4ae6ec4b8",
	"foraging/validation@1":  "60 81c48a2a0d579662",
	"matrix/test@1":          "97 b2928cb2c47bb260",
	"matrix/train@1":         "148 92d16efa158e8764",
	"matrix/validation@1":    "36 c23025e576c494b0",
	"snowdrift/test@1":       "186 295bf41dccb468c9",
	"snowdrift/train@1":      "88 70fdf82f2deafa70",
	"snowdrift/validation@1": "47 ce0071adad7b6bec",
	"staghunt/test@1":        "225 e281b0f218ba3254",
	"staghunt/train@1":       "135 906ed44143dbc294",
	"staghunt/validation@1":  "60 6d8e336aacba6ad8",
	"tag/test@1":             "194 540866e3c0401168",
	"tag/train@1":            "110 01f0dec9f5433183",
	"tag/validation@1":       "50 a291235c74a1bfab",
}

var write = flag.Bool("write", false, "write the lists")

// The lists are what is composed, and each has the sum of its version: whoever changes one makes
// another version.
func TestListsAreComposed(t *testing.T) {
	for name, g := range games() {
		for _, split := range stranger.Splits {
			c := composer{t: t, g: g, l: g.Language(), split: split, alike: map[string][]string{}, all: map[string]string{}}
			if len(c.l.Things) > 0 {
				c.board()
			} else {
				c.rounds()
			}
			file := fmt.Sprintf("lists/%s-%s-%d.txt", name, split, stranger.Version)
			if *write {
				if err := os.WriteFile(file, []byte(strings.Join(c.list, "\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				t.Logf("\"%s/%s@%d\": \"%d %s\",", name, split, stranger.Version, len(c.list), stranger.Sum(c.list))
				continue
			}
			called, list, err := stranger.List(g, split)
			if err != nil {
				t.Fatal(err)
			}
			if sum := fmt.Sprintf("%d %s", len(list), stranger.Sum(list)); !slices.Equal(list, c.list) || sums[called] != sum {
				t.Errorf("%q: %q, is not what is composed, or not of this version", called, sum)
			}
		}
	}
}

// plays returns what co-players of a text do in some episodes beside each of some of the game's bots.
func plays(t *testing.T, g stranger.Speaker, text string, bots, episodes int) string {
	t.Helper()
	n := g.Spec().Seats
	h := fnv.New128a()
	for _, b := range g.Bots()[:bots] {
		team := []game.Bot{b.New()}
		for range n - 1 {
			p, err := g.Language().Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			team = append(team, p)
		}
		key := rng.New(11)
		rules := key.Child("rules").Rand()
		st := g.New()
		acts, rewards := make([]int32, n), make([]float32, n)
		draws := make([]rng.Rand, n)
		for e := range episodes {
			for s := range draws {
				draws[s] = key.Child("act", s).Child("episode", e).Rand()
			}
			for st.Reset(&rules); !st.Over(); st.Step(acts, rewards, &rules) {
				for s := range acts {
					if acts[s] = game.NoAction; st.Alive(game.Seat(s)) {
						acts[s] = team[s].Act(st, game.Seat(s), &draws[s])
					}
				}
				if err := binary.Write(h, binary.LittleEndian, acts[1:]); err != nil {
					t.Fatal(err)
				}
			}
			for s := range team {
				if w, ok := team[s].(game.Watcher); ok {
					w.Watch(st, game.Seat(s))
				}
			}
		}
	}
	return string(h.Sum(nil))
}
