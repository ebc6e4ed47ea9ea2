package spec

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/game/rules"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/search/truth"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/store/trust"
)

// Registry is what specs can name. It is a value that a program is handed: whoever
// has a game or a mind of their own adds a line to the maps.
type Registry struct {
	Games   map[string]GameEntry
	Minds   map[string]MindEntry
	Presets fs.FS    // NAME.yaml
	Groups  []string // of presets, in the order in which a newcomer should read them
	// Runs reads every checkpoint of other runs; nil: the newest, or none.
	Runs *runlog.Reader
	// Trust says which folders may run what they name; its zero value is the user's.
	Trust trust.Trust
	// Devices learn and act in place of the processor, by the names that --device has for them; each is opened
	// when it is asked for.
	Devices map[string]func() (ppo.Device, error)
	Device  ppo.Device // that was asked for; nil: the processor learns
	// Game and Mind are what a spec is of that names none; "": the first by name.
	Game, Mind string
	// End ends what games have started, such as other processes; nil: nothing is.
	End func()
}

// GameEntry is one game of a registry. Make it with AddGame.
type GameEntry struct {
	doc    string
	params func() any // a pointer to the game's Config, at its defaults
	build  func(params any) (game.Game, error)
	needs  string // a parameter without a default; "": none

	// What is known of it; nil: nothing.
	rules    rules.Writing
	draws    rules.Drawing
	returns  func(params any) []game.Return
	bounds   func(params any) stats.Interval
	preset   func(params any) string
	measured [][]string
	fast     truth.Fast
	joined   func(g game.Game) []game.BotInfo
}

// Rules returns the entry of a game whose rules are also written down a second time, for
// audits to hold its steps against.
func (e GameEntry) Rules(write rules.Writing) GameEntry {
	e.rules = write
	return e
}

// Chance returns the entry of a game of which it is known how its rules draw, for world models
// to be held against.
func (e GameEntry) Chance(draws rules.Drawing) GameEntry {
	e.draws = draws
	return e
}

// Fast returns the entry of a game with rules made for search; others are searched on their own.
func (e GameEntry) Fast(f truth.Fast) GameEntry {
	e.fast = f
	return e
}

// Join returns the entry of a game that bots of one's own join: they are named wherever its own bots
// are, and no reference is made of them.
func (e GameEntry) Join(bots func(g game.Game) []game.BotInfo) GameEntry {
	e.joined = bots
	return e
}

// Returns returns the entry of a game of which mean returns are known, which reports draw.
func (e GameEntry) Returns(of func(params any) []game.Return) GameEntry {
	e.returns = of
	return e
}

// Bounds returns the entry of a game of which it is known what the return of a seat in an episode
// cannot leave, by its rules: no page draws a band beyond that.
func (e GameEntry) Bounds(of func(params any) stats.Interval) GameEntry {
	e.bounds = of
	return e
}

// Preset returns the entry of a game whose parameters say which preset has settings that suit
// PPO there; without, it is that of the game's name.
func (e GameEntry) Preset(of func(params any) string) GameEntry {
	e.preset = of
	return e
}

// Measured returns the entry of a game whose speed is measured at several settings, each a list
// such as size=8; without, at its defaults.
func (e GameEntry) Measured(at ...[]string) GameEntry {
	e.measured = at
	return e
}

// By returns a function of an entry's parameters or settings that reads them by their type.
func By[C, T any](of func(C) T) func(params any) T {
	return func(params any) T { return of(*params.(*C)) }
}

// Named returns the entry of a game that cannot be built before that parameter is set.
func (e GameEntry) Named(param string) GameEntry {
	e.needs = param
	return e
}

// AddGame returns the entry of a game: a few words on what it is about, its
// default parameters, and how it is built from some.
func AddGame[C any, G game.Game](doc string, def func() C, build func(C) (G, error)) GameEntry {
	return GameEntry{
		doc:    doc,
		params: func() any { c := def(); return &c },
		build:  func(p any) (game.Game, error) { return build(*p.(*C)) },
	}
}

// MindEntry is one kind of mind of a registry. Make it with AddMind.
type MindEntry struct {
	doc    string
	params func() any // a pointer to the mind's Config, at its defaults
	build  func(params any, m Making) ([]learner.Mind, error)
	check  func(params any, s *Spec, g game.Game) error

	// What is known of it; nil: nothing.
	title            func(params any) string
	plain, imagining bool
	bred             *Breed
	audit            Audit
}

// Titled returns the entry with what reports call such agents; without, that is the name.
func (e MindEntry) Titled(of func(params any) string) MindEntry {
	e.title = of
	return e
}

// Plain returns the entry of minds that are a policy by observations and nothing else: one may be
// shared by all agents, and plays any seat.
func (e MindEntry) Plain() MindEntry {
	e.plain = true
	return e
}

