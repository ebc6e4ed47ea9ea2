package play

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/hop-marl/hop/game"
)

// The bounds of the delay that + and - change.
const (
	fastest = 25 * time.Millisecond
	slowest = 3200 * time.Millisecond
)

// tick says that it is time for the next step. Ticks of an older clock are
// ignored, so that at most one clock runs.
type tick struct{ clock int }

// model is the terminal program: what is shown and what the keys do.
type model struct {
	env    *env
	keys   keyMap
	seed   uint64 // of the episode that is shown
	first  uint64 // of the first
	most   int    // episodes to play, 0: no limit
	delay  time.Duration
	paused bool
	clock  int
	note   string // about the last key
	w, h   int
	plain  bool // the terminal has no colours
}

var _ tea.Model = (*model)(nil)

func newModel(o Options, e *env) (*model, error) {
	m := &model{
		env: e, keys: bindKeys(e.spec.Actions), seed: o.Seed, first: o.Seed, most: o.MaxEpisodes,
		delay: o.Delay, w: 80, h: 24,
	}
	return m, e.reset(m.seed)
}

// Init starts the clock.
func (m *model) Init() tea.Cmd { return m.start() }

// start runs a new clock if something moves by itself.
func (m *model) start() tea.Cmd {
	m.clock++
	if m.paused || m.env.st.Over() || m.env.waits() {
		return nil
	}
	t := tick{m.clock}
	return tea.Tick(m.delay, func(time.Time) tea.Msg { return t })
}

// Update plays steps when the clock or a key says so.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
	case tea.ColorProfileMsg:
		m.plain = msg.Profile <= colorprofile.ASCII
	case tick:
		if msg.clock == m.clock && !m.paused && !m.env.waits() {
			return m, m.step(game.NoAction)
		}
	case tea.KeyPressMsg:
		m.note = ""
		return m, m.key(strings.ToLower(msg.String()))
	}
	return m, nil
}

// step plays one step and sets the clock for the next.
func (m *model) step(act int32) tea.Cmd {
	if !m.env.st.Over() {
		m.env.step(act)
	}
	return m.start()
}

// key does what a key says: the person's actions first, when it is their turn.
func (m *model) key(key string) tea.Cmd {
	switch key {
	case "q", "ctrl+c", "esc":
		return tea.Quit
	case "r":
		return m.next()
	case "+", "=":
		m.delay = max(m.delay/2, fastest)
		return m.start()
	case "-", "_":
		m.delay = min(m.delay*2, slowest)
		return m.start()
	}
	if m.env.waits() {
		a, ok := m.keys.Plays[key]
		switch {
		case !ok:
			m.note = fmt.Sprintf("the key %s does nothing here", key)
		case !m.env.legal()[a]:
			m.note = m.env.spec.Actions[a] + " is not legal now"
		default:
			return m.step(a)
		}
		return nil
	}
	switch key {
	case "space", "p":
		m.paused = !m.paused
		return m.start()
	case "n", "right", "enter":
		m.paused = true
		return m.step(game.NoAction)
	}
	return nil
}

// next starts the episode of the next seed.
func (m *model) next() tea.Cmd {
	if m.most > 0 && m.seed-m.first+1 >= uint64(m.most) {
		m.note = fmt.Sprintf("that was the last of %d episodes; q quits", m.most)
		return nil
	}
	m.seed++
	if err := m.env.reset(m.seed); err != nil {
		m.note = err.Error()
		return nil
	}
	return m.start()
}

// View draws the latest frame and what the keys do.
func (m *model) View() tea.View {
	f := m.env.rec.Last()
	var text string
	if m.plain {
		text = f.Text() + "\n"
		for _, line := range m.bottom() {
			for _, s := range line {
				text += s.text
			}
			text += "\n"
		}
	} else {
		text = f.view(m.w, m.h, m.bottom()).ANSI()
	}
	v := tea.NewView(text)
	v.AltScreen = true
	v.WindowTitle = "hop play: " + f.Title
	return v
}

// bottom is the lines below the board: the person's actions, a note, the keys.
func (m *model) bottom() [][]span {
	quiet, strong, button := style{FG: faint}, style{Bold: true}, style{FG: white, BG: accent, Bold: true}
	e, f := m.env, m.env.rec.Last()
	var lines [][]span
	if e.waits() {
		legal := e.legal()
		var actions [][]span
		for a, name := range e.spec.Actions {
			key, word := button, strong
			if !legal[a] {
				key, word = quiet, quiet
			}
			actions = append(actions, []span{{" " + m.keys.First[a] + " ", key}, {" " + name + "  ", word}})
		}
		lines = m.wrap(actions)
	}
	say := m.note
	switch {
	case say != "":
	case f.Over:
		say = "the episode is over"
	case e.waits():
		say = fmt.Sprintf("your turn, seat %d", e.human)
		if m.keys.Taken("left") {
			say += "; arrow keys move too"
		}
	case m.paused:
		say = "paused"
	}
	lines = append(lines, []span{{say, strong}})
	var help []string
	switch {
	case e.waits() || f.Over:
	case m.paused:
		help = []string{"space go on", "n one step", fmt.Sprintf("+ - speed (%v)", m.delay)}
	default:
		help = []string{"space pause", "n one step", fmt.Sprintf("+ - speed (%v)", m.delay)}
	}
	var keys [][]span
	for _, h := range append(help, "r next episode", "q quit") {
		keys = append(keys, []span{{h + "   ", quiet}})
	}
	return append(lines, m.wrap(keys)...)
}

// wrap puts items into lines that fit the terminal.
func (m *model) wrap(items [][]span) [][]span {
	var lines [][]span
	used := m.w
	for _, item := range items {
		need := 0
		for _, s := range item {
			need += lipgloss.Width(s.text)
		}
		if used+need > m.w+2 { // what follows an item may be cut off
			lines, used = append(lines, nil), 1
		}
		used += need
		lines[len(lines)-1] = append(lines[len(lines)-1], item...)
	}
	return lines
}
