package lab

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/game/script"
	"github.com/hop-marl/hop/game/stranger"
	"github.com/hop-marl/hop/lab/report/adapted"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/played"
	"github.com/hop-marl/hop/train/eval"
)

// strangers makes a team of each co-player of a split, of learners that a zoo has of it too: as
// many of it as there are seats beside the one who adapts.
func (c *adapting) strangers(g game.Game, about map[string]any) (*adapted.Strangers, error) {
	split, err := stranger.Parse(c.Strangers)
	if err != nil {
		return nil, Misused("--strangers: %w", err)
	}
	name, list, err := stranger.List(g, split)
	if err != nil {
		return nil, Misused("--strangers: %w", err)
	}
	out := &adapted.Strangers{Split: name, Sum: stranger.Sum(list), Of: len(list), LeftOut: c.LeaveOut, LearnBest: c.LearnBest}
	if list, err = stranger.Without(g, list, c.LeaveOut); err != nil {
		return nil, Misused("--leave-out: %w", err)
	}
	if len(list) == 0 {
		return nil, Misused("--leave-out %s: nobody of %s is left", strings.Join(c.LeaveOut, ","), name)
	}
	met := thin(list, c.Some)
	if c.Adapt.Zoo != "" {
		learners, err := c.ZooStrangers(string(c.Adapt.Zoo), about, c.Strangers)
		if err != nil {
			return nil, err
		}
		for _, n := range learners {
			met, out.Zoo = append(met, n.Text), append(out.Zoo, n.Text)
		}
		out.Of += len(learners)
	}
	if slices.Contains(c.site.Runs, "br") {
		if met, out.Unsolved, err = solvable(g, met); err != nil {
			return nil, err
		}
	}
	for _, text := range met {
		c.teams = append(c.teams, slices.Repeat([]string{text}, g.Spec().Seats-1))
	}
	for _, text := range list {
		if scripted(g, text) != nil {
			c.split = append(c.split, text)
		}
	}
	out.N = len(c.teams)
	return out, nil
}

// solvable leaves out to whom br knows no best response: all agents meet the same strangers.
func solvable(g game.Game, met []string) (left []string, out []adapted.Unsolved, err error) {
	for _, text := range met {
		if err = oracle.Solvable(g, []string{text}); err == nil {
			left = append(left, text)
		} else {
			out = append(out, adapted.Unsolved{Name: text, Why: err.Error()})
		}
	}
	if len(left) == 0 {
		return nil, nil, Misused("br has a best response to none of the strangers: %w", err)
	}
	return left, out, nil
}

// watch is the command that shows one who adapts among co-players.
func (c *adapting) watch(m *meeting, r adaptRow) string {
	team, words := r.name, "hop play"
	if len(r.dirs) > 0 {
		team = "run"
		words += " --run " + r.dirs[0]
	} else {
		of := strings.Fields(c.GameWords(m.about))
		words += " --game " + of[0]
		for _, set := range of[1:] {
			words += " --set game." + set
		}
	}
	return fmt.Sprintf("%s --team '%s,%s'", words, team, strings.Join(m.parts[0].vs, ","))
}

// thin returns so many of a list, evenly spread over it; 0: all.
func thin(list []string, some int) []string {
	if some <= 0 || some >= len(list) {
		return list
	}
	out := make([]string, some)
	for i := range out {
		out[i] = list[i*len(list)/some]
	}
	return out
}

// How much the oracle may do, in steps of the rules: for a start, beyond which the best response
// is sought among candidates; for all starts of a seed, so that of large ones fewer are solved and
// scored; and for a start that is solved again and again, for the long run.
const (
	mostSteps    = 2_000_000
	seedSteps    = 16_000_000
	lastingSteps = 150_000
)

