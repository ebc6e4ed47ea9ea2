package snowdrift_test

import (
	"strings"
	"testing"

	"hop/game/snowdrift"
)

func threeSeats(t testing.TB) *snowdrift.Game {
	c := snowdrift.Default()
	c.Size, c.Agents, c.Drifts, c.Horizon = 3, 3, 2, 10
	g, err := snowdrift.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestWrongTextIsRefused(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"empty", "", "lines"},
		{"time", "t=x\n0* . .\n. 1 .\n. 2 *", "first line"},
		{"time beyond the horizon", "t=11\n0* . .\n. 1 .\n. 2 *", "first line"},
		{"short row", "t=0\n0* .\n. 1 .\n. 2 *", "row 0 has 2 cells"},
		{"unknown seat", "t=0\n03* . .\n. 1 .\n. 2 *", `"03*"`},
		{"seat twice", "t=0\n0* . .\n. 1 .\n. 02 *", `"02"`},
		{"seat missing", "t=0\n0* . .\n. 1 .\n. . *", "seat 2"},
		{"seat on a block", "t=0\n0* . .\n. 1 .\n. 2# *", `"2#"`},
		{"few drifts", "t=0\n0* . .\n. 1 .\n. 2 .", "1 drifts"},
		{"many drifts", "t=0\n0* . .\n* 1 .\n. 2 *", "2 drifts"},
		{"last action", "t=1\n0* . .\n. 1 .\n. 2 *\nlast 9 1 1", `"9"`},
		{"last of two", "t=1\n0* . .\n. 1 .\n. 2 *\nlast 1 1", "3 actions"},
		{"removal of nothing", "t=1\n0* . .\n. 1 .\n. 2 *\nlast 5 1 1", "seat 0 removed"},
		{"not over at the horizon", "t=10\n0* . .\n. 1 .\n. 2 *", "over is false"},
		{"over too early", "t=9 over\n0* . .\n. 1 .\n. 2 *", "over is true"},
	} {
		st := threeSeats(t).New().(*snowdrift.State)
		err := st.UnmarshalText([]byte(tc.text))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one that says %s", tc.name, err, tc.want)
		}
	}
}

// What is accepted is written back to a text that is accepted and written alike.
func FuzzUnmarshalText(f *testing.F) {
	f.Add("t=0\n0* . .\n. 1 .\n. 2 *")
	f.Add("t=3\n 0x # .\n . 1 .\n . 2 *\nlast 5 - 3")
	f.Add("t=10 over\n 012x . .\n . . .\n . . x\nlast 5 5 5")
	f.Fuzz(func(t *testing.T, in string) {
		st := threeSeats(t).New().(*snowdrift.State)
		if st.UnmarshalText([]byte(in)) != nil {
			return
		}
		first := text(t, st)
		if err := st.UnmarshalText([]byte(first)); err != nil {
			t.Fatalf("%v\n%s", err, first)
		}
		if again := text(t, st); again != first {
			t.Errorf("got\n%swant\n%s", again, first)
		}
	})
}
