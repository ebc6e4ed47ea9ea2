package board

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"hop/page"
)

// pace is the time between two pictures of the live view.
const pace = 200 * time.Millisecond

// live runs the live view beside training.
type live struct {
	program *tea.Program
	ended   chan struct{}
}

// startLive shows the board on the terminal. Without a keyboard to read, Ctrl-C
// stays a signal.
func startLive(b *Board, s Setup, in io.Reader, out io.Writer, cancel context.CancelFunc) *live {
	m := &liveModel{Setup: s, source: b.snapshot, cancel: cancel, start: time.Now(), w: 80, h: 24}
	m.rows, m.notes = b.snapshot()
	if !Terminal(in) {
		in = nil
	}
	l := &live{tea.NewProgram(m, tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler()), make(chan struct{})}
	go func() {
		defer close(l.ended)
		if _, err := l.program.Run(); err != nil {
			fmt.Fprintf(out, "note: the live view stopped (%v); training goes on\n", err)
		}
	}()
	return l
}

// end draws the last picture and waits until the terminal is as it was.
func (l *live) end() {
	l.program.Send(lastPicture{})
	<-l.ended
}

// picture says that it is time to look at the numbers again.
type picture time.Time

// lastPicture says that training is over.
type lastPicture struct{}

// liveModel is the live view: a pure function of the numbers and the terminal's
// size.
type liveModel struct {
	Setup
	source   func() ([]seedRow, []string)
	cancel   context.CancelFunc
	rows     []seedRow
	notes    []string
	start    time.Time
	now      time.Time
	stopping bool
	over     bool
	w, h     int
}

var _ tea.Model = (*liveModel)(nil)

// Init starts the clock.
func (m *liveModel) Init() tea.Cmd { return m.tick() }

func (m *liveModel) tick() tea.Cmd {
	return tea.Tick(pace, func(t time.Time) tea.Msg { return picture(t) })
}

// Update looks at the numbers when the clock says so, and stops on q or Ctrl-C.
func (m *liveModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
	case picture:
		m.now = time.Time(msg)
		m.rows, m.notes = m.source()
		return m, m.tick()
	case lastPicture:
		m.rows, m.notes = m.source()
		m.over = true
		return m, tea.Quit
	case tea.KeyPressMsg:
		switch strings.ToLower(msg.String()) {
		case "q", "ctrl+c", "esc":
			m.stopping = true
			m.cancel()
		}
	}
	return m, nil
}

var (
	boldStyle  = lipgloss.NewStyle().Bold(true)
	faintStyle = lipgloss.NewStyle().Faint(true)
	warnStyle  = lipgloss.NewStyle().Foreground(lipgloss.Color("#d08700"))
	barStyle   = lipgloss.NewStyle().Foreground(lipgloss.Color("#3b8ed0"))
	sparkStyle = lipgloss.NewStyle().Foreground(lipgloss.Color("#2fa37c"))
)

// agentHues are the seats' colours of package play, lighter for dark terminals.
var agentHues = []string{"#4aa8e8", "#f07f2f", "#2fb98f", "#d97fb0", "#e8b000", "#8fd0f5", "#a994d8", "#a3a9b0"}

// View draws a header, the seeds and what the keys do. Seeds take a few
// lines each, or one where there is no room; what still does not fit is counted.
func (m *liveModel) View() tea.View {
	what := fmt.Sprintf("  %s, %s, %s", page.Count(len(m.Seeds), "seed"), page.Count(m.Cores, "core"), m.elapsed())
	head := []string{boldStyle.Render("hop train "+m.Name) + faintStyle.Render(what), faintStyle.Render(m.Folder), ""}
	var foot []string
	for _, n := range m.notes[max(0, len(m.notes)-2):] {
		foot = append(foot, warnStyle.Render("note: "+n))
	}
	switch {
	case m.over:
	case m.stopping:
		foot = append(foot, "", warnStyle.Render("stopping: every run is being saved"))
	default:
		foot = append(foot, "", faintStyle.Render("q or Ctrl-C saves and stops; hop train --resume goes on"))
	}
	body := m.body(m.h - len(head) - len(foot) - 1)
	lines := append(append(head, body...), foot...)
	for i, l := range lines {
		lines[i] = lipgloss.NewStyle().MaxWidth(max(m.w, 1)).Render(l)
	}
	return tea.NewView(strings.Join(lines, "\n") + "\n")
}

// body draws the seeds into so many lines.
func (m *liveModel) body(room int) []string {
	var body []string
	for i := range m.rows {
		if i > 0 {
			body = append(body, "")
		}
		body = append(body, m.tall(&m.rows[i])...)
	}
	if len(body) <= room {
		return body
	}
	body = body[:0]
	for i := range m.rows {
		if len(body) == room-1 && i < len(m.rows)-1 {
			return append(body, faintStyle.Render(fmt.Sprintf("and %d more", len(m.rows)-i)))
		}
		body = append(body, m.short(&m.rows[i]))
	}
	return body
}