// closed finds out how the best response to the co-players of a part can be solved: start by
// start, in the long run, or not.
func (c *adapting) closed(ctx context.Context, g game.Game, p *part) error {
	remember, plain := false, true // plain: bots of the game alone, which are solved whatever it takes
	for _, name := range p.vs {
		if b, err := game.NewBot(g, name); err == nil {
			_, ok := b.(game.Recaller)
			remember = remember || ok
		}
		plain = plain && slices.ContainsFunc(g.Bots(), func(b game.BotInfo) bool { return b.Name == name })
	}
	defer c.turn()()
	if remember {
		p.lasting, _ = oracle.NewLasting(ctx, g, p.vs, lastingStarts, lastingSteps, rng.New(1).Child("lasting")) // nil where it cannot
		return ctx.Err()
	}
	if oracle.Solvable(g, p.vs) != nil {
		return nil
	}
	if plain {
		if p.exact = AtRandom(p.vs) <= 1; AtRandom(p.vs) > 0 {
			p.starts = c.Starts
		}
		return nil
	}
	br, err := oracle.NewBR(g, 1)
	if err != nil {
		return err
	}
	br.Until(ctx, 0)
	br.Within(mostSteps)
	st, r := g.New(), rng.New(1).Child("probe").Rand()
	bots := append([]string{""}, p.vs...)
	most := 1
	for range 3 {
		st.Reset(&r)
		if _, err := br.Value(st, 0, bots); err != nil {
			return ctx.Err()
		}
		most = max(most, br.Steps())
	}
	p.exact, p.starts = true, max(1, min(c.Starts, seedSteps/most))
	return nil
}

// lastingName is what a best response in the long run is called.
const lastingName = "exact in the long run"

// lastingStarts is over how many starts the long run is solved.
const lastingStarts = 32

// safe returns what one is sure of: the most that a script of the game earns among whichever
// three of a kind it earns least, over the game's own bots.
func (c *adapting) safe(ctx context.Context, g game.Game) (value float64, by string, err error) {
	for _, b := range g.Bots() {
		if b.Name == "random" {
			continue
		}
		least := 0.
		for i, o := range g.Bots() {
			team := []eval.Member{eval.Bot(g, b.Name)}
			for range g.Spec().Seats - 1 {
				team = append(team, eval.Bot(g, o.Name))
			}
			res, err := eval.Run(ctx, eval.Config{Game: g, Team: team, Episodes: 600, Key: rng.New(1).Child("safe"), Workers: c.workers})
			if err != nil {
				return 0, "", err
			}
			if x := res.Return[0].Mean(); i == 0 || x < least {
				least = x
			}
		}
		if by == "" || least > value {
			value, by = least, b.Name
		}
	}
	return value, by, nil
}

// sumStrangers scores every agent over the strangers.
func (c *adapting) sumStrangers(ctx context.Context, g game.Game, t *adapted.Table, about *adapted.Strangers) error {
	safe, by, err := c.safe(ctx, g)
	if err != nil {
		return err
	}
	top := 0.
	for _, r := range t.Table {
		top = max(top, r.BestResponse)
	}
	for _, r := range t.Table {
		i := slices.IndexFunc(t.Strangers, func(s *adapted.Strangers) bool { return s.Agent == r.Run })
		if i < 0 {
			one := *about
			one.Agent, one.Safe, one.SafeBy, one.Optimum = r.Run, safe, by, top
			t.Strangers = append(t.Strangers, &one)
			i = len(t.Strangers) - 1
		}
		t.Strangers[i].Add(r)
	}
	for _, s := range t.Strangers {
		s.Finish()
	}
	t.First = t.Strangers[0]
	return nil
}

// Named is a stranger with its name.
type Named struct {
	Name  string         `json:"name"` // such as staghunt/test@1#17
	Game  string         `json:"game"`
	Text  string         `json:"text"`
	Split stranger.Split `json:"split"`
}

// StrangerList is some of them.
type StrangerList []Named

// String writes a line for each.
func (l StrangerList) String() string {
	return columned(func(w io.Writer) {
		for _, s := range l {
			fmt.Fprintf(w, "%s\t%s\n", s.Name, s.Text)
		}
	})
}

// columned writes lines with tabs in columns.
func columned(write func(w io.Writer)) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	write(w)
	_ = w.Flush() // a Builder takes everything
	return b.String()
}

