package board

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/train"
)

// between is the time between two pictures of the live view.
const between = 200 * time.Millisecond

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
		_, err := l.program.Run()
		if errors.Is(err, tea.ErrInterrupted) {
			s.Abort()
		} else if err != nil {
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
	return tea.Tick(between, func(t time.Time) tea.Msg { return picture(t) })
}

// Update looks at the numbers when the clock says so, and stops on q or Ctrl-C;
// pressed again, they end the program at once.
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
			if m.stopping {
				return m, tea.Interrupt
			}
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

// View draws a header, the seeds and what the keys do. Lines are never cut: what is
// too long for the terminal goes on in the next one. Seeds are shown in as much
// detail as there is room for; those that still do not fit are counted.
func (m *liveModel) View() tea.View {
	what := fmt.Sprintf("  %s, %s, %s", plot.Count(len(m.Seeds), "seed"), plot.Count(m.Cores, "core"), m.elapsed())
	head := m.wrap(boldStyle.Render("hop train "+m.Name) + faintStyle.Render(what))
	head = append(append(head, m.wrap(faintStyle.Render(m.Folder))...), "")
	var foot []string
	for _, n := range m.notes[max(0, len(m.notes)-2):] {
		foot = append(foot, m.wrap(warnStyle.Render("note: "+n))...)
	}
	foot = foot[max(0, len(foot)-max(m.h/4, 1)):]
	switch {
	case m.over:
	case m.stopping:
		foot = append(append(foot, ""), m.wrap(warnStyle.Render("stopping: every run is being saved; again ends it at once"))...)
	default:
		foot = append(append(foot, ""), m.wrap(faintStyle.Render("q or Ctrl-C saves and stops; hop train --resume goes on"))...)
	}
	if m.h < 12 { // the seeds come first
		head, foot = head[:1], nil
	}
	room := m.h - len(head) - len(foot) - 1
	if m.over {
		room = max(room-m.after(), min(room, len(m.rows)))
	}
	lines := append(append(head, m.body(room)...), foot...)
	for i, l := range lines {
		lines[i] = lipgloss.NewStyle().MaxWidth(max(m.w, 1)).Render(l)
	}
	v := tea.NewView(strings.Join(lines, "\n") + "\n")
	v.WindowTitle = m.title()
	return v
}

// title is how far all seeds are, for the terminal's title.
func (m *liveModel) title() string {
	share := 0.
	for _, r := range m.rows {
		share += r.steps.share() / float64(len(m.rows))
	}
	return fmt.Sprintf("%.0f %% hop train %s", 100*share, m.Name)
}

// after is how many lines the result takes that is printed below the last picture.
func (m *liveModel) after() int { return 9 + len(m.Seeds)*(1+84/max(m.w, 1)) }

// wrap breaks a line that is wider than the terminal.
func (m *liveModel) wrap(line string) []string {
	return strings.Split(ansi.Wrap(line, max(m.w, 1), ""), "\n")
}

// The details in which a seed can be shown in several lines.
const (
	withReturn = iota
	withGoals
)

// body draws the seeds into so many lines.
func (m *liveModel) body(room int) []string {
	for detail := withGoals; detail >= withReturn; detail-- {
		var seeds [][]string
		lines := 0
		for i := range m.rows {
			seeds = append(seeds, m.tall(&m.rows[i], detail))
			lines += len(seeds[i])
		}
		gaps := (detail - withReturn) * (len(seeds) - 1) // a blank line between seeds
		if lines+gaps > room {
			continue
		}
		var body []string
		for i, seed := range seeds {
			if i > 0 && gaps > 0 {
				body = append(body, "")
			}
			body = append(body, seed...)
			if detail == withGoals {
				body = append(body, m.metrics(&m.rows[i], (room-lines-gaps)/len(seeds))...)
			}
		}
		return body
	}
	var body []string
	for i := range m.rows {
		if len(body) == room-1 && i < len(m.rows)-1 {
			return append(body, faintStyle.Render(fmt.Sprintf("and %d more", len(m.rows)-i)))
		}
		body = append(body, m.short(&m.rows[i]))
	}
	return body
}

// metrics lists what a seed's first mind says of its learning, in at most so many
// lines, and never many; what does not fit is counted.
func (m *liveModel) metrics(r *seedRow, most int) []string {
	most = min(most, 4)
	var items []string
	for _, s := range r.stats {
		if _, name, _ := strings.Cut(s.name, "/"); name != "lr" && name != "grad_norm" && name != "clipped" {
			items = append(items, faintStyle.Render(s.name+" ")+fmt.Sprintf("%.3g", s.value))
		}
	}
	lines := m.flow("  ", items)
	for n := len(items); len(lines) > most && n > 0; {
		n--
		more := faintStyle.Render(fmt.Sprintf("and %d more in metrics.csv", len(items)-n))
		lines = m.flow("  ", append(slices.Clone(items[:n]), more))
	}
	return lines[:min(len(lines), most)]
}

func (m *liveModel) elapsed() string {
	if m.now.IsZero() {
		return "starting"
	}
	return m.now.Sub(m.start).Round(time.Second).String()
}

