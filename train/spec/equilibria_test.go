package spec_test

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
)

// final trains a preset and plays its agents.
func final(t *testing.T, preset string, seed uint64, episodes int, sets ...string) *eval.Result {
	t.Helper()
	s, err := registry.New().Load(preset, sets)
	if err != nil {
		t.Fatal(err)
	}
	yaml, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	run, err := runlog.Create(dir, yaml, runlog.Info{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	loop, err := s.Build(seed, spec.Machine{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := loop.Run(context.Background(), run, nil); err != nil {
		t.Fatal(err)
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	agents, err := registry.New().LoadAgents(dir)
	if err != nil {
		t.Fatal(err)
	}
	res, err := eval.Run(context.Background(), eval.Config{Game: agents.Game, Team: agents.Members, Episodes: episodes,
		Key: rng.New(seed).Child("test")})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// Selfish learners end at an equilibrium of the stage game, the known values of
// which stand in package matrix.
func TestMatrixGamesEndAtEquilibria(t *testing.T) {
	for _, c := range []struct {
		matrix string
		ends   [][2]float64 // the values of the equilibria that learners can settle on
		tol    float64
	}{
		{"pd", [][2]float64{{1, 1}}, 0.1},
		{"staghunt", [][2]float64{{4, 4}, {2, 2}}, 0.15},
		{"chicken", [][2]float64{{4, 1}, {1, 4}}, 0.15},
		{"rps", [][2]float64{{0, 0}}, 0.2},
	} {
		t.Run(c.matrix, func(t *testing.T) {
			sets := []string{"game.matrix=" + c.matrix, "game.rounds=1", "train.steps=60000"}
			if c.matrix == "rps" {
				// Policy gradients circle around a mixed equilibrium; entropy draws them in.
				sets = append(sets, "ppo.entropy=0.3", "ppo.entropy_end=0.3")
			}
			res := final(t, "ppo-matrix", 3, 2000, sets...)
			got := [2]float64{res.Return[0].Mean(), res.Return[1].Mean()}
			ok := false
			for _, e := range c.ends {
				ok = ok || math.Abs(got[0]-e[0]) < c.tol && math.Abs(got[1]-e[1]) < c.tol
			}
			if !ok {
				t.Errorf("the agents get %.3f, want one of %v", got, c.ends)
			}
			if c.matrix != "rps" {
				return
			}
			for a := range res.Goals {
				for k := range res.Goals[a] {
					if p := res.Goals[a][k].Mean(); math.Abs(p-1./3) > 0.2 {
						t.Errorf("agent %d plays action %d with probability %.2f, want about a third", a, k, p)
					}
				}
			}
		})
	}
}

// The finitely repeated prisoner's dilemma has one equilibrium outcome: both
// defect in every round.
func TestRepeatedDilemmaEndsInDefection(t *testing.T) {
	res := final(t, "ppo-matrix", 1, 500)
	for a := range res.Return {
		if got := res.Return[a].Mean(); got > 12 || got < 9 {
			t.Errorf("agent %d gets %.2f over ten rounds, want about 10", a, got)
		}
	}
}
