package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/train/pretrain"
	"github.com/hop-marl/hop/train/registry"
)

const stagedSpec = `
game: {name: staghunt, size: 4, horizon: 12}
actor: {hidden: [16]}
train: {envs: 16, window: 16, steps: 1024}
eval: {episodes: 10}
imagine: {on: true, world: "{world}"}
prepare:
  - {name: data, collect: {mix: [ns, nh], rows: 1000, seed: 7}}
  - {name: world, pretrain world: {data: ["{data}"], model: {hidden: [16]}, epochs: 2, probe: 100, plays: 4}}
`

// stagesHere goes to a folder of the test's own that holds the spec as s.yaml.
func stagesHere(t *testing.T, spec string) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("s.yaml", []byte(spec), 0o644); err != nil {
		t.Fatal(err)
	}
}

func staged(t *testing.T, args ...string) (r lab.Trained) {
	t.Helper()
	into(t, &r, append([]string{"train"}, args...)...)
	return r
}

// Preparing a training is part of it: what is there is reused, what changed is
// not, and the agents are the same either way.
func TestStagesOfATrainingAreReused(t *testing.T) {
	stagesHere(t, stagedSpec)
	first, second := staged(t, "s.yaml"), staged(t, "s.yaml")
	for i, s := range first.Stages {
		if again := second.Stages[i]; s.Reused || s.Name != "train" && !again.Reused {
			t.Errorf("stage %s: reused %v, then %v; want false, then true", s.Name, s.Reused, again.Reused)
		}
	}
	if first.Mean != second.Mean {
		t.Errorf("mean %v from fresh stages, %v from reused ones", first.Mean, second.Mean)
	}
	larger := staged(t, "s.yaml", "--set", "game.hares=3")
	if larger.Stages[0].Reused || larger.Stages[1].Reused {
		t.Error("the stages of another game were reused")
	}
	if first.Stages[1].Status == "" {
		t.Error("the card of the world model is not in the result")
	}
}

const zooSpec = `
game: {name: matrix, rounds: 4}
actor: {frame: board, hidden: [8]}
train: {envs: 16, window: 16, steps: 1024}
eval: {episodes: 10}
prepare:
  - {name: zoo, zoo train: {who: [selfish, selfish-1-young], hold: [selfish-2], steps: 1000}}
  - {name: response, pretrain response: {net: {hidden: [8]}, steps: 2000, zoo: "{zoo}", episodes: 10}}
`

// A zoo is a stage, and what is pretrained among its members another. Who is held out can
// be met, and not learnt from.
func TestAZooIsAStage(t *testing.T) {
	stagesHere(t, zooSpec)
	first := staged(t, "s.yaml")
	folder := func(i int) string { return filepath.Join("runs", "any", filepath.FromSlash(first.Stages[i].Dir)) }
	zoo := folder(0)
	_, _, in, err := pretrain.LoadResponse(nil, folder(1))
	if err != nil || !slices.Equal(in.Who, []string{"selfish-1", "selfish-1-young", "random", "self"}) {
		t.Errorf("the response network learnt to answer %v, %v", in.Who, err)
	}
	var z zooJSON
	into(t, &z, "zoo", "list", "--out", zoo)
	if len(z.Members) != 3 || z.Members[1].Age != "young" || !z.Members[2].HeldOut {
		t.Errorf("the zoo is %+v", z.Members)
	}
	if text := ok(t, "zoo", "list", "--out", zoo); !strings.Contains(text, "held out") || !strings.Contains(text, "selfish-1-young") {
		t.Errorf("the list says\n%s", text)
	}
	refused(t, "pretrain response --game matrix --set game.rounds=4 --zoo "+zoo+" --set who=[selfish-2,random] --out r", "held out")
	r := adaptOf(t, "tft", "--game", "matrix", "--set", "game.rounds=4", "--vs", "selfish-2", "--zoo", zoo, "--lives", "1", "--steps", "60",
		"--last", "30")
	if r.Known || !slices.Equal(r.VS, []string{"selfish-2"}) {
		t.Errorf("%v is met, and known: %v", r.VS, r.Known)
	}
}

