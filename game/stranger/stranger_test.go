package stranger_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/cleanup"
	"github.com/hop-marl/hop/game/coin"
	"github.com/hop-marl/hop/game/commons"
	"github.com/hop-marl/hop/game/foraging"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/matrix"
	"github.com/hop-marl/hop/game/script"
	"github.com/hop-marl/hop/game/snowdrift"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/game/stranger"
	"github.com/hop-marl/hop/game/tag"
	"github.com/hop-marl/hop/num/rng"
)

func made[G any](g G, err error) G {
	if err != nil {
		panic(err)
	}
	return g
}

func twoStags() staghunt.Config {
	c := staghunt.Default()
	c.Stags = 2
	return c
}

func games() map[string]stranger.Speaker {
	return map[string]stranger.Speaker{
		"staghunt": made(staghunt.New(twoStags())), "snowdrift": made(snowdrift.New(snowdrift.Default())),
		"coin": made(coin.New(coin.Default())), "cleanup": made(cleanup.New(cleanup.Default())),
		"foraging": made(foraging.New(foraging.Default())), "matrix": made(matrix.New(matrix.Default())),
		"tag": made(tag.New(tag.Default())), "commons": made(commons.New(commons.Default())),
	}
}

// No word of a split but those of the base occurs in another one, whatever the game, and every
// word of a language is in one.
func TestSplitsShareNoConstruction(t *testing.T) {
	base := map[string]bool{"go": true, "if": true, "not": true, "nearest": true}
	for name, g := range games() {
		where, all := map[string]stranger.Split{}, 0
		for _, split := range stranger.Splits {
			_, list, err := stranger.List(g, split)
			if err != nil {
				t.Fatal(err)
			}
			all += len(list)
			for _, text := range list {
				p, err := g.Language().Parse(text)
				if err != nil || p.Name() != text {
					t.Errorf("%s: %s: %v", name, text, err)
					continue
				}
				uses := p.(interface{ Words() []string }).Words()
				own := false
				for _, w := range uses {
					if base[w] {
						continue
					}
					own = true
					if was, ok := where[w]; ok && was != split || words[w] != split {
						t.Errorf("%s: %q, in %s of the split %s, is also in the split %s", name, w, text, split, was)
					}
					where[w] = split
				}
				if !own {
					t.Errorf("%s: %s has no word of the split %s", name, text, split)
				}
			}
		}
		for _, w := range g.Language().Words {
			if _, ok := words[w.Name]; !ok && !base[w.Name] {
				t.Errorf("%s: the word %s is in no split", name, w.Name)
			}
		}
		t.Logf("%s: %d co-players", name, all)
	}
}

// There are enough of them, and none stands in a list twice.
func TestListsAreLong(t *testing.T) {
	for name, g := range games() {
		_, list, err := stranger.List(g, stranger.Test)
		if err != nil {
			t.Fatal(err)
		}
		least := 60
		if name == "staghunt" {
			least = 200
		}
		if len(list) < least {
			t.Errorf("%s: %d strangers in the test split, want %d", name, len(list), least)
		}
		if slices.Sort(list); len(slices.Compact(list)) != len(list) {
			t.Errorf("%s: somebody stands there twice", name)
		}
	}
}

