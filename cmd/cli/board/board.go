// Package board shows how training goes: a live view on a terminal, plain lines every
// few seconds elsewhere.
package board

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/train"
)

// Board shows one training, which hands it numbers; the live view fetches them a few
// times a second, so that training never waits for the terminal.
type Board struct {
	mu    sync.Mutex
	w     io.Writer
	seeds []*seedRow
	notes []string
	live  *live // nil: plain lines
}

// Setup is what a board shows about the whole of a training.
type Setup struct {
	Name, Folder string
	Seeds        []uint64
	Cores        int
	Abort        func() // ends the program at once: the stop has been asked for twice
}

// seedRow is what is known about one seed.
type seedRow struct {
	seed        uint64
	steps       pace      // of training
	shown       time.Time // when a plain line was printed
	agents      []float64 // mean return by agent
	mean        float64
	goals       []part
	stats       []part
	warm        bool      // the latest window was of the warm-up: bots play
	history     []float64 // of mean, made coarser as it grows
	warmed      int       // how many points of history, the first ones, are of the warm-up
	every, skip int       // updates that one point of history stands for, and those not in it yet
	sum         float64   // of those
	early       int       // episodes behind the first point
	scored      pace      // how far scoring the final agents is
	result      float64   // on fresh episodes; NaN until scored
}

// pace is how far something is, and since when.
type pace struct {
	done, total int
	first       int       // done at the first news
	few         int       // so many more say nothing about the rate
	began, last time.Time // of the first and of the latest news
}

func (p *pace) take(done, total int, now time.Time) {
	if p.began.IsZero() {
		p.began, p.first = now, done
	}
	p.done, p.total, p.last = done, total, now
}

// rate returns how many are done a second, or 0 while that is unknown.
func (p *pace) rate() float64 {
	if spent := p.last.Sub(p.began).Seconds(); spent > 0 && p.done-p.first > p.few {
		return float64(p.done-p.first) / spent
	}
	return 0
}

// left returns the time to the end, or false while that is unknown.
func (p *pace) left() (time.Duration, bool) {
	rate := p.rate()
	if rate <= 0 {
		return 0, false
	}
	return time.Duration(max(float64(p.total-p.done), 0) / rate * float64(time.Second)).Round(time.Second), true
}

// share returns how much is done.
func (p *pace) share() float64 { return min(1, float64(p.done)/float64(max(p.total, 1))) }

// part is a number with a name.
type part struct {
	name  string
	value float64
}

// New starts showing on w, with keys from in. cancel stops training as Ctrl-C does.
func New(s Setup, in io.Reader, w io.Writer, cancel context.CancelFunc) *Board {
	b := &Board{w: w}
	for _, seed := range s.Seeds {
		b.seeds = append(b.seeds, &seedRow{seed: seed, every: 1, result: math.NaN()})
	}
	if Terminal(w) {
		b.live = startLive(b, s, in, w, cancel)
		return b
	}
	fmt.Fprintf(w, "training %s, %s, in %s\n", s.Name, plot.Count(len(s.Seeds), "seed"), s.Folder)
	return b
}

// Terminal reports whether it is one. A notebook's is none: it shows lines, and no line twice.
func Terminal(f any) bool {
	file, ok := f.(*os.File)
	return ok && os.Getenv("JPY_PARENT_PID") == "" && term.IsTerminal(int(file.Fd()))
}