// state says in words where a seed is, if it is not simply training.
func (m *liveModel) state(r *seedRow) []string {
	switch {
	case !math.IsNaN(r.result):
		return []string{fmt.Sprintf("done: final agents get %.3f", r.result)}
	case r.steps.total == 0 && m.stopping:
		return []string{"not begun"}
	case r.steps.total == 0:
		return []string{"waiting for a core"}
	case r.scored.total > 0:
		return r.scoring()
	}
	return nil
}

// tall is a seed in a few lines.
func (m *liveModel) tall(r *seedRow, detail int) []string {
	items := []string{fmt.Sprintf("seed %-4d %s %3.0f %%", r.seed, bar(r.share(), clamp(m.w-58, 8, 30)), 100*r.share())}
	if s := m.state(r); s != nil {
		items = append(items, s...)
	} else {
		items = append(items, r.steps.words("steps")...)
	}
	lines := m.flow("", items)
	if len(r.agents) > 0 {
		whose := "return "
		if r.warm {
			whose = "bots' return "
		}
		items := []string{whose + boldStyle.Render(fmt.Sprintf("%.3f", r.mean)) + " " + returns(r.agents)}
		if r.warmed > 0 {
			items = append(items, faintStyle.Render(shade+" "+train.WarmUp))
		}
		flowed := m.flow("  ", items)
		last := flowed[len(flowed)-1]
		if room := m.w - lipgloss.Width(last) - 2; room >= 8 {
			flowed[len(flowed)-1] = last + " " + curve(r, min(room, 40))
		} else {
			flowed = append(flowed, "  "+curve(r, clamp(m.w-3, 0, 40)))
		}
		lines = append(lines, flowed...)
	}
	if detail == withReturn {
		return lines
	}
	var goals []string
	for _, g := range r.goals {
		name := g.name
		if name == "none" {
			name = "nothing"
		}
		goals = append(goals, fmt.Sprintf("%s %.0f %%", name, 100*g.value))
	}
	return append(lines, m.flow("  ", goals)...)
}

// flow puts items side by side into as many lines as they need, the first indented.
func (m *liveModel) flow(indent string, items []string) []string {
	var lines []string
	for i, item := range items {
		last := len(lines) - 1
		switch {
		case i == 0:
			lines = append(lines, indent+item)
		case lipgloss.Width(lines[last])+2+lipgloss.Width(item) <= m.w:
			lines[last] += "  " + item
		default:
			lines = append(lines, "  "+item)
		}
	}
	return lines
}

// short is a seed in one line: its name, where it is and what it gets, and of its
// bar, its agents and its curve what there is room for.
func (m *liveModel) short(r *seedRow) string {
	name, done, agents, line := fmt.Sprintf("seed %-4d", r.seed), "", "", ""
	tail := fmt.Sprintf(" %3.0f %%", 100*r.share())
	if len(r.agents) > 0 {
		tail += "  " + boldStyle.Render(fmt.Sprintf("%.3f", r.mean))
	}
	switch t := m.state(r); {
	case !math.IsNaN(r.result):
		tail = boldStyle.Render(fmt.Sprintf(" done: %.3f", r.result))
	case t != nil:
		tail = " " + t[0]
	default:
		if left, ok := r.steps.left(); ok {
			tail += fmt.Sprintf("  %s left", left)
		}
	}
	room := m.w - lipgloss.Width(name) - lipgloss.Width(tail)
	if room >= 9 {
		done = " " + bar(r.share(), 8)
		room -= 9
	}
	if all := "  " + returns(r.agents); len(r.agents) > 0 && room >= lipgloss.Width(all) {
		agents = all
		room -= lipgloss.Width(all)
	}
	if room >= 10 {
		line = "  " + curve(r, min(room-2, 24))
	}
	return name + done + tail + agents + line
}

// share is how much of what the seed is at is done.
func (r *seedRow) share() float64 {
	if r.scored.total > 0 && math.IsNaN(r.result) {
		return r.scored.share()
	}
	return r.steps.share()
}

// shade stands in a curve where bots played.
const shade = "░"

// curve draws a seed's mean return in at most n cells; the warm-up's share of them
// is shaded, because its returns are those of bots.
func curve(r *seedRow, n int) string {
	n = min(n, len(r.history))
	if n <= 0 {
		return ""
	}
	warm := (r.warmed*n + len(r.history) - 1) / len(r.history)
	return faintStyle.Render(strings.Repeat(shade, warm)) + sparkStyle.Render(spark(r.history[r.warmed:], n-warm))
}

func clamp(x, lo, hi int) int { return max(lo, min(x, hi)) }

// fewAgents is how many have a number each in a line.
const fewAgents = 16

// span says of many agents what the lowest, the middle one and the highest get.
func span(agents []float64) string {
	x := slices.Sorted(slices.Values(agents))
	return fmt.Sprintf("[%d agents: %.2f, %.2f, %.2f]", len(x), x[0], x[len(x)/2], x[len(x)-1])
}

func returns(agents []float64) string {
	if len(agents) > fewAgents {
		return span(agents)
	}
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