// Imagining returns the entry of minds that also learn from steps that a world model made up
// (learner.Window.Imagined). Those that model others say it in their settings (Imagines).
func (e MindEntry) Imagining() MindEntry {
	e.imagining = true
	return e
}

// Breed is a kind of minds as a member of zoos.
type Breed struct {
	Name, Doc string
	Stranger  bool // of a zoo's usual members it is held out
}

// Bred returns the entry of minds that zoos have members of.
func (e MindEntry) Bred(doc string, stranger bool) MindEntry {
	e.bred = &Breed{Doc: doc, Stranger: stranger}
	return e
}

// Audit is what an audit must know of a kind of minds.
type Audit struct {
	// Update fills in what they add to the definition of an update of a network that learns by
	// PPO's loss, or from a search; nil: their updates are not computed again.
	Update func(params any, o *reference.Own, in reference.Adding) error
	// Whole is the update of minds that do not learn by PPO's loss or from a search: what they
	// save, all of it, after they learnt from the window; nil: it is not computed again.
	Whole   func(params any, in reference.Adding) (reference.Net, error)
	Weights bool             // they read the weights of others of their kind
	Amplify func(params any) // makes what they add large enough to be seen in a few windows; nil: it is
	Windows int              // an audit watches, because they take long; 0: as many as PPO
	Envs    int              // it plays at most, for the same reason; 0: as many as PPO
}

// Audited returns the entry with what an audit must know.
func (e MindEntry) Audited(a Audit) MindEntry {
	e.audit = a
	return e
}

// AddMind returns the entry of a kind of minds: a few words, its default settings,
// and how the minds of a run are built from some. The fields of its settings are
// blocks of the spec, beside actor, ppo and train. Settings that have a method
// Validate are asked.
func AddMind[C any](doc string, def func() C, build func(C, Making) ([]learner.Mind, error)) MindEntry {
	return MindEntry{
		doc:    doc,
		params: func() any { c := def(); return &c },
		build:  func(p any, m Making) ([]learner.Mind, error) { return build(*p.(*C), m) },
		check:  func(any, *Spec, game.Game) error { return nil },
	}
}

// Check returns the entry with a check of its settings against the rest of a spec;
// g is nil if the game itself is wrong.
func (e MindEntry) Check(check func(params any, s *Spec, g game.Game) error) MindEntry {
	e.check = check
	return e
}

// Making is what the minds of a run are made for.
type Making struct {
	Game   game.Game
	Agents [][]agent.ID // of each mind, as train.brains says
	Actor  actor.Config
	PPO    ppo.Config
	Key    rng.Key
	Saved  *safetensors.File // the checkpoint that will be loaded; nil: the run is at its start
	Runs   *runlog.Reader    // reads models that were trained before
	Shown  bool              // train.standins.shown: networks read whether a stand-in plays

	number []int // [mind] which of the run's it is; nil: the same
	all    int   // minds of the run; 0: those of Agents
}

// Stream names the streams of mind i, whichever of the run's minds that is.
func (m Making) Stream(i int) rng.Key { return m.Key.Child("mind", m.of(i)) }

// of returns which of the run's minds mind i is.
func (m Making) of(i int) int {
	if m.number == nil {
		return i
	}
	return m.number[i]
}

// Brain makes the network of mind i, which reads so many numbers about goals.
//
// Into how many shards a minibatch is split follows from the spec alone, never from
// the machine.
func (m Making) Brain(i, goals int) (*ppo.Brain, error) {
	in, of := Input(m.Game.Spec()), m.Game.Spec()
	in.Extra = goals
	layout := frame.Layout(of.Obs)
	in.Sense = m.Actor.SenseOf(layout, of.Seats, of.Horizon, of.Actions)
	b, err := ppo.New(m.PPO, m.Actor, in, m.Agents[i], ppo.Shards(m.PPO, m.Actor, max(m.all, len(m.Agents))),
		m.Key.Child("brain", m.of(i)))
	if err != nil {
		return nil, fmt.Errorf("spec: making brain %d: %w", i, err)
	}
	return b, nil
}

// fitted returns an actor's settings for a game.
func fitted(c actor.Config, of game.Spec) actor.Config {
	return c.For(frame.Layout(of.Obs), of.Seats, of.Horizon, of.Actions)
}

// Input says in numbers what an observation of the game looks like.
func Input(spec game.Spec) actor.Input {
	return actor.Input{
		Input: frame.Layout(spec.Obs).Input(), Actions: len(spec.Actions), Continuous: spec.Continuous, Picture: spec.Obs.Picture,
	}
}

// GameNames returns the names of all games, sorted.
func (r *Registry) GameNames() []string { return slices.Sorted(maps.Keys(r.Games)) }

// UsualGame returns the name of the game where none is named.
func (r *Registry) UsualGame() string {
	if _, ok := r.Games[r.Game]; ok {
		return r.Game
	}
	return r.PlainGames()[0]
}

