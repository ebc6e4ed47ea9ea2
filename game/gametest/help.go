package gametest

import (
	"bytes"
	"encoding"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
)

// New builds a game of parameters that must be sound.
func New[C any, G game.Game](t testing.TB, build func(C) (G, error), c C) G {
	t.Helper()
	g, err := build(c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// At returns a state of g in the position of a text.
func At[S game.State](t testing.TB, g game.Game, text string) S {
	t.Helper()
	st := g.New().(S)
	if err := read(st, text); err != nil {
		t.Fatal(err)
	}
	return st
}

func read(st game.State, text string) error {
	return st.(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
}

// Text returns the whole state as text.
func Text(t testing.TB, st game.State) string {
	t.Helper()
	b, err := st.AppendText(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Board returns the rows of the state's text after the first, as many as asked
// for, with single spaces.
func Board(t testing.TB, st game.State, rows int) string {
	t.Helper()
	lines := strings.Split(Text(t, st), "\n")[1 : rows+1]
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	return strings.Join(lines, "\n")
}

// Step plays one move and returns the rewards.
func Step(st game.State, acts ...int32) []float32 {
	rewards := make([]float32, len(acts))
	r := rng.New(1).Rand()
	st.Step(acts, rewards, &r)
	return rewards
}

// Bot returns a bot of the game.
func Bot(t testing.TB, g game.Game, name string) game.Bot {
	t.Helper()
	b, err := game.NewBot(g, name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Probs returns how a bot of the game acts in a position.
func Probs(t testing.TB, g game.Game, bot, text string, s game.Seat) []float32 {
	t.Helper()
	dst := make([]float32, len(g.Spec().Actions))
	Bot(t, g, bot).(game.Policy).Probs(At[game.State](t, g, text), s, dst)
	return dst
}

// Acts is what a bot shall do in a position: the probability of each action of
// seat 0.
type Acts = struct {
	Name, Bot, Text string
	Want            []float32
}

// CheckActs checks what bots of the game do.
func CheckActs(t *testing.T, g game.Game, cases []Acts) {
	t.Helper()
	for _, c := range cases {
		if got := Probs(t, g, c.Bot, c.Text, 0); !slices.Equal(got, c.Want) {
			t.Errorf("%s: got %v, want %v", c.Name, got, c.Want)
		}
	}
}

// Mask returns the numbers of the seat's legal actions, such as "134".
func Mask(g game.Game, st game.State, s game.Seat) (digits string) {
	legal := make([]bool, len(g.Spec().Actions))
	st.Legal(s, legal)
	for k, ok := range legal {
		if ok {
			digits += strconv.Itoa(k)
		}
	}
	return digits
}

// CheckMasks checks the masks of a position's seats from 0 on.
func CheckMasks(t *testing.T, g game.Game, text string, want ...string) {
	t.Helper()
	st := At[game.State](t, g, text)
	for s, digits := range want {
		if got := Mask(g, st, game.Seat(s)); got != digits {
			t.Errorf("seat %d may play %s, want %s in\n%s", s, got, digits, text)
		}
	}
}

// CheckEnd plays the action for all seats from a position two steps before the
// horizon and checks that the episode, and everybody's, ends there and not before.
func CheckEnd(t *testing.T, g game.Game, text string, action int32) {
	t.Helper()
	st, spec := At[game.State](t, g, text), g.Spec()
	for left := range 2 {
		Step(st, slices.Repeat([]int32{action}, spec.Seats)...)
		for s := range game.Seat(spec.Seats) {
			if over := left == 1; st.Over() != over || st.Alive(s) == over {
				t.Errorf("%d steps before the horizon: over %v, seat %d alive %v", 1-left, st.Over(), s, st.Alive(s))
			}
		}
	}
}

// CheckUniform checks that counts are equal but for chance: that their chi-square
// is below a bound, which the caller takes from the distribution's tail.
func CheckUniform(t *testing.T, what string, counts []float64, bound float64) {
	t.Helper()
	want, chi := 0., 0.
	for _, x := range counts {
		want += x / float64(len(counts))
	}
	for _, x := range counts {
		chi += (x - want) * (x - want) / want
	}
	if !(chi < bound) {
		t.Errorf("%s are not uniform: chi-square %.1f, want below %.1f; %v", what, chi, bound, counts)
	}
}

// CheckFaults checks that an error says all of this.
func CheckFaults(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, want := range words {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
}

// Score is a mean over episodes and its standard error.
type Score struct{ Mean, SE float64 }

// Returns has a team of bots play, and returns what each seat earns in an
// episode, and after them the mean over the seats.
func Returns(t testing.TB, g game.Game, team []string, episodes int, seed uint64) []Score {
	t.Helper()
	bots := make([]game.Bot, len(team))
	for s, name := range team {
		bots[s] = Bot(t, g, name)
	}
	st, r := g.New(), rng.New(seed).Rand()
	k := len(team)
	acts, rewards := make([]int32, k), make([]float32, k)
	sum, squares := make([]float64, k+1), make([]float64, k+1)
	for range episodes {
		got := make([]float64, k+1)
		for st.Reset(&r); !st.Over(); {
			actAll(st, bots, acts, &r)
			st.Step(acts, rewards, &r)
			for s, x := range rewards {
				got[s] += float64(x)
				got[k] += float64(x) / float64(k)
			}
		}
		for i, x := range got {
			sum[i] += x
			squares[i] += x * x
		}
	}
	out := make([]Score, k+1)
	for i := range out {
		m := sum[i] / float64(episodes)
		out[i] = Score{m, math.Sqrt(max(squares[i]/float64(episodes)-m*m, 0) / float64(episodes))}
	}
	return out
}

func actAll(st game.State, bots []game.Bot, acts []int32, r *rng.Rand) {
	for s := range acts {
		acts[s] = game.NoAction
		if st.Alive(game.Seat(s)) {
			acts[s] = bots[s].Act(st, game.Seat(s), r)
		}
	}
}

// Refuses checks that the game refuses texts, each given as {name, text, part of
// the reason}, with an error of its own, and that the state stays as it was.
func Refuses(t *testing.T, g game.Game, texts [][3]string) {
	t.Helper()
	st, r := g.New(), rng.New(1).Rand()
	st.Reset(&r)
	before := Text(t, st)
	for _, w := range texts {
		name, text, want := w[0], w[1], w[2]
		err := read(st, text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), g.Spec().Name+": ") {
			t.Errorf("%s: error %v, want one of %s that says %q", name, err, g.Spec().Name, want)
		}
		if got := Text(t, st); got != before {
			t.Fatalf("%s: a refused text changed the state to\n%s", name, got)
		}
	}
}

// Swap returns texts for Refuses: a sound one with a part of it replaced.
func Swap(t *testing.T, good string, swaps [][2]string) (texts [][3]string) {
	t.Helper()
	for _, s := range swaps {
		text := strings.Replace(good, s[0], s[1], 1)
		if text == good {
			t.Fatalf("%q is not in the text", s[0])
		}
		texts = append(texts, [3]string{s[1] + " for " + s[0], text})
	}
	return texts
}

// Fuzz checks that a text is refused, or read to a state that writes a text
// which is read alike, and which can be played to its end.
func Fuzz(f *testing.F, g game.Game, seeds ...string) {
	for _, s := range seeds {
		if err := read(g.New(), s); err != nil {
			f.Fatalf("%q: %v", s, err)
		}
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		st, again := g.New(), g.New()
		if read(st, text) != nil {
			return
		}
		first := Text(t, st)
		if err := read(again, first); err != nil {
			t.Fatalf("its own text is refused: %v\n%s", err, first)
		}
		if second := Text(t, again); second != first {
			t.Fatalf("read\n%swrote\n%s", first, second)
		}
		spec, r := g.Spec(), rng.New(1).Rand()
		bots := slices.Repeat([]game.Bot{&game.Random{Actions: len(spec.Actions)}}, spec.Seats)
		acts, rewards := make([]int32, spec.Seats), make([]float32, spec.Seats)
		for range spec.Horizon {
			if st.Over() {
				return
			}
			actAll(st, bots, acts, &r)
			st.Step(acts, rewards, &r)
		}
		if !st.Over() {
			t.Fatalf("not over %d steps after\n%s", spec.Horizon, first)
		}
	})
}

// Relabelled plays at random and checks that relabelling the seats relabels what
// a step pays, what was reached and, if whole, all of the next state, given the
// same random numbers. The suite does so only where rules are deterministic.
func Relabelled(t *testing.T, g game.Game, perm []game.Seat, whole bool) {
	t.Helper()
	spec := g.Spec()
	st, moved, want := g.New(), g.New(), g.New()
	r := rng.New(4).Rand()
	mask := make([]bool, len(spec.Actions))
	n := spec.Seats
	acts, turned, paid, got := make([]int32, n), make([]int32, n), make([]float32, n), make([]float32, n)
	for range 20 {
		for st.Reset(&r); !st.Over(); {
			for s := range acts {
				st.Legal(game.Seat(s), mask)
				acts[s] = game.Uniform(mask, &r)
				turned[perm[s]] = acts[s]
			}
			moved.(game.Permuter).Permute(st, perm)
			same := r
			st.Step(acts, paid, &r)
			moved.Step(turned, got, &same)
			want.(game.Permuter).Permute(st, perm)
			if a, b := Text(t, moved), Text(t, want); whole && a != b {
				t.Fatalf("seats relabelled %v and stepped:\n%sstepped and relabelled:\n%s", perm, a, b)
			}
			for s, to := range perm {
				a, b := moved.(game.Goaler).Reached(to), st.(game.Goaler).Reached(game.Seat(s))
				if got[to] != paid[s] || a != b {
					t.Fatalf("seat %d, formerly %d, is paid %v and reached %d, formerly %v and %d:\n%s",
						to, s, got[to], a, paid[s], b, Text(t, st))
				}
			}
		}
	}
}

// Bench measures random play: every living seat's mask and observation, and the step.
func Bench(b *testing.B, g game.Game) {
	spec := g.Spec()
	st, r := g.New(), rng.New(1).Rand()
	legal, obs := make([]bool, len(spec.Actions)), make([]float32, spec.Obs.Len())
	acts, rewards := make([]int32, spec.Seats), make([]float32, spec.Seats)
	st.Reset(&r)
	rows := 0
	b.ReportAllocs()
	for b.Loop() {
		if st.Over() {
			st.Reset(&r)
		}
		for s := range acts {
			acts[s] = game.NoAction
			if st.Alive(game.Seat(s)) {
				st.Legal(game.Seat(s), legal)
				st.Observe(game.Seat(s), obs)
				acts[s] = game.Uniform(legal, &r)
				rows++
			}
		}
		st.Step(acts, rewards, &r)
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "agent-steps/s")
}

var update = flag.Bool("update", false, "rewrite the playthroughs in testdata")

// Playthrough plays one episode with a bot of each name in each seat and
// compares its text with the file, which the flag -update rewrites.
func Playthrough(t *testing.T, g game.Game, team []string, seed uint64, file string) {
	t.Helper()
	got, err := Record(g, team, seed)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; write it with: go test -run %s -update", err, t.Name())
	}
	if err := firstDifference(got, bytes.ReplaceAll(want, []byte("\r"), nil)); err != nil {
		t.Fatalf("%s, %v\nif the change is right: go test -run %s -update", file, err, t.Name())
	}
}

// firstDifference returns an error that shows the first line in which two texts
// differ, or nil.
func firstDifference(got, want []byte) error {
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		a, b := "(end)", "(end)"
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			return fmt.Errorf("line %d:\ngot  %s\nwant %s", i+1, a, b)
		}
	}
	return nil
}

// Record returns the text of one episode: every state, joint action and reward.
func Record(g game.Game, team []string, seed uint64) ([]byte, error) {
	spec := g.Spec()
	if len(team) != spec.Seats {
		return nil, fmt.Errorf("gametest: %s has %d seats, got a team of %d", spec.Name, spec.Seats, len(team))
	}
	bots := make([]game.Bot, spec.Seats)
	for s, name := range team {
		b, err := game.NewBot(g, name)
		if err != nil {
			return nil, err
		}
		bots[s] = b
	}
	key := rng.New(seed)
	rules, act := key.Child("rules").Rand(), key.Child("act").Rand()
	st := g.New()
	st.Reset(&rules)
	out := fmt.Appendf(nil, "%s, seed %d, team %s\n\n", spec.Name, seed, strings.Join(team, " "))
	actions, rewards := make([]int32, spec.Seats), make([]float32, spec.Seats)
	for {
		var err error
		if out, err = st.AppendText(out); err != nil {
			return nil, err
		}
		if st.Over() {
			return out, nil
		}
		out = append(out, "\nplay"...)
		for s := range actions {
			actions[s] = game.NoAction
			name := "-"
			if st.Alive(game.Seat(s)) {
				actions[s] = bots[s].Act(st, game.Seat(s), &act)
				name = strings.ReplaceAll(spec.Actions[actions[s]], " ", "-")
			}
			out = fmt.Appendf(out, " %s", name)
		}
		st.Step(actions, rewards, &rules)
		out = append(out, "\npaid"...)
		for _, r := range rewards {
			out = fmt.Appendf(out, " %.4g", r)
		}
		out = append(out, "\n\n"...)
	}
}