func (m *liveModel) elapsed() string {
	if m.now.IsZero() {
		return "starting"
	}
	return m.now.Sub(m.start).Round(time.Second).String()
}

// state says in words where a seed is, if it is not simply training.
func (m *liveModel) state(r *seedRow) string {
	switch {
	case !math.IsNaN(r.result):
		return fmt.Sprintf("done: final agents get %.3f", r.result)
	case r.steps == 0 && m.stopping:
		return "not begun"
	case r.steps == 0:
		return "waiting for a core"
	case r.step >= r.steps:
		return "scoring the final agents"
	}
	return ""
}

// tall is a seed in a few lines.
func (m *liveModel) tall(r *seedRow) []string {
	first := fmt.Sprintf("seed %-4d %s %3.0f %%", r.seed, bar(r.share(), clamp(m.w-58, 8, 30)), 100*r.share())
	if s := m.state(r); s != "" {
		first += "  " + s
	} else {
		first += fmt.Sprintf("  %s of %s", page.Short(float64(r.step)), page.Short(float64(r.steps)))
		if left, ok := r.left(); ok {
			first += fmt.Sprintf("  %s steps/s  %s left", page.Short(r.rate()), left)
		}
	}
	lines := []string{first}
	if len(r.agents) > 0 {
		line := fmt.Sprintf("  return %s %s ", boldStyle.Render(fmt.Sprintf("%.3f", r.mean)), returns(r.agents))
		lines = append(lines, line+sparkStyle.Render(spark(r.history, clamp(m.w-lipgloss.Width(line)-1, 0, 40))))
	}
	goals, stats := "", ""
	for _, g := range r.goals {
		name := g.name
		if name == "none" {
			name = "nothing"
		}
		goals += fmt.Sprintf("  %s %.0f %%", name, 100*g.value)
	}
	for _, s := range r.stats {
		_, name, _ := strings.Cut(s.name, "/")
		item := faintStyle.Render("  "+name+" ") + fmt.Sprintf("%.3g", s.value)
		if name != "lr" && name != "grad_norm" && name != "clipped" && lipgloss.Width(stats+item) <= m.w {
			stats += item
		}
	}
	if lipgloss.Width(goals+stats) <= m.w {
		goals, stats = goals+stats, ""
	}
	for _, l := range []string{goals, stats} {
		if l != "" {
			lines = append(lines, l)
		}
	}
	return lines
}

// short is a seed in one line.
func (m *liveModel) short(r *seedRow) string {
	s := fmt.Sprintf("seed %-4d %s %3.0f %%", r.seed, bar(r.share(), 8), 100*r.share())
	if len(r.agents) > 0 {
		s += fmt.Sprintf("  %s %s", boldStyle.Render(fmt.Sprintf("%.3f", r.mean)), returns(r.agents))
	}
	tail := ""
	if t := m.state(r); t != "" {
		tail = "  " + t
	} else if left, ok := r.left(); ok {
		tail = fmt.Sprintf("  %s left", left)
	}
	if room := m.w - lipgloss.Width(s) - lipgloss.Width(tail) - 2; len(r.history) > 0 && room >= 6 {
		s += "  " + sparkStyle.Render(spark(r.history, min(room, 24)))
	}
	return s + tail
}

func clamp(x, lo, hi int) int { return max(lo, min(x, hi)) }

func returns(agents []float64) string {
	parts := make([]string, len(agents))
	for i, x := range agents {
		parts[i] = lipgloss.NewStyle().Foreground(lipgloss.Color(agentHues[i%len(agentHues)])).Render(fmt.Sprintf("%.2f", x))
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// bar is a progress bar of n cells.
func bar(share float64, n int) string {
	full := int(share*float64(n) + 0.5)
	return barStyle.Render(strings.Repeat("█", full)) + faintStyle.Render(strings.Repeat("░", n-full))
}

// spark draws the values in at most n cells, from their smallest to their
// largest.
func spark(values []float64, n int) string {
	if n <= 0 || len(values) == 0 {
		return ""
	}
	n = min(n, len(values))
	cells := make([]float64, n)
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range cells {
		from, to := i*len(values)/n, (i+1)*len(values)/n
		for _, v := range values[from:to] {
			cells[i] += v / float64(to-from)
		}
		lo, hi = min(lo, cells[i]), max(hi, cells[i])
	}
	levels := []rune("▁▂▃▄▅▆▇█")
	out := make([]rune, n)
	for i, v := range cells {
		at := 0
		if hi > lo {
			at = int((v - lo) / (hi - lo) * float64(len(levels)-1))
		}
		out[i] = levels[at]
	}
	return string(out)
}
