package snowdrift_test

import (
	"testing"

	"hop/game/gametest"
	"hop/game/snowdrift"
)

func threeSeats(t testing.TB) *snowdrift.Game {
	c := snowdrift.Default()
	c.Size, c.Agents, c.Drifts, c.Horizon = 3, 3, 2, 10
	return gametest.New(t, snowdrift.New, c)
}

func TestWrongTextIsRefused(t *testing.T) {
	gametest.Refuses(t, threeSeats(t), [][3]string{
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
		{"last of two", "t=1\n0* . .\n. 1 .\n. 2 *\nlast 1 1", "3 numbers"},
		{"removal of nothing", "t=1\n0* . .\n. 1 .\n. 2 *\nlast 5 1 1", "seat 0 removed"},
		{"not over at the horizon", "t=10\n0* . .\n. 1 .\n. 2 *", "over is false"},
		{"over too early", "t=9 over\n0* . .\n. 1 .\n. 2 *", "over is true"},
	})
}

func FuzzUnmarshalText(f *testing.F) {
	gametest.Fuzz(f, threeSeats(f), "t=0\n0* . .\n. 1 .\n. 2 *", "t=3\n 0x # .\n . 1 .\n . 2 *\nlast 5 - 3",
		"t=10 over\n 012x . .\n . . .\n . . x\nlast 5 5 5")
}
