package staghunt

import (
	"testing"

	"github.com/hop-marl/hop/game/gametest"
)

func TestPositionsAreRefused(t *testing.T) {
	gametest.Refuses(t, gametest.New(t, New, small(nil)), [][3]string{
		{"beyond the horizon", "t=21 over\n 0123 . .\n . . .\n . . .", "horizon"},
		{"caught in the future", "t=1 first=2\n 0123 . .\n . . .\n . . .", "first at most t"},
		{"over too early", "t=1 over\n 0123 . .\n . . .\n . . .", "by the rules"},
		{"not over at the end", "t=20\n 0123 . .\n . . .\n . . .", "by the rules"},
		{"all gone and not over", "t=2 first=1\n . . .\n . . .\n . . .\ngone 0=hare 1=hare 2=hare 3=hare", "by the rules"},
		{"a seat on a block", "t=0\n 123 0# .\n . . .\n . . .", "nothing on a block"},
		{"two prey in a cell", "t=0\n 0123 . .\n . hS .\n . . .", "at most one prey"},
		{"three stags", "t=0\n 0123 . .\n S S S\n . . .", "3 stags"},
		{"a seat missing", "t=0\n 012 . .\n . . .\n . . .", "seat 3 is neither"},
		{"no such action", "t=0\n 0123 . .\n . . .\n . . .\nlast 0 7 1 1", "of seat 1 after \"last\""},
		{"gone but here", "t=0\n 0123 . .\n . . .\n . . .\ngone 0=hare", "no seat that has left"},
		{"gone with a fox", "t=1 first=1\n 123 . .\n . . .\n . . .\ngone 0=fox", "want 2=stag"},
	})
}

func FuzzUnmarshalText(f *testing.F) {
	gametest.Fuzz(f, gametest.New(f, New, small(nil)), "t=0 first=0\n 0123 . h\n . S .\n # # h",
		"t=3 first=2\n 0 . h\n 1h S .\n # # h\nlast 5 - 3 4\ngone 2=hare* 3=stag",
		"t=20 first=0 over\n01S 2 h\n . S 3\n # # h\nlast 5 4 3 4\ngone", "t=0\r\n 0123 . h\r\n . S .\r\n # # h\r\n")
}