// A stage is run again when its own command, or a stage that it reads, is another
// one, and when what it left is not whole; the others are reused.
func TestOnlyStagesWithOtherInputsRunAgain(t *testing.T) {
	t.Chdir(t.TempDir())
	small := strings.NewReplacer("rows: 1000", "rows: 200", "epochs: 2", "epochs: 1", "probe: 100, plays: 4",
		"probe: 20, plays: 1").Replace(stagedSpec)
	other := func(was, is string) string { return strings.Replace(small, was, is, 1) }
	var first []lab.Stage
	left := func(file string) string {
		return filepath.Join("runs", "any", filepath.FromSlash(first[1].Dir), file)
	}
	for _, c := range []struct {
		what        string
		spec        string
		harm        func() error
		data, world bool // reused
	}{
		{"the first time", small, nil, false, false},
		{"nothing has changed", small, nil, true, true},
		{"the training is another one", other("steps: 1024", "steps: 512"), nil, true, true},
		{"the second command is another one", other("model: {hidden: [16]}", "model: {hidden: [8]}"), nil, true, false},
		{"the first command is another one", other("seed: 7", "seed: 8"), nil, false, false},
		{"the second was broken off", small, func() error { return os.Remove(left("done.json")) }, true, false},
		{"a file of the second has changed", small, func() error { return os.WriteFile(left("card.json"), nil, 0o644) }, true, false},
	} {
		if c.harm != nil {
			if err := c.harm(); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile("s.yaml", []byte(c.spec), 0o644); err != nil {
			t.Fatal(err)
		}
		spec, err := registry.New().Load("s.yaml", nil)
		if err != nil {
			t.Fatal(err)
		}
		var errs bytes.Buffer
		a := &app{context.Background(), registry.New(), strings.NewReader(""), &errs, &errs, &ending{}}
		done, err := a.lab().Prepare(t.Context(), &spec, "runs")
		if err != nil {
			t.Fatalf("%s: %v\n%s", c.what, err, errs.String())
		}
		if got, want := [2]bool{done[0].Reused, done[1].Reused}, [2]bool{c.data, c.world}; got != want {
			t.Errorf("%s: data and world were reused: %v, want %v", c.what, got, want)
		}
		if want := filepath.Join("runs", "any", filepath.FromSlash(done[1].Dir)); filepath.Clean(spec.Imagine.World) != want {
			t.Errorf("%s: the spec's world is %s, want the stage's folder %s", c.what, spec.Imagine.World, want)
		}
		if first == nil {
			first = done
		}
	}
}

// An audit of a spec runs what comes before its training, beside the runs, where a
// training finds it done.
func TestAnAuditPreparesItsSpec(t *testing.T) {
	stagesHere(t, stagedSpec)
	code, out, errs := hop(t, "audit", "s.yaml", "--seeds", "1", "--updates", "3", "--episodes", "20", "--json")
	if code != 0 && !strings.Contains(out, `"verdict"`) {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	for _, s := range staged(t, "s.yaml").Stages {
		if s.Name != "train" && !s.Reused {
			t.Errorf("stage %s was run again after the audit", s.Name)
		}
	}
}

// Stopping in a stage loses nothing, and --resume goes on from there.
func TestATrainingStoppedInAStageGoesOn(t *testing.T) {
	stagesHere(t, stagedSpec)
	ctx, cancel := context.WithCancel(context.Background())
	var out bytes.Buffer
	errs := &tripwire{at: "world", cut: cancel}
	if code := run(&app{ctx, registry.New(), strings.NewReader(""), &out, errs, &ending{}}, []string{"train", "s.yaml"}); code != 1 ||
		!strings.Contains(errs.String(), "--resume") {
		t.Fatalf("exit %d, want 1 and how to resume:\n%s", code, errs.String())
	}
	whole, _ := filepath.Glob("runs/stages/*/done.json")
	if len(whole) != 1 {
		t.Fatalf("whole stages after stopping in the second: %v, want the first", whole)
	}
	resumed := staged(t, "--resume", "runs/s-001")
	if !resumed.Stages[0].Reused || resumed.Stages[1].Reused {
		t.Errorf("stages after resuming: %+v, want the first reused and the second run", resumed.Stages)
	}
	if fresh := staged(t, "s.yaml"); fresh.Mean != resumed.Mean {
		t.Errorf("mean %v after resuming, %v without a stop", resumed.Mean, fresh.Mean)
	}
}

// What is wrong with a stage is said when the spec is read, with its line, its field and what was
// wanted; nothing is begun.
func TestAWrongStageIsRefusedWhereItStands(t *testing.T) {
	for _, c := range []struct{ was, is, want string }{
		{"rows: 1000", "rows: 0", "line 8: prepare.data.rows is 0, want at least 1"},
		{"rows: 1000", "rows: many", `line 8: prepare.data.rows is "many", want a value of type int`},
		{"rows: 1000", "rowz: 1000", "line 8: prepare.data.rowz is not a field, want one of `hop list fields`; did you mean prepare.data.rows?"},
		{"collect:", "colect:", "line 8: prepare.data.colect is no stage, want one of collect, "},
		{"collect:", "colect:", "did you mean collect?"},
		{"[\"{data}\"]", "[\"{dada}\"]", "line 9: prepare.world is '{dada}', want the name of an earlier stage, one of data"},
		{"mix: [ns, nh], ", "", "line 8: prepare.data.mix is not said, want two bots, or some in among"},
		{"mix: [ns, nh]", "mix: [ns]", "line 8: prepare.data.mix is [ns], want two bots"},
		{"epochs: 2", "epochs: 2, model: {hidden: [-1]}", "line 9: prepare.world.model is given twice"},
	} {
		stagesHere(t, strings.Replace(stagedSpec, c.was, c.is, 1))
		refused(t, "train s.yaml", c.want)
		if list, err := os.ReadDir("."); err != nil || len(list) != 1 {
			t.Errorf("%s: %v was left behind, %v", c.is, list, err)
		}
	}
}

// What a stage says that it does can be typed, and does the same.
func TestAStagesCommandCanBeTyped(t *testing.T) {
	stagesHere(t, stagedSpec)
	first := staged(t, "s.yaml", "--set", "game.hares=3")
	for i, file := range []string{"manifest.json", "card.json"} {
		words := strings.Fields(strings.ReplaceAll(first.Stages[i].Command, "'", ""))[1:]
		made := words[len(words)-1]
		words[len(words)-1] = "typed"
		ok(t, words...)
		if got, want := read(t, filepath.Join("typed", file)), read(t, filepath.Join(made, file)); got != want {
			t.Errorf("hop %s makes another %s", strings.Join(words, " "), file)
		}
		if err := os.RemoveAll("typed"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFailingStageIsNamed(t *testing.T) {
	stagesHere(t, strings.Replace(stagedSpec, "[ns, nh]", "[ns, nx]", 1))
	if code, _, errs := hop(t, "train", "s.yaml"); code != 2 || !strings.Contains(errs, "stage data (collect") ||
		!strings.Contains(errs, "--mix ns,nx") {
		t.Errorf("exit %d, want 2, the stage and what is wrong:\n%s", code, errs)
	}
}

// tripwire cancels as soon as a word is written.
type tripwire struct {
	bytes.Buffer
	at  string
	cut context.CancelFunc
}

func (w *tripwire) Write(b []byte) (int, error) {
	if strings.Contains(string(b), "] "+w.at) {
		w.cut()
	}
	return w.Buffer.Write(b)
}

// What follows a training reads its final agents while the run is not called done yet: that
// is no news to whoever trains.
func TestWhatFollowsATrainingDoesNotCallItUnfinished(t *testing.T) {
	stagesHere(t, matrixSpec+`follow: [{name: adapt, adapt: {vs: [ns, ns, ns], steps: 20, last: 10, lives: 1, starts: 1}}]`)
	code, _, errs := hop(t, "train", "s.yaml", "--json")
	if code != 0 || !strings.Contains(errs, "its newest checkpoint") || strings.Contains(errs, "not done") {
		t.Errorf("exit %d, want 0, the checkpoint that adapt read, and no word that the run is not done:\n%s", code, errs)
	}
}

// Stages run side by side on the cores there are: the bytes of what they leave behind are the
// same on any number of them, and they are listed in the order of the spec.
func TestStagesDoNotDependOnCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var first map[string]string
	for _, n := range []int{1, 2, 7} {
		runtime.GOMAXPROCS(n)
		stagesHere(t, strings.ReplaceAll(stagedSpec, "epochs: 2", "epochs: 1")+`
  - {name: vae, pretrain vae: {data: "{data}", model: {loss: b, hidden: [16]}, epochs: 1}}
  - {name: response, pretrain response: {net: {hidden: [16]}, envs: 64, steps: 2000, episodes: 4}}
`)
		reg := registry.New()
		spec, err := reg.Load("s.yaml", nil)
		if err != nil {
			t.Fatal(err)
		}
		list, err := (&app{t.Context(), reg, strings.NewReader(""), io.Discard, io.Discard, &ending{}}).lab().Prepare(t.Context(), &spec, "runs")
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != 4 || list[0].Name != "data" || list[1].Name != "world" || list[3].Name != "response" {
			t.Fatalf("%d cores: stages %+v, want them in the order of the spec", n, list)
		}
		sums := map[string]string{}
		err = filepath.WalkDir("runs", func(path string, e fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".safetensors" && filepath.Base(path) != "card.json" {
				return err
			}
			b, err := os.ReadFile(path)
			sums[path] = fmt.Sprintf("%x", sha256.Sum256(b))
			return err
		})
		if err != nil || len(sums) < 6 {
			t.Fatalf("%v: %d files", err, len(sums))
		}
		if first == nil {
			first = sums
		}
		if diff := cmp.Diff(first, sums); diff != "" {
			t.Errorf("%d cores (-one +%d):\n%s", n, n, diff)
		}
	}
}
