package audit

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// Functions that are named as places to look at are found where they are declared; what names none stays as it is.
func TestPlacesAreFound(t *testing.T) {
	for next, want := range map[string]string{
		"ppo.Brain.gather and Advantages (what it is given)":            "Brain) gather, func Advantages",
		"train/pretrain: CVAE.subgoals and values; model/cvae: Returns": "CVAE) subgoals, CVAE) values, func Returns",
		"call optimizer.zero_grad() before every backward()":            "",
	} {
		got := located(next)
		places, _ := strings.CutPrefix(got, next)
		var names []string
		for _, at := range strings.Split(strings.Trim(places, " []"), ", ") {
			file, line, _ := strings.Cut(at, ":")
			n, _ := strconv.Atoi(line)
			if b, err := os.ReadFile("../" + file); err == nil && n > 0 {
				// of what is always inlined the first statement
				names = append(names, strings.Join(strings.Split(string(b), "\n")[max(0, n-4):n], "\n"))
			}
		}
		for i, name := range strings.Split(want, ", ") {
			if want == "" && places != "" || want != "" && (i >= len(names) || !strings.Contains(names[i], name)) {
				t.Errorf("%q is %q, whose lines are %q, want %q", next, got, names, want)
			}
		}
	}
}
