package grid_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game/grid"
)

func TestTextIsReadOrRefused(t *testing.T) {
	const good = "t=3 wait=2 over\n 01a .\n # b\nlast 5 -\n"
	read := func(text string) (*grid.Text, error) {
		return grid.ReadText([]byte(text), 2, 2, 2, 9, []string{"wait"}, []string{"last", "took"})
	}
	got, err := read(good)
	if err != nil {
		t.Fatal(err)
	}
	if want := "&{3 true map[wait:2] [0 0] [01a . # b] [a  # b] map[last:[5 -]]}"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	for _, c := range [][3]string{
		{"t=3", "t=10", "horizon, 9"}, {"t=3", "t=-1", "first line"}, {"t=3 ", "", "no time"}, {"t=3", "t=3 t=3", "first line"},
		{"wait=2", "wait=-2", "first line"}, {"wait=2", "wait=2 wait=2", "first line"}, {"wait=2", "first=2", `"first=2"`},
		{"wait=2", "wait=9999999999", "first line"}, {"over", "soon", `"soon"`},
		{" # b\nlast 5 -", "", "2 lines"}, {"# b", "#", "row 1 has 1 cells"}, {"01a", "02a", "seats below 2"}, {"01a", "00a", "once each"},
		{"last", "next", "want last, took"}, {"last 5 -", "last 5 -\nlast 5 -", "once each"},
	} {
		text := strings.Replace(good, c[0], c[1], 1)
		if _, err := read(text); text == good || err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%q for %q: got %v, want %s", c[1], c[0], err, c[2])
		}
	}
	for words, want := range map[string]string{
		"": "[-1 -1]", "\nlast 5 -": "[5 -1]", "\nlast 6 1": "0 to 5", "\nlast x 1": "0 to 5", "\nlast 5": "2 numbers", "\nlast -1 1": "0 to 5",
	} {
		text, err := read("t=0\n01 .\n. ." + words)
		if err != nil {
			t.Fatal(err)
		}
		p := grid.NewPlayers(2, 0, 0)
		if err := text.Last(&p, 6); !strings.Contains(fmt.Sprint(p.Last[:2], err), want) {
			t.Errorf("%q: got %v and %v, want %s", words, p.Last, err, want)
		}
	}
}
