package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/lab/zoo"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/store/runlog"
)

// sealedZoo is a zoo with a member, its youth and one that is held out, and everything that reads it.
func sealedZoo(t *testing.T, l *Lab, steps int) (c zooAsk, readers map[string]func() error) {
	t.Helper()
	c = smallZoo(t)
	c.Who, c.Steps = []string{"selfish-3", "selfish-3-young"}, steps
	if _, err := l.TrainZoo(t.Context(), c.Zoo, c.Site); err != nil {
		t.Fatal(err)
	}
	g, err := c.build()
	if err != nil {
		t.Fatal(err)
	}
	about, err := c.Game.Map()
	if err != nil {
		t.Fatal(err)
	}
	return c, map[string]func() error{
		"list, adapt": func() error { _, err := l.Zoo(c.Dir); return err },
		"pretrain":    func() error { _, err := l.Population(c.Dir, g, about); return err },
		"zoo train":   func() error { _, err := l.TrainZoo(t.Context(), c.Zoo, c.Site); return err },
	}
}

// Whoever reads a zoo whose index was changed refuses it, and says what was changed.
func TestAChangedIndexIsRefusedAndNamed(t *testing.T) {
	c, readers := sealedZoo(t, quiet(), 500)
	path := filepath.Join(c.Dir, zoo.File)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(good)
	member := text[strings.Index(text, "    {"):strings.Index(text, "    {\n      \"name\": \"selfish-3-young\"")]
	for name, try := range map[string]struct{ is, want string }{
		"one to learn from":    {strings.Replace(text, `"held_out": true`, `"held_out": false`, 1), "held_out of prosocial-2 is false, was true"},
		"one to hold out":      {strings.Replace(text, `"held_out": false`, `"held_out": true`, 1), "held_out of selfish-3 is true, was false"},
		"another seed":         {strings.Replace(text, `"seed": 2`, `"seed": 3`, 1), "seed of prosocial-2 is 3, was 2"},
		"another checkpoint":   {strings.Replace(text, `"sha256": "`, `"sha256": "0`, 1), "selfish-3 is not as it was written"},
		"one that is left out": {strings.Replace(text, member, "", 1), "members were added or left out"},
	} {
		if try.is == text {
			t.Fatalf("%s: nothing is changed in\n%s", name, text)
		}
		if err := os.WriteFile(path, []byte(try.is), 0o644); err != nil {
			t.Fatal(err)
		}
		for who, read := range readers {
			err := read()
			if err == nil || !strings.Contains(err.Error(), zoo.File+" was changed after") || !strings.Contains(err.Error(), try.want) {
				t.Errorf("%s, read by %s: got %v, want %q", name, who, err, try.want)
			}
		}
	}
	if err := os.WriteFile(path, good, 0o644); err != nil {
		t.Fatal(err)
	}
	for who, read := range readers {
		if err := read(); err != nil {
			t.Errorf("%s refuses what was put back: %v", who, err)
		}
	}
}

// An index without a seal is listed with a word and learnt from only when that is
// accepted; the next hop zoo train seals it.
func TestAnUnsealedIndexIsAcceptedOrRefused(t *testing.T) {
	l, notes := quiet(), ""
	l.Watch = func(n News) {
		if n.Kind == Noted {
			notes += n.Text + "\n"
		}
	}
	c, readers := sealedZoo(t, l, 500)
	path := filepath.Join(c.Dir, zoo.File)
	var index struct {
		Members []ZooEntry `json:"members"`
	}
	if err := disk.ReadSealed(path, 1<<20, &index); err != nil {
		t.Fatal(err)
	}
	for i := range index.Members {
		index.Members[i].Check = ""
	}
	if err := disk.WriteJSON(path, map[string]any{"members": index.Members}); err != nil {
		t.Fatal(err)
	}
	if err := readers["list, adapt"](); err != nil || !strings.Contains(notes, "nothing vouches for it") {
		t.Errorf("it is listed without a word: %v, %s", err, notes)
	}
	for _, who := range []string{"pretrain", "zoo train"} {
		if err := readers[who](); err == nil || !strings.Contains(err.Error(), "--accept-unsealed") {
			t.Errorf("%s: got %v, want what to accept", who, err)
		}
	}
	l.Reg.Runs = &runlog.Reader{AcceptUnsealed: true}
	for _, who := range []string{"pretrain", "zoo train"} {
		if err := readers[who](); err != nil {
			t.Errorf("accepted, and %s says %v", who, err)
		}
	}
	if err := disk.ReadSealed(path, 1<<20, &index); err != nil {
		t.Errorf("hop zoo train did not seal it: %v", err)
	}
}

// Without its index a zoo says nothing about who is held out: it is not read as a
// folder of runs, and hop zoo train says that it decides anew.
func TestAZooWithoutItsIndexIsNoFolderOfRuns(t *testing.T) {
	l, notes := quiet(), ""
	l.Watch = func(n News) {
		if n.Kind == Noted {
			notes += n.Text + "\n"
		}
	}
	c, readers := sealedZoo(t, l, 500)
	if err := os.Remove(filepath.Join(c.Dir, zoo.File)); err != nil {
		t.Fatal(err)
	}
	for _, who := range []string{"list, adapt", "pretrain"} {
		if err := readers[who](); err == nil || !strings.Contains(err.Error(), zoo.File+" is missing") {
			t.Errorf("%s: got %v, want that the index is missing", who, err)
		}
	}
	if err := readers["zoo train"](); err != nil || !strings.Contains(notes, zoo.File+" is missing and is made anew") {
		t.Errorf("zoo train: %v, it says %q", err, notes)
	}
}

// What a member was is not replaced by another checkpoint of its run that happens to be
// there.
func TestAMemberWhoseCheckpointIsGoneIsNotAnotherOne(t *testing.T) {
	c, readers := sealedZoo(t, quiet(), 9000)
	list, err := quiet().Zoo(c.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if list[0].Step == list[1].Step {
		t.Fatalf("both are of env step %d: no other checkpoint could take their place", list[0].Step)
	}
	for _, e := range list[:2] { // the final one and the young one
		var was [2][]byte
		seal := runlog.CheckpointFile(e.Run, e.Step)
		files := [2]string{seal, strings.TrimSuffix(seal, ".json") + ".safetensors"}
		for i, file := range files {
			if was[i], err = os.ReadFile(file); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		if err := readers["zoo train"](); err == nil || !strings.Contains(err.Error(), filepath.Base(files[0])) {
			t.Errorf("%s: got %v, want that %s is missing", e.Name, err, files[0])
		}
		for i, file := range files {
			if err := os.WriteFile(file, was[i], 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
