package played

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
)

func hunt(t testing.TB, size int) game.Game {
	t.Helper()
	c := staghunt.Default()
	c.Size = size
	g, err := staghunt.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// record lets seat 0 play as each of some texts in turn, among others, for so many episodes, and
// writes what it chose.
func record(t testing.TB, g game.Game, dir string, episodes int, texts ...string) {
	t.Helper()
	r := rng.New(7).Rand()
	for n := range episodes {
		team := []string{texts[n%len(texts)], "ns", "nh", "random"}
		e, err := New(g, 0, team)
		if err != nil {
			t.Fatal(err)
		}
		var bots []game.Bot
		for _, name := range team {
			bot, err := game.NewBot(g, name)
			if err != nil {
				t.Fatal(err)
			}
			bots = append(bots, bot)
		}
		st := g.New()
		st.Reset(&r)
		acts, rewards := make([]int32, 4), make([]float32, 4)
		for !st.Over() {
			for s, bot := range bots {
				if acts[s] = game.NoAction; st.Alive(game.Seat(s)) {
					acts[s] = bot.Act(st, game.Seat(s), &r)
				}
			}
			if st.Alive(0) {
				if err := e.Add(st, acts[0]); err != nil {
					t.Fatal(err)
				}
			}
			st.Step(acts, rewards, &r)
		}
		if err := e.Write(dir, "anna", string(rune('a'+n/26))+string(rune('a'+n%26))); err != nil {
			t.Fatal(err)
		}
	}
}

// Somebody who hunts the stag in two episodes of three, and takes the hare in the third, is found
// out, and its model plays like that.
func TestAPersonIsAMixtureOfTexts(t *testing.T) {
	g, dir := hunt(t, 4), t.TempDir()
	record(t, g, dir, 60, "noisy(ns,.1)", "noisy(ns,.1)", "noisy(nh,.1)")
	p, err := Open(g, filepath.Join(dir, "anna"))
	if err != nil {
		t.Fatal(err)
	}
	if p.Episodes != 60 || p.Steps < 100 || p.Likely < 1.5*p.Random {
		t.Errorf("of %d episodes and %d steps, held out, each is %.3f likely, and at random %.3f", p.Episodes, p.Steps, p.Likely, p.Random)
	}
	// The first step of an episode is as likely as it is by the texts that it was made of.
	st, r := g.New(), rng.New(3).Rand()
	st.Reset(&r)
	want, got := make([]float64, len(g.Spec().Actions)), make([]float64, len(g.Spec().Actions))
	for text, share := range map[string]float64{"noisy(ns,.1)": 2. / 3, "noisy(nh,.1)": 1. / 3} {
		own, err := game.NewBot(g, text)
		if err != nil {
			t.Fatal(err)
		}
		probs := make([]float32, len(want))
		own.(game.Policy).Probs(st, 0, probs)
		for k, x := range probs {
			want[k] += share * float64(x)
		}
	}
	bot, err := p.Bot()
	if err != nil {
		t.Fatal(err)
	}
	for range 2000 {
		got[bot.Act(st, 0, &r)] += 1. / 2000
		bot.(game.Watcher).Watch(st, 0)
	}
	for k := range want {
		if math.Abs(got[k]-want[k]) > .12 {
			t.Errorf("its first step is %s in %.2f of episodes, want about %.2f", g.Spec().Actions[k], got[k], want[k])
		}
	}
}

// In an episode the model keeps to one style, also if it is saved and loaded in between.
func TestAnEpisodeHasOneStyle(t *testing.T) {
	g := hunt(t, 4)
	p := &Person{Styles: []Style{{"ns", .5}, {"nh", .5}}, g: g}
	st, r := g.New(), rng.New(3).Rand()
	toStag := map[int32]bool{}
	for apart := false; !apart; { // the stag lies in another direction than the hare
		st.Reset(&r)
		var probs [2][]float32
		for i, name := range []string{"ns", "nh"} {
			one, err := game.NewBot(g, name)
			if err != nil {
				t.Fatal(err)
			}
			probs[i] = make([]float32, len(g.Spec().Actions))
			one.(game.Policy).Probs(st, 0, probs[i])
		}
		apart = true
		for k, x := range probs[0] {
			toStag[int32(k)] = x > 0
			apart = apart && (x == 0 || probs[1][k] == 0)
		}
	}
	fresh := func() game.Keeper {
		bot, err := p.Bot()
		if err != nil {
			t.Fatal(err)
		}
		return bot.(game.Keeper)
	}
	bot, seen := fresh(), map[bool]int{}
	for range 100 {
		first := toStag[bot.Act(st, 0, &r)]
		seen[first]++
		for range 5 {
			saved, err := bot.AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			if bot = fresh(); bot.UnmarshalBinary(saved) != nil || toStag[bot.Act(st, 0, &r)] != first {
				t.Fatal("it changed its mind within an episode")
			}
		}
		bot.Watch(st, 0)
	}
	if seen[true] < 25 || seen[false] < 25 {
		t.Errorf("it went for the stag in %d episodes and not in %d, want about as many", seen[true], seen[false])
	}
	if bot.UnmarshalBinary([]byte{255, 255}) == nil {
		t.Error("it remembers a style that there is not")
	}
}

// What is no record of this game, or too little of one, is refused with its file and step.
func TestWhatCannotBeAModelIsRefused(t *testing.T) {
	g := hunt(t, 4)
	for name, c := range map[string]struct {
		change func(e *Episode)
		after  func(text string) string
		want   string
	}{
		"state":   {change: func(e *Episode) { e.Steps[1].State = "t=1 first=0\n" }, want: "episode-aa.json: step 1: staghunt: "},
		"illegal": {change: func(e *Episode) { e.Steps[0].Action = "fly" }, want: `episode-aa.json: step 0: "fly" is not legal for seat 0`},
		"barred":  {change: func(e *Episode) { e.Steps[0].Action = "hunt stag" }, want: `step 0: "hunt stag" is not legal for seat 0`},
		"game":    {change: func(e *Episode) { e.Game = "staghunt 4h2s 4x4" }, want: "it was played on staghunt 4h2s 4x4"},
		"actions": {change: func(e *Episode) { e.Actions = e.Actions[1:] }, want: "with the actions"},
		"seat":    {change: func(e *Episode) { e.Seat = 9 }, want: "seat 9 is not in the game"},
		"left":    {change: func(e *Episode) { e.Seat = -1 }, want: "seat -1 is not in the game"},
		"changed": {after: func(text string) string { return strings.Replace(text, `"seat": 0`, `"seat": 1`, 1) }, want: "was changed"},
		"bare":    {after: func(text string) string { return text[:strings.Index(text, `  "check"`)] + `  "x": 1}` }, want: "no seal"},
		"cut":     {after: func(text string) string { return text[:len(text)/2] }, want: "episode-aa.json is damaged"},
	} {
		dir := t.TempDir()
		record(t, g, dir, 20, "ns")
		file := filepath.Join(dir, "anna", "episode-aa.json")
		if c.change != nil {
			list, err := Read(filepath.Join(dir, "anna"))
			if err != nil {
				t.Fatal(err)
			}
			c.change(list[0])
			if err := list[0].Write(dir, "anna", "aa"); err != nil {
				t.Fatal(err)
			}
		} else {
			text, err := os.ReadFile(file)
			if err == nil {
				err = os.WriteFile(file, []byte(c.after(string(text))), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Open(g, filepath.Join(dir, "anna")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want a word about %q", name, err, c.want)
		}
	}
	few := t.TempDir()
	record(t, g, few, 2, "nh")
	if _, err := Open(g, filepath.Join(few, "anna")); err == nil || !strings.Contains(err.Error(), "play on") {
		t.Errorf("too few steps: %v", err)
	}
	if _, err := Open(g, few); err == nil || !strings.Contains(err.Error(), "no episode") {
		t.Errorf("a folder without episodes: %v", err)
	}
	for _, name := range []string{"", "..", "a/b", `a\b`, "a b", strings.Repeat("x", 33), ".hidden", "-x"} {
		if err := (&Episode{}).Write(few, name, "a"); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
	if err := Name("安娜_2"); err != nil {
		t.Error(err)
	}
}
