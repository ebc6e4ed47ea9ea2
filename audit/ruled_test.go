package audit_test

import (
	"strings"
	"testing"

	"github.com/hop-marl/hop/audit"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/spec"
)

// A game that does not play by the parameters of its spec is named, by what a
// step paid. The replay, which plays on the game's own rules, cannot see it.
func TestAGameThatPaysOtherwiseIsNamed(t *testing.T) {
	s := load(t, "ppo-4x4", true)
	opt := audit.Options{Seeds: []uint64{1}, Updates: 2, Game: []check.Finding{}}
	opt.Change = func(_ *spec.Spec, p *train.Parts) {
		c := staghunt.Default()
		c.StagPays = 40
		g, err := staghunt.New(c)
		must(t, err)
		p.Game = g
	}
	r, err := audit.Spec(t.Context(), s, opt)
	must(t, err)
	if r.Verdict != check.Fault || r.Module != "game" || !strings.Contains(r.Says, "who hunts a stag with") {
		t.Errorf("got %v in %q: %s", r.Verdict, r.Module, r.Says)
	}
}
