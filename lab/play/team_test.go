package play

import (
	"bytes"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/search/truth"
)

// thinking is a team of a planner among bots.
func thinking(t *testing.T, g game.Game, focal game.Seat) (*Team, error) {
	t.Helper()
	names := []string{"plan", "ns", "nh", "random"}
	c := truth.Default()
	c.Plan.Trees, c.Plan.Sims = 4, 20
	p, err := truth.NewPlayer(g, c, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	players := []rollout.Player{p}
	for _, name := range names[1:] {
		b, err := rollout.NewBots(g, name, 1)
		if err != nil {
			t.Fatal(err)
		}
		players = append(players, b)
	}
	return NewTeam(g, names, players, focal, NoHuman)
}

// A frame shows the thoughts before the step that comes next: what the agent
// says that it does is what the next frame shows as done, and who has left has
// no thoughts.
func TestThoughtsBelongToTheNextStep(t *testing.T) {
	g := hunt(t, 4, 0)
	c, err := thinking(t, g, 0)
	if err != nil {
		t.Fatal(err)
	}
	e := started(t, Options{Game: g, Agents: c, Human: NoHuman, GIF: "x"}, 0)
	thoughts := 0
	for seed := range uint64(4) {
		if err := e.reset(seed); err != nil {
			t.Fatal(err)
		}
		for !e.st.Over() {
			was := *e.rec.Last()
			alive := e.st.Alive(0)
			e.step(game.NoAction)
			now := e.rec.Last()
			if (was.Mind != nil) != alive {
				t.Fatalf("seed %d, step %d: thoughts %v of an agent that is alive: %v", seed, was.Step, was.Mind, alive)
			}
			if now.Step != was.Step+1 {
				t.Fatalf("step %d after step %d", now.Step, was.Step)
			}
			if !alive {
				continue
			}
			thoughts++
			if did := g.Spec().Actions[was.Mind.Does]; did != now.Players[0].Action {
				t.Errorf("seed %d, step %d: the thought says %s, the agent did %s", seed, was.Step, did, now.Players[0].Action)
			}
			if len(was.Mind.Line) == 0 || was.Mind.Line[0].Action != was.Mind.Does || was.Mind.Visits[was.Mind.Does] == 0 {
				t.Errorf("seed %d, step %d: does %d, line %v, visits %v", seed, was.Step, was.Mind.Does, was.Mind.Line, was.Mind.Visits)
			}
			for j, b := range was.Mind.Posteriors {
				if b.Left == was.Players[b.Seat].Alive {
					t.Errorf("seed %d, step %d: co-player %d on seat %d is thought to have left: %v", seed, was.Step, j, b.Seat, b.Left)
				}
			}
		}
	}
	if thoughts < 8 {
		t.Errorf("only %d thoughts were looked at", thoughts)
	}
}

func TestThoughtsAreShownInTextAndPicture(t *testing.T) {
	g := hunt(t, 4, 0)
	c, err := thinking(t, g, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	first, _, _ := strings.Cut(played(t, Options{Game: g, Agents: c, Out: &out, Human: NoHuman, Seed: 1}, &out), "step 1 of")
	says(t, first, "seat 0 thinks", "[1] ", "33 %", "visits", "value", "the line it expects", "hs hunt stag")
	c, _ = thinking(t, g, 0)
	e := started(t, Options{Game: g, Agents: c, Human: NoHuman}, 1)
	for _, size := range [][2]int{{100, 30}, {100, 24}, {80, 24}, {40, 12}, {1, 1}} {
		text := e.rec.Last().view(size[0], size[1], nil).String()
		for _, line := range strings.Split(text, "\n") {
			if len([]rune(line)) > size[0] {
				t.Errorf("%v: a line of %d columns: %q", size, len([]rune(line)), line)
			}
		}
		if size[0] == 100 && !strings.Contains(text, "the line it expects") {
			t.Errorf("%v: no line:\n%s", size, text)
		}
	}
	plain := e.rec.Frames()[0]
	plain.Mind = nil
	with, _ := encoded(t, e.rec.Frames())
	without, _ := encoded(t, []Frame{plain})
	if len(with) < len(without)+2000 {
		t.Errorf("the picture has %d bytes with thoughts, %d without", len(with), len(without))
	}
}

func TestTeamsThatCannotThinkAreRefused(t *testing.T) {
	g := hunt(t, 4, 0)
	for _, focal := range []game.Seat{1, 4, -2} {
		if _, err := thinking(t, g, focal); err == nil {
			t.Errorf("the thoughts of seat %d were promised", focal)
		}
	}
	if _, err := NewTeam(g, []string{"ns"}, nil, -1, NoHuman); err == nil {
		t.Error("no players were accepted")
	}
	c, err := thinking(t, g, -1)
	if err != nil {
		t.Fatal(err)
	}
	if err := (Options{Game: g, Agents: c, Out: &bytes.Buffer{}, Human: 0}).Validate(); err == nil {
		t.Error("a person was seated where the team knows of none")
	}
}

// A person joins planners: all others have chosen, and their thoughts are shown,
// when it is the person's turn; what the person chooses is what is played; and an
// end in the middle leaves nothing behind.
func TestPersonJoinsATeam(t *testing.T) {
	defer goleak.VerifyNone(t)
	g := hunt(t, 4, 0)
	for _, seat := range []game.Seat{1, 3} { // asked before others act, and after
		join := func() *Team {
			c, err := thinking(t, g, 0)
			if err == nil {
				c, err = NewTeam(g, c.names, unseen(c), 0, seat)
			}
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		var out bytes.Buffer
		o := Options{Game: g, Agents: join(), Out: &out, Human: seat, Seed: 1, In: strings.NewReader(strings.Repeat("stay\n", 35))}
		text := played(t, o, &out)
		says(t, text, "you ", "your action:", "seat 0 thinks")
		if before, _, _ := strings.Cut(text, "your action:"); !strings.Contains(before, "seat 0 thinks") {
			t.Errorf("seat %d is asked before the thoughts are shown:\n%s", seat, before)
		}
		e := started(t, Options{Game: g, Agents: join(), Human: seat}, 1)
		moved := 0
		for !e.st.Over() && e.waits() {
			legal := e.legal()
			act := int32(0)
			for !legal[act] {
				act++
			}
			does := e.rec.Last().Mind
			e.step(act)
			now := e.rec.Last().Players
			if now[seat].Action != g.Spec().Actions[act] {
				t.Errorf("the person chose %s, and %q was played", g.Spec().Actions[act], now[seat].Action)
			}
			if does != nil && now[0].Action != g.Spec().Actions[does.Does] {
				t.Errorf("the planner thought of %s and played %q", g.Spec().Actions[does.Does], now[0].Action)
			}
			moved++
		}
		if moved == 0 {
			t.Error("the person never chose")
		}
		e.team.settle()
		o.Agents, o.In = join(), strings.NewReader("stay\n")
		if err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "join in a terminal") {
			t.Errorf("an input that ends: %v, want what to do", err)
		}
	}
	if c, err := thinking(t, g, -1); err != nil {
		t.Fatal(err)
	} else if _, err := NewTeam(g, c.names, unseen(c), 0, 0); err == nil || !strings.Contains(err.Error(), "yours") {
		t.Errorf("a person's thoughts were promised: %v", err)
	}
}

// unseen returns a team's players as they were given.
func unseen(c *Team) []rollout.Player {
	var list []rollout.Player
	for _, p := range c.players {
		list = append(list, p.(*eye).Player)
	}
	return list
}

// inferrer is a player that models its co-players and does not search.
type inferrer struct{ rollout.Player }

func (inferrer) Others() []agent.ID { return []agent.ID{1, 2, 3} }

func (inferrer) Read(dst []float64, _, j int) []float64 {
	clear(dst)
	dst[j] = 1
	return nil
}

func (inferrer) InWords(_, j int) ([]string, []float64) {
	return []string{"stag", "hare"}, []float64{0.25 * float64(j), 1 - 0.25*float64(j)}
}

func (inferrer) Decision(int) ([]float32, float32) { return []float32{1}, 0.5 }

// Everybody's mind is kept that can be looked at: of who infers without a search what it
// believes and expects, of bots nothing.
func TestMindsOfAllAreKept(t *testing.T) {
	g := hunt(t, 4, 0)
	c, err := thinking(t, g, NoHuman)
	if err != nil {
		t.Fatal(err)
	}
	c.players[2].(*eye).Player = inferrer{c.players[2].(*eye).Player}
	c.KeepMinds()
	f := started(t, Options{Game: g, Agents: c, Human: NoHuman}, 1).rec.Last()
	if f.Mind != nil || f.Minds[1] != nil || f.Minds[3] != nil || f.Minds[0] == nil || !f.Minds[0].Searched || len(f.Minds[0].Line) == 0 {
		t.Fatalf("minds %v and %v", f.Mind, f.Minds)
	}
	m := f.Minds[2]
	if m.Searched || m.Value != 0.5 || len(m.Policy) != 1 || len(m.Posteriors) != 3 {
		t.Fatalf("%+v", m)
	}
	for j, p := range m.Posteriors {
		if p.Seat != j+1 || p.Left || p.Probs[0] != 0.25*float64(j) || p.Expected[j] != 1 {
			t.Errorf("co-player %d: %+v", j, p)
		}
	}
}
