package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/play"
	model "github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/serve/cache"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
	"github.com/hop-marl/hop/train/spec/spectest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open returns a theatre that closes with the test.
func open(t testing.TB, c Config) *Theatre {
	t.Helper()
	c.Lab = testLab()
	th := New(c)
	t.Cleanup(th.Close)
	return th
}

func testLab() *lab.Lab {
	return &lab.Lab{Reg: registry.New(), Version: "test", Command: []string{"hop", "train", "brief"}}
}

// trained is a run of agents that infer and plan, after a moment of training.
var trained = sync.OnceValues(func() (string, error) {
	text := "name: brief\ngame: {name: staghunt, size: 4, stags: 1, hares: 2, agents: 3, horizon: 12}\nmind: hop\nactor: {hidden: [8, 8]}\n" +
		"moa: {hidden: [8, 8]}\nsearch: {trees: 4, sims: 7, depth: 1}\nleaf: {kind: scripts, repeat: 1}\nppo: {reward_scale: 0.2}\n" +
		"train: {envs: 4, window: 12, steps: 96, save: 48}\neval: {episodes: 2}\n"
	l := testLab()
	spec, err := l.Reg.Parse([]byte(text), "brief.yaml", "brief", nil)
	if err != nil {
		return "", err
	}
	training, err := l.NewTraining(spec, []uint64{1}, trainedAt, 1)
	if err != nil {
		return "", err
	}
	out, err := l.Train(context.Background(), training)
	if err != nil {
		return "", err
	}
	return out.Run + "/seed-1", nil
})

// showed is all that was sent of an episode.
type showed struct {
	events  []Event
	head    head
	steps   []stepIn
	regrets []regretIn
	sums    []sum
}

// stepIn is a step as a client reads it.
type stepIn struct {
	Step    int
	Over    bool
	Text    string
	Players []struct {
		Action string
		Reward float64
		Alive  bool
	}
	Minds []*struct {
		Does             int32
		Searched         bool
		Visits           []int32
		Q, Prior, Policy []float64
		Value            *float64
		Line             []struct{ Action int32 }
		Others           []struct {
			Seat            int
			Left            bool
			Names           []string
			Probs, Expected []float64
		}
	}
}

type regretIn struct {
	Seat, Step int
	Loss       float64
	Best       int32
	Q          []*float64
	Why        string
}

