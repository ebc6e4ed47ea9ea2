// Package rules writes the rules of our own games down a second time, from their
// descriptions (docs/games), and holds played steps against them.
//
// A registry's entry of a game names how its rules are written (Writing), so that
// somebody's own game can bring its own: a Law sees each start and each step and says
// what contradicts it. The package shares no code with the games. It sees what every seat sees (observations,
// masks, who is alive, goals reached) and the parameters of the spec's game
// block, never what a state holds inside; so a payoff, a mask, a view, a horizon
// or a parameter that is wrong in the game itself is a contradiction here, in
// words. Where chance decides it asks whether what came is allowed, exactly, and
// over all steps whether it came as often as the rules say.
package rules

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
)

// Law follows one episode after the other by the rules of one game.
type Law interface {
	// Begin looks at the start of an episode.
	Begin(now *Seen)
	// Step looks at what came of a joint action.
	Step(now *Seen, acts []int32, rewards []float32)
}

// Book is the rules of one game with its parameters, and what was seen to
// contradict them.
type Book struct {
	name   string
	spec   game.Spec
	law    func() Law
	closed bool // observations are not laid out as the rules say: nothing can be read
	steps  int
	starts int
	wrongs []*wrong
	odds   []*Odds
}

// wrong is one kind of contradiction.
type wrong struct {
	kind, says string
	count      int
}

// Writing is a game's rules, written down: it holds the game's Spec against them and
// returns what makes a Law for each env. A registry's entry of a game names one.
type Writing = func(b *Book, p *Params) func() Law

// Open opens the rules of the game of that name with the parameters of its block in a
// spec. The error says why they are not known.
func Open(spec game.Spec, name string, block map[string]any, write Writing) (*Book, error) {
	if write == nil {
		return nil, fmt.Errorf("the rules of %s are not written down twice, so its steps are not held against them", name)
	}
	b := &Book{name: name, spec: spec}
	p := &Params{block: block, used: map[string]bool{"name": true}}
	b.law = write(b, p)
	for _, key := range slices.Sorted(maps.Keys(block)) {
		if !p.used[key] {
			return nil, fmt.Errorf("%s has a parameter %s that the second writing of its rules does not know", name, key)
		}
	}
	return b, p.err
}

// Params reads a game's parameters by their names in the spec.
type Params struct {
	block map[string]any
	used  map[string]bool
	err   error
}

func (p *Params) get(name string) any {
	p.used[name] = true
	v, ok := p.block[name]
	if !ok && p.err == nil {
		p.err = fmt.Errorf("the spec's game block has no %s, which its rules need", name)
	}
	return v
}

