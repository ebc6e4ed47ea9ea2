// Package played keeps what people played, and makes co-players of it.
//
// An episode is a file: the states in which a person at a seat had something to choose, as texts
// of the game, and what was chosen. It is data: to read it runs nothing and needs none of those
// who played beside the person. It is sealed, and one that was changed is refused.
//
// A person is a folder of episodes, and the model of a person is the simplest that can be said in
// words: in every episode it acts as one of the texts of the game's language does (the bots and
// the train split, but for those that remember episodes) and errs in a share of its steps. How
// often it acts as which, and how often it errs, is what makes its steps likeliest.
package played

import (
	"cmp"
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/stranger"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/num/rng"
)

// What a model of a person needs at least.
const (
	fewestEpisodes = 2
	fewestSteps    = 30 // in which there was something to choose
)

// errs are the shares of steps with an error that are tried.
var errs = []float64{.01, .02, .05, .1, .2, .3, .5, .75}

// Style is a text that a person acts as, and in which share of its episodes.
type Style struct {
	Text  string  `json:"text"`
	Share float64 `json:"share"`
}

// Person is the model of a person.
type Person struct {
	Name     string  `json:"name"`
	Episodes int     `json:"episodes"`
	Steps    int     `json:"steps"`  // in which there was something to choose
	Errs     float64 `json:"errs"`   // the share of its steps that are anything legal
	Styles   []Style `json:"styles"` // the one that it acts as most often first
	// Likely is how likely its steps are, as a geometric mean, by models of the other half of its
	// episodes; Random, by acting at random.
	Likely float64 `json:"likely"`
	Random float64 `json:"random"`

	g game.Game
}

// Open reads a person's episodes and fits the model of a game's player to them.
func Open(g game.Game, dir string) (*Person, error) {
	list, err := Read(dir)
	if err != nil {
		return nil, err
	}
	texts, err := texts(g)
	if err != nil {
		return nil, err
	}
	f := &fit{g: g, st: g.New(), texts: texts, prior: prior(texts)}
	f.read, _ = f.st.(encoding.TextUnmarshaler)
	for _, e := range list {
		if err := f.add(e); err != nil {
			return nil, fmt.Errorf("played: %s: %w", filepath.ToSlash(e.file), err)
		}
	}
	if len(list) < fewestEpisodes || f.steps < fewestSteps {
		return nil, fmt.Errorf("played: %s has %d episodes with %d steps in which there was something to choose; a model of a person needs at "+
			"least %d with %d in all: play on", dir, len(list), f.steps, fewestEpisodes, fewestSteps)
	}
	p := &Person{Name: Prefix + dir, Episodes: len(list), Steps: f.steps, g: g}
	all := make([]int, len(list))
	for i := range all {
		all[i] = i
	}
	share, shares := f.best(all)
	p.Errs = errs[share]
	p.Styles = styles(texts, shares)
	p.Likely, p.Random = math.Exp(f.heldOut()/float64(f.steps)), math.Exp(f.uniform/float64(f.steps))
	return p, nil
}

// styles are the texts that are acted as in more than a thousandth of episodes, most often first.
func styles(texts []game.Policy, shares []float64) (list []Style) {
	sum := 0.
	for k, text := range texts {
		if shares[k] >= .001 {
			list = append(list, Style{text.Name(), shares[k]})
			sum += shares[k]
		}
	}
	for i := range list {
		list[i].Share /= sum
	}
	slices.SortStableFunc(list, func(a, b Style) int { return cmp.Compare(b.Share, a.Share) })
	return list
}

// texts are the co-players that a person may act as: the game's bots and the train split, but
// for those that remember episodes, which in one episode act as one of the others.
func texts(g game.Game) (list []game.Policy, err error) {
	_, texts, err := stranger.List(g, stranger.Train)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, b := range g.Bots() {
		names = append(names, b.Name)
	}
	for _, name := range append(names, texts...) {
		bot, err := game.NewBot(g, name)
		if err != nil {
			return nil, err
		}
		p, ok := bot.(game.Policy)
		if _, remembers := bot.(game.Watcher); ok && !remembers {
			list = append(list, p)
		}
	}
	return list, nil
}

