package lab

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/spec"
)

// learntName is what a best response is called that learnt against the very co-players.
const learntName = "PPO learnt against it"

// learntSteps is how long it learns: ten seconds of a core on a board of 4x4.
const learntSteps = 3_000_000

// learnt returns a PPO that learnt against these co-players in this game, with the settings of
// the game's preset and steps that get smaller. It is kept in the user's cache, in a folder named
// by all that it follows from: the spec, its seed, and the program.
func (l *Lab) learnt(ctx context.Context, of spec.Game, g game.Game, vs []string, steps int) (eval.Member, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return eval.Member{}, fmt.Errorf("a place for what is learnt: %w", err)
	}
	reg := *l.Reg
	reg.Runs = &runlog.Reader{} // what is kept for speed is nothing that a page names
	quiet := &Lab{Reg: &reg, Version: l.Version, Command: l.Command}
	team := []string{"learn"}
	for _, name := range vs {
		team = append(team, strconv.Quote(game.Called(g, name)))
	}
	sum := sha256.Sum256([]byte(l.Build().Line() + strings.Join(team, ",")))
	b := Breed{Name: "against-" + hex.EncodeToString(sum[:8]), apart: true, latest: true,
		set: []string{"train.team=[" + strings.Join(team, ",") + "]", "ppo.lr_end=1e-4", "ppo.entropy_end=1e-3"}}
	at := Site{Game: of, Dir: filepath.Join(cache, "hop", "learnt")}
	run, err := quiet.raise(ctx, prepare.Zoo{Seed: 1, Steps: steps, Workers: 1}, at, b, 1)
	if err != nil {
		return eval.Member{}, err
	}
	m, err := reg.Member(g, run.Address(0))
	m.Name = learntName
	return m, err
}