// splitsOf returns the split of that name; "": all.
func splitsOf(name string) ([]stranger.Split, error) {
	if name == "" {
		return stranger.Splits, nil
	}
	one, err := stranger.Parse(name)
	return []stranger.Split{one}, err
}

// Strangers lists the co-players of a split, or of all, in a game, but for those that are made
// with a word that is left out. Their names stay the same.
func Strangers(g game.Game, split string, leaveOut []string) (list StrangerList, err error) {
	splits, err := splitsOf(split)
	if err != nil {
		return nil, err
	}
	for _, s := range splits {
		name, texts, err := stranger.List(g, s)
		if err != nil {
			return nil, err
		}
		left, err := stranger.Without(g, texts, leaveOut)
		if err != nil {
			return nil, err
		}
		for i, text := range texts {
			if !slices.Contains(left, text) {
				continue
			}
			list = append(list, Named{fmt.Sprintf("%s#%d", name, i+1), g.Spec().Name, text, s})
		}
	}
	return list, nil
}

// Word is a word of a game's language.
type Word struct {
	Text  string `json:"text"` // with its arguments
	Kind  string `json:"kind"`
	Group string `json:"group"`
	Split string `json:"split"` // in whose co-players it occurs: all of them if it is of the base, none if in no list
	Doc   string `json:"doc"`
}

// WordList is some of them.
type WordList []Word

// String writes a line for each.
func (l WordList) String() string {
	return columned(func(w io.Writer) {
		for _, x := range l {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", x.Text, x.Kind, x.Group, x.Split, x.Doc)
		}
	})
}

// Words lists the words of a game's language.
func Words(g game.Game) (list WordList, err error) {
	l, err := stranger.Language(g)
	if err != nil {
		return nil, err
	}
	for _, b := range l.Bots {
		list = append(list, Word{b.Name, script.Who.String(), string(script.Base), "all", b.Doc})
	}
	for _, thing := range l.Things {
		list = append(list, Word{thing, script.Thing.String(), string(script.Base), "all", "what one can go for"})
	}
	for i := range l.Words {
		w := &l.Words[i]
		split, err := stranger.Of(g, w.Name)
		if err != nil {
			return nil, err
		}
		said := strings.NewReplacer("=together", "="+l.Pair[0], "=alone", "="+l.Pair[1]).Replace(w.Signature())
		list = append(list, Word{said, w.Kind.String(), string(w.Group), split, w.Doc})
	}
	return list, nil
}

// About is what is known of a co-player.
type About struct {
	Text         string       `json:"text"`
	Game         string       `json:"game"`
	Others       int          `json:"others"` // as many of it are met
	Words        WordList     `json:"words"`  // it is made of
	BestResponse stats.Number `json:"best_response"`
	SE           stats.Number `json:"se"`
	By           string       `json:"by"`
	States       int          `json:"states"` // of a start, the most
	Millis       float64      `json:"ms"`     // of a start
	Random       float64      `json:"random"` // what random play earns among as many of it as there are other seats

	Person *played.Person `json:"person,omitempty"` // whose model it is
}

// Stranger returns what is known of a co-player, by its text or its name in a list, or of a person
// as played:FOLDER.
func Stranger(ctx context.Context, g game.Game, who string, starts int) (*About, error) {
	if dir, ok := played.Folder(who); ok {
		return person(ctx, g, dir)
	}
	if strings.Contains(who, "#") {
		all, err := Strangers(g, "", nil)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(all, func(n Named) bool { return n.Name == who })
		if i < 0 {
			return nil, Misused("there is no stranger %s; hop strangers list names them", who)
		}
		who = all[i].Text
	}
	bot, err := game.NewBot(g, who)
	if err != nil {
		return nil, Misuse{err}
	}
	unknown := stats.Number(math.NaN())
	out := &About{Text: bot.Name(), Game: g.Spec().Name, Others: g.Spec().Seats - 1, BestResponse: unknown, SE: unknown, By: "not computed"}
	if w, ok := bot.(interface{ Words() []string }); ok {
		all, err := Words(g)
		if err != nil {
			return nil, err
		}
		for _, name := range w.Words() {
			for _, x := range all {
				if word, _, _ := strings.Cut(x.Text, "("); word == name {
					out.Words = append(out.Words, x)
				}
			}
		}
	}
	if out.Random, err = randomAmong(ctx, g, eval.Bot(g, who)); err != nil {
		return nil, err
	}
	return out, out.solve(ctx, g, slices.Repeat([]string{who}, g.Spec().Seats-1), starts)
}

