package board

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
)

// progressOf makes what training says after a window: two agents, two goals.
func progressOf(step, steps, episodes int, mean float64) *train.Progress {
	p := &train.Progress{Step: step, Steps: steps, Episodes: episodes, Return: make([]stats.Acc, 2), Goals: [][]float64{{0.25, 0.5}, {0.75,
		0}}}
	p.Return[0].Add(mean - 0.5)
	p.Return[1].Add(mean + 0.5)
	for a, g := range p.Goals {
		p.Rows = append(
			p.Rows, runlog.Row{Name: "goal/stag", Agent: a, Value: g[0], N: episodes},
			runlog.Row{Name: "goal/hare", Agent: a, Value: g[1], N: episodes},
			runlog.Row{Name: "goal/none", Agent: a, Value: 1 - g[0] - g[1], N: episodes},
		)
	}
	for a := range 2 {
		p.Stats = append(p.Stats, []agent.Stat{{Name: "ppo/policy_loss", Value: -0.01}, {Name: "ppo/value_loss", Value: 0.02},
			{Name: "ppo/entropy", Value: 1 + float64(a)}, {Name: "ppo/lr", Value: 1e-3}})
	}
	return p
}

// shown returns a live view after some news, without escapes.
func shown(t *testing.T, w, h, seeds int) (*liveModel, string) {
	t.Helper()
	b := &Board{}
	s := Setup{Name: "ppo-4x4", Folder: "runs/ppo-4x4-001", Cores: 2}
	for i := range seeds {
		s.Seeds = append(s.Seeds, uint64(i+1))
		b.seeds = append(b.seeds, &seedRow{seed: uint64(i + 1), every: 1, result: math.NaN()})
	}
	at := time.Unix(1000, 0)
	for i := range 11 {
		for _, r := range b.seeds[:max(1, seeds-1)] {
			r.take(progressOf(1000*(i+1), 20000, 100, 1+float64(i)/10), at.Add(time.Duration(i)*time.Second))
		}
	}
	m := &liveModel{Setup: s, source: b.snapshot, cancel: func() {}, start: at}
	m.Update(tea.WindowSizeMsg{Width: w, Height: h})
	m.Update(picture(at.Add(12 * time.Second)))
	return m, ansi.Strip(m.View().Content)
}

func TestLiveViewShowsEverySeed(t *testing.T) {
	m, got := shown(t, 100, 40, 3)
	if title := m.View().WindowTitle; title != "37 % hop train ppo-4x4" {
		t.Errorf("the terminal is called %q", title)
	}
	for _, want := range []string{
		"hop train ppo-4x4", "3 seeds, 2 cores, 12s", "runs/ppo-4x4-001",
		"seed 1", " 55 %  11 k of 20 k  1 k steps/s  9s left", "return 2.000 [1.50 2.50]", "▁▁▂▃▃▄▅▅▆▇█",
		"stag 50 %", "hare 25 %", "nothing 25 %", "policy_loss -0.01", "value_loss 0.02", "entropy 1.5",
		"seed 3", "waiting for a core", "q or Ctrl-C",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the view lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "lr") {
		t.Errorf("the learning rate is no news:\n%s", got)
	}
}

// Whatever the size, what a seed is at and what its final agents get is read in
// full, and metrics go by their full names.
func TestNarrowViewsCutNothing(t *testing.T) {
	for _, size := range []struct{ w, h, seeds int }{{80, 24, 1}, {80, 24, 3}, {50, 24, 1}, {50, 24, 3}, {50, 24, 12}, {120, 40, 5}} {
		m, training := shown(t, size.w, size.h, size.seeds)
		rows, _ := m.source()
		m.source = func() ([]seedRow, []string) { return rows, nil }
		see := func(want string, words ...string) string {
			m.Update(picture(time.Unix(1020, 0)))
			got := strings.Join(strings.Fields(ansi.Strip(m.View().Content)), " ") // as one line
			for _, w := range words {
				if !strings.Contains(got, w) {
					t.Errorf("%v, %s: no %q in\n%s", size, want, w, ansi.Strip(m.View().Content))
				}
			}
			return got
		}
		see("training", "9s left", "q or Ctrl-C saves and stops; hop train --resume goes on", "2.000")
		if size.seeds == 1 && !strings.Contains(training, "ppo/policy_loss -0.01") {
			t.Errorf("%v: no full name of a metric in\n%s", size, training)
		}
		if strings.Contains(training, "…") {
			t.Errorf("%v: something is cut off:\n%s", size, training)
		}
		rows[0].scored.take(0, 2000, time.Unix(1011, 0))
		rows[0].scored.take(500, 2000, time.Unix(1012, 0))
		see("scoring", "scoring the final agents")
		if size.seeds < 12 {
			see("scoring", "500 of 2 k", "500 episodes/s", "3s left")
		}
		for i := range rows {
			rows[i].result = 2.834 + float64(i)
		}
		m.Update(lastPicture{})
		for i := range min(size.seeds, 3) {
			see("done", fmt.Sprintf("%.3f", rows[i].result))
		}
		if lines := strings.Count(m.View().Content, "\n"); size.seeds <= 3 && lines+m.after() > size.h {
			t.Errorf("%v: the last picture has %d lines, and the result %d: it is scrolled away", size, lines, m.after())
		}
	}
}

