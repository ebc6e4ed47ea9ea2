package cartpole

import (
	"fmt"
	"strconv"
	"strings"
)

// names are the four numbers of a state, in the order of the observation.
var names = [4]string{"x", "v", "theta", "omega"}

// AppendText writes the whole state, for playthroughs and failures, each number
// with all its digits:
//
//	t=3 x=0.0123 v=-0.2 theta=0.01 omega=0.3
func (st *State) AppendText(b []byte) ([]byte, error) {
	b = fmt.Appendf(b, "t=%d", st.t)
	for i, v := range st.at {
		b = append(b, ' ')
		b = append(b, names[i]...)
		b = append(b, '=')
		b = strconv.AppendFloat(b, v, 'g', -1, 64)
	}
	return append(b, '\n'), nil
}

// UnmarshalText sets the state from what AppendText wrote. A number that is left
// out is 0.
func (st *State) UnmarshalText(text []byte) error {
	fresh := State{g: st.g}
	for _, w := range strings.Fields(string(text)) {
		key, val, _ := strings.Cut(w, "=")
		if key == "t" {
			t, err := strconv.ParseInt(val, 10, 32)
			if err != nil || t < 0 || int(t) > st.g.c.Limit {
				return fmt.Errorf("cartpole: reading a position: %q, want t from 0 to %d", w, st.g.c.Limit)
			}
			fresh.t = int32(t)
			continue
		}
		i := 0
		for i < len(names) && names[i] != key {
			i++
		}
		v, err := strconv.ParseFloat(val, 64)
		if i == len(names) || err != nil || v-v != 0 {
			return fmt.Errorf("cartpole: reading a position: %q, want t=3 x=0.1 v=0.2 theta=0.03 omega=0.4", w)
		}
		fresh.at[i] = v
	}
	fresh.fell = fallen(fresh.at[0], fresh.at[2])
	*st = fresh
	return nil
}