// watch reads an episode to its end.
func watch(t *testing.T, th *Theatre, a Ask) showed {
	t.Helper()
	p, err := view(t, th, a)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func view(t *testing.T, th *Theatre, a Ask) (p showed, err error) {
	t.Helper()
	v, err := th.Open(a)
	if err != nil {
		return p, err
	}
	defer v.Close()
	for {
		events, err := v.Next(t.Context())
		if err != nil || events == nil {
			return p, err
		}
		for _, e := range events {
			p.events = append(p.events, e)
			switch e.Name {
			case "head":
				into(t, e, &p.head)
			case "step":
				p.steps = append(p.steps, stepIn{})
				into(t, e, &p.steps[len(p.steps)-1])
			case "regret":
				p.regrets = append(p.regrets, regretIn{})
				into(t, e, &p.regrets[len(p.regrets)-1])
			case "sums":
				into(t, e, &p.sums)
			}
		}
	}
}

func into(t *testing.T, e Event, v any) {
	t.Helper()
	if err := json.Unmarshal(e.Data, v); err != nil {
		t.Fatalf("%s %s: %v", e.Name, e.Data, err)
	}
}

func team(names ...string) (list []Member) {
	for _, n := range names {
		list = append(list, Member{Who: n})
	}
	return list
}

func hunt(names ...string) Ask {
	return Ask{Game: "staghunt", Team: team(names...), Seed: 3, Human: play.NoHuman}
}

// The frames are those that hop play prints: its text, for bots and for planners, for the
// same seed, and of a later episode among co-players who remember.
func TestEpisodesAreThoseOfHopPlay(t *testing.T) {
	th := open(t, Config{})
	for before, names := range [][]string{{"ns", "nh", "random", "nh"}, {"plan-infer", "ns", "nh", "random"},
		{"random", "quits(ns,nh,1)", "ns", "nh"}} {
		g, _, err := th.c.Lab.NewGame("staghunt", nil)
		if err != nil {
			t.Fatal(err)
		}
		members, err := lab.Team(g, names)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		o := play.Options{Game: g, Team: names, Seed: 3, Human: play.NoHuman, Label: game.Label(g), Out: &out, Plain: true,
			MaxEpisodes: before + 1}
		if names[0] == "plan-infer" { // as cli.playCmd makes it
			players := make([]rollout.Player, len(members))
			for s, m := range members {
				p, err := m.Players(1, 1)
				if err != nil {
					t.Fatal(err)
				}
				players[s] = p[0]
			}
			if o.Agents, err = play.NewTeam(g, names, players, play.NoHuman, play.NoHuman); err != nil {
				t.Fatal(err)
			}
		}
		if err := play.Run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		got := ""
		a := hunt(names...)
		a.Before = before
		for _, s := range watch(t, th, a).steps {
			got += s.Text + "\n"
		}
		if !strings.HasSuffix(out.String(), got) || len(got) < out.Len()/(4*before+1) {
			t.Errorf("%v: the episode is\n%s\nhop play shows\n%s", names, got, out.String())
		}
	}
}

// What is believed of a co-player sums to 1, what is expected of it too while it is there, and
// what a mind says that it does is what is done next.
func TestMindsAreShownOfEverybodyThatHasOne(t *testing.T) {
	th := open(t, Config{})
	dir, err := trained()
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]Ask{
		"planners": hunt("plan-infer", "ns", "plan-infer", "nh"),
		"a run":    {Run: Folder{dir, "0:brief/seed-1", -1}, Seed: 2, Human: play.NoHuman},
	} {
		p := watch(t, th, a)
		minds := 0
		for i, s := range p.steps {
			for seat, m := range s.Minds {
				planner := p.head.Seats[seat].Kind != "bot"
				if (m != nil) != (planner && s.Players[seat].Alive) {
					t.Fatalf("%s, step %d, seat %d, %s: a mind is shown: %v", name, i, seat, p.head.Seats[seat].Kind, m != nil)
				}
				if m == nil {
					continue
				}
				minds++
				if did := p.head.Actions[m.Does]; did != p.steps[i+1].Players[seat].Action {
					t.Errorf("%s, step %d: the mind of seat %d says %s, it did %s", name, i, seat, did, p.steps[i+1].Players[seat].Action)
				}
				if !m.Searched || len(m.Line) == 0 || m.Visits[m.Does] == 0 || !sumsToOne(m.Policy) || m.Value == nil {
					t.Errorf("%s, step %d, seat %d: %+v", name, i, seat, m)
				}
				for _, o := range m.Others {
					if !sumsToOne(o.Probs) || o.Left == s.Players[o.Seat].Alive || sumsToOne(o.Expected) == o.Left {
						t.Errorf("%s, step %d, seat %d of seat %d, which is there: %v: held %v %v, expected %v", name, i, seat, o.Seat,
							s.Players[o.Seat].Alive, o.Names, o.Probs, o.Expected)
					}
				}
			}
		}
		if minds < 6 {
			t.Errorf("%s: only %d minds were looked at", name, minds)
		}
	}
}

func sumsToOne(p []float64) bool {
	sum := 0.
	for _, x := range p {
		sum += x
	}
	return math.Abs(sum-1) < 1e-4
}

// The same ask gives the same bytes, played anew.
func TestEpisodesFollowFromWhatWasAskedFor(t *testing.T) {
	dir, err := trained()
	if err != nil {
		t.Fatal(err)
	}
	steps, err := runlog.Steps(dir)
	if err != nil || len(steps) < 2 {
		t.Fatal(steps, err)
	}
	early, late := Folder{dir, "0:brief/seed-1", steps[0]}, Folder{dir, "0:brief/seed-1", steps[1]}
	a := Ask{Run: early, Team: append(team("run", "nh"), Member{Run: late, Agent: 0}), Seed: 7, Human: play.NoHuman}
	one, two := watch(t, open(t, Config{}), a), watch(t, open(t, Config{}), a)
	if len(one.events) != len(two.events) {
		t.Fatalf("%d events and %d", len(one.events), len(two.events))
	}
	for i, e := range one.events {
		if e.Name != two.events[i].Name || !bytes.Equal(e.Data, two.events[i].Data) {
			t.Fatalf("event %d: %s %s and %s %s", i, e.Name, e.Data, two.events[i].Name, two.events[i].Data)
		}
	}
	if got := one.head.Seats[2].Name; got != fmt.Sprintf("brief#0@%d", late.Step) || one.head.Step != early.Step {
		t.Errorf("seat 2 is %s, the checkpoint that of step %d", got, one.head.Step)
	}
	other := a
	other.Run = late
	if three := watch(t, open(t, Config{}), other); bytes.Equal(three.events[1].Data, one.events[1].Data) {
		t.Error("two checkpoints have the same in mind")
	}
}

