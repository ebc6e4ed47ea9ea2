package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"hop/eval"
	"hop/game"
	"hop/plan/truth"
	"hop/stats"
)

type adaptCmd struct {
	Runs      []string `arg:"" name:"run" help:"Runs' folders, or folders of seeds; also br, plan, plan-infer, plan-paper, or a bot." `
	VS        []string `name:"vs" help:"The co-players, one for each: bots, kinds of the zoo, or RUN#AGENT." placeholder:"WHO,..."`
	Trios     string   `help:"Several trios: six for the six of bots; or trios separated by spaces." placeholder:"six"`
	Then      []string `help:"Who takes the co-players' places later." placeholder:"WHO,..."`
	AtEpisode int      `help:"The first episode with those of --then." default:"10"`
	Zoo       string   `help:"Folder of learnt co-players (hop zoo train)." default:"zoo"`
	Learn     string   `help:"What goes on learning: nothing, beliefs, moa (the model of others), policy, all." enum:"nothing,beliefs,moa,policy,all" default:"beliefs"`
	Every     int      `help:"Steps between two updates of what learns." default:"200"`
	Steps     int      `help:"Env steps of a life." default:"2400"`
	Last      int      `help:"The last steps, which are judged." default:"600"`
	Lives     int      `help:"How often each seed lives it, with other starts." default:"16"`
	Seeds     string   `help:"Seeds of the lives, such as 1-5; none: as many as a run has seeds." placeholder:"1-5"`
	Agent     int      `help:"Which agent of a run." default:"0"`
	Starts    int      `help:"At most so many starts of a seed are solved exactly where a co-player acts at random, which is slow." default:"64"`
	Game      string   `help:"The game for those that are no runs." default:"staghunt"`
	Set       []string `help:"Change the game, such as game.stags=2, or how runs think, such as search.trees=20." sep:"none" placeholder:"PATH=VALUE"`
	Out       string   `help:"Folder for the table and the curves: adapt.md, adapt.html, adapt.json." placeholder:"DIR"`
	Workers   int      `help:"Cores to use; 0: all. Numbers do not depend on it." default:"0"`
	JSON      bool     `help:"Print one JSON object."`
}

func (adaptCmd) Help() string {
	return `Examples:

  hop adapt runs/hop-4x4-001 --vs ns,ns,ns
  hop adapt runs/hop-8x8-001 plan-infer --trios six --out adapt
  hop adapt runs/hop-8x8-001 --vs prosocial,prosocial,prosocial --zoo zoo --json
  hop adapt runs/hop-8x8-001 --vs ns,ns,ns --then nh,nh,nh --at-episode 10
  hop adapt plan-infer --vs ns,nh,nh --game staghunt --set game.size=8 --set game.blocks=5 --seeds 1-5

One agent meets co-players it never trained with for --steps env steps; its score is the mean return over the last of them. Normalised is 1 - regret / (best response - random), which is (score - random) / (best response - random) on the same starts. The best response is exact, on the very starts that were judged, where the oracle can solve for the co-players with at most one at random; elsewhere it is the best of the bots, the untrained planners and a best response of the zoo, all living the same lives.`
}

// six are the trios of SPEC's table.
const six = "ns,ns,ns nh,nh,nh random,random,random ns,nh,nh ns,ns,random nh,ns,random"

// adaptJSON is one agent against one trio.
type adaptJSON struct {
	Run          string         `json:"run"`
	VS           []string       `json:"vs"`
	Then         []string       `json:"then,omitempty"`
	Known        bool           `json:"in_distribution"` // it met all of them, or has scripts of them
	Learn        string         `json:"learn"`
	Lives        int            `json:"lives"` // of each seed
	Score        float64        `json:"score"`
	SE           float64        `json:"se"`
	CI           stats.Interval `json:"ci"`
	First        float64        `json:"first_episode"`
	BestResponse float64        `json:"best_response"`
	BestName     string         `json:"best_response_by"` // exact, or whoever did best
	Random       float64        `json:"random"`
	Normalised   float64        `json:"normalised"`
	NormalisedCI stats.Interval `json:"normalised_ci"`
	Regret       float64        `json:"regret"`
	RegretCI     stats.Interval `json:"regret_ci"`
	Seeds        []adaptSeed    `json:"seeds"`
	Episodes     []float64      `json:"episodes"`                  // mean return by episode
	Best         []float64      `json:"best_episodes,omitempty"`   // the best response's value of the same starts
	Action       []float64      `json:"action_accuracy,omitempty"` // by episode: the likeliest action was played
	Belief       []float64      `json:"belief_accuracy,omitempty"` // by episode: probability of the truth
	BeliefStep   []float64      `json:"belief_by_step,omitempty"`  // by step of an episode
	Back         *int           `json:"back_after,omitempty"`      // episodes after the change until back at 90 %
}