// randomAmong returns what random play earns among as many of somebody as there are other seats.
func randomAmong(ctx context.Context, g game.Game, who eval.Member) (float64, error) {
	team := append([]eval.Member{eval.Bot(g, "random")}, slices.Repeat([]eval.Member{who}, g.Spec().Seats-1)...)
	res, err := eval.Run(ctx, eval.Config{Game: g, Team: team, Episodes: 1000, Key: rng.New(1).Child("random")})
	if err != nil {
		return 0, err
	}
	return res.Return[0].Mean(), nil
}

// person returns what is known of somebody by what it played.
func person(ctx context.Context, g game.Game, dir string) (*About, error) {
	p, err := played.Open(g, dir)
	if err != nil {
		return nil, Misuse{err}
	}
	unknown := stats.Number(math.NaN())
	out := &About{Text: p.Name, Game: g.Spec().Name, Others: g.Spec().Seats - 1, BestResponse: unknown, SE: unknown, By: "not computed",
		Person: p}
	m, err := eval.Played(g, dir)
	if err == nil {
		out.Random, err = randomAmong(ctx, g, m)
	}
	return out, err
}

// solve finds the best response, if it can.
func (s *About) solve(ctx context.Context, g game.Game, others []string, starts int) error {
	key := rng.New(1).Child("show")
	began := time.Now()
	bot, err := game.NewBot(g, others[0])
	if err != nil {
		return err
	}
	if _, ok := bot.(game.Recaller); ok {
		l, err := oracle.NewLasting(ctx, g, others, starts, 2*lastingSteps, key)
		if err == nil {
			s.BestResponse, s.SE, s.By, s.States = stats.Number(l.Gain), stats.Number(l.SE), lastingName, l.States
			s.Millis = float64(time.Since(began).Microseconds()) / 1000 / float64(starts)
		}
		return ctx.Err()
	}
	br, err := oracle.NewBR(g, 1)
	if err != nil || oracle.Solvable(g, others) != nil {
		return nil
	}
	br.Until(ctx, 0)
	br.Within(mostSteps)
	st, r := g.New(), key.Rand()
	var mean stats.Acc
	for range starts {
		st.Reset(&r)
		v, err := br.Value(st, 0, append([]string{""}, others...))
		if err != nil {
			return ctx.Err()
		}
		mean.Add(v)
		s.States = max(s.States, br.States())
	}
	s.BestResponse, s.SE, s.By = stats.Number(mean.Mean()), stats.Number(mean.SE()), "exact"
	s.Millis = float64(time.Since(began).Microseconds()) / 1000 / float64(starts)
	return nil
}

// String says it.
func (s *About) String() string {
	said := fmt.Sprintf(" and the best response %.3f ± %.3f (%s; at most %d states a start, %.1f ms)", float64(s.BestResponse),
		1.96*float64(s.SE), s.By, s.States, s.Millis)
	if s.By == "not computed" {
		said = "; the best response cannot be computed, or has too many states"
	}
	team := append([]string{"random"}, slices.Repeat([]string{s.Text}, s.Others)...)
	about := fmt.Sprintf("%s\n\n%s", s.Text, s.Words)
	if s.Person != nil {
		about = s.Person.String()
	}
	return fmt.Sprintf("%s\nAmong as many of it as there are other seats random play earns %.3f%s.\n\n"+
		"Watch it: hop play --game %s --team '%s'\n", about, s.Random, said, s.Game, strings.Join(team, ","))
}
