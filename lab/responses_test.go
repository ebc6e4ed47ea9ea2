package lab

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/game/stranger"
	"github.com/hop-marl/hop/num/cpu"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
)

var writeResponses = flag.Bool("responses", false, "measure 30 best responses and write docs/results/best-responses.md: half an hour")

// measured is what was found of the best response to one stranger.
type measured struct {
	text           string
	value          stats.Acc // the oracle's, by start
	played, learnt stats.Acc // what its policy, and a PPO, earned less that value, by start
	states         int       // of a start, the most
	millis         float64   // of processor time, a start
}

// measure plays the best response to three of a stranger, and a PPO that learnt against them,
// from the same starts, and solves each start.
func measure(t *testing.T, l *Lab, of spec.Game, g game.Game, text string, lives, episodes, steps int) *measured {
	t.Helper()
	vs := []string{text, text, text}
	out := &measured{text: text}
	br, err := Member(g, append([]string{"br"}, vs...), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	ppo, err := l.learnt(t.Context(), of, g, vs, steps)
	if err != nil {
		t.Fatal(err)
	}
	key := rng.New(1).Child("responses")
	lived := make([]map[start]float64, 2)
	for i, focal := range []eval.Member{br, ppo} {
		run := eval.Adaptation{Game: g, Team: []eval.Member{focal}, Lives: lives, Key: key, Workers: 1,
			Episodes: slices.Repeat([]int{episodes}, lives)}
		for _, name := range vs {
			run.Team = append(run.Team, eval.Bot(g, name))
		}
		res, err := run.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		lived[i] = map[start]float64{}
		for _, e := range res.Episodes {
			lived[i][startOf(e)] = e.Return
		}
	}
	solver, err := oracle.NewBR(g, 1)
	if err != nil {
		t.Fatal(err)
	}
	watch := cpu.Start()
	team := append([]string{""}, vs...)
	err = oracle.Starts(g, key, lives, lives*episodes, false, team, agent.ID(0),
		func(env, index int, st game.State, seat game.Seat, bots []string) error {
			v, err := solver.Value(st, seat, bots)
			out.value.Add(v)
			out.played.Add(lived[0][start{env, index}] - v)
			out.learnt.Add(lived[1][start{env, index}] - v)
			out.states = max(out.states, solver.States())
			return err
		})
	if err != nil {
		t.Fatal(err)
	}
	spent, _ := watch.Spent()
	out.millis = 1000 * spent / float64(out.value.N())
	return out
}

// holds reports whether the policy earns the value, and a PPO no more, within four standard errors.
func (m *measured) holds() bool {
	return m.played.Mean() <= 4*m.played.SE()+1e-6 && -m.played.Mean() <= 4*m.played.SE()+1e-6 && m.learnt.Mean() <= 4*m.learnt.SE()+1e-6
}

// The value of a best response is what its policy earns, and nobody who learns earns more. With
// -responses, over 30 strangers of the test split, into a page of docs/results.
func TestBestResponsesEarnTheirValue(t *testing.T) {
	cache := t.TempDir()
	for _, where := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(where, cache)
	}
	l := &Lab{Reg: registry.New()}
	of, err := l.GameWith("staghunt", []string{"game.stags=2"})
	if err != nil {
		t.Fatal(err)
	}
	g, err := of.Build()
	if err != nil {
		t.Fatal(err)
	}
	if !*writeResponses {
		for _, text := range []string{"if(waits(stag),ns,nh)", "slow(go(stag,last),3)"} {
			if m := measure(t, l, of, g, text, 4, 8, 20_000); !m.holds() {
				t.Errorf("%s: worth %.3f, played for %+.3f ± %.3f, learnt for %+.3f ± %.3f", text, m.value.Mean(), m.played.Mean(), m.played.SE(),
					m.learnt.Mean(), m.learnt.SE())
			}
		}
		return
	}
	_, list, err := stranger.List(g, stranger.Test)
	if err != nil {
		t.Fatal(err)
	}
	c := &adapting{Lab: l, Adapt: prepare.DefaultAdapt(), turns: make(chan struct{}, 1)}
	var solved []string
	for _, text := range list {
		p := part{vs: []string{text, text, text}}
		if bot, err := game.NewBot(g, text); err != nil {
			t.Fatal(err)
		} else if _, remembers := bot.(game.Watcher); remembers {
			continue
		}
		if err := c.closed(t.Context(), g, &p); err != nil {
			t.Fatal(err)
		}
		if p.exact {
			solved = append(solved, text)
		}
	}
	const lives, episodes = 8, 6
	var rows strings.Builder
	held := 0
	for _, text := range thin(solved, 30) {
		m := measure(t, l, of, g, text, lives, episodes, learntSteps)
		says := "no"
		if m.holds() {
			says, held = "yes", held+1
		}
		line := fmt.Sprintf("| `%s` | %.3f | %+.3f ± %.3f | %+.3f ± %.3f | %s | %d | %.1f |\n", text, m.value.Mean(),
			m.played.Mean(), m.played.SE(), m.learnt.Mean(), m.learnt.SE(), says, m.states, m.millis)
		rows.WriteString(line)
		t.Log(line)
	}
	page := fmt.Sprintf(`# Tables: exact best responses

What they mean: [strangers](../strangers.md#best-responses).
Written by `+"`go test ./lab -run EarnTheirValue -responses -timeout 3h`"+`, kernels %s.

Stag hunt 4x4, two stags, three of each stranger of the test split; 30 of the %d (of %d) that can be solved start by start within
%d steps of the rules a start, evenly spread over them. Value: of the oracle, mean over %d starts. Its policy, and a PPO that learnt
against these very co-players for %d env steps, played each of these starts once: what they earned less the value, with its standard
error. Right: the policy's difference is within four standard errors of 0, and the PPO's not above that. States: the most of a start;
ms: processor time a start.

| stranger | value | its policy less that | PPO less that | right | states | ms |
|---|---|---|---|---|---|---|
%s
%d of 30 are right.
`, f32.Kernels(), len(solved), len(list), mostSteps, lives*episodes, learntSteps, rows.String(), held)
	if err := os.WriteFile("../docs/results/best-responses.md", []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	if held < 30 {
		t.Errorf("%d of 30 are right", held)
	}
}
