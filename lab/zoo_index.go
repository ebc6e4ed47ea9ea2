package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hop/agent"
	"hop/game"
	"hop/internal/disk"
	"hop/rollout"
)

// zooFile is a zoo's index: who its members are, and which of them are held out. Runs
// stand in it as they lie below the folder. It is sealed as a whole and by member, so
// that it can be said which of them was changed.
const zooFile = "zoo.json"

type zooIndex struct {
	Members []ZooEntry `json:"members"`
	Check   string     `json:"check"`
}

// readIndex reads the index of a zoo; nothing if there is none. One that an earlier
// program wrote has no seal: that is said, and whoever learns from its members has to
// accept it.
func (l *Lab) readIndex(dir string, learns bool) ([]ZooEntry, error) {
	path := filepath.Join(dir, zooFile)
	var index zooIndex
	err := disk.ReadSealed(path, 64<<20, &index)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, disk.ErrChanged):
		return nil, l.changedIndex(path, index.Members)
	case errors.Is(err, disk.ErrUnsealed) && learns && !l.unsealed():
		return nil, fmt.Errorf("%w. Who is held out stands nowhere else: look through it and accept it with "+
			"--accept-unsealed; hop zoo train then seals it", err)
	case errors.Is(err, disk.ErrUnsealed):
		l.Note("%v", err)
	case err != nil:
		return nil, fmt.Errorf("reading the zoo's index: %w, or remove it: the hop zoo train that made it writes it anew", err)
	}
	for i := range index.Members {
		e := &index.Members[i]
		e.Check = ""
		if e.Run, err = disk.Below(dir, e.Run); err != nil {
			return nil, fmt.Errorf("%s names %s: %w; the hop zoo train that made it trains it anew", path, e.Name, err)
		}
	}
	return index.Members, nil
}

// othersThere refuses an index with members that are not asked for and whose runs are not
// there: it is another zoo's, or a run was lost that this command does not train.
func (l *Lab) othersThere(dir string, index, asked []ZooEntry) error {
	for _, e := range index {
		if slices.ContainsFunc(asked, func(x ZooEntry) bool { return x.Name == e.Name || best+"-"+x.Name == e.Name }) {
			continue
		}
		if _, err := os.Stat(filepath.Join(e.Run, "spec.yaml")); err != nil {
			return fmt.Errorf("%s names %s, whose run is not there (%w); put the run back, or the index of this folder", filepath.Join(dir, zooFile),
				e.Name, err)
		}
	}
	return nil
}

// unsealed says whether records of earlier programs are accepted.
func (l *Lab) unsealed() bool { return l.Reg.Runs != nil && l.Reg.Runs.AcceptUnsealed }

func writeIndex(dir string, list []ZooEntry) error {
	list = slices.Clone(list)
	for i := range list {
		e := &list[i]
		rel, err := filepath.Rel(dir, e.Run)
		if err != nil {
			return err
		}
		e.Run, e.Reused, e.Build, e.CPU = filepath.ToSlash(rel), false, "", 0 // what follows from the command alone
		if e.Check, err = e.sum(); err != nil {
			return err
		}
	}
	return disk.WriteSealed(filepath.Join(dir, zooFile), zooIndex{Members: list})
}

// sum is that of a member as it stands in the index.
func (e ZooEntry) sum() (string, error) {
	e.Check = ""
	b, err := disk.JSON(e)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), err
}

// changedIndex says in what an index differs from the one that was written, as far as
// the members' own sums and runs tell.
func (l *Lab) changedIndex(path string, members []ZooEntry) error {
	var list []string
	for _, e := range members {
		if sum, err := e.sum(); err != nil || sum != e.Check {
			list = append(list, l.changedMember(filepath.Dir(path), e))
		}
	}
	if len(list) == 0 {
		list = append(list, "members were added or left out, or the seal itself is another one")
	}
	when := ""
	if info, err := os.Stat(path); err == nil {
		when = " (the last time " + info.ModTime().UTC().Format(time.RFC3339) + ")"
	}
	return fmt.Errorf("%s was changed after hop zoo train wrote it%s: %s; put it back from a copy, or remove it and give "+
		"the same hop zoo train "+
		"again, which keeps the runs and writes it anew", path, when, strings.Join(list, "; "))
}

// changedMember finds the one value that, put back, makes a member what it was: the
// other answer to whether it is held out, or what its run has.
func (l *Lab) changedMember(dir string, e ZooEntry) string {
	run, err := disk.Below(dir, e.Run)
	var own ZooEntry
	if err == nil {
		own, err = l.zooEntry(run)
	}
	for _, f := range []struct {
		name    string
		is, was any
		set     func(e *ZooEntry)
	}{
		{"held_out", e.HeldOut, !e.HeldOut, func(e *ZooEntry) { e.HeldOut = !e.HeldOut }},
		{"seed", e.Seed, own.Seed, func(e *ZooEntry) { e.Seed = own.Seed }},
		{"status", e.Status, own.Status, func(e *ZooEntry) { e.Status = own.Status }},
		{"mean", e.Mean, own.Mean, func(e *ZooEntry) { e.Mean = own.Mean }},
		{"env_steps", e.EnvSteps, own.EnvSteps, func(e *ZooEntry) { e.EnvSteps = own.EnvSteps }},
	} {
		back := e
		if f.set(&back); err == nil || f.name == "held_out" {
			if sum, err := back.sum(); err == nil && sum == e.Check {
				return fmt.Sprintf("%s of %s is %v, was %v", f.name, e.Name, f.is, f.was)
			}
		}
	}
	return e.Name + " is not as it was written"
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
