package staghunt

import (
	"bytes"
	"strings"
	"testing"

	"hop/game"
	"hop/game/grid"
	"hop/rng"
)

func TestPositionsAreRefused(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"too short", "t=0\n . .", "lines"},
		{"no time", "t=x\n 0123 . .\n . . .\n . . .", "first line"},
		{"negative time", "t=-1\n 0123 . .\n . . .\n . . .", "first line"},
		{"unknown word", "t=1 x=2\n 0123 . .\n . . .\n . . .", "first line"},
		{"beyond the horizon", "t=21 over\n 0123 . .\n . . .\n . . .", "horizon"},
		{"caught in the future", "t=1 first=2\n 0123 . .\n . . .\n . . .", "first at most t"},
		{"over too early", "t=1 over\n 0123 . .\n . . .\n . . .", "by the rules"},
		{"not over at the end", "t=20\n 0123 . .\n . . .\n . . .", "by the rules"},
		{"all gone and not over", "t=2 first=1\n . . .\n . . .\n . . .\ngone 0=hare 1=hare 2=hare 3=hare", "by the rules"},
		{"narrow row", "t=0\n 0123 .\n . . .\n . . .", "cells, want 3"},
		{"no such seat", "t=0\n 01234 . .\n . . .\n . . .", "row 0"},
		{"a seat twice", "t=0\n 0123 0 .\n . . .\n . . .", "row 0"},
		{"a seat on a block", "t=0\n 123 0# .\n . . .\n . . .", "nothing on a block"},
		{"two prey in a cell", "t=0\n 0123 . .\n . hS .\n . . .", "at most one prey"},
		{"three stags", "t=0\n 0123 . .\n S S S\n . . .", "3 stags"},
		{"a seat missing", "t=0\n 012 . .\n . . .\n . . .", "seat 3 is neither"},
		{"no such action", "t=0\n 0123 . .\n . . .\n . . .\nlast 0 7 1 1", "last action"},
		{"too many actions", "t=0\n 0123 . .\n . . .\n . . .\nlast 0 1 1 1 1", "last action"},
		{"gone but here", "t=0\n 0123 . .\n . . .\n . . .\ngone 0=hare", "no seat that has left"},
		{"gone with a fox", "t=1 first=1\n 123 . .\n . . .\n . . .\ngone 0=fox", "want 2=stag"},
		{"a line too many", "t=0\n 0123 . .\n . . .\n . . .\nhello", "hello"},
	} {
		g, err := New(small(nil))
		if err != nil {
			t.Fatal(err)
		}
		st := g.New().(*State)
		r := rng.New(1).Rand()
		st.Reset(&r)
		before := st.show()
		err = st.UnmarshalText([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "staghunt: ") {
			t.Errorf("%s: error %v, want one of staghunt that says %q", c.name, err, c.want)
		}
		if st.show() != before {
			t.Errorf("%s: a refused text changed the state", c.name)
		}
	}
}

// A text is refused, or read to a state that writes a text which is read alike,
// and which can be played to its end.
func FuzzUnmarshalText(f *testing.F) {
	f.Add("t=0 first=0\n 0123 . h\n . S .\n # # h")
	f.Add("t=3 first=2\n 0 . h\n 1h S .\n # # h\nlast 5 - 3 4\ngone 2=hare* 3=stag")
	f.Add("t=20 first=0 over\n01S 2 h\n . S 3\n # # h\nlast 5 4 3 4\ngone")
	f.Add("t=0\r\n 0123 . h\r\n . S .\r\n # # h\r\n")
	g, err := New(small(nil))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		st, again := g.New().(*State), g.New().(*State)
		if st.UnmarshalText([]byte(text)) != nil {
			return
		}
		first, _ := st.AppendText(nil)
		if err := again.UnmarshalText(first); err != nil {
			t.Fatalf("its own text is refused: %v\n%s", err, first)
		}
		if second, _ := again.AppendText(nil); !bytes.Equal(first, second) {
			t.Fatalf("read\n%s\nwrote\n%s", first, second)
		}
		r := rng.New(1).Rand()
		acts, rewards := make([]int32, 4), make([]float32, 4)
		for !st.Over() {
			for s := range acts {
				acts[s] = game.NoAction
				if st.pos[s] != grid.None {
					acts[s] = ns{}.Act(st, game.Seat(s), &r)
				}
			}
			st.Step(acts, rewards, &r)
		}
	})
}