// Returns of the warm-up are those of bots: shaded and named in the curve, and
// named in the plain lines.
func TestWarmUpIsShadedAndNamed(t *testing.T) {
	r := seedRow{seed: 1, every: 1, result: math.NaN()}
	for i := range 600 {
		p := progressOf(i, 600, 100, 2.2)
		if p.Warm = i < 400; !p.Warm {
			p = progressOf(i, 600, 100, 1+float64(i)/1000)
		}
		r.take(p, time.Unix(int64(i), 0))
		if i == 399 && !strings.Contains(r.line(false), "warm-up: bots play, agents watch  return  2.200") {
			t.Errorf("the plain line does not name the warm-up: %s", r.line(false))
		}
	}
	if strings.Contains(r.line(false), "warm-up") {
		t.Errorf("the warm-up is over: %s", r.line(false))
	}
	m := &liveModel{rows: []seedRow{r}, w: 80, h: 24}
	got := ansi.Strip(m.View().Content)
	if !strings.Contains(got, "░ warm-up: bots play, agents watch") {
		t.Errorf("the warm-up is not named:\n%s", got)
	}
	line := ansi.Strip(curve(&r, 30))
	if shades := strings.Count(line, shade); shades != 20 || !strings.HasPrefix(line, strings.Repeat(shade, 20)+"▁") ||
		!strings.HasSuffix(line, "█") {
		t.Errorf("%d of 30 cells are shaded, want the first 20, then a rise: %s", shades, line)
	}
}

// What a mind says of its goals is no goal.
func TestGoalsAreGoalsOnly(t *testing.T) {
	p := progressOf(1000, 2000, 10, 1)
	p.Rows = append(p.Rows, runlog.Row{Name: "goal/explained", Agent: 0, Value: 0.4})
	r := seedRow{every: 1}
	r.take(p, time.Unix(0, 0))
	if len(r.goals) != 3 || r.goals[2].name != "none" {
		t.Errorf("goals %v, want stag, hare and none", r.goals)
	}
}

func TestLiveViewFitsTheTerminal(t *testing.T) {
	for _, size := range []struct{ w, h, seeds int }{{80, 24, 1}, {80, 24, 3}, {80, 24, 12}, {80, 24, 100}, {120, 40, 5}, {40, 12, 4}, {20,
		8, 3}, {1, 1, 2}} {
		t.Run(fmt.Sprintf("%dx%d %d seeds", size.w, size.h, size.seeds), func(t *testing.T) {
			_, got := shown(t, size.w, size.h, size.seeds)
			lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
			for _, l := range lines {
				if lipgloss.Width(l) > size.w {
					t.Errorf("%d columns, want at most %d: %q", lipgloss.Width(l), size.w, l)
				}
			}
			if size.h >= 8 && len(lines) >= size.h {
				t.Errorf("%d lines and one for the cursor, want at most %d:\n%s", len(lines), size.h, got)
			}
		})
	}
	if _, got := shown(t, 80, 24, 100); !strings.Contains(got, "more") {
		t.Errorf("seeds that do not fit are not counted:\n%s", got)
	}
}