func number(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// Number returns a parameter that is a number.
func (p *Params) Number(name string) float64 { return number(p.get(name)) }

// Whole returns one that is a whole number.
func (p *Params) Whole(name string) int { return int(p.Number(name)) }

// Yes returns one that is true or false.
func (p *Params) Yes(name string) bool { v, _ := p.get(name).(bool); return v }

// Text returns one that is a word.
func (p *Params) Text(name string) string { v, _ := p.get(name).(string); return v }

// List returns one that is a list of numbers.
func (p *Params) List(name string) []float64 {
	vs, _ := p.get(name).([]any)
	var out []float64
	for _, v := range vs {
		out = append(out, number(v))
	}
	return out
}

// Contradict notes a contradiction; the first of each kind is put into words.
func (b *Book) Contradict(kind, format string, args ...any) {
	for _, w := range b.wrongs {
		if w.kind == kind {
			w.count++
			return
		}
	}
	b.wrongs = append(b.wrongs, &wrong{kind, fmt.Sprintf(format, args...), 1})
}

// same notes a part of the game's Spec that is not what the rules say.
func (b *Book) same(what string, got, want any) bool {
	if fmt.Sprint(got) == fmt.Sprint(want) {
		return true
	}
	b.Contradict("spec", "the game says of itself: %s %v; the rules say %v", what, got, want)
	return false
}

// SpecIs holds the Spec against the rules. Nothing can be read from an
// observation that is laid out otherwise.
func (b *Book) SpecIs(want game.Spec) {
	got := b.spec
	b.same("name", got.Name, want.Name)
	b.same("kind", got.Kind, want.Kind)
	b.same("goals", got.Goals, want.Goals)
	b.same("horizon", got.Horizon, want.Horizon)
	b.same("cells that a seat sees around itself:", got.View, want.View)
	b.same("seats are alike:", got.Symmetric, want.Symmetric)
	b.same("steps draw nothing:", got.Deterministic, want.Deterministic)
	seats, actions := b.same("seats", got.Seats, want.Seats), b.same("actions", got.Actions, want.Actions)
	b.same("planes of what belongs to seats:", got.Obs.Owned, want.Obs.Owned)
	b.same("co-players are on one plane:", got.Obs.Pooled, want.Obs.Pooled)
	b.closed = !seats || !actions || !b.same("an observation has", laidOut(got.Obs), laidOut(want.Obs))
}

// laidOut tells what an observation holds.
func laidOut(l game.Layout) string {
	return fmt.Sprintf("%dx%d cells of %v, %d features, %d masks, %d times and the last actions of %d seats",
		l.Height, l.Width, l.Planes, l.Features, l.Legal, l.Time, l.Last)
}

// Odds counts something that comes by chance against what the rules let one expect.
type Odds struct {
	what           string
	seen, expected float64
	variance, most float64
	n              int
}

// Chance returns a new count.
func (b *Book) Chance(what string, args ...any) *Odds {
	o := &Odds{what: fmt.Sprintf(what, args...)}
	b.odds = append(b.odds, o)
	return o
}

// Saw counts an event that has probability p.
func (o *Odds) Saw(happened bool, p float64) {
	x := 0.
	if happened {
		x = 1
	}
	o.add(x, p, p*(1-p), 1)
}

// add counts a number with a mean, at most that variance, and at most so far from
// its mean.
func (o *Odds) add(x, mean, variance, most float64) {
	o.n++
	o.seen += x
	o.expected += mean
	o.variance += variance
	o.most = max(o.most, most)
}

// p bounds the probability of a sum as far from what is expected, by Freedman's
// inequality: it holds for counts of any size, and whatever decided when to stop.
func (o *Odds) p() float64 {
	t := math.Abs(o.seen - o.expected)
	if t < 1e-9 {
		return 1
	}
	return min(1, 2*math.Exp(-t*t/(2*(o.variance+o.most*t/3))))
}

// Levels of what comes by chance, for all counts of a game together.
const (
	suspectP = 1e-4
	faultP   = 1e-9
)

// Name returns the game's name.
func (b *Book) Name() string { return b.name }

// Steps returns how many steps were held against the rules.
func (b *Book) Steps() int { return b.steps }

// Wrong returns the contradictions, in the order in which their kinds were met.
func (b *Book) Wrong() []string {
	var out []string
	for _, w := range b.wrongs {
		out = append(out, w.says)
	}
	for _, o := range b.odds {
		if o.p()*float64(len(b.odds)) < suspectP {
			out = append(out, o.says())
		}
	}
	return out
}

func (o *Odds) says() string {
	return fmt.Sprintf("%s: %s seen where the rules let one expect %s", o.what, amount(o.seen), amount(o.expected))
}

// places says where in the game's package a kind of contradiction is to be looked for.
var places = map[string]string{
	"spec": "New, where the Spec is made", "start": "State.Reset", "view": "State.Observe", "mask": "State.Legal", "goal": "State.Reached",
	"chance": "what State.Reset and State.Step draw", "broke": "the message; what the masks allow must be playable",
}

// Unasked is the finding about a game whose rules are not known here.
func Unasked(name string, err error) check.Finding {
	f := finding(name)
	f.Status, f.Says = check.NotAsked, sentence(err.Error())
	return f
}

func finding(name string) check.Finding {
	return check.Finding{Step: 1, Check: "steps are what the rules of " + name + " say", Module: "game", Unit: "contradictions"}
}

// Finding says what all steps came to.
func (b *Book) Finding() check.Finding {
	f := finding(b.name)
	f.Rows = b.steps
	f.Says = fmt.Sprintf("%d steps from %d starts are what the rules of %s say, written down a second time: moves, pay, ends, masks, views.",
		b.steps, b.starts, b.name)
	total := 0
	for _, w := range b.wrongs {
		total += w.count
		f.Saw(float64(w.count), 0, "contradictions about %s", w.kind)
	}
	var odd *Odds
	for _, o := range b.odds {
		if odd == nil || o.p() < odd.p() {
			odd = o
		}
	}
	p := 1.
	if odd != nil {
		p = max(odd.p()*float64(len(b.odds)), 1e-300)
		f.Saw(odd.seen, odd.expected, "%s", odd.what)
	}
	status := check.Suspect
	if p < faultP {
		status = check.Fault
	}
	switch {
	case total > 0:
		w := b.wrongs[0]
		says := w.says
		if w.kind != "spec" {
			says = fmt.Sprintf("%s (%d such in %d steps)", says, w.count, b.steps)
		}
		f.Accuse(check.Fault, float64(total), sentence(says), b.look(w.kind))
	case p < suspectP:
		f.Accuse(status, odd.seen-odd.expected, sentence(fmt.Sprintf("%s (p < %.1g in %d draws)", odd.says(), p, odd.n)), b.look("chance"))
	case b.closed || b.steps == 0:
		f.Status, f.Says = check.NotAsked, "No step was played that could be held against the rules."
	}
	return f
}

func (b *Book) look(kind string) string {
	at, ok := places[kind]
	if !ok {
		at = "State.Step"
	}
	return "game/" + b.name + ": " + at + "; the rules are in docs/games/" + b.name + ".md"
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// amount writes a number as a person would.
func amount(x float64) string {
	if math.Abs(x) >= 1000 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.4g", x+0) // no minus before a zero
}

// Seen is what can be seen of a state.
type Seen struct {
	Obs   [][]float32 // [seat]
	Whole [][]float32 // [seat] the same with everything in view
	Legal [][]bool    // [seat]
	Alive []bool      // [seat]
	Goal  []int       // [seat] reached in the last step; nil: the state does not say
	Over  bool
	Cut   bool
}

// Follower holds one env's steps against the rules.
type Follower struct {
	b   *Book
	law Law
	now Seen
}

// Follow returns a follower for one more env.
func (b *Book) Follow() *Follower {
	f := &Follower{b: b, law: b.law()}
	for range b.spec.Seats {
		f.now.Obs = append(f.now.Obs, make([]float32, b.spec.Obs.Len()))
		f.now.Whole = append(f.now.Whole, f.now.Obs[len(f.now.Obs)-1])
		if b.spec.View > 0 {
			f.now.Whole[len(f.now.Whole)-1] = make([]float32, b.spec.Obs.Len())
		}
		f.now.Legal = append(f.now.Legal, make([]bool, len(b.spec.Actions)))
	}
	f.now.Alive = make([]bool, b.spec.Seats)
	return f
}

// Begin looks at a state that was Reset.
func (f *Follower) Begin(st game.State) {
	if f.b.closed {
		return
	}
	f.look(st)
	f.b.starts++
	f.law.Begin(&f.now)
}

// Step looks at a state after a joint action, by seats, and at what it paid.
func (f *Follower) Step(acts []int32, rewards []float32, st game.State) {
	if f.b.closed {
		return
	}
	f.look(st)
	f.b.steps++
	f.law.Step(&f.now, acts, rewards)
}

func (f *Follower) look(st game.State) {
	n := &f.now
	n.Over = st.Over()
	limited, ok := st.(game.Limited)
	n.Cut = ok && limited.Cut()
	goals, _ := st.(game.Goaler)
	n.Goal = n.Goal[:0]
	for s := range f.b.spec.Seats {
		seat := game.Seat(s)
		n.Alive[s] = st.Alive(seat)
		st.Legal(seat, n.Legal[s])
		st.Observe(seat, n.Obs[s])
		if whole, ok := st.(game.Whole); ok && f.b.spec.View > 0 {
			whole.ObserveWhole(seat, n.Whole[s])
		}
		if goals != nil && len(f.b.spec.Goals) > 0 {
			n.Goal = append(n.Goal, goals.Reached(seat))
		}
	}
}

// Enough returns how many steps of one kind of play are worth looking at, fewer
// where observations are large, so that a book costs tenths of a second.
func (b *Book) Enough() int {
	return max(500, min(8000, 20_000_000/(1+b.spec.Obs.Len()*b.spec.Seats)))
}

// Play plays about so many steps and holds them against the book: every seat by
// a bot of the game, drawn for each episode, that now and then plays anything
// legal; in some episodes all go the same way as long as they can. Now and then
// the episode goes on in a copy. Some starts are looked at alone.
func (b *Book) Play(g game.Game, key rng.Key, steps int) {
	defer func() {
		if p := recover(); p != nil {
			b.Contradict("broke", "scripted play breaks the game: %v", p)
		}
	}()
	if b.closed {
		return
	}
	n, bots := b.spec.Seats, g.Bots()
	rules, play := key.Child("rules").Rand(), key.Child("play").Rand()
	st, spare := g.New(), g.New()
	team := make([]game.Bot, n)
	random := &game.Random{Actions: len(b.spec.Actions)}
	acts, rewards := make([]int32, n), make([]float32, n)
	legal := make([]bool, len(b.spec.Actions))
	f := b.Follow()
	for range steps / 6 {
		st.Reset(&rules)
		f.Begin(st)
	}
	for until := b.steps + steps; b.steps < until; {
		for s := range team {
			team[s] = random
			if k := play.IntN(len(bots) + 1); k < len(bots) {
				team[s] = bots[k].New()
			}
		}
		// Most long episodes are left early, so that many are seen.
		most := b.spec.Horizon
		if play.IntN(4) > 0 {
			most = min(most, 1+play.IntN(60))
		}
		herd := play.IntN(4) == 0
		st.Reset(&rules)
		f.Begin(st)
		for t := 0; t < most && !st.Over(); t++ {
			common := play.IntN(len(legal))
			for s := range acts {
				acts[s] = game.NoAction
				seat := game.Seat(s)
				if !st.Alive(seat) {
					continue
				}
				bot := team[s]
				if play.IntN(8) == 0 {
					bot = random
				}
				acts[s] = bot.Act(st, seat, &play)
				if st.Legal(seat, legal); herd && legal[common] {
					acts[s] = int32(common)
				}
			}
			if play.IntN(16) == 0 {
				spare.CopyFrom(st)
				st, spare = spare, st
			}
			st.Step(acts, rewards, &rules)
			f.Step(acts, rewards, st)
		}
	}
}