// Width returns how many columns a terminal has; 80 where that is not known.
func Width(f any) int {
	if file, ok := f.(*os.File); ok {
		if w, _, err := term.GetSize(int(file.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return 80
}

func (b *Board) row(seed uint64) *seedRow {
	i := slices.IndexFunc(b.seeds, func(r *seedRow) bool { return r.seed == seed })
	return b.seeds[i]
}

// Update takes in one seed's progress.
func (b *Board) Update(seed uint64, p *train.Progress) {
	for _, f := range p.Findings {
		b.Note(fmt.Sprintf("seed %d, env step %d: %s: %s; %s", seed, f.Step, f.Check, f.Says, f.Next))
	}
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.row(seed)
	r.take(p, now)
	if b.live == nil && (now.Sub(r.shown) >= often || p.Step >= p.Steps) {
		r.shown = now
		fmt.Fprintln(b.w, r.line(len(b.seeds) > 1))
	}
}

// often is the time between two plain lines about a seed.
const often = 3 * time.Second

// Scoring notes how many of the episodes that score a seed's final agents are
// played.
func (b *Board) Scoring(seed uint64, done, total int) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.row(seed)
	r.scored.take(done, total, now)
	r.scored.few = total / 50 // envs play in step, so episodes end many at a time
	switch {
	case b.live != nil:
	case done == 0:
		fmt.Fprintf(b.w, "seed %d: scoring the final agents on %s\n", seed, plot.Count(total, "fresh episode"))
		r.shown = now
	case now.Sub(r.shown) >= often:
		fmt.Fprintf(b.w, "seed %d: %s\n", seed, strings.Join(r.scoring(), ", "))
		r.shown = now
	}
}

// scoring says how far scoring is.
func (r *seedRow) scoring() []string {
	return append([]string{"scoring the final agents"}, r.scored.words("episodes")...)
}

// words says how far it is: what is done, how fast, and the time left.
func (p *pace) words(what string) []string {
	list := []string{fmt.Sprintf("%s of %s", plot.Short(float64(p.done)), plot.Short(float64(p.total)))}
	if left, ok := p.left(); ok {
		list = append(list, fmt.Sprintf("%s %s/s", plot.Short(p.rate()), what), fmt.Sprintf("%s left", left))
	}
	return list
}

// take copies what is shown of p, whose memory is not the board's.
func (r *seedRow) take(p *train.Progress, now time.Time) {
	if r.steps.began.IsZero() {
		r.shown = now
	}
	r.steps.take(p.Step, p.Steps, now)
	r.warm = p.Warm
	r.stats = r.stats[:0]
	for _, list := range p.Stats[:min(len(p.Stats), 1)] {
		for _, s := range list {
			r.stats = append(r.stats, part{s.Name, stat(p, s.Name)})
		}
	}
	if p.Episodes == 0 {
		return
	}
	if len(r.agents) != len(p.Return) {
		r.agents = make([]float64, len(p.Return))
	}
	sum, here := 0., 0
	for i := range p.Return {
		if p.Return[i].N() > 0 { // else it was in no episode of this window, and what was known of it stands
			r.agents[i] = p.Return[i].Mean()
			sum, here = sum+r.agents[i], here+1
		}
	}
	r.mean = sum / float64(here)
	r.takeGoals(p)
	if len(r.history) == 1 && 5*r.early < p.Episodes { // the first window holds only short episodes
		r.history, r.warmed = r.history[:0], 0
	}
	if len(r.history) == 0 {
		r.early = p.Episodes
	}
	r.sum += r.mean
	if r.skip++; r.skip < r.every {
		return
	}
	r.history = append(r.history, r.sum/float64(r.every))
	r.sum, r.skip = 0, 0
	if r.warm {
		r.warmed = len(r.history)
	}
	const most = 256
	if len(r.history) == most {
		for i := range most / 2 {
			r.history[i] = (r.history[2*i] + r.history[2*i+1]) / 2
		}
		r.history, r.every, r.warmed = r.history[:most/2], 2*r.every, (r.warmed+1)/2
	}
}

// takeGoals averages the shares of goals over agents. Their names are in the
// rows of the first agent, before anything else that is called goal/.
func (r *seedRow) takeGoals(p *train.Progress) {
	r.goals = r.goals[:0]
	if len(p.Goals) == 0 || len(p.Goals[0]) == 0 {
		return
	}
	for _, row := range p.Rows {
		if name, ok := strings.CutPrefix(row.Name, "goal/"); ok && row.Agent == 0 && len(r.goals) <= len(p.Goals[0]) {
			r.goals = append(r.goals, part{name: name})
		}
	}
	for _, row := range p.Rows {
		for i := range r.goals {
			if row.Name == "goal/"+r.goals[i].name {
				r.goals[i].value += row.Value / float64(len(p.Goals))
			}
		}
	}
}

// alone writes what agents get, without escapes.
func alone(agents []float64) string {
	if len(agents) > fewAgents {
		return span(agents)
	}
	parts := make([]string, len(agents))
	for i, x := range agents {
		parts[i] = fmt.Sprintf("%5.2f", x)
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// line is the row without escapes.
func (r *seedRow) line(many bool) string {
	var b strings.Builder
	if many {
		fmt.Fprintf(&b, "seed %-3d  ", r.seed)
	}
	fmt.Fprintf(&b, "%3.0f %%  %7s steps", 100*r.steps.share(), plot.Short(float64(r.steps.done)))
	if r.warm {
		fmt.Fprintf(&b, "  %s", train.WarmUp)
	}
	if len(r.agents) > 0 {
		fmt.Fprintf(&b, "  return %6.3f %s", r.mean, alone(r.agents))
	}
	for _, g := range r.goals {
		fmt.Fprintf(&b, "  %s %3.0f %%", g.name, 100*g.value)
	}
	for _, s := range r.stats {
		if name, ok := strings.CutPrefix(s.name, "ppo/"); ok && slices.Contains([]string{"entropy", "value_loss", "kl"}, name) {
			fmt.Fprintf(&b, "  %s %7.4f", name, s.value)
		}
	}
	if rate := r.steps.rate(); rate > 0 {
		fmt.Fprintf(&b, "  %6s steps/s", plot.Short(rate))
	}
	if left, ok := r.steps.left(); ok {
		fmt.Fprintf(&b, "  %6s left", left)
	}
	return b.String()
}

// stat returns a statistic averaged over brains.
func stat(p *train.Progress, name string) float64 {
	sum, n := 0., 0
	for _, list := range p.Stats {
		for _, s := range list {
			if s.Name == name {
				sum += s.Value
				n++
			}
		}
	}
	return sum / float64(n)
}

// Done notes what a seed's final agents got.
func (b *Board) Done(seed uint64, mean float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.row(seed).result = mean
}

// Note says something that the user should not miss.
func (b *Board) Note(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notes = append(b.notes, text)
	if b.live == nil {
		fmt.Fprintln(b.w, "note:", text)
	}
}

// snapshot copies everything for the live view.
func (b *Board) snapshot() ([]seedRow, []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	rows := make([]seedRow, len(b.seeds))
	for i, r := range b.seeds {
		rows[i] = *r
		rows[i].agents, rows[i].goals = slices.Clone(r.agents), slices.Clone(r.goals)
		rows[i].stats, rows[i].history = slices.Clone(r.stats), slices.Clone(r.history)
	}
	return rows, slices.Clone(b.notes)
}

// End stops showing and gives the terminal back.
func (b *Board) End() {
	if b.live != nil {
		b.live.end()
	}
}