// prior is how likely each text is before anything was seen: with every further word or number a
// quarter, so that of texts which explain the same the shortest counts most.
func prior(texts []game.Policy) []float64 {
	out, sum := make([]float64, len(texts)), 0.
	for k, text := range texts {
		out[k] = math.Pow(4, -float64(strings.Count(text.Name(), "(")+strings.Count(text.Name(), ",")))
		sum += out[k]
	}
	for k := range out {
		out[k] /= sum
	}
	return out
}

// fit is a model that is being made.
type fit struct {
	g       game.Game
	st      game.State
	read    encoding.TextUnmarshaler // st; nil: it cannot be read
	texts   []game.Policy
	prior   []float64     // [text]
	likely  [][][]float64 // [episode][errs][text] logarithms
	steps   int
	uniform float64 // the logarithm of acting at random
}

// add reads an episode's steps.
func (f *fit) add(e *Episode) error {
	spec := f.g.Spec()
	switch {
	case f.read == nil || e.Game != game.Label(f.g) || !slices.Equal(e.Actions, spec.Actions):
		return fmt.Errorf("it was played on %s with the actions %s, this is %s with %s", e.Game, strings.Join(e.Actions, ", "),
			game.Label(f.g), strings.Join(spec.Actions, ", "))
	case e.Seat < 0 || e.Seat >= spec.Seats:
		return fmt.Errorf("seat %d is not in the game, which has seats 0 to %d", e.Seat, spec.Seats-1)
	}
	row := make([][]float64, len(errs))
	for i := range row {
		row[i] = make([]float64, len(f.texts))
	}
	f.likely = append(f.likely, row)
	for t, step := range e.Steps {
		if err := f.step(row, step, game.Seat(e.Seat)); err != nil {
			return fmt.Errorf("step %d: %w", t, err)
		}
	}
	return nil
}

func (f *fit) step(row [][]float64, step Step, seat game.Seat) error {
	if err := f.read.UnmarshalText([]byte(step.State)); err != nil {
		return err
	}
	actions := f.g.Spec().Actions
	legal, act := make([]bool, len(actions)), slices.Index(actions, step.Action)
	f.st.Legal(seat, legal)
	if act < 0 || !legal[act] {
		return fmt.Errorf("%.40q is not legal for seat %d there", step.Action, seat)
	}
	n := 0.
	for _, ok := range legal {
		if ok {
			n++
		}
	}
	if n == 1 {
		return nil
	}
	f.steps++
	f.uniform -= math.Log(n)
	probs := make([]float32, len(actions))
	for k, text := range f.texts {
		text.Probs(f.st, seat, probs)
		for i, err := range errs {
			row[i][k] += math.Log((1-err)*float64(probs[act]) + err/n)
		}
	}
	return nil
}

// best returns how often the person errs and acts as each text in some of the episodes.
func (f *fit) best(episodes []int) (err int, shares []float64) {
	most := math.Inf(-1)
	for i := range errs {
		if w, sum := f.mixture(i, episodes); sum > most {
			err, shares, most = i, w, sum
		}
	}
	return err, shares
}

// passes is how often shares are estimated again.
const passes = 100

// mixture estimates in which share of episodes each text is acted as, by expectation and
// maximisation, as if one more episode had been played as it is thought before any is seen. It
// returns how likely the steps then are, too, as a logarithm.
func (f *fit) mixture(err int, episodes []int) (shares []float64, sum float64) {
	shares = slices.Clone(f.prior)
	next, post := make([]float64, len(shares)), make([]float64, len(shares))
	for range passes {
		copy(next, f.prior)
		sum = 0
		for _, e := range episodes {
			sum += posterior(post, shares, f.likely[e][err])
			for k := range next {
				next[k] += post[k]
			}
		}
		for k := range shares {
			shares[k] = next[k] / float64(len(episodes)+1)
		}
	}
	return shares, sum
}