// A population of a split is as many of it as can be counted, spread over the list, and the game's
// bots, nobody twice; other names stay as they are.
func TestAPopulationIsSpreadOverASplit(t *testing.T) {
	for name, g := range games() {
		_, list, err := stranger.List(g, stranger.Train)
		if err != nil {
			t.Fatal(err)
		}
		who, err := stranger.Population(g, []string{"train@1", "RUN#1@20", "past"})
		if err != nil {
			t.Fatal(err)
		}
		in := 0
		for _, text := range who {
			if slices.Contains(list, text) {
				in++
			}
		}
		if want := min(len(list), stranger.Most-len(g.Bots())); in < want || len(who) > stranger.Most+2 || !slices.Contains(who, list[0]) {
			t.Errorf("%s: %d of %d are in a population of %d, want %d", name, in, len(list), len(who), want)
		}
		for _, b := range append(g.Bots(), game.BotInfo{Name: "RUN#1@20"}, game.BotInfo{Name: "past"}) {
			if !slices.Contains(who, b.Name) {
				t.Errorf("%s: %s is missing", name, b.Name)
			}
		}
		if slices.Sort(who); len(slices.Compact(who)) != len(who) {
			t.Errorf("%s: somebody is there twice", name)
		}
	}
	for _, wrong := range []string{"train@9", "trian@1"} {
		if _, err := stranger.Population(games()["staghunt"], []string{wrong}); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

// Nobody of a list acts by what it does not say it reads: best responses would be wrong. Every
// word is asked in two co-players.
func TestStrangersReadWhatTheySay(t *testing.T) {
	for name, g := range games() {
		var bots []game.Policy
		asked := map[string]int{}
		for _, split := range stranger.Splits {
			_, list, err := stranger.List(g, split)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range list {
				p, rare := made(g.Language().Parse(text)), false
				for _, w := range p.(interface{ Words() []string }).Words() {
					asked[w]++
					rare = rare || asked[w] <= 2
				}
				if rare {
					bots = append(bots, p)
				}
			}
		}
		err := gametest.Reads(g, bots)
		if why, ok := err.(gametest.DoesNotApply); ok {
			t.Logf("%s: %s", name, string(why))
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Who is made with a word that is left out is left out, and nobody else: ns is in no tens.
func TestWordsAreLeftOut(t *testing.T) {
	g := games()["staghunt"]
	list := []string{"go(stag,last,nh)", "slow(ns,2)", "if(waits(stag),ns,nh)", "flee"}
	for words, want := range map[string]string{
		"": "go(stag,last,nh) slow(ns,2) if(waits(stag),ns,nh) flee", "nh": "slow(ns,2) flee", "waits,slow": "go(stag,last,nh) flee",
		"stag": "slow(ns,2) flee", "last": "slow(ns,2) if(waits(stag),ns,nh) flee",
	} {
		left, err := stranger.Without(g, list, strings.FieldsFunc(words, func(r rune) bool { return r == ',' }))
		if got := strings.Join(left, " "); err != nil || got != want {
			t.Errorf("without %s: %s (%v), want %s", words, got, err, want)
		}
	}
	if _, err := stranger.Without(g, list, []string{"n"}); err == nil {
		t.Error("a word that nobody is made with can be left out")
	}
}

var _ game.Game = stranger.Speaker(nil)

// rounds calls do after many sequences of nine rounds of a game of two who choose between two:
// whatever the other does, while one always does the same but in the last round.
func rounds(g game.Game, do func(st game.State, last [2]int32)) {
	r, rewards := rng.New(1).Rand(), make([]float32, 2)
	for code := range 1 << 11 {
		st, last := g.New(), [2]int32{}
		st.Reset(&r)
		for i := range 9 {
			last = [2]int32{int32(code >> 9 & 1), int32(code >> i & 1)}
			if i == 8 {
				last[0] = int32(code >> 10)
			}
			st.Step(last[:], rewards, &r)
		}
		do(st, last)
	}
}

// The classics and tables of the dilemma are split by their memory: what those of train and
// validation do follows from the last round, or from the clock alone, and what those of the test
// split do does not.
func TestTheDilemmaIsSplitByMemory(t *testing.T) {
	g := games()["matrix"]
	tables := map[string]bool{}
	for _, w := range g.Language().Words {
		tables[w.Name] = w.Group == script.Table
	}
	for _, split := range stranger.Splits {
		_, list, err := stranger.List(g, split)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, text := range list {
			p, err := g.Language().Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(p.(interface{ Words() []string }).Words(), func(w string) bool { return !tables[w] }) {
				continue // it says when, errs, or remembers episodes
			}
			seen++
			long := false
			said := map[[2]int32]float32{}
			rounds(g, func(st game.State, last [2]int32) {
				probs := make([]float32, 2)
				p.Probs(st, 0, probs)
				was, ok := said[last]
				long = long || ok && was != probs[0]
				said[last] = probs[0]
			})
			if want := split == stranger.Test; long != want {
				t.Errorf("%s of the split %s looks back further than a round: %v", text, split, long)
			}
		}
		if seen < 5 {
			t.Errorf("%d tables and classics are in the split %s", seen, split)
		}
	}
}
