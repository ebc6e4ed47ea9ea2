package lab

import (
	"encoding/json"
	"math"
	"path/filepath"
	"testing"

	"github.com/hop-marl/hop/lab/report/adapted"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
)

// among lets bots live short lives among trios.
func among(t *testing.T, c prepare.Adapt, runs []string, sets ...string) *adapted.Table {
	t.Helper()
	var counted []News
	l := &Lab{Reg: registry.New(), Watch: func(n News) {
		if n.Kind == Counted && len(counted) == 0 {
			counted = append(counted, n)
		}
	}}
	c.AtEpisode, c.Learn, c.Workers = 1, spec.LearnBeliefs, max(c.Workers, 1)
	at := siteOf(t, l, "staghunt", "", sets...)
	at.Runs = runs
	table, err := l.Adapt(t.Context(), c, at)
	if err != nil {
		t.Fatal(err)
	}
	if len(counted) == 0 || counted[0].At != 0 || counted[0].Of < len(table.Table) {
		t.Errorf("the count of lives begins at %+v", counted)
	}
	return table
}

// In every row the regret is the best response less the score, and the normalised
// score follows from the three, also where only some starts are solved. The best
// response itself gets 1 of itself where nobody draws; where somebody does, a score
// above 1 is luck, and its interval says so.
func TestRowsOfAnAdaptationAddUp(t *testing.T) {
	table := among(t, prepare.Adapt{
		Trios: "nh,nh,nh ns,nh,nh nh,ns,random", Steps: 120, Last: 90, Lives: 4, Starts: 8, Seeds: []uint64{19},
	}, []string{"br", "ns"}, "game.horizon=12")
	lucky := false
	for _, r := range table.Table {
		where := r.Against() + ", " + r.Run
		norm := float64(r.Normalised)
		if lost := r.BestResponse - r.Score; math.Abs(lost-r.Regret) > 1e-9 {
			t.Errorf("%s: regret %v, best response less score %v", where, r.Regret, lost)
		}
		if want := 1 - r.Regret/(r.BestResponse-r.Random); math.Abs(norm-want) > 1e-9 {
			t.Errorf("%s: normalised %v, want %v", where, norm, want)
		}
		for _, s := range r.Seeds {
			if s.Score != r.Score || s.Random != r.Random {
				t.Errorf("%s: the only seed has %+v, the row %v and %v", where, s, r.Score, r.Random)
			}
		}
		if draws := r.VS[2] == "random"; r.Run == "br" && !draws && r.BestName == "exact" && (math.Abs(norm-1) > 1e-6 || norm > 1) {
			t.Errorf("%s: normalised %v, want 1", where, norm)
		}
		if norm > 1 {
			lucky = true
			if r.NormalisedCI[0] > 1 || r.NormalisedCI[1] < norm || r.RegretCI[1] < 0 {
				t.Errorf("%s: normalised %v with interval %v, regret %v", where, norm, r.NormalisedCI, r.RegretCI)
			}
		}
	}
	if !lucky {
		t.Error("nobody was lucky, so nothing was tested: choose another seed")
	}
}