// posterior writes how likely each text is after an episode, and returns the logarithm of how
// likely the episode is.
func posterior(dst, shares, likely []float64) float64 {
	top, sum := math.Inf(-1), 0.
	for k, w := range shares {
		dst[k] = math.Log(w) + likely[k]
		top = max(top, dst[k])
	}
	for k := range dst {
		dst[k] = math.Exp(dst[k] - top)
		sum += dst[k]
	}
	for k := range dst {
		dst[k] /= sum
	}
	return top + math.Log(sum)
}

// heldOut returns how likely all steps are, as a logarithm, each by a model of the other half of
// the episodes.
func (f *fit) heldOut() (sum float64) {
	post := make([]float64, len(f.texts))
	for half := range 2 {
		var own, other []int
		for e := range f.likely {
			if e%2 == half {
				own = append(own, e)
			} else {
				other = append(other, e)
			}
		}
		err, shares := f.best(other)
		for _, e := range own {
			sum += posterior(post, shares, f.likely[e][err])
		}
	}
	return sum
}

// Bot returns somebody who plays as the person does: each episode in one of its styles.
func (p *Person) Bot() (game.Bot, error) {
	b := &bot{p: p, now: -1, legal: make([]bool, len(p.g.Spec().Actions))}
	for _, w := range p.Styles {
		own, err := game.NewBot(p.g, w.Text)
		if err != nil {
			return nil, err
		}
		b.styles, b.shares = append(b.styles, own), append(b.shares, float32(w.Share))
	}
	return b, nil
}

// bot plays as a person does.
type bot struct {
	p      *Person
	styles []game.Bot
	shares []float32 // of the styles
	legal  []bool
	now    int // the style of this episode; -1: none yet
}

func (b *bot) Name() string { return b.p.Name }

// Act does as its style of this episode does, or errs.
func (b *bot) Act(st game.State, s game.Seat, r *rng.Rand) int32 {
	if b.now < 0 {
		b.now = int(game.Sample(b.shares, r))
	}
	if r.Float64() >= b.p.Errs {
		return b.styles[b.now].Act(st, s, r)
	}
	st.Legal(s, b.legal)
	return game.Uniform(b.legal, r)
}

// Watch ends the episode's style.
func (b *bot) Watch(game.State, game.Seat) { b.now = -1 }

// AppendBinary appends the style of this episode.
func (b *bot) AppendBinary(dst []byte) ([]byte, error) {
	return binary.LittleEndian.AppendUint16(dst, uint16(b.now+1)), nil
}

// UnmarshalBinary reads what AppendBinary wrote.
func (b *bot) UnmarshalBinary(src []byte) error {
	if len(src) != 2 || int(binary.LittleEndian.Uint16(src)) > len(b.styles) {
		return errors.New("played: what was saved is damaged, or of another person")
	}
	b.now = int(binary.LittleEndian.Uint16(src)) - 1
	return nil
}

var _ game.Keeper = (*bot)(nil)

// String says who the person is taken to be.
func (p *Person) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d episodes, %d steps in which there was something to choose.\n", p.Name, p.Episodes, p.Steps)
	fmt.Fprintf(&b, "In each episode it acts as one of these, and does anything legal in %.0f %% of its steps:\n\n", 100*p.Errs)
	for _, w := range p.Styles[:min(len(p.Styles), 10)] {
		fmt.Fprintf(&b, "  %5.1f %%  %s\n", 100*w.Share, w.Text)
	}
	fmt.Fprintf(&b, "\nSteps of the other half of its episodes are %.3f likely by that (geometric mean), and %.3f by acting at random.\n",
		p.Likely, p.Random)
	if p.Likely <= p.Random {
		b.WriteString("That is no better than chance: no text that is known here says how it plays, or it has played too little.\n")
	}
	return b.String()
}