// An episode is played once for all who look at it, and again when it has been forgotten.
func TestEpisodesAreKept(t *testing.T) {
	all := cache.New(100 << 10)
	th := open(t, Config{Cache: all})
	kept := func(key string) any {
		s, _ := all.Get(cached(key))
		return s
	}
	a := Ask{Game: "coin", Human: play.NoHuman}
	watch(t, th, a)
	first, key := kept(keyOf(t, a)), keyOf(t, a)
	watch(t, th, a)
	if first == nil || kept(key) != first || len(th.episodes) != 0 {
		t.Error("an episode was played twice")
	}
	for a.Seed = range 5 {
		watch(t, th, a)
	}
	if kept(key) != nil || all.Used() > 100<<10 || all.Used() == 0 || len(th.episodes) != 0 {
		t.Errorf("%d bytes are kept, %d episodes are being played", all.Used(), len(th.episodes))
	}
}

func keyOf(t *testing.T, a Ask) string {
	t.Helper()
	if err := a.settle(); err != nil {
		t.Fatal(err)
	}
	return a.key()
}

// By the oracle, its own best response loses nothing, and random play something; where the
// oracle does not know, the reason is given.
func TestRegret(t *testing.T) {
	th := open(t, Config{})
	loss := func(who string) (sum float64) {
		a := hunt(who, "ns", "nh", "nh")
		for a.Seed = range 6 {
			p := watch(t, th, a)
			if p.head.Seats[0].Regret != "" || len(p.regrets) == 0 {
				t.Fatalf("%s: %q, %d regrets", who, p.head.Seats[0].Regret, len(p.regrets))
			}
			for _, r := range p.regrets {
				if r.Seat == 0 {
					sum += r.Loss
				}
				if r.Q[r.Best] == nil || r.Loss < 0 || r.Why != "" {
					t.Fatalf("%s: %+v", who, r)
				}
			}
			if why := p.head.Seats[1].Regret; who == "br" && !strings.Contains(why, "seat 0, br") {
				t.Errorf("the regret of a bot beside br: %q", why)
			}
		}
		return sum
	}
	if got := loss("br"); got > 1e-9 {
		t.Errorf("the best response lost %v", got)
	}
	if got := loss("random"); got < 1 {
		t.Errorf("random play lost %v in 6 episodes", got)
	}
	coin := watch(t, th, Ask{Game: "coin", Human: play.NoHuman})
	if why := coin.head.Seats[0].Regret; len(coin.regrets) > 0 || !strings.Contains(why, "no exact best responses are known of coin") {
		t.Errorf("coin: %q, %d regrets", why, len(coin.regrets))
	}
	p := watch(t, open(t, Config{States: 100}), hunt("nh", "random", "random", "random"))
	if len(p.regrets) == 0 || !strings.Contains(p.regrets[0].Why, "more states") {
		t.Errorf("too many states: %+v", p.regrets)
	}
	_, err := view(t, open(t, Config{States: 100}), hunt("br", "random", "random", "random"))
	if err == nil || !strings.Contains(err.Error(), "states") {
		t.Errorf("a best response with too many states: %v", err)
	}
}

// What a world model imagines does not depend on whose eyes it is looked at with: planes are
// numbered from the seat that looks, and shown by seat.
func TestImaginationIsShownBySeat(t *testing.T) {
	th := open(t, Config{})
	for _, name := range []string{"staghunt"} {
		g, _, err := th.c.Lab.NewGame(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		spec := g.Spec()
		in := model.Input{
			Height: spec.Obs.Height, Width: spec.Obs.Width, Planes: len(spec.Obs.Planes), Agents: spec.Seats, Actions: len(spec.Actions),
			Horizon: spec.Horizon, Legal: spec.Obs.Legal, Time: spec.Obs.Time, Last: spec.Obs.Last, Owned: spec.Obs.Owned,
			Features: spec.Obs.Features, Rewards: []float32{0, 1},
		}
		m, params, err := model.New(model.Default(), in, rng.New(4))
		if err != nil {
			t.Fatal(err)
		}
		st, r := g.New(), rng.New(5).Rand()
		st.Reset(&r)
		before := moment{state: g.New(), actions: make([]int32, spec.Seats)}
		before.state.CopyFrom(st)
		bot := game.Random{Actions: len(spec.Actions)}
		for s := range before.actions {
			before.actions[s] = bot.Act(st, game.Seat(s), &r)
		}
		rewards := make([]float32, spec.Seats)
		st.Step(before.actions, rewards, &r)
		var all []*imagined
		for s := range spec.Seats {
			sc := &scene{game: g, players: []rollout.Player{modelled{m, params}}}
			x, err := sc.worlds()[0].imagine(before, st, game.Seat(s), rewards)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, x)
		}
		if len(all[0].Cells) == 0 || len(all[0].Wrong) == 0 {
			t.Fatalf("%s: an untrained model imagines %+v", name, all[0])
		}
		for s, x := range all[1:] {
			if !near(t, x, all[0]) {
				t.Errorf("%s, seat %d imagines\n%s\nseat 0\n%s", name, s+1, text(t, x), text(t, all[0]))
			}
		}
	}
}

