package play

import (
	"bytes"
	"strings"
	"testing"

	"hop/game"
	"hop/plan/truth"
	"hop/rollout"
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
	return NewTeam(g, names, players, focal)
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
	if _, err := NewTeam(g, []string{"ns"}, nil, -1); err == nil {
		t.Error("no players were accepted")
	}
	c, err := thinking(t, g, -1)
	if err != nil {
		t.Fatal(err)
	}
	if err := (Options{Game: g, Agents: c, Out: &bytes.Buffer{}, Human: 0}).Validate(); err == nil {
		t.Error("a person was seated among planners")
	}
}
