package rollout_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
)

// TestBotsRemember plays on from saved bots and from the ones that were saved.
func TestBotsRemember(t *testing.T) {
	g := stagHunt(t, nil)
	const n = 40
	bots := func(name string) *rollout.Bots { return bots(t, g, name, n) }
	ns, switcher := bots("ns"), bots("switcher")
	team := func(switcher *rollout.Bots) [][]rollout.Player {
		return [][]rollout.Player{{bots("random"), bots("nh"), switcher, bots("random")}}
	}
	one := envs(t, rollout.Config{Game: g, Envs: n, Key: rng.New(5), Workers: 1})
	ro := batch.New(one.Shape(60, 0))
	one.Collect(ro, team(switcher))

	state, err := one.AppendBinary(nil)
	must(t, err)
	memory, err := switcher.AppendBinary([]byte("before"))
	must(t, err)
	memory, ok := bytes.CutPrefix(memory, []byte("before"))
	if fresh, err := bots("switcher").AppendBinary(nil); !ok || err != nil || bytes.Equal(fresh, memory) {
		t.Fatalf("the switchers remember %x (%v), a fresh one the same: nothing is tested", memory, err)
	}
	if b, err := ns.AppendBinary(nil); err != nil || len(b) != 0 || ns.UnmarshalBinary(b) != nil {
		t.Errorf("bots without memory are saved as %x (%v), want nothing", b, err)
	}

	two := envs(t, rollout.Config{Game: g, Envs: n, Key: rng.New(6), Workers: 1})
	must(t, two.UnmarshalBinary(state))
	loaded := bots("switcher")
	must(t, loaded.UnmarshalBinary(memory))
	other := batch.New(two.Shape(60, 0))
	one.Collect(ro, team(switcher))
	two.Collect(other, team(loaded))
	if field := differs(ro, other); field != "" {
		t.Errorf("%s differs between bots that were loaded and those that were saved", field)
	}

	for name, b := range map[string][]byte{
		"nothing": {}, "cut short": memory[:len(memory)-1], "cut within a length": memory[:2], "too long": append(memory, 0),
		"a huge length": append([]byte{255, 255, 255, 255}, memory[4:]...), "another value": append([]byte{1, 0, 0, 0, 9}, memory[5:]...),
		"an empty memory": append([]byte{0, 0, 0, 0}, memory[5:]...),
	} {
		if err := bots("switcher").UnmarshalBinary(b); err == nil {
			t.Errorf("%s is taken for %d switchers' memory", name, n)
		}
	}
}

func TestBotsWhoseMemoryCannotBeSavedSaySo(t *testing.T) {
	b := bots(t, toy{seats: 1, horizon: 9}, "counter", 2)
	if _, err := b.AppendBinary(nil); err == nil || !strings.Contains(err.Error(), "counter remembers episodes but cannot be saved") {
		t.Errorf("saving a counter: %v, want that it cannot be saved", err)
	}
	if err := b.UnmarshalBinary(make([]byte, 8)); err == nil {
		t.Error("a memory was loaded into bots that cannot load one")
	}
}

// A bot is made when its env first asks for it: of a population most are never dealt.
func TestBotsAreMadeWhenTheyPlay(t *testing.T) {
	g, made := stagHunt(t, nil), 0
	b, err := rollout.BotsOf(func() (game.Bot, error) { made++; return game.NewBot(g, "ns") }, 6)
	if err != nil {
		t.Fatal(err)
	}
	if made != 1 { // to see that it can be
		t.Errorf("%d bots were made before anybody played, want 1", made)
	}
	e := envs(t, rollout.Config{Game: g, Envs: 6, Key: rng.New(1), Workers: 1})
	if e.Collect(batch.New(e.Shape(8, 0)), [][]rollout.Player{{b, b, b, b}}); made != 6 {
		t.Errorf("%d bots were made in 6 envs, want 6", made)
	}
}
