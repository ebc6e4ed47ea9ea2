package tag_test

import (
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/script"
	"github.com/hop-marl/hop/game/tag"
	"github.com/hop-marl/hop/num/rng"
)

// hunted is two predators after two prey on an open board of four cells a side, or with blocks.
func hunted(t *testing.T, blocks int) *tag.Game {
	return newGame(t, with(func(c *tag.Config) { c.Size, c.Predators, c.Prey, c.Blocks = 4, 2, 2, blocks }))
}

// What words mean, by hand: things are the others of a role, who are not around themselves, and are
// taken from beside.
func TestWordsMeanOthersByTheirRole(t *testing.T) {
	// Predators are 0 and 1, prey 2 and 3; 1 is beside 2, nobody beside 3.
	const open = "t=0\n0 . . .\n2 1 . .\n. . . .\n. . 3 .\nprey 2 3"
	const wall = "t=0\n0 # 2 .\n. # . .\n. . . .\n1 . . 3\nprey 2 3"
	const turned = "t=0\n. . . .\n. 1 . 3\n. . . .\n. 2 . 0\nprey 2 3"
	for _, c := range []struct {
		who, text string
		seat      game.Seat
		want      [5]float32
	}{
		{"go(prey)", open, 0, [5]float32{down: 1}},
		{"go(prey)", wall, 0, [5]float32{down: 1}},
		{"go(prey,farthest)", open, 0, [5]float32{down: .5, right: .5}},
		{"go(prey,crowded)", open, 0, [5]float32{down: 1}},
		{"go(prey,empty)", open, 1, [5]float32{down: .5, right: .5}},
		{"go(prey,first)", turned, 1, [5]float32{right: 1}},
		{"go(prey,last)", turned, 1, [5]float32{down: 1}},
		{"go(predator)", open, 0, [5]float32{down: .5, right: .5}},
		{"go(predator)", open, 3, [5]float32{up: .5, left: .5}},
		{"go(prey)", open, 2, [5]float32{down: .5, right: .5}},
		{"tease(prey)", open, 1, [5]float32{stay: 1}},
		{"tease(prey)", open, 0, [5]float32{stay: 1}},
		{"tease(prey,farthest)", open, 0, [5]float32{down: .5, right: .5}},
		{"if(waits(prey),stay,chase)", open, 0, [5]float32{stay: 1}},
		{"if(waits(prey),stay,chase)", wall, 0, [5]float32{down: 1}},
		{"if(waits(predator),stay,chase)", wall, 0, [5]float32{down: 1}},
		{"if(within(prey,1),stay,chase)", open, 1, [5]float32{stay: 1}},
		{"flee", open, 0, [5]float32{right: 1}}, // the word, which is not said here, would stay as gladly
	} {
		blocks := strings.Count(c.text, "#")
		st := hunted(t, min(blocks, 1)).New().(*tag.State)
		if err := st.UnmarshalText([]byte(c.text)); err != nil {
			t.Fatal(err)
		}
		p, err := hunted(t, 0).Speak(c.who)
		if err != nil {
			t.Fatal(err)
		}
		var got [5]float32
		if p.Probs(st, c.seat, got[:]); got != c.want {
			t.Errorf("%s in seat %d: %v, want %v in\n%s", c.who, c.seat, got, c.want, c.text)
		}
	}
}

// A bot and a word that share a name are one: flee is the bot, and the language has no such word.
func TestFleeIsTheBot(t *testing.T) {
	g := newGame(t, tag.Default())
	for _, w := range g.Language().Words {
		if w.Name == "flee" {
			t.Error("flee is a word that nobody can say")
		}
	}
	p, err := g.Speak("noisy(flee,.1)")
	if err != nil {
		t.Fatal(err)
	}
	if words := p.(*script.Player).Words(); len(words) != 1 || words[0] != "noisy" {
		t.Errorf("noisy(flee,.1) is made with the words %q", words)
	}
}

// How an episode went, by who was caught and who caught: prey wants not to be caught, predators
// that anybody is, and another's catch is kind.
func TestEpisodesWentWellByRole(t *testing.T) {
	g := hunted(t, 0)
	for _, c := range []struct {
		caught string
		seat   game.Seat
		want   script.Outcome
	}{
		{"", 0, script.Outcome{Best: 1}},
		{"", 2, script.Outcome{Good: true, Kind: true, Best: 1}},
		{"caught 1 0 1 0", 0, script.Outcome{Good: true}},
		{"caught 1 0 1 0", 1, script.Outcome{Good: true, Kind: true}},
		{"caught 1 0 1 0", 2, script.Outcome{}},
		{"caught 1 0 1 0", 3, script.Outcome{Good: true, Kind: true}},
		{"caught 2 1 1 1", 0, script.Outcome{Good: true, Kind: true}},
	} {
		st := g.New().(*tag.State)
		if err := st.UnmarshalText([]byte("t=50 over\n0 . . .\n2 1 . .\n. . . .\n. . 3 .\nprey 2 3\n" + c.caught)); err != nil {
			t.Fatal(err)
		}
		if got := g.Language().Assess(nil, st, c.seat); got != c.want {
			t.Errorf("%q for seat %d: %+v, want %+v", c.caught, c.seat, got, c.want)
		}
	}
}

// Catches are counted, of prey and of everybody who caught it, until the next episode, and go with the seat.
func TestCatchesAreCounted(t *testing.T) {
	g := hunted(t, 0)
	st := g.New().(*tag.State)
	if err := st.UnmarshalText([]byte("t=0\n0 . . .\n2 1 . .\n. . . .\n. . 3 .\nprey 2 3\n")); err != nil {
		t.Fatal(err)
	}
	r, rewards := rng.New(1).Rand(), make([]float32, 4)
	st.Step([]int32{down, left, stay, stay}, rewards, &r)
	text, err := st.AppendText(nil)
	if err != nil || !strings.HasSuffix(string(text), "caught 1 1 1 0\n") {
		t.Errorf("%v\n%s", err, text)
	}
	moved := g.New().(*tag.State)
	moved.Permute(st, []game.Seat{3, 2, 1, 0})
	if text, err = moved.AppendText(nil); err != nil || !strings.HasSuffix(string(text), "caught 0 1 1 1\n") {
		t.Errorf("%v, seats turned round:\n%s", err, text)
	}
	st.Reset(&r)
	if text, _ = st.AppendText(nil); strings.Contains(string(text), "caught") {
		t.Errorf("an episode begins with\n%s", text)
	}
}