// Prefix begins the names of co-players that are models of a person: played:FOLDER.
const Prefix = "played:"

// Folder returns the folder that such a name names.
func Folder(name string) (dir string, ok bool) { return strings.CutPrefix(name, Prefix) }

// Step is something that a person chose.
type Step struct {
	State  string `json:"state"` // before it, as the game writes it
	Action string `json:"action"`
}

// Episode is what a person chose in an episode.
type Episode struct {
	Game    string   `json:"game"` // its label
	Actions []string `json:"actions"`
	Seat    int      `json:"seat"`
	Team    []string `json:"team"` // who played, by seat
	Steps   []Step   `json:"steps"`
	Check   string   `json:"check"` // the sum of all the rest

	file string
}

// Bounds of what is written and read.
const (
	MostEpisodes = 5000 // of a person
	mostPeople   = 500
	mostBytes    = 16 << 20 // of an episode
)

// person is what somebody may be called: it is the name of a folder.
var person = regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N}_-]{0,31}$`)

// Name says what is wrong with what somebody wants to be called.
func Name(name string) error {
	if !person.MatchString(name) {
		return fmt.Errorf("%.40q is no name here: want at most 32 letters and digits, _ and -, such as anna", name)
	}
	return nil
}

// New returns an episode of a game without steps. States that cannot be read again are refused.
func New(g game.Game, seat game.Seat, team []string) (*Episode, error) {
	if _, ok := g.New().(encoding.TextUnmarshaler); !ok {
		return nil, fmt.Errorf("played: what is played on %s cannot be recorded: its states cannot be read from their text", game.Label(g))
	}
	return &Episode{Game: game.Label(g), Actions: g.Spec().Actions, Seat: int(seat), Team: team, Steps: []Step{}}, nil
}

// Add notes what was chosen in a state.
func (e *Episode) Add(st game.State, action int32) error {
	text, err := st.AppendText(nil)
	e.Steps = append(e.Steps, Step{string(text), e.Actions[action]})
	return err
}

// Write adds an episode to a person's, below a folder; id is its own name.
func (e *Episode) Write(dir, name, id string) error {
	if err := Name(name); err != nil {
		return err
	}
	own := filepath.Join(dir, name)
	if _, err := os.Stat(own); errors.Is(err, fs.ErrNotExist) {
		if n, err := count(dir); err != nil || n >= mostPeople {
			return errors.Join(err, fmt.Errorf("%d people have played already, which is all that %s has room for", n, filepath.Base(dir)))
		}
		if err := disk.Make(own); err != nil {
			return err
		}
	}
	if n, err := count(own); err != nil || n >= MostEpisodes {
		return errors.Join(err, fmt.Errorf("%s has played %d episodes, which is all that there is room for", name, n))
	}
	return disk.WriteSealed(filepath.Join(own, "episode-"+id+".json"), e)
}

// count returns how much lies in a folder; nothing if it is not there.
func count(dir string) (int, error) {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return len(list), err
}

// Read returns a person's episodes.
func Read(dir string) (list []*Episode, err error) {
	files, err := disk.Match(dir, "episode-*.json")
	if err != nil {
		return nil, err
	}
	switch n := len(files); {
	case n == 0:
		return nil, fmt.Errorf("played: there is no episode in %s; hop serve --record DIR writes those of people who join into DIR/NAME", dir)
	case n > MostEpisodes:
		return nil, fmt.Errorf("played: %s has %d episodes; at most %d are read", dir, n, MostEpisodes)
	}
	slices.Sort(files)
	for _, file := range files {
		e := &Episode{file: file}
		if err := disk.ReadSealed(file, mostBytes, e); err != nil {
			return nil, fmt.Errorf("played: %w; or take the file out of the folder", err)
		}
		list = append(list, e)
	}
	return list, nil
}
