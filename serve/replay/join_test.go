package replay

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hop-marl/hop/agent/hop/pretrained"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/play"
	model "github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/played"
	"github.com/hop-marl/hop/train/prepare"
)

// trainedAt is where the run of these tests is.
var trainedAt = func() string {
	dir, err := os.MkdirTemp("", "theatre")
	if err != nil {
		panic(err)
	}
	return dir
}()

// modelled is a player with a world model.
type modelled struct {
	m *model.Model
	p *nn.Params
}

func (modelled) Act(*rollout.View, []int32)      {}
func (modelled) Evaluate(*rollout.View, []int32) {}
func (m modelled) Models() pretrained.Models     { return pretrained.Models{World: m.m, Steps: m.p} }

// turnIn is a turn as a client reads it.
type turnIn struct {
	stepIn
	Legal []bool
	Moves []int32
}

// turns reads what a session has shown so far.
func turns(t *testing.T, s *Session) (list []turnIn) {
	t.Helper()
	s.log.Lock()
	defer s.log.Unlock()
	for _, e := range s.events {
		if e.Name != "turn" {
			continue
		}
		var x turnIn
		if err := json.Unmarshal(e.Data, &x); err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	return list
}

// first plays the first legal action to the end, or the last.
func first(t *testing.T, s *Session, last bool) []turnIn {
	t.Helper()
	for {
		all := turns(t, s)
		now := all[len(all)-1]
		if now.Legal == nil {
			return all
		}
		act := slices.Index(now.Legal, true)
		for k, ok := range now.Legal {
			if last && ok {
				act = k
			}
		}
		if err := s.Act(len(now.Moves), int32(act)); err != nil {
			t.Fatal(err)
		}
	}
}

// Two people at two seats play apart, none of them sees what anybody thinks, and what they
// played opens afterwards as the same episode, with what was thought of them.
func TestPeopleJoin(t *testing.T) {
	th := open(t, Config{})
	ask := Ask{Game: "staghunt", Team: team("plan-infer", "you", "nh", "plan-infer"), Seed: 5, Human: 1}
	one, err := th.Join(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	two, err := th.Join(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := th.Session(one.ID); err != nil || again != one || one.ID == two.ID {
		t.Fatalf("the session %s is %v, %v", one.ID, again, err)
	}
	other := first(t, two, true)
	all := first(t, one, false)
	if last, end := all[len(all)-1], other[len(other)-1]; !last.Over || !end.Over || last.Text == end.Text {
		t.Errorf("two people ended at\n%s\nand\n%s", last.Text, end.Text)
	}
	for i, x := range all {
		if x.Minds != nil {
			t.Errorf("step %d: the person sees thoughts", i)
		}
	}
	if s, err := th.Session(one.ID); err != nil || s != one {
		t.Errorf("an episode that is just over is not found: %v", err)
	}
	if err := one.Act(0, 0); !errors.As(err, new(Gone)) {
		t.Errorf("a move after the end: %v", err)
	}
	ask.Moves = all[len(all)-1].Moves
	p := watch(t, th, ask)
	if len(p.steps) != len(all) {
		t.Fatalf("%d steps were played, %d are shown", len(all), len(p.steps))
	}
	for i, s := range p.steps {
		if s.Text != all[i].Text {
			t.Errorf("step %d was\n%s\nand is shown as\n%s", i, all[i].Text, s.Text)
		}
	}
	held := slices.ContainsFunc(p.sums, func(x sum) bool { return x.By == 0 && x.Of == 1 && x.Steps > 0 && x.Asked > 0 && x.Last != "" })
	if !held {
		t.Errorf("what seat 0 held of the person is not summed up: %+v", p.sums)
	}
}

// A move whose answer was lost may be sent again, and is made once; others are refused.
func TestMovesAreMadeOnce(t *testing.T) {
	th := open(t, Config{})
	s, err := th.Join(t.Context(), Ask{Game: "staghunt", Team: team("you", "nh", "nh", "nh"), Seed: 1, Human: 0})
	if err != nil {
		t.Fatal(err)
	}
	legal := turns(t, s)[0].Legal
	act := int32(slices.Index(legal, true))
	for range 2 {
		if err := s.Act(0, act); err != nil {
			t.Fatal(err)
		}
	}
	if got := turns(t, s); len(got) != 2 {
		t.Errorf("%d turns after one move, want 2", len(got))
	}
	for _, bad := range []struct {
		at  int
		act int32
	}{{0, act + 1}, {2, act}, {1, -1}, {1, 99}, {-1, 0}} {
		if err := s.Act(bad.at, bad.act); err == nil {
			t.Errorf("%+v was played", bad)
		}
	}
	s.Leave()
	s.Leave()
}

// A seat where nobody moves is given up, and there are so many and no more.
func TestSessionsExpire(t *testing.T) {
	th := open(t, Config{Sessions: 2, Idle: 100 * time.Millisecond})
	ask := Ask{Game: "staghunt", Team: team("plan-infer", "you", "nh", "nh"), Human: 1}
	var seats []*Session
	for range 2 {
		s, err := th.Join(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		seats = append(seats, s)
	}
	if _, err := th.Join(t.Context(), ask); !errors.As(err, new(Busy)) {
		t.Errorf("a third person: %v", err)
	}
	for _, s := range seats {
		at := 0
		for {
			events, err := s.Next(t.Context(), at)
			if at += len(events); err == nil && len(events) > 0 {
				continue
			}
			if !errors.As(err, new(Gone)) || !strings.Contains(err.Error(), "nobody moved") {
				t.Errorf("the seat was given up with %v", err)
			}
			break
		}
	}
	s, err := th.Join(t.Context(), ask)
	if err != nil {
		t.Fatalf("a seat that was given up is not free: %v", err)
	}
	s.Leave()
	if _, err := th.Session("nobody"); !errors.As(err, new(Gone)) {
		t.Errorf("a session that there never was: %v", err)
	}
	if _, err := th.Join(t.Context(), Ask{Game: "staghunt", Human: play.NoHuman}); err == nil {
		t.Error("somebody joined without a seat")
	}
}

// What people play is recorded under their names, if it is to be, and is a co-player like any
// other: here somebody who takes the nearest hare, among whom one does best to do so too.
func TestWhatPeoplePlayIsRecorded(t *testing.T) {
	dir := t.TempDir()
	th := open(t, Config{Record: dir})
	ask := Ask{Game: "staghunt", Team: team("ns", "you", "nh", "help(stag,nh)"), Human: 1}
	for _, name := range []string{"", "../anna", "a b"} {
		ask.Person = name
		if _, err := th.Join(t.Context(), ask); !errors.As(err, new(Unreadable)) || !strings.Contains(err.Error(), "recorded under a name") {
			t.Errorf("the name %q: %v", name, err)
		}
	}
	ask.Person = "anna"
	moves := 0
	for ask.Seed = 1; ask.Seed <= 16; ask.Seed++ {
		s, err := th.Join(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		hare, err := game.NewBot(s.scene.game, "nh")
		if err != nil {
			t.Fatal(err)
		}
		for r := rng.New(ask.Seed).Rand(); s.ep != nil; moves++ {
			if err := s.Act(len(s.moves), hare.Act(s.ep.State(), 1, &r)); err != nil {
				t.Fatal(err)
			}
		}
	}
	s, err := th.Join(t.Context(), ask) // somebody who gives the seat up leaves nothing
	if err != nil {
		t.Fatal(err)
	}
	s.Leave()
	who := filepath.Join(dir, "anna")
	list, err := played.Read(who)
	if err != nil {
		t.Fatal(err)
	}
	steps := 0
	for _, e := range list {
		steps += len(e.Steps)
	}
	if len(list) != 16 || steps != moves {
		t.Errorf("%d episodes with %d moves are recorded, 16 with %d were played", len(list), steps, moves)
	}
	g, err := th.c.Lab.GameWith("staghunt", nil)
	if err != nil {
		t.Fatal(err)
	}
	adapt := prepare.DefaultAdapt()
	adapt.VS, adapt.Lives, adapt.Steps, adapt.Last = slices.Repeat([]string{"played:" + who}, 3), 4, 200, 100
	table, err := th.c.Lab.Adapt(t.Context(), adapt, lab.Site{Game: g, Runs: []string{"nh", "ns"}})
	if err != nil {
		t.Fatal(err)
	}
	hare, stag := table.Table[0], table.Table[1]
	if hare.Score < .9 || hare.Score < 2*stag.Score || hare.Known || hare.VS[0] != "played:"+who {
		t.Errorf("among three of somebody who takes hares nh earns %v and ns %v; it is called %v, known %v", hare.Score, stag.Score, hare.VS,
			hare.Known)
	}
	p := Ask{Game: "staghunt", Team: team("ns", "played:"+who, "nh", "nh"), Human: play.NoHuman}
	if _, err := view(t, th, p); err == nil || !strings.Contains(err.Error(), "not here") {
		t.Errorf("an address names a folder: %v", err)
	}
}
