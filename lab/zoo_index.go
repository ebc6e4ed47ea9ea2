package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"hop/agent"
	"hop/game"
	"hop/internal/disk"
	"hop/rollout"
)

// zooFile is a zoo's index: who its members are, and which of them are held out. Runs
// stand in it as they lie below the folder.
const zooFile = "zoo.json"

type zooIndex struct {
	Members []ZooEntry `json:"members"`
}

// readIndex reads the index of a zoo; nothing if there is none.
func readIndex(dir string) ([]ZooEntry, error) {
	path := filepath.Join(dir, zooFile)
	b, err := disk.Read(path, 64<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var index zooIndex
	if err == nil {
		err = json.Unmarshal(b, &index)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the zoo's index %s: %w; hop zoo train writes it anew once it is removed", path, err)
	}
	for i := range index.Members {
		e := &index.Members[i]
		if e.Run, err = disk.Below(dir, e.Run); err != nil {
			return nil, fmt.Errorf("%s names %s: %w; the hop zoo train that made it trains it anew", path, e.Name, err)
		}
	}
	return index.Members, nil
}

func writeIndex(dir string, list []ZooEntry) error {
	list = slices.Clone(list)
	for i := range list {
		e := &list[i]
		rel, err := filepath.Rel(dir, e.Run)
		if err != nil {
			return err
		}
		e.Run, e.Reused, e.Build, e.CPU = filepath.ToSlash(rel), false, "", 0 // what follows from the command alone
	}
	return disk.WriteJSON(filepath.Join(dir, zooFile), zooIndex{list})
}

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
	zoo, err := l.Zoo(dir)
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
