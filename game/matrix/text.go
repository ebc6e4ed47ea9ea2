package matrix

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// AppendText writes the whole state, for playthroughs and failures: the time,
// and for each seat its last action, the one before, and how often it has played each:
//
//	t=3
//	0 last=cooperate before=cooperate cooperate=3 defect=0
//	1 last=defect before=defect cooperate=1 defect=2
func (st *State) AppendText(b []byte) ([]byte, error) {
	b = fmt.Appendf(b, "t=%d\n", st.t)
	for s := range st.last {
		b = fmt.Appendf(b, "%d last=%s before=%s", s, st.name(st.last[s]), st.name(st.before[s]))
		for k, name := range st.g.stage.Actions {
			b = fmt.Appendf(b, " %s=%d", name, st.played[s][k])
		}
		b = append(b, '\n')
	}
	return b, nil
}

// name returns an action's name, - for none.
func (st *State) name(a int8) string {
	if a < 0 {
		return "-"
	}
	return st.g.stage.Actions[a]
}

// UnmarshalText sets the state from what AppendText wrote.
func (st *State) UnmarshalText(text []byte) error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("matrix: reading a position: "+format, a...)
	}
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(text), "\r", "")), "\n")
	if len(lines) != 3 {
		return bad("%d lines, want t=3 and a line for each of 2 seats", len(lines))
	}
	fresh := State{g: st.g, last: [2]int8{-1, -1}, before: [2]int8{-1, -1}}
	num, ok := strings.CutPrefix(strings.TrimSpace(lines[0]), "t=")
	t, err := strconv.ParseInt(num, 10, 32)
	if !ok || err != nil || t < 0 || int(t) > st.g.c.Rounds {
		return bad("%q, want t from 0 to %d", lines[0], st.g.c.Rounds)
	}
	fresh.t = int32(t)
	for s, line := range lines[1:] {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != strconv.Itoa(s) {
			return bad("%q, want the line of seat %d", line, s)
		}
		sum := int32(0)
		for _, w := range words[1:] {
			key, val, _ := strings.Cut(w, "=")
			if which := map[string]*int8{"last": &fresh.last[s], "before": &fresh.before[s]}[key]; which != nil {
				*which = int8(slices.Index(st.g.stage.Actions, val))
				if *which < 0 && val != "-" {
					return bad("%q, want one of %v or -", w, st.g.stage.Actions)
				}
				continue
			}
			k := slices.Index(st.g.stage.Actions, key)
			n, err := strconv.ParseInt(val, 10, 32)
			if k < 0 || err != nil || n < 0 || n > t {
				return bad("%q, want last=%[2]s or %[2]s=3, at most %[3]d in all", w, st.g.stage.Actions[0], t)
			}
			sum += int32(n) - fresh.played[s][k]
			fresh.played[s][k] = int32(n)
		}
		if sum != fresh.t || (fresh.last[s] >= 0) != (t > 0) || t > 0 && fresh.played[s][fresh.last[s]] == 0 {
			return bad("%q does not fit t=%d: the counts sum to t, and the last action is one of them", line, t)
		}
	}
	*st = fresh
	return nil
}