func TestKeysStopTrainingOnce(t *testing.T) {
	for _, key := range []tea.KeyPressMsg{{Code: 'q', Text: "q"}, {Code: 'c', Mod: tea.ModCtrl}} {
		ctx, cancel := context.WithCancel(t.Context())
		m, _ := shown(t, 80, 24, 1)
		m.cancel = cancel
		_, cmd := m.Update(key)
		if ctx.Err() == nil {
			t.Errorf("%s does not stop training", key)
		}
		if cmd != nil {
			t.Errorf("%s ends the view before training has saved", key)
		}
		if got := ansi.Strip(m.View().Content); !strings.Contains(got, "being saved") {
			t.Errorf("%s: the view does not say that it stops:\n%s", key, got)
		}
		if _, cmd = m.Update(key); cmd == nil || reflect.TypeOf(cmd()) != reflect.TypeFor[tea.InterruptMsg]() {
			t.Errorf("%s, pressed again, does not end the program", key)
		}
	}
	m, _ := shown(t, 80, 24, 1)
	m.cancel = func() { t.Error("x stops training") }
	m.Update(tea.KeyPressMsg{Code: 'x', Text: "x"})
}

func TestLastPictureShowsResultsAndQuits(t *testing.T) {
	m, _ := shown(t, 100, 24, 2)
	rows, _ := m.source()
	rows[0].result = 2.834
	m.source = func() ([]seedRow, []string) { return rows, []string{"a checkpoint is damaged"} }
	if _, cmd := m.Update(lastPicture{}); cmd == nil {
		t.Error("the view does not end")
	}
	got := ansi.Strip(m.View().Content)
	for _, want := range []string{"done: final agents get 2.834", "note: a checkpoint is damaged"} {
		if !strings.Contains(got, want) {
			t.Errorf("the view lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "Ctrl-C") {
		t.Errorf("the view offers keys that do nothing any more:\n%s", got)
	}
}

func TestPlainLinesHaveNoEscapesAndAlign(t *testing.T) {
	var out bytes.Buffer
	b := New(Setup{Name: "ppo-4x4", Folder: "runs/x", Seeds: []uint64{1, 12}}, nil, &out, func() {})
	b.Update(1, progressOf(4000, 3000, 100, 1))
	b.Update(12, progressOf(300_000, 300_000, 100, 2.5))
	b.Note("odd")
	b.Done(12, 2)
	b.End()
	got := out.String()
	if strings.ContainsAny(got, "\x1b\r") {
		t.Errorf("escapes in plain lines: %q", got)
	}
	lines := strings.Split(got, "\n")
	want := "seed 1    100 %      4 k steps  return  1.000 [ 0.50  1.50]  stag  50 %  hare  25 %  none  25 %" +
		"  value_loss  0.0200  entropy  1.5000"
	if lines[1] != want {
		t.Errorf("got  %q\nwant %q", lines[1], want)
	}
	if len(lines[1]) != len(lines[2]) {
		t.Errorf("lines do not align:\n%s\n%s", lines[1], lines[2])
	}
	if lines[3] != "note: odd" {
		t.Errorf("got %q, want the note", lines[3])
	}
}

func TestRateCountsFromASeedsOwnStart(t *testing.T) {
	r := &seedRow{every: 1}
	at := time.Unix(5000, 0) // long after the first seed began
	r.take(progressOf(4000, 100_000, 10, 1), at)
	if got := r.steps.rate(); got != 0 {
		t.Errorf("rate %v after one window, want 0: unknown", got)
	}
	r.take(progressOf(8000, 100_000, 10, 1), at.Add(2*time.Second))
	if got := r.steps.rate(); got != 2000 {
		t.Errorf("rate %v, want 2000", got)
	}
	if left, ok := r.steps.left(); !ok || left != 46*time.Second {
		t.Errorf("left %v, want 46s", left)
	}
}

func TestHistoryStaysShortAndDropsTheFirstFewEpisodes(t *testing.T) {
	r := &seedRow{every: 1}
	r.take(progressOf(1, 1e6, 10, 1e6), time.Time{})
	for i := range 2000 {
		r.take(progressOf(i, 1e6, 100, float64(i)), time.Time{})
	}
	if n := len(r.history); n < 100 || n > 256 {
		t.Errorf("%d points, want 100 to 256", n)
	}
	for i := 1; i < len(r.history); i++ {
		if r.history[i] <= r.history[i-1] {
			t.Fatalf("history falls at %d: %v", i, r.history[i-1:i+1])
		}
	}
	if r.history[0] > 8 {
		t.Errorf("the first window's few short episodes are still there: %v", r.history[0])
	}
}
