// Package stranger is a yardstick of co-players that nobody was raised with: lists of them for
// every game that has a language (package script), split by construction.
//
// Words of the language belong to one of three splits: what agents may learn among, what one
// may look at while building them, and what they are scored with. A co-player of a split uses
// words of that split alone, besides the base that all have: the game's bots, going for the
// nearest thing, "if" and "not". So no target, condition, kind of error or kind of memory of the
// test split occurs in the others, and a stranger differs from what was met by more than a number.
//
// A list is a version that never changes: its sum is held by a test, and other co-players are
// another version.
package stranger

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/script"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/rng"
)

// Split is one of the three.
type Split string

// The splits.
const (
	Train      Split = "train"
	Validation Split = "validation"
	Test       Split = "test"
)

// Splits lists them.
var Splits = []Split{Train, Validation, Test}

// Version is that of the lists.
const Version = 1

// words says which split a word belongs to; those that are not here are of the base.
var words = map[string]Split{
	"farthest": Train, "crowded": Train, "help": Train, "wander": Train, "corner": Train, "stay": Train, "early": Train, "few": Train,
	"noisy": Train, "mix": Train, "quits": Train, "rounds": Train, "m1": Train,

	"first": Validation, "follow": Validation, "within": Validation, "lazy": Validation, "tft": Validation,
	"pavlov": Validation, "gtft": Validation, "stft": Validation, "joss": Validation, "bully": Validation, "fbf": Validation,
	"extort": Validation, "zdgtft": Validation, "alternates": Validation,

	"empty": Test, "last": Test, "second": Test, "tease": Test, "flee": Test, "middle": Test, "waits": Test, "close": Test,
	"turns": Test, "slow": Test, "wsls": Test, "grim": Test, "copies": Test, "forgives": Test, "tests": Test,
	"m2": Test, "majority": Test, "angry": Test, "tf2t": Test, "ttft": Test,
}

// base are the words of all splits.
var base = []string{"go", "if", "not"}

// Speaker is a game that has a language.
type Speaker interface {
	game.Game
	Language() *script.Language
}

// Language returns a game's language, or an error if it has none.
func Language(g game.Game) (*script.Language, error) {
	s, ok := game.As[Speaker](g)
	if !ok || g.Spec().Kind == game.ZeroSum {
		return nil, fmt.Errorf("stranger: there is no language of co-players for %s", game.Label(g))
	}
	return s.Language(), nil
}

// List returns the co-players of a split in a game, as texts in their one form, and what they
// are called together, such as staghunt/test@1.
func List(g game.Game, split Split) (name string, list []string, err error) {
	l, err := Language(g)
	if err != nil {
		return "", nil, err
	}
	if !slices.Contains(Splits, split) {
		return "", nil, fmt.Errorf("stranger: %w", config.Bad("split", string(split), "train, validation or test, as in test@1"))
	}
	c := composer{l: l, split: split, seen: map[string]bool{}}
	if len(l.Things) > 0 {
		c.board()
	} else {
		c.rounds()
	}
	if c.err != nil {
		return "", nil, c.err
	}
	return fmt.Sprintf("%s/%s@%d", l.Game, split, Version), c.list, nil
}

// Parse reads the name of a split, with or without its version.
func Parse(text string) (Split, error) {
	name, version, versioned := strings.Cut(text, "@")
	if versioned && version != fmt.Sprint(Version) {
		return "",
			fmt.Errorf("stranger: %s: this hop has version %d of the strangers; use %s@%[2]d, or the hop that has the other", text,
				Version, name)
	}
	if !slices.Contains(Splits, Split(name)) {
		return "", config.Bad("strangers", text, "train, validation or test, such as test@1")
	}
	return Split(name), nil
}

// Of says which splits a co-player's words belong to, the base left out.
func Of(p interface{ Words() []string }) (list []Split) {
	for _, w := range p.Words() {
		if s, ok := words[w]; ok && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	slices.Sort(list)
	return list
}

// Sum returns what a list's version stands for.
func Sum(list []string) string {
	h := sha256.Sum256([]byte(strings.Join(list, "\n")))
	return hex.EncodeToString(h[:8])
}

// composer writes the co-players of a split down.
type composer struct {
	l     *script.Language
	split Split
	seen  map[string]bool
	list  []string
	err   error
}

// add takes co-players into the list, each once and in its one form.
func (c *composer) add(texts ...string) {
	for _, t := range texts {
		p, err := c.l.Parse(t)
		if err != nil {
			c.err = err
			return
		}
		if !c.seen[p.Name()] {
			c.seen[p.Name()] = true
			c.list = append(c.list, p.Name())
		}
	}
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
	case Train:
		c.trainBoard(a, b, one, two)
	case Validation:
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
		{"flee", b}, {second1, second2}}
	c.pairs(wary, "if(waits("+one+"),%s,%s)", "if(close(1),%s,%s)", "if(close(2),%s,%s)", "if(turns(2),%s,%s)",
		"if(turns(3),%s,%s)", "if(turns(6),%s,%s)")
	c.pairs(wary[:6], "if(waits("+two+"),%s,%s)", "if(not(waits("+one+")),%s,%s)", "slow(if(waits("+one+"),%s,%s),2)",
		"slow(if(close(1),%s,%s),3)")
	keep := [][2]string{{a, b}, {b, a}, {a, tease2}, {a, "flee"}, {empty1, b}, {last1, last2}, {"slow(" + a + ",2)", b},
		{"if(turns(3)," + a + "," + b + ")", b}, {"if(waits(" + one + ")," + a + "," + b + ")", "middle"}}
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
	case Train:
		for range 120 {
			draw("m1", 5, tenth)
		}
		c.pairs([][2]string{{"tft", "alld"}, {"allc", "alld"}, {"alld", "allc"}, {"grim", "alld"}},
			"quits(%s,%s,1)", "quits(%s,%s,3)", "rounds(%s,%s,2)", "noisy(%s,.1)%.0s", "noisy(%s,.3)%.0s", "mix(%s,%s,.3)",
			"if(early(4),%s,%s)")
	case Validation:
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