// adaptSeed is one seed's part.
type adaptSeed struct {
	Seed       uint64  `json:"seed"`
	Run        string  `json:"run,omitempty"`
	Score      float64 `json:"score"`
	Best       float64 `json:"best_response"`
	Random     float64 `json:"random"`
	Normalised float64 `json:"normalised"`
	Regret     float64 `json:"regret"`
}

type adaptTable struct {
	Words string         `json:"-"` // what the game is
	Game  map[string]any `json:"game"`
	Steps int            `json:"steps"`
	Last  int            `json:"last"`
	Table []*adaptJSON   `json:"table"`
}

func (c adaptCmd) Run(a *app) error {
	trios, err := c.trios()
	if err != nil {
		return err
	}
	rows, g, about, err := c.rows(a)
	if err != nil {
		return err
	}
	table := adaptTable{Words: gameWords(a.reg, about), Game: about, Steps: c.Steps, Last: c.Last}
	bar := a.progress("meetings")
	total := len(trios) * len(rows)
	for _, trio := range trios {
		m, err := c.meeting(a, g, about, trio)
		if err != nil {
			return err
		}
		for _, r := range rows {
			res, err := c.cell(a, m, r)
			if err != nil {
				return err
			}
			table.Table = append(table.Table, res)
			bar.update(len(table.Table), total)
		}
	}
	bar.end()
	if c.Out != "" {
		if err := writeAdapt(c.Out, &table); err != nil {
			return err
		}
	}
	switch {
	case c.JSON && len(table.Table) == 1:
		return a.emit(table.Table[0])
	case c.JSON:
		return a.emit(table)
	}
	return adaptText(a, &table)
}

// trios returns the co-players of each meeting.
func (c adaptCmd) trios() ([][]string, error) {
	switch {
	case len(c.VS) > 0 && c.Trios != "", len(c.VS) == 0 && c.Trios == "":
		return nil, usage("name the co-players with --vs, or several trios with --trios")
	case len(c.VS) > 0:
		return [][]string{c.VS}, nil
	}
	text := c.Trios
	if text == "six" {
		text = six
	}
	var list [][]string
	for _, t := range strings.Fields(text) {
		list = append(list, strings.Split(t, ","))
	}
	return list, nil
}

// adaptRow is one who adapts: a run's seeds, or somebody without a run.
type adaptRow struct {
	name  string
	dirs  []string // of the run; none: a bot or a thinker
	seeds []uint64 // of the lives; sample i plays dirs[i mod len(dirs)]
	met   []string
	types []string // bots that stand for its hypotheses
}

// rows finds out who adapts, and on which game: the first run's, or the flags'.
func (c adaptCmd) rows(a *app) (rows []adaptRow, g game.Game, about map[string]any, err error) {
	most := 1
	for _, name := range c.Runs {
		r := adaptRow{name: strings.TrimRight(filepath.ToSlash(name), "/")}
		if r.dirs, err = adaptFolders(name); err != nil {
			return nil, nil, nil, err
		}
		most = max(most, len(r.dirs))
		rows = append(rows, r)
	}
	flags := gameFlags{Game: c.Game}
	for _, s := range c.Set {
		if strings.HasPrefix(s, "game.") {
			flags.Set = append(flags.Set, s)
		}
	}
	for i := range rows {
		r := &rows[i]
		if r.seeds, err = c.lifeSeeds(max(len(r.dirs), 1), most, len(r.dirs) == 0); err != nil {
			return nil, nil, nil, err
		}
		if len(r.dirs) == 0 {
			if strings.HasPrefix(r.name, "plan") {
				r.met = truth.Default().Models
			}
			continue
		}
		s, err := a.reg.LoadStranger(r.dirs[0], c.Set, c.Agent, c.Learn)
		if err != nil {
			return nil, nil, nil, usageError{err}
		}
		r.met = s.Spec.Met()
		if s.Plans && s.Spec.Plan.Goals == "hand" {
			r.types = s.Spec.Plan.Bots
		}
		here, err := s.Spec.Game.Map()
		if err != nil {
			return nil, nil, nil, err
		}
		if g == nil {
			g, about = s.Game, here
		} else if gameWords(a.reg, here) != gameWords(a.reg, about) {
			return nil, nil, nil, usage("%s was trained on %s, the first run on %s: compare runs on one game, or name it with --set game.FIELD=VALUE", r.name, gameWords(a.reg, here), gameWords(a.reg, about))
		}
	}
	if g == nil {
		built, spec, err := flags.build(a)
		if err != nil {
			return nil, nil, nil, err
		}
		if about, err = spec.Map(); err != nil {
			return nil, nil, nil, err
		}
		g = built
	}
	return rows, g, about, nil
}

