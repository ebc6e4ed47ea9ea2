package play

import (
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"golang.org/x/text/width"

	"github.com/hop-marl/hop/game"
)

func TestTextOfAHunt(t *testing.T) {
	var all strings.Builder
	for _, f := range hunted(t).Frames() {
		all.WriteString(f.Text() + "\n")
	}
	golden(t, "hunt.txt", all.String())
}

func TestTerminalViewOfAHunt(t *testing.T) {
	rec := hunted(t)
	golden(t, "hunt80.txt", rec.Frames()[1].view(80, 24, [][]span{{{"q quit", style{}}}}).String())
	golden(t, "hunt40.txt", rec.Frames()[1].view(40, 20, nil).String())
}

func TestViewFitsItsTerminal(t *testing.T) {
	frames := hunted(t).Frames()
	for _, size := range [][2]int{{200, 60}, {80, 24}, {60, 24}, {40, 24}, {30, 10}, {12, 4}, {1, 1}, {0, 0}} {
		for i := range frames {
			lines := strings.Split(strings.TrimSuffix(frames[i].view(size[0], size[1], nil).ANSI(), "\n"), "\n")
			if len(lines) > max(size[1], 1) {
				t.Errorf("%v: %d lines", size, len(lines))
			}
			for _, l := range lines {
				if w := lipgloss.Width(l); w > max(size[0], 1) {
					t.Errorf("%v: a line has %d columns: %q", size, w, l)
				}
			}
		}
	}
}

// Some terminals draw these characters one column wide and others two, so no
// view may use any.
func TestNoCharacterHasAnUncertainWidth(t *testing.T) {
	f := Frame{Title: "t", Scene: Scene{Height: 1, Width: len(things) + 1}, Players: make([]Player, 8)}
	for name := range things {
		f.Cells = append(f.Cells, Cell{Things: []string{name}})
	}
	f.Cells = append(f.Cells, Cell{Seats: []game.Seat{0, 1, 2, 3, 4, 5, 6, 7}})
	for _, text := range []string{f.Text(), f.view(400, 60, nil).ANSI(), f.view(80, 24, nil).ANSI()} {
		for _, r := range text {
			if k := width.LookupRune(r).Kind(); k == width.EastAsianAmbiguous || r > 0x2e00 {
				t.Errorf("%q is of uncertain width", r)
			}
		}
	}
}

func TestWideLettersKeepColumns(t *testing.T) {
	c := newCanvas(10, 2)
	c.Put(0, 0, fit("猎人甲乙丙", 8), style{})
	c.Put(8, 0, "|", style{})
	c.Put(0, 1, "12345678|", style{})
	lines := strings.Split(c.String(), "\n")
	if got, want := lines[0], "猎人甲..|"; strings.ReplaceAll(got, " ", "") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if a, b := lipgloss.Width(lines[0]), lipgloss.Width(lines[1]); a != b {
		t.Errorf("lines have %d and %d columns, want the same", a, b)
	}
	c = newCanvas(3, 2)
	c.Put(0, 0, "猎人", style{})
	if got, want := c.String(), "猎\n\n"; got != want {
		t.Errorf("cut off at the edge: got %q, want %q", got, want)
	}
}

func TestBoardsTakeTheRoomThereIs(t *testing.T) {
	for _, c := range []struct {
		name          string
		size, w, rows int
		cw, ch        int
		below         bool
	}{
		{"4x4 in 80x24", 4, 80, 20, 9, 4, false},
		{"6x6 in 80x24", 6, 80, 20, 7, 3, false},
		{"8x8 in 80x24", 8, 80, 20, 5, 2, false},
		{"8x8 in 200x24", 8, 200, 20, 5, 2, false},
		{"16x16 in 80x24", 16, 80, 20, 3, 1, false},
		{"20x20 in 80x24", 20, 80, 20, 2, 1, false},
		{"8x8 in 40x24", 8, 40, 20, 3, 1, true},
		{"8x8 in 60x30", 8, 60, 26, 5, 2, true},
		{"64x64 in 80x24", 64, 80, 20, 1, 1, true},
	} {
		f := Frame{Scene: Scene{Height: c.size, Width: c.size}, Players: make([]Player, 4)}
		if cw, ch, below := f.fitBoard(c.w, c.rows); cw != c.cw || ch != c.ch || below != c.below {
			t.Errorf("%s: got %dx%d, below %v; want %dx%d, %v", c.name, cw, ch, below, c.cw, c.ch, c.below)
		}
	}
}

