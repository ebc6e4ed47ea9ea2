package play

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/cartpole"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
	fast "github.com/hop-marl/hop/search/hunt"
)

var update = flag.Bool("update", false, "rewrite testdata")

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r", ""), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// hunt is a stag hunt on a small board.
func hunt(t *testing.T, size, blocks int) game.Game {
	t.Helper()
	c := staghunt.Default()
	c.Size, c.Blocks = size, blocks
	g, err := staghunt.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return game.With(g, fast.Fast{})
}

// position is two hunters at a stag, one at a hare, one on its own.
const position = `t=0 first=0
.   h   2h  .
.   01S  .  .
#   .   .   h
.   .   .   3
`

// hunted records a stag and a hare being caught, and one step more.
func hunted(t *testing.T) *Recorder {
	t.Helper()
	g := hunt(t, 4, 1)
	st := g.New().(*staghunt.State)
	if err := st.UnmarshalText([]byte(position)); err != nil {
		t.Fatal(err)
	}
	rec := NewRecorder(g, "Stag hunt "+strings.TrimPrefix(game.Label(g), "staghunt "))
	rec.Start(st, "seed 7", []string{"ns", "hop+", "nh", "random"}, Info{})
	rewards := make([]float32, 4)
	var r rng.Rand
	for _, acts := range [][]int32{
		{staghunt.HuntStag, staghunt.HuntStag, staghunt.HuntHare, 2},
		{game.NoAction, game.NoAction, game.NoAction, 0},
	} {
		st.Step(acts, rewards, &r)
		rec.Add(st, Info{Actions: acts, Rewards: rewards})
	}
	return rec
}

func options(t *testing.T, human game.Seat, in string) (Options, *bytes.Buffer) {
	t.Helper()
	out := &bytes.Buffer{}
	return Options{
		Game: hunt(t, 4, 1), Team: []string{"ns", "ns", "nh", "random"}, Seed: 7, Human: human,
		In: strings.NewReader(in), Out: out,
	}, out
}

// started returns an env of the options, at the start of an episode.
func started(t *testing.T, o Options, seed uint64) *env {
	t.Helper()
	e, err := newEnv(o)
	if err == nil {
		err = e.reset(seed)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// played runs the options and returns what they print.
func played(t *testing.T, o Options, out *bytes.Buffer) string {
	t.Helper()
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// says checks that a text holds some words.
func says(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, want := range words {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the text:\n%s", want, text)
		}
	}
}

func TestSameSeedPlaysTheSameEpisode(t *testing.T) {
	var got [3]string
	for i, seed := range []uint64{7, 7, 8} {
		o, out := options(t, NoHuman, "")
		o.Seed = seed
		got[i] = played(t, o, out)
	}
	if got[0] != got[1] {
		t.Errorf("two runs with seed 7 differ:\n%s", cmp.Diff(got[0], got[1]))
	}
	first := func(s string) string { // the first board, without its title
		_, s, _ = strings.Cut(s, "\n")
		s, _, _ = strings.Cut(s, "step 1 of")
		return strings.ReplaceAll(s, "seed 8", "seed 7")
	}
	if first(got[0]) == first(got[2]) {
		t.Error("seeds 7 and 8 start alike")
	}
}

func TestPlainOutputHasNoEscapes(t *testing.T) {
	o, out := options(t, NoHuman, "")
	o.MaxEpisodes = 2
	text := played(t, o, out)
	if strings.ContainsRune(text, '\x1b') {
		t.Error("there is an escape in the text")
	}
	says(t, text, "seed 7, step 0 of 35", "seed 8, step 0 of 35", "left with the hare at step")
}

func TestPersonAnswersInLines(t *testing.T) {
	// Wrong answers are asked again; stay is always legal.
	o, out := options(t, 3, "fly\nhunt stag\n"+strings.Repeat("stay\n.\nSTAY\n", 35))
	text := played(t, o, out)
	says(t, text, `"fly" is no action`, "hunt stag is not legal now", "seat 3, your action:", ". stay", "{3} you")
	if n := strings.Count(text, "is no action"); n != 1 {
		t.Errorf("%d answers were not understood, want 1", n)
	}
}

func TestInputThatEndsEarlyIsAnError(t *testing.T) {
	o, _ := options(t, 3, "stay\n")
	err := Run(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "one action a line") {
		t.Errorf("got %v, want an error that says what to give", err)
	}
}

func TestWrongOptionsAreAllNamed(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*Options)
		want []string
	}{
		{"team too short", func(o *Options) { o.Team = []string{"ns"} }, []string{"name 4 bots"}},
		{"unknown bot", func(o *Options) { o.Team[2] = "xx" }, []string{"seat 2", `no bot "xx"`, "deadline"}},
		{"two unknown bots", func(o *Options) { o.Team[0], o.Team[2] = "yy", "xx" }, []string{`no bot "xx"`, `no bot "yy"`}},
		{"no such seat", func(o *Options) { o.Human = 4 }, []string{"seats 0 to 3"}},
		{"negative seat", func(o *Options) { o.Human = -2 }, []string{"seats 0 to 3"}},
		{"two faults", func(o *Options) { o.Delay, o.MaxEpisodes = -1, -1 }, []string{"delay", "episodes"}},
		{"no keyboard", func(o *Options) { o.Human, o.In = 0, nil }, []string{"no keyboard"}},
		{"no game", func(o *Options) { o.Game = nil }, []string{"a game"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, _ := options(t, NoHuman, "")
			c.edit(&o)
			err := Run(t.Context(), o)
			if err == nil {
				t.Fatal("got no error")
			}
			says(t, err.Error(), c.want...)
		})
	}
}

func TestRunStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o, _ := options(t, NoHuman, "")
	if err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestRunWritesTheGIFWhole(t *testing.T) {
	dir := t.TempDir()
	o, out := options(t, NoHuman, "")
	o.GIF = filepath.Join(dir, "a.gif")
	played(t, o, out)
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Errorf("the folder holds %v (%v), want the GIF alone", files, err)
	}
	if !strings.Contains(out.String(), "wrote "+o.GIF) || strings.Count(out.String(), "step") < 1 {
		t.Errorf("got %q, want the last frame and what was written", out)
	}
	o.GIF = filepath.Join(dir, "missing", "a.gif")
	if err := Run(t.Context(), o); err == nil {
		t.Error("got no error for a folder that is not there")
	}
}

func TestGameWithoutBoardShowsItsText(t *testing.T) {
	g, err := cartpole.New(cartpole.Default())
	if err != nil {
		t.Fatal(err)
	}
	rec := NewRecorder(g, "")
	st := g.New()
	if err := st.(*cartpole.State).UnmarshalText([]byte("t=3 x=0.5 v=0 theta=0.01 omega=0.25")); err != nil {
		t.Fatal(err)
	}
	rec.Start(st, "", []string{"balance"}, Info{})
	golden(t, "words.txt", rec.Last().Text())
	golden(t, "words80.txt", rec.Last().view(80, 12, nil).String())
}

func TestTerminalProgramLeavesNoGoroutine(t *testing.T) {
	defer goleak.VerifyNone(t)
	o, out := options(t, NoHuman, "")
	o.Delay = time.Millisecond
	in, keys := io.Pipe()
	o.In = in
	e := started(t, o, 7)
	go func() {
		io.WriteString(keys, "n")
		io.WriteString(keys, "rq")
		keys.Close()
	}()
	if err := interactive(t.Context(), o, e); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "seed 8") {
		t.Error("the second episode was not shown")
	}
}

func TestTerminalProgramStopsWhenCancelled(t *testing.T) {
	defer goleak.VerifyNone(t)
	o, _ := options(t, 0, "")
	in, keys := io.Pipe()
	defer keys.Close()
	o.In = in
	e := started(t, o, 7)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { keys.Close(); cancel() })
	if err := interactive(ctx, o, e); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