// Close ends what games have started.
func (r *Registry) Close() {
	if r.End != nil {
		r.End()
	}
}

// PlainGames returns the names of the games that can be built at their defaults.
func (r *Registry) PlainGames() []string {
	return slices.DeleteFunc(r.GameNames(), func(name string) bool { return r.Games[name].needs != "" })
}

// GameDoc says in a few words what the game is about.
func (r *Registry) GameDoc(name string) string { return r.Games[name].doc }

// MindNames returns the names of all kinds of minds, sorted.
func (r *Registry) MindNames() []string { return slices.Sorted(maps.Keys(r.Minds)) }

// MindDoc says in a few words what the mind is.
func (r *Registry) MindDoc(name string) string { return r.Minds[name].doc }

// Breeds returns the kinds of minds that zoos have members of, by name.
func (r *Registry) Breeds() (list []Breed) {
	for _, name := range r.MindNames() {
		if b := r.Minds[name].bred; b != nil {
			list = append(list, Breed{name, b.Doc, b.Stranger})
		}
	}
	return list
}

// PresetNames returns the names of the presets, sorted.
func (r *Registry) PresetNames() []string {
	if r.Presets == nil {
		return nil
	}
	entries, err := fs.ReadDir(r.Presets, ".")
	if err != nil {
		panic("spec: the presets cannot be listed")
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// GameInfo is a game at its defaults.
type GameInfo struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`
	Seats   int      `json:"seats"`
	Actions []string `json:"actions"`
	Goals   []string `json:"goals"`
	Doc     string   `json:"doc"`
}

// GameList returns the games, sorted by name. It starts no program: of a game that needs one only
// what it is for is known.
func (r *Registry) GameList() (list []GameInfo, err error) {
	for _, name := range r.GameNames() {
		info := GameInfo{Name: name, Kind: "any", Doc: r.GameDoc(name)}
		if slices.Contains(r.PlainGames(), name) {
			g, err := r.NewGame(name)
			if err != nil {
				return nil, err
			}
			built, err := g.Build()
			if err != nil {
				return nil, err
			}
			s := built.Spec()
			info.Kind, info.Seats, info.Actions, info.Goals = s.Kind.String(), s.Seats, s.Actions, s.Goals
		}
		list = append(list, info)
	}
	return list, nil
}

// Preset is a preset's name, what it is for, and what it is listed among.
type Preset struct{ Name, Doc, Group string }

// PresetList returns the presets, group by group, in each sorted by name. Those of no
// group that the registry knows are last.
func (r *Registry) PresetList() []Preset {
	var list []Preset
	for _, name := range r.PresetNames() {
		list = append(list, r.preset(name))
	}
	place := func(p Preset) int {
		if i := slices.Index(r.Groups, p.Group); i >= 0 {
			return i
		}
		return len(r.Groups)
	}
	slices.SortStableFunc(list, func(a, b Preset) int { return place(a) - place(b) })
	return list
}

// preset reads a preset's first comment. Its first line may name the group
// ("# group: NAME"); the rest says what it is for.
func (r *Registry) preset(name string) Preset {
	p := Preset{Name: name}
	b, err := fs.ReadFile(r.Presets, name+".yaml")
	if err != nil {
		return p
	}
	for _, line := range strings.Split(string(b), "\n") {
		text, comment := strings.CutPrefix(line, "#")
		if !comment {
			break
		}
		text = strings.TrimSpace(text)
		if group, ok := strings.CutPrefix(text, "group: "); ok && p.Doc == "" {
			p.Group = group
			continue
		}
		p.Doc = strings.TrimSpace(p.Doc + " " + text)
	}
	return p
}

// unknown says that there is no such thing, and which may have been meant.
func unknown(what, name string, names []string) error {
	return fmt.Errorf("there is no %s %q%s There are %s", what, name, cmp.Or(config.Suggest(name, names, ""), "."), strings.Join(names, ", "))
}

// among says that it should have been one of the names, and which may have been
// meant.
func among(name string, names []string) string {
	return "one of " + strings.Join(names, ", ") + config.Suggest(name, names, "")
}

// AddPresets adds presets, NAME.yaml each, to those that the registry has.
func (r *Registry) AddPresets(files fs.FS) {
	if r.Presets != nil {
		files = both{r.Presets, files}
	}
	r.Presets = files
}

// both is the files of two folders; of the same name the second one's.
type both struct{ under, over fs.FS }

// Open opens a file; the folder itself is ReadDir's.
func (b both) Open(name string) (fs.File, error) {
	f, err := b.over.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return b.under.Open(name)
	}
	return f, err
}

// ReadDir lists the folder, each name once.
func (b both) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(b.over, name)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, e := range list {
		seen[e.Name()] = true
	}
	under, err := fs.ReadDir(b.under, name)
	for _, e := range under {
		if !seen[e.Name()] {
			list = append(list, e)
		}
	}
	return list, err
}