func TestRecorderSaysWhoLeftWithWhat(t *testing.T) {
	frames := hunted(t).Frames()
	want := [][]string{
		{"-", "-", "-", "-"},
		{"left with the stag at step 1", "left with the stag at step 1", "left with the hare at step 1", "left"},
		{"left with the stag at step 1", "left with the stag at step 1", "left with the hare at step 1", "up"},
	}
	for i := range frames {
		for s := range frames[i].Players {
			if got := frames[i].Players[s].status(99); got != want[i][s] {
				t.Errorf("frame %d seat %d: got %q, want %q", i, s, got, want[i][s])
			}
		}
	}
	for s, p := range frames[2].Players {
		if want := []float64{5, 5, 1, 0}[s]; p.Return != want || p.Reward != 0 {
			t.Errorf("seat %d: got return %v and reward %v, want %v and 0", s, p.Return, p.Reward, want)
		}
		if want := []int{5, 5, 2, 10}[s]; p.At != want {
			t.Errorf("seat %d: got cell %d, want %d", s, p.At, want)
		}
	}
}

func TestSeatThatStaysToTheEndHasNotLeft(t *testing.T) {
	o, _ := options(t, NoHuman, "")
	o.Team = []string{"random", "random", "random", "random"}
	for seed := range uint64(20) {
		e := started(t, o, seed)
		for !e.st.Over() {
			e.step(game.NoAction)
		}
		f := e.rec.Last()
		for s, p := range f.Players {
			if here := f.Find(game.Seat(s)) >= 0; here == (p.Left > 0) {
				t.Errorf("seed %d seat %d: on the board is %v, but it left at %d", seed, s, here, p.Left)
			}
			if p.Alive {
				t.Errorf("seed %d seat %d: alive after the end", seed, s)
			}
		}
	}
}

func TestFramesAreCopies(t *testing.T) {
	rec := hunted(t)
	first := rec.Frames()[0].Text()
	g := hunt(t, 4, 1)
	st := g.New()
	none := []int32{game.NoAction, game.NoAction, game.NoAction, game.NoAction}
	if err := st.(interface{ UnmarshalText([]byte) error }).UnmarshalText([]byte(position)); err != nil {
		t.Fatal(err)
	}
	rec.Add(st, Info{Actions: none, Rewards: make([]float32, 4)})
	if got := rec.Frames()[0].Text(); got != first {
		t.Errorf("the first frame changed:\n%s", got)
	}
}

func TestUnknownThingsAreShown(t *testing.T) {
	for _, c := range []struct {
		name  string
		sign  rune
		word  string
		level string
	}{
		{"stag", 'S', "stag", ""},
		{"hares", 'h', "hares", ""},
		{"food3", 'f', "food", "3"},
		{"own coin", '$', "own coin", ""},
		{"other_coin", '$', "other_coin", ""},
		{"teapot", 'T', "teapot", ""},
		{"teapot12", 'T', "teapot", "12"},
		{"茶壶", '?', "茶壶", ""},
		{"", '?', "", ""},
		{"7", '?', "", "7"},
	} {
		got := thingOf(c.name)
		if got.sign != c.sign || got.word != c.word || got.level != c.level || got.shape == nil {
			t.Errorf("%q: got sign %q, word %q, level %q, want %q, %q, %q", c.name, got.sign, got.word, got.level, c.sign, c.word, c.level)
		}
	}
	if got, want := thingOf("coin1").fill, lookOf(1).fill; got != want {
		t.Errorf("coin1 is %v, want seat 1's %v", got, want)
	}
}

// Seats must differ for everyone: in brackets and in brightness or hue.
func TestSeatsDifferWithoutColour(t *testing.T) {
	for i, a := range seatLooks {
		for j, b := range seatLooks[:i] {
			if a.left == b.left || digit(game.Seat(i)) == digit(game.Seat(j)) {
				t.Errorf("seats %d and %d have the same sign", i, j)
			}
			// Red-green blindness keeps blue and the sum of red and green.
			dy := (int(a.fill.R) + int(a.fill.G) - int(b.fill.R) - int(b.fill.G)) / 2
			db := int(a.fill.B) - int(b.fill.B)
			if d := dy*dy + db*db; d < 20*20 {
				t.Errorf("seats %d and %d look alike: %v and %v", i, j, a.fill, b.fill)
			}
		}
	}
}

func TestNumbersAreShort(t *testing.T) {
	for _, c := range []struct {
		v           float64
		num, signed string
	}{
		{0, "0", "0"}, {5, "5", "+5"}, {10, "10", "+10"}, {10. / 3, "3.33", "+3.33"}, {-0.5, "-0.5", "-0.5"},
		{-0.001, "0", "0"}, {100, "100", "+100"},
	} {
		if num(c.v) != c.num || signed(c.v) != c.signed {
			t.Errorf("%v: got %q and %q, want %q and %q", c.v, num(c.v), signed(c.v), c.num, c.signed)
		}
	}
}
