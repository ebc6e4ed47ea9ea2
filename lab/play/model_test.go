package play

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/hop-marl/hop/game"
)

// press returns the message of a key.
func press(key string) tea.KeyPressMsg {
	switch key {
	case "space":
		return tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}
	case "left":
		return tea.KeyPressMsg{Code: tea.KeyLeft}
	case "right":
		return tea.KeyPressMsg{Code: tea.KeyRight}
	case "up":
		return tea.KeyPressMsg{Code: tea.KeyUp}
	case "ctrl+c":
		return tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}
	}
	return tea.KeyPressMsg{Code: rune(key[0]), Text: key}
}

func watching(t *testing.T, human game.Seat) *model {
	t.Helper()
	o, _ := options(t, human, "")
	o.Delay = time.Second
	m, err := newModel(o, started(t, o, o.Seed))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func step(m *model) int { return m.env.rec.Last().Step }

func TestClockPlaysUntilPaused(t *testing.T) {
	m := watching(t, NoHuman)
	if m.Init() == nil {
		t.Fatal("the clock does not start")
	}
	old := tick{m.clock}
	if _, cmd := m.Update(old); step(m) != 1 || cmd == nil {
		t.Errorf("after a tick: step %d, next tick %v; want 1 and a tick", step(m), cmd != nil)
	}
	if _, cmd := m.Update(old); step(m) != 1 || cmd != nil {
		t.Errorf("after an old tick: step %d, want 1 and no other clock", step(m))
	}
	if _, cmd := m.Update(press("space")); cmd != nil || !m.paused {
		t.Error("space does not pause")
	}
	if m.Update(tick{m.clock}); step(m) != 1 {
		t.Errorf("a tick in a pause plays: step %d", step(m))
	}
	m.Update(press("n"))
	m.Update(press("right"))
	if step(m) != 3 || !m.paused {
		t.Errorf("n and right: step %d, paused %v; want 3 and true", step(m), m.paused)
	}
	if _, cmd := m.Update(press("space")); cmd == nil || m.paused {
		t.Error("space does not go on")
	}
}

func TestSpeedHasBounds(t *testing.T) {
	m := watching(t, NoHuman)
	m.Update(press("+"))
	if m.delay != time.Second/2 {
		t.Errorf("after +: %v, want 500ms", m.delay)
	}
	for range 20 {
		m.Update(press("+"))
	}
	if m.delay != fastest {
		t.Errorf("after many +: %v, want %v", m.delay, fastest)
	}
	for range 20 {
		m.Update(press("-"))
	}
	if m.delay != slowest {
		t.Errorf("after many -: %v, want %v", m.delay, slowest)
	}
}

func TestNextEpisodeHasTheNextSeed(t *testing.T) {
	m := watching(t, NoHuman)
	m.most = 2
	m.Update(press("n"))
	m.Update(press("r"))
	if f := m.env.rec.Last(); f.Episode != "seed 8" || f.Step != 0 {
		t.Errorf("got %q step %d, want seed 8 step 0", f.Episode, f.Step)
	}
	if n := len(m.env.rec.Frames()); n != 1 {
		t.Errorf("%d frames are kept, want those of this episode", n)
	}
	m.Update(press("r"))
	if f := m.env.rec.Last(); f.Episode != "seed 8" || m.note == "" {
		t.Errorf("a third of two episodes was played: %q, note %q", f.Episode, m.note)
	}
}

func TestKeysQuit(t *testing.T) {
	for _, key := range []string{"q", "Q", "ctrl+c"} {
		m := watching(t, NoHuman)
		_, cmd := m.Update(press(key))
		if cmd == nil {
			t.Errorf("%s does nothing", key)
			continue
		}
		if _, ok := cmd().(tea.QuitMsg); !ok {
			t.Errorf("%s does not quit", key)
		}
	}
}

func TestPersonPlaysByKey(t *testing.T) {
	m := watching(t, 3)
	if m.Init() != nil {
		t.Error("the clock runs although the person must choose")
	}
	if m.Update(tick{m.clock}); step(m) != 0 {
		t.Error("a tick plays for the person")
	}
	m.Update(press("e"))
	if step(m) != 0 || m.note != "hunt stag is not legal now" {
		t.Errorf("an illegal key: step %d, note %q", step(m), m.note)
	}
	m.Update(press("0"))
	if step(m) != 0 || !strings.Contains(m.note, "0 does nothing") {
		t.Errorf("a key without meaning: step %d, note %q", step(m), m.note)
	}
	m.Update(press("space"))
	if p := m.env.rec.Last().Players[3]; step(m) != 1 || p.Action != "stay" || m.note != "" {
		t.Errorf("space: step %d, %+v, note %q; want stay", step(m), p, m.note)
	}
	legal := m.env.legal()
	for a, key := range []string{"up", "s", "left", "l"} {
		if !legal[a] {
			continue
		}
		m.Update(press(key))
		if p := m.env.rec.Last().Players[3]; p.Action != m.env.spec.Actions[a] {
			t.Errorf("%s: got %q, want %q", key, p.Action, m.env.spec.Actions[a])
		}
		legal = m.env.legal()
	}
	if step(m) < 2 {
		t.Error("no move was legal")
	}
}

func TestBotsGoOnWhenThePersonHasLeft(t *testing.T) {
	m := watching(t, 0)
	st := m.env.st.(interface{ UnmarshalText([]byte) error })
	if err := st.UnmarshalText([]byte("t=0 first=0\n 0h . . .\n. . . S\n. 3 . .\n1 2 . #\n")); err != nil {
		t.Fatal(err)
	}
	_, cmd := m.Update(press("f"))
	if m.env.st.Alive(0) || cmd == nil {
		t.Fatalf("after the hare: alive %v, clock %v; want gone and a clock", m.env.st.Alive(0), cmd != nil)
	}
	if got := m.env.rec.Last().Players[0].status(99); got != "left with the hare at step 1" {
		t.Errorf("got %q", got)
	}
	if m.Update(tick{m.clock}); step(m) != 2 {
		t.Errorf("step %d, want 2", step(m))
	}
}

func TestViewShowsLegalActionsAndKeys(t *testing.T) {
	m := watching(t, 3)
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	v := m.View()
	if !v.AltScreen {
		t.Error("the view does not use the alternate screen")
	}
	var stay, stag style
	for _, line := range m.bottom() {
		for _, s := range line {
			switch strings.TrimSpace(s.text) {
			case "stay":
				stay = s.style
			case "hunt stag":
				stag = s.style
			}
		}
	}
	if !stay.Bold || stag.Bold || stag.FG != faint {
		t.Errorf("stay is %+v and hunt stag %+v, want the legal one bold and the other faint", stay, stag)
	}
	m.Update(tea.ColorProfileMsg{Profile: colorprofile.ASCII})
	if v := m.View(); strings.ContainsRune(v.Content, '\x1b') || !strings.Contains(v.Content, "hunt stag") {
		t.Errorf("without colours:\n%s", v.Content)
	}
}

func TestKeysComeFromNames(t *testing.T) {
	for _, c := range []struct {
		name    string
		actions []string
		keys    map[string]int32
	}{
		{"hunt", []string{"up", "down", "left", "right", "stay", "hunt stag", "hunt hare"}, map[string]int32{
			"up": 0, "k": 0, "w": 0, "j": 1, "a": 2, "h": 2, "l": 3, "space": 4, ".": 4, "e": 5, "1": 5, "f": 6, "2": 6,
		}},
		{"matrix", []string{"cooperate", "defect"}, map[string]int32{"e": 0, "1": 0, "f": 1, "2": 1}},
		{"cart", []string{"push left", "push right"}, map[string]int32{"left": 0, "a": 0, "right": 1, "d": 1}},
		{"twice left", []string{"left", "turn left"}, map[string]int32{"left": 0, "e": 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := bindKeys(c.actions)
			for key, want := range c.keys {
				if got, ok := k.Plays[key]; !ok || got != want {
					t.Errorf("%s: got %d %v, want %d", key, got, ok, want)
				}
			}
		})
	}
}

func TestEveryActionHasAKeyOfItsOwn(t *testing.T) {
	actions := []string{"up", "down", "left", "right", "stay"}
	for len(actions) < game.MaxActions {
		actions = append(actions, "act")
	}
	k := bindKeys(actions)
	for a, key := range k.First {
		if got, ok := k.Plays[key]; !ok || int(got) != a {
			t.Errorf("action %d is shown with %q, which plays %d", a, key, got)
		}
	}
	for _, taken := range []string{"q", "r", "+", "-", "=", "_", "esc", "ctrl+c"} {
		if k.Taken(taken) {
			t.Errorf("%s plays an action and also means something else", taken)
		}
	}
}