// A plane shows the seat or the thing that stands there, whoever looks, in every game on a board.
func TestPlanesAreOfSeatsAndThings(t *testing.T) {
	th := open(t, Config{})
	for _, name := range []string{"staghunt", "coin", "snowdrift", "cleanup", "commons", "foraging", "tag"} {
		g, _, err := th.c.Lab.NewGame(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		st, r, spec := g.New(), rng.New(6).Rand(), g.Spec()
		st.Reset(&r)
		sc, obs, n := play.NewScene(st, spec), make([]float32, spec.Obs.Len()), len(spec.Obs.Planes)
		for ego := range spec.Seats {
			st.Observe(game.Seat(ego), obs)
			for at, c := range sc.Cells {
				var want, got []string
				for _, s := range c.Seats {
					want = append(want, string(rune('0'+s)))
				}
				want = append(want, c.Things...)
				for i := range n {
					if obs[at*n+i] == 0 {
						continue
					}
					seat, thing := (&world{spec: spec}).plane(i, ego)
					if seat >= 0 {
						thing = string(rune('0' + seat))
					}
					got = append(got, thing)
				}
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("%s, cell %d with the eyes of seat %d: %v, there stand %v", name, at, ego, got, want)
				}
			}
		}
	}
}

// near compares what is imagined, but for rounding.
func near(t *testing.T, a, b *imagined) bool {
	t.Helper()
	round := func(x *imagined) string {
		y := *x
		y.Cells = slices.Clone(x.Cells)
		for i, c := range y.Cells {
			y.Cells[i].Seats, y.Cells[i].Things = slices.Clone(c.Seats), slices.Clone(c.Things)
			for j := range c.Seats {
				y.Cells[i].Seats[j].P = number(math.Round(100 * float64(c.Seats[j].P)))
			}
			slices.SortFunc(y.Cells[i].Things, func(a, b likely) int { return strings.Compare(a.Name, b.Name) })
			for j, c := range y.Cells[i].Things {
				y.Cells[i].Things[j].P = number(math.Round(100 * float64(c.P)))
			}
		}
		y.Doubt, y.Wrong, y.Rewards, y.Gone = 0, nil, nil, nil
		return text(t, &y)
	}
	return round(a) == round(b)
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The last viewer of an episode that is being played ends it, and the others do not.
func TestWorkEndsWithItsLastViewer(t *testing.T) {
	th := open(t, Config{Workers: 1, States: 1 << 40})
	slow := hunt("random", "random", "random", "random") // whose regret takes minutes
	one, err := th.Open(slow)
	if err != nil {
		t.Fatal(err)
	}
	two, err := th.Open(slow)
	if err != nil {
		t.Fatal(err)
	}
	for sums := false; !sums; {
		events, err := two.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sums = slices.ContainsFunc(events, func(e Event) bool { return e.Name == "sums" })
	}
	s := two.s
	one.Close()
	one.Close()
	if s.viewers != 1 || th.episodes[s.key] != s {
		t.Error("an episode was ended that is still looked at")
	}
	two.Close()
	done := make(chan struct{})
	go func() { th.work.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the work goes on")
	}
	if !errors.Is(s.err, context.Canceled) || th.episodes[s.key] != nil {
		t.Errorf("it ended with %v", s.err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	three, err := th.Open(hunt("nh", "nh", "nh", "nh"))
	if err != nil {
		t.Fatal(err)
	}
	defer three.Close()
	for err == nil {
		_, err = three.Next(gone)
		if three.s.over {
			break
		}
	}
}

// What cannot be played is refused in a sentence.
func TestRefusals(t *testing.T) {
	dir, err := trained()
	if err != nil {
		t.Fatal(err)
	}
	run := Folder{dir, "0:brief/seed-1", -1}
	th := open(t, Config{})
	for name, c := range map[string]struct {
		ask  Ask
		want string
	}{
		"nothing":       {Ask{}, "nothing was chosen"},
		"no such game":  {Ask{Game: "chess"}, "chess"},
		"python":        {Ask{Game: "python"}, "another program plays"},
		"parameter":     {Ask{Game: "staghunt", Set: []string{"game.size=900"}}, "size"},
		"too few":       {Ask{Game: "staghunt", Team: team("ns")}, "4 seats"},
		"no such bot":   {hunt("wolf", "ns", "ns", "ns"), "wolf"},
		"run of a game": {hunt("run", "ns", "ns", "ns"), "no run"},
		"no checkpoint": {Ask{Run: Folder{dir, "0:brief/seed-1", 7}},
			"no checkpoint of env step 7: 0:brief/seed-1/checkpoints/step-000000000007.json is missing; there are"},
		"no run":        {Ask{Run: Folder{dir + "-gone", "0:gone", -1}}, "0:gone"},
		"another game":  {Ask{Game: "coin", Team: []Member{{Who: "random"}, {Run: run}}}, "another game"},
		"no such agent": {Ask{Run: run, Team: append(team("run", "run"), Member{Run: run, Agent: 3})}, "agents 0 to 2"},
		"no such seat":  {Ask{Run: run, Human: 9}, "seat 9"},
		"too little":    {Ask{Run: run, Human: 0}, "goes on"},
		"not legal":     {Ask{Run: run, Human: 0, Moves: []int32{99}}, "not legal"},
		"knows you":     {Ask{Game: "staghunt", Team: team("you", "plan", "ns", "ns"), Human: 0}, "plan-infer"},
	} {
		if name != "no such seat" && name != "too little" && name != "not legal" && name != "knows you" {
			c.ask.Human = play.NoHuman
		}
		_, err := view(t, th, c.ask)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, want %q and no path", name, err, c.want)
		}
	}
	small := open(t, Config{Memory: 1 << 20})
	if _, err := view(t, small, Ask{Run: run, Human: play.NoHuman}); err == nil || !strings.Contains(err.Error(), "GiB") {
		t.Errorf("too much memory: %v", err)
	}
	short := open(t, Config{Length: 4000})
	if p, err := view(t, short, hunt("random", "random", "random", "random")); err == nil || len(p.steps) == 0 {
		t.Errorf("an episode of too many bytes: %d steps, %v", len(p.steps), err)
	}
	_, err = view(t, open(t, Config{Time: time.Nanosecond}), hunt("ns", "ns", "ns", "ns"))
	if err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("an episode of too much time: %v", err)
	}
	if _, err := open(t, Config{Queue: -1}).Open(hunt("ns", "ns", "ns", "ns")); err == nil {
		t.Error("a full theatre took another episode")
	}
}

// No page starts a policy in Python by its name, nor with a run that is not trusted.
func TestNoPageStartsAPolicy(t *testing.T) {
	x := spectest.NewTrap(t)
	t.Setenv("HOP_PYTHON", x.Python)
	th := open(t, Config{})
	for _, name := range []string{"py:os:makedirs", "net.onnx"} {
		ask := hunt(name, "ns", "ns", "ns")
		ask.Human = play.NoHuman
		if _, err := view(t, th, ask); err == nil || !strings.Contains(err.Error(), "has no bot") {
			t.Errorf("%s: %v", name, err)
		}
	}
	sp, err := testLab().Reg.Load("ppo-4x4", []string{"train.team=[learn, learn, learn, py:own:act]"})
	if err != nil {
		t.Fatal(err)
	}
	if err := plays(&sp); err != nil { // what the user says is trusted
		t.Errorf("a run of the user's own among one is not played: %v", err)
	}
	text, err := sp.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if sp, err = testLab().Reg.Parse(text, filepath.Join(t.TempDir(), "spec.yaml"), "run", nil); err != nil {
		t.Fatal(err)
	}
	if err := plays(&sp); !errors.As(err, new(*spec.Untrusted)) {
		t.Errorf("a stranger's run among one is played: %v", err)
	}
	if x.Sprung() {
		t.Error("a program was started")
	}
}

// Choices are those of the run's game, without loading its agents.
func TestChoices(t *testing.T) {
	dir, err := trained()
	if err != nil {
		t.Fatal(err)
	}
	c, err := open(t, Config{}).Choices(Ask{Run: Folder{Dir: dir}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Seats != 3 || len(c.Steps) < 2 || len(c.Bots) < 4 || len(c.Planners) != 4 || c.Own[2] != "brief#2" ||
		len(c.Keys) != len(c.Actions) {
		t.Errorf("%+v", c)
	}
}