// adaptFolders returns the folders of a run's seeds; none if the name is not a
// folder.
func adaptFolders(name string) ([]string, error) {
	if _, err := os.Stat(name); err != nil {
		if strings.ContainsAny(name, `/\`) {
			return nil, usage("%s is no run: there is no such folder", name)
		}
		return nil, nil
	}
	if _, err := os.Stat(filepath.Join(name, "spec.yaml")); err == nil {
		return []string{name}, nil
	}
	dirs, err := filepath.Glob(filepath.Join(name, "seed-*"))
	if err != nil || len(dirs) == 0 {
		return nil, usage("%s holds no run: neither spec.yaml nor folders seed-*", name)
	}
	return dirs, nil
}

// lifeSeeds names the lives: those asked for, or one for each seed of a run.
func (c adaptCmd) lifeSeeds(own, most int, plain bool) ([]uint64, error) {
	if c.Seeds != "" {
		seeds, err := parseSeeds(c.Seeds)
		if err != nil {
			return nil, usageError{err}
		}
		return seeds, nil
	}
	n := own
	if plain {
		n = most
	}
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = uint64(i + 1)
	}
	return seeds, nil
}

// members turns names into co-players: bots, kinds of the zoo, RUN#AGENT. The
// k-th of a kind is agent k of its run, from 1: the focal agent has 0's place.
func (c adaptCmd) members(a *app, g game.Game, about map[string]any, names []string) ([]eval.Member, error) {
	if n := g.Spec().Seats - 1; len(names) != n {
		return nil, usage("%d co-players are named (%s), the game has room for %d", len(names), strings.Join(names, ","), n)
	}
	var zoo []zooEntry
	var list []eval.Member
	for i, name := range names {
		m, err := a.reg.Member(g, name)
		if err == nil {
			list = append(list, m)
			continue
		}
		if strings.Contains(name, "#") {
			return nil, usageError{err}
		}
		if zoo == nil {
			if zoo, err = a.readZoos(c.Zoo); err != nil {
				return nil, err
			}
		}
		e := a.findZoo(zoo, name, about)
		if e == nil {
			_, err := game.NewBot(g, name)
			return nil, usage("%w; nor is there a %q for %s in the zoo %s: hop zoo train makes some", err, name, gameWords(a.reg, about), c.Zoo)
		}
		if m, err = a.reg.Member(g, fmt.Sprintf("%s#%d", e.Run, i+1)); err != nil {
			return nil, err
		}
		m.Name = name
		list = append(list, m)
	}
	return list, nil
}

// findZoo returns a finished kind for a game, the first of its name.
func (a *app) findZoo(zoo []zooEntry, name string, about map[string]any) *zooEntry {
	for i := range zoo {
		if e := &zoo[i]; e.Name == name && e.Status == "done" && gameWords(a.reg, e.Game) == gameWords(a.reg, about) {
			return e
		}
	}
	return nil
}

func adaptText(a *app, t *adaptTable) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(a.out, "%s; last %d of %d steps\n\n", t.Words, t.Last, t.Steps)
	fmt.Fprintln(w, "against\twho\tscore\t95 %\tbest response\trandom\tnormalised\t95 %\tregret\tfirst episode\t")
	for _, r := range t.Table {
		note := ""
		if !r.Known {
			note = "has not met them"
		}
		if r.Back != nil {
			note += fmt.Sprintf(" back at 90 %% after %d episodes", *r.Back)
		}
		fmt.Fprintf(w, "%s\t%s\t%.3f\t%s\t%.3f %s\t%.3f\t%.3f\t%s\t%.3f\t%.3f\t%s\n", r.against(), r.Run, r.Score, ends(r.CI), r.BestResponse, r.BestName, r.Random, r.Normalised, ends(r.NormalisedCI), r.Regret, r.First, strings.TrimSpace(note))
	}
	return w.Flush()
}

func (r *adaptJSON) against() string {
	s := strings.Join(r.VS, ",")
	if len(r.Then) > 0 {
		s += " then " + strings.Join(r.Then, ",")
	}
	return s
}

func ends(ci stats.Interval) string { return fmt.Sprintf("%.3f to %.3f", ci[0], ci[1]) }

// knows reports whether all of the co-players are among those met.
func (r adaptRow) knows(names []string) bool {
	return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(r.met, n) })
}