// The random bot lives the very episodes that were scored, not the last steps of
// lives of its own, in which it meets other starts.
func TestReferencesLiveTheScoredEpisodes(t *testing.T) {
	l := &Lab{Reg: registry.New()}
	g, _, err := l.NewGame("staghunt", nil)
	if err != nil {
		t.Fatal(err)
	}
	live := func(who string, steps, last int) *eval.Adapted {
		team := []eval.Member{eval.Bot(g, who)}
		for range 3 {
			team = append(team, eval.Bot(g, "nh"))
		}
		res, err := eval.Adaptation{Game: g, Team: team, Lives: 2, Steps: steps, Last: last, Key: lifeKey(1), Workers: 1}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	random := map[[2]int]float64{}
	for _, e := range live("random", 3000, 1).Episodes {
		random[[2]int{e.Life, e.Index}] = e.Return
	}
	var lives [2]stats.Acc
	for _, e := range live("ns", 300, 150).Episodes {
		x, ok := random[[2]int{e.Life, e.Index}]
		if !ok {
			t.Fatal("the random bot did not live long enough")
		}
		if e.Last {
			lives[e.Life].Add(x)
		}
	}
	row := among(t, prepare.Adapt{VS: []string{"nh", "nh", "nh"}, Steps: 300, Last: 150, Lives: 2}, []string{"ns"}).Table[0]
	if want := (lives[0].Mean() + lives[1].Mean()) / 2; math.Abs(row.Random-want) > 1e-9 {
		t.Errorf("the random bot gets %v from the scored starts, the row says %v", want, row.Random)
	}
}

// Whoever beats all candidates by more than its interval is the best response known;
// within its interval, luck may have done it. One life has no interval.
func TestCandidatesCanBeBeaten(t *testing.T) {
	for _, c := range []struct {
		name string
		list []means
		by   string
		want string
		norm float64
	}{
		{"beyond luck", []means{{2, 1.5, 0}, {2.1, 1.5, 0}, {2, 1.6, 0}}, "by ns", "itself, ahead of ns", 1},
		{"by luck", []means{{2, 1, 0}, {1, 2, 0}, {1.6, 1.5, 0}}, "by ns", "by ns", 4.6 / 4.5},
		{"one life", []means{{2, 1, 0}}, "by ns", "by ns", 2},
	} {
		s := scoreOf(c.list, c.by)
		if s.BestName != c.want || math.Abs(s.Share()-c.norm) > 1e-12 || s.Regret != s.BestResponse-s.Score {
			t.Errorf("%s: %+v, want %v %s", c.name, s, c.norm, c.want)
		}
		if s.NormalisedCI[0] > 1 {
			t.Errorf("%s: the interval %v lies above 1", c.name, s.NormalisedCI)
		}
		if len(c.list) == 1 && !math.IsInf(s.NormalisedCI[1], 1) {
			t.Errorf("%s: the interval %v comes from nothing", c.name, s.NormalisedCI)
		}
	}
	if s := scoreOf([]means{{1, 1, 1}, {1, 1, 1}}, "by ns"); !math.IsNaN(s.Share()) {
		t.Errorf("normalised %v where nobody does better than random, want nothing", s.Share())
	}
}

// Co-players that an agent learnt with, or whose play its models learnt from, are
// no strangers, whatever they are called.
func TestAcquaintances(t *testing.T) {
	reg := registry.New()
	known := func(preset string, sets ...string) adaptRow {
		spec, err := reg.Load(preset, sets)
		if err != nil {
			t.Fatal(err)
		}
		who, err := spec.Known()
		if err != nil {
			t.Fatal(err)
		}
		return adaptRow{dirs: []string{"runs/x/seed-1"}, known: who}
	}
	hop, net := known("hop+types"), known("hop+types", "leaf.kind=net", "models.response=")
	frozen := known("ppo-4x4", "train.team=[learn,runs/a/seed-1#0,ns,ns]")
	response := filepath.Join(t.TempDir(), "response")
	run, err := runlog.Create(response, []byte("response: {who: [selfish-1, random, self]}\n"), runlog.Info{})
	if err == nil {
		err = run.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	answers := known("hop+types", "models.response="+response)
	for _, c := range []struct {
		row       adaptRow
		name, who string
		want      adapted.Acquaintance
		where     string
	}{
		{known("hop+discrete"), "ns", "ns", adapted.InTraining, "warm-up, stand-ins"},
		{hop, "random", "random", adapted.InData, ""},
		{hop, "ns", "ns", adapted.InData, ""},
		{net, "random", "random", adapted.InData, ""},
		{known("hop+scripts", `prepare.data.mix=[]`, "prepare.data.among=[switcher, nh]"), "switcher", "switcher", adapted.InData, ""},
		{hop, "deadline", "deadline", adapted.Stranger, ""},
		{hop, "runs/x/seed-1#2", "runs/x/seed-1#2", adapted.InTraining, "it learnt with it"},
		{hop, "runs/y/seed-1#2", "runs/y/seed-1#2", adapted.Stranger, ""},
		{known("ppo-4x4"), "ns", "ns", adapted.Stranger, ""},
		{known("hop-4x4"), "random", "random", adapted.InSearch, ""},
		{frozen, "selfish", "./runs/a/seed-1#0", adapted.InTraining, "its team"},
		{frozen, "selfish", "runs/a/seed-1#1", adapted.Stranger, ""},
		{frozen, "selfish-1-young", "runs/a/seed-1#0@500", adapted.InTraining, "its team"},
		{answers, "selfish-1", "zoo/a/seed-1#2@900", adapted.InSearch, ""},
		{answers, "selfish-2", "zoo/a/seed-2#2@900", adapted.Stranger, ""},
	} {
		if p := c.row.knows(c.name, c.who); p.Known != c.want || p.Where != c.where {
			t.Errorf("%s (%s): %+v, want %s %s", c.name, c.who, p, c.want, c.where)
		}
	}
	learnt := known("ppo-4x4", "train.team=[learn,wsls,'noisy(nh, 0.3)',ns]")
	l := &Lab{Reg: registry.New()}
	g, err := l.GameWith("staghunt", nil)
	if err != nil {
		t.Fatal(err)
	}
	built, err := g.Build()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"wsls(ns,nh)", "wsls( ns )", "noisy(nh)"} // as they are called elsewhere
	_, who, err := (&adapting{Lab: l}).members(built, nil, names)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if p := learnt.knows(name, who[i]); p.Known != adapted.InTraining {
			t.Errorf("%s, met under another spelling: %+v", name, p)
		}
	}
	m := &meeting{parts: []part{{vs: []string{"selfish", "selfish"}, who: []string{"runs/a/seed-1#0", "runs/a/seed-1#1"}}}}
	if list := frozen.coPlayers(m); len(list) != 1 || list[0].Known != adapted.Stranger {
		t.Errorf("two of a kind, one of them a stranger: %+v", list)
	}
}

// What an adaptation comes to does not depend on how many cores there are: among co-players
// whose best response is solved, and among those where it is sought.
func TestAdaptationDoesNotDependOnWorkers(t *testing.T) {
	first := ""
	for _, workers := range []int{1, 2, 7} {
		table := among(t, prepare.Adapt{
			Trios: "nh,nh,nh random,random,ns", Workers: workers, Steps: 30, Last: 20, Lives: 3, Starts: 8, Seeds: []uint64{1, 2, 3},
		}, []string{"ns", "random"}, "game.horizon=8")
		b, err := json.Marshal(table)
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = string(b)
		}
		if string(b) != first {
			t.Errorf("%d workers: %s, with one %s", workers, b, first)
		}
	}
}

// Where there are few seeds' lives for each core, each is lived on several: the longest are not waited for alone.
func TestSeedsAreLivedOnSeveralCores(t *testing.T) {
	for _, c := range [][3]int{{1, 1, 1}, {1, 30, 1}, {2, 1, 2}, {2, 12, 1}, {2, 30, 1}, {16, 1, 16}, {16, 30, 4}, {16, 60, 2}, {16, 200, 1}} {
		if got := livedOn(c[0], c[1]); got != c[2] {
			t.Errorf("%d cores, %d parts: on %d cores each, want %d", c[0], c[1], got, c[2])
		}
	}
}
