package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/stranger"
	"github.com/hop-marl/hop/lab/zoo"
	"github.com/hop-marl/hop/num/disk"
)

// readIndex reads the index of a zoo; nothing if there is none. One that an earlier
// program wrote has no seal: that is said, and whoever learns from its members has to
// accept it.
func (l *Lab) readIndex(dir string, learns bool) ([]ZooEntry, error) {
	list, err := zoo.Read(dir, func(run string) (ZooEntry, error) { e, err := l.zooEntry(run); return e.ZooEntry, err })
	switch {
	case !errors.Is(err, disk.ErrUnsealed):
		return list, err
	case learns && !l.unsealed():
		return nil, fmt.Errorf("%w. Who is held out stands nowhere else: look through it and accept it with --accept-unsealed; "+
			"hop zoo train then seals it", err)
	}
	l.Note("%v", err)
	return list, nil
}

// othersThere refuses an index with members that are not asked for and whose runs are not
// there: it is another zoo's, or a run was lost that this command does not train.
func (l *Lab) othersThere(dir string, index, asked []ZooEntry) error {
	for _, e := range index {
		if slices.ContainsFunc(asked, func(x ZooEntry) bool { return x.Name == e.Name || best+"-"+x.Name == e.Name }) {
			continue
		}
		if _, err := os.Stat(filepath.Join(e.Run, "spec.yaml")); err != nil {
			return fmt.Errorf("%s names %s, whose run is not there (%w); put the run back, or the index of this folder",
				filepath.Join(dir, zoo.File), e.Name, err)
		}
	}
	return nil
}

// unsealed says whether records of earlier programs are accepted.
func (l *Lab) unsealed() bool { return l.Reg.Runs != nil && l.Reg.Runs.AcceptUnsealed }

// Population is the members of a zoo that a game's learners may learn from.
type Population struct {
	Names []string // of all that are not held out
	lab   *Lab
	dir   string
	game  game.Game
	zoo   []ZooEntry // of the game, held-out ones too
}

// Population reads the zoo of a folder for a game.
func (l *Lab) Population(dir string, g game.Game, about map[string]any) (*Population, error) {
	zoo, err := l.zoo(dir, true)
	if err != nil {
		return nil, err
	}
	p := &Population{lab: l, dir: dir, game: g}
	for _, e := range zoo {
		if e.SHA256 == "" || l.GameWords(e.Game) != l.GameWords(about) {
			continue
		}
		if p.zoo = append(p.zoo, e); !e.HeldOut {
			p.Names = append(p.Names, e.Name)
		}
	}
	if len(p.Names) == 0 {
		return nil, Misused("--zoo %s: it has no members for %s that may be learnt from; hop zoo train makes some", dir, l.GameWords(about))
	}
	return p, nil
}

// find returns a member that may be learnt from.
func (p *Population) find(name string) (*ZooEntry, error) {
	for i := range p.zoo {
		switch e := &p.zoo[i]; {
		case e.Name != name:
		case e.HeldOut:
			return nil, Misused("%s is held out in the zoo %s: it is there to be met as a stranger, and nothing may learn from it", name, p.dir)
		default:
			return e, nil
		}
	}
	return nil, Misused("%s is no member of the zoo %s; there are %s", name, p.dir, strings.Join(p.Names, ", "))
}

// Players makes players of a member in an agent's place, one for each worker: the
// agent of that number of its run.
func (p *Population) Players(name string, a agent.ID, workers, envs int) ([]rollout.Player, error) {
	e, err := p.find(name)
	if err != nil {
		return nil, err
	}
	m, err := p.lab.Reg.Member(p.game, e.Address(int(a)))
	if err != nil {
		return nil, err
	}
	return m.Players(workers, envs)
}

// Held is what the members of these names hold, wherever they lie: the hash of each one's
// checkpoint, by name.
func (p *Population) Held(names []string) (map[string]string, error) {
	held := map[string]string{}
	for _, name := range names {
		e, err := p.find(name)
		if err != nil {
			return nil, err
		}
		at, err := p.lab.Reg.Runs.At(e.Run, e.Step)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(at.Body)
		if held[name] = hex.EncodeToString(sum[:]); held[name] != e.SHA256 {
			return nil, fmt.Errorf("%s: the checkpoint of env step %d is not the one of the zoo's index; the hop zoo train that made it mends it",
				e.Run, e.Step)
		}
	}
	return held, nil
}

// SplitOf returns the split that a member of a zoo is in: that of its kind. A member of the train
// split is learnt from and one of the others is held out; who is otherwise is in none, "".
func (l *Lab) SplitOf(e *ZooEntry) stranger.Split {
	for _, b := range Breeds(l.Reg) {
		if b.Name == e.Kind && e.HeldOut == (b.Split != stranger.Train) {
			return b.Split
		}
	}
	return ""
}

// ZooStrangers lists the members of a zoo for a game that are in a split, or in any.
func (l *Lab) ZooStrangers(dir string, about map[string]any, split string) (list StrangerList, err error) {
	splits, err := splitsOf(split)
	if err != nil {
		return nil, err
	}
	zoo, err := l.Zoo(dir)
	if err != nil {
		return nil, err
	}
	if len(zoo) == 0 {
		return nil, Misused("--zoo %s: it holds no co-players; train some with: hop zoo train --out %[1]s", dir)
	}
	for i := range zoo {
		e := &zoo[i]
		if s := l.SplitOf(e); slices.Contains(splits, s) && e.Status == "done" && l.GameWords(e.Game) == l.GameWords(about) {
			list = append(list, Named{e.Name, about["name"].(string), e.Name, s})
		}
	}
	return list, nil
}
