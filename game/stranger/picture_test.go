package stranger_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/stranger"
	"github.com/hop-marl/hop/num/rng"
)

// apart returns how often each two of some co-players act differently in the same states: the
// mean distance (total variation) of their probabilities, over the states of episodes that mixed
// teams of the game's bots play. All of them watch these episodes, so that those who remember do.
func apart(t *testing.T, g stranger.Speaker, list []string) [][]float64 {
	t.Helper()
	spec := g.Spec()
	var who []game.Policy
	for _, text := range list {
		who = append(who, made(g.Language().Parse(text)))
	}
	said := make([][]float32, len(who)) // [who][state*actions]
	actions, rewards, states := make([]int32, spec.Seats), make([]float32, spec.Seats), 0
	st := g.New()
	for episode := range 40 {
		r := rng.New(34).Child("apart", episode).Rand()
		var team []game.Bot
		for range spec.Seats {
			team = append(team, g.Bots()[r.IntN(len(g.Bots()))].New())
		}
		for st.Reset(&r); !st.Over(); st.Step(actions, rewards, &r) {
			if st.Alive(0) {
				states++
				for i, p := range who {
					said[i] = append(said[i], make([]float32, len(spec.Actions))...)
					p.Probs(st, 0, said[i][len(said[i])-len(spec.Actions):])
				}
			}
			for s := range game.Seat(spec.Seats) {
				if actions[s] = game.NoAction; st.Alive(s) {
					actions[s] = team[s].Act(st, s, &r)
				}
			}
		}
		for _, p := range who {
			if w, ok := p.(game.Watcher); ok {
				w.Watch(st, 0)
			}
		}
	}
	far := make([][]float64, len(who))
	for i := range far {
		far[i] = make([]float64, len(who))
		for j := range i {
			sum := 0.
			for k, p := range said[i] {
				sum += float64(max(p-said[j][k], said[j][k]-p)) / 2
			}
			far[i][j] = sum / float64(states)
			far[j][i] = far[i][j]
		}
	}
	return far
}

// order puts those beside each other who act alike: the leaves of a tree that joins, again and
// again, the two groups that are nearest on average.
func order(far [][]float64) []int {
	groups := make([][]int, len(far))
	for i := range groups {
		groups[i] = []int{i}
	}
	near := func(a, b []int) float64 {
		sum := 0.
		for _, i := range a {
			for _, j := range b {
				sum += far[i][j]
			}
		}
		return sum / float64(len(a)*len(b))
	}
	between := make([][]float64, len(groups))
	for i := range between {
		between[i] = slices.Clone(far[i])
	}
	for len(groups) > 1 {
		x, y := 0, 1
		for i := range groups {
			for j := range i {
				if between[i][j] < between[x][y] || x == y {
					x, y = j, i
				}
			}
		}
		groups[x] = append(groups[x], groups[y]...)
		groups = slices.Delete(groups, y, y+1)
		between = slices.Delete(between, y, y+1)
		for i := range between {
			between[i] = slices.Delete(between[i], y, y+1)
		}
		for i := range groups {
			between[x][i] = near(groups[x], groups[i])
			between[i][x] = between[x][i]
		}
	}
	return groups[0]
}

// shades are those of the picture, from acting alike to never.
var shades = []string{"#ffffff", "#dbe7f1", "#b3cfe4", "#85b1d3", "#538fbf", "#2471a8", "#0067a5", "#004a78"}

// paint draws how far apart all are as a square.
func paint(b *bytes.Buffer, far [][]float64, list []int, x, y, side float64) {
	n := len(list)
	paths := make([]strings.Builder, len(shades))
	shade := func(i, j int) int { return min(int(far[list[i]][list[j]]*float64(len(shades))), len(shades)-1) }
	for i := range n {
		for j := 0; j < n; {
			from, s := j, shade(i, j)
			for j < n && shade(i, j) == s {
				j++
			}
			if s > 0 {
				fmt.Fprintf(&paths[s], "M%d %dh%d", from, i, j-from)
			}
		}
	}
	fmt.Fprintf(b, `<g shape-rendering="crispEdges" transform="translate(%g %g) scale(%.4f)">`, x, y, side/float64(n))
	fmt.Fprintf(b, `<rect width="%d" height="%d" fill="%s"/>`+"\n", n, n, shades[0])
	for s := range paths {
		if paths[s].Len() > 0 {
			fmt.Fprintf(b, `<path transform="translate(0 .5)" stroke="%s" d="%s"/>`+"\n", shades[s], paths[s].String())
		}
	}
	b.WriteString("</g>\n")
}

// The strangers of the stag hunt are many: of each split most differ from most others in a good
// part of their steps. With -write, docs/strangers.svg shows it.
func TestStrangersAreMany(t *testing.T) {
	g := games()["staghunt"]
	const side, gap, top = 300., 24., 64.
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif">`+"\n", 3*side+4*gap, top+side+60)
	b.WriteString(`<rect width="100%" height="100%" fill="#fbfaf7"/>` + "\n")
	fmt.Fprintf(&b, `<text x="%g" y="28" font-size="16" font-weight="600" fill="#1f2328">`, gap)
	b.WriteString("How differently two strangers act in the same states</text>\n")
	for k, split := range stranger.Splits {
		_, list, err := stranger.List(g, split)
		if err != nil {
			t.Fatal(err)
		}
		far := apart(t, g, list)
		mean, alike := 0., 0
		for i := range far {
			for j := range i {
				mean += far[i][j] / float64(len(far)*(len(far)-1)/2)
				if far[i][j] < .02 {
					alike++
				}
			}
		}
		if mean < .2 || alike > len(list) {
			t.Errorf("%s: they act differently in %.2f of their steps, and %d pairs of %d co-players hardly do", split, mean, alike, len(list))
		}
		x := gap + float64(k)*(side+gap)
		fmt.Fprintf(&b, `<text x="%g" y="%g" font-size="13" fill="#1f2328">`, x, top-10)
		fmt.Fprintf(&b, "%s, %d co-players: %.0f %% of steps on average</text>\n", split, len(list), 100*mean)
		paint(&b, far, order(far), x, top, side)
	}
	for i, c := range shades {
		fmt.Fprintf(&b, `<rect x="%g" y="%g" width="24" height="12" fill="%s" stroke="#dde1e6"/>`+"\n", gap+float64(24*i), top+side+16, c)
	}
	fmt.Fprintf(&b, `<text x="%g" y="%g" font-size="11" fill="#66707b">`, gap+24*float64(len(shades))+8, top+side+26)
	b.WriteString("never to always; rows and columns are the co-players of a split, those who act alike beside each other</text>\n</svg>\n")
	if *write {
		if err := os.WriteFile("../../docs/strangers.svg", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
