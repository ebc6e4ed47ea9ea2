package spec_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game/matrix"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
	"github.com/hop-marl/hop/train/spec/spectest"
)

// Reading, checking, writing and comparing specs starts no program, whoever named it.
func TestReadingASpecStartsNothing(t *testing.T) {
	x, reg := spectest.NewTrap(t), registry.New()
	s, err := reg.Load("ppo-env", x.Sets())
	if err != nil {
		t.Fatal(err)
	}
	held, err := reg.Parse([]byte(x.Spec("")), filepath.Join(t.TempDir(), "spec.yaml"), "run", nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.YAML()
	if err = errors.Join(err, s.Validate(), held.Validate(), s.Set("ppo.lr=0.5")); err != nil {
		t.Fatal(err)
	}
	s.Diff(&held)
	s.AllFields()
	s.Game.Label()
	if strings.Contains(string(text), "frame:") {
		t.Errorf("a frame is written that the game has still to choose:\n%s", text)
	}
	if want := x.Python + " -m hop_marl.worker"; len(held.Executes()) != 1 || !strings.Contains(held.Executes()[0], want) {
		t.Errorf("it would run %q, want %s", held.Executes(), want)
	}
	if x.Sprung() {
		t.Error("reading a spec started what it names")
	}
	if _, err := s.Resolve(); err == nil || !strings.Contains(err.Error(), "--set game.env=os:makedirs") || !x.Sprung() {
		t.Errorf("what the user typed is not started when it is built: %v", err)
	}
}

// What a folder holds is not trusted for its game, or for its agents in runs of others; what
// the user sets changes nothing about that.
func TestAFoldersProgramsAreRefused(t *testing.T) {
	x, reg, dir := spectest.NewTrap(t), registry.New(), t.TempDir()
	x.Run(t, filepath.Join(dir, "x"), "done")
	run := filepath.Join(dir, "x", "seed-1")
	file := filepath.Join(run, "spec.yaml")
	s, err := reg.Load(file, []string{"game.kwargs={}"})
	if err != nil {
		t.Fatal(err)
	}
	plain := spectest.Parse(t, spectest.Small(""), "train.team=[learn, ns, ns, '"+run+"#0']")
	_, opened := reg.Open(run, nil)
	for name, err := range map[string]error{
		"a spec file of a run": s.Allowed(), "its game": onlyErr(s.Resolve()), "its agents": opened, "as co-players": plain.CheckPlayers(),
	} {
		var no *spec.Untrusted
		if !errors.As(err, &no) || no.Folder != filepath.Join(dir, "x") || !strings.Contains(err.Error(), "hop trust "+no.Folder) {
			t.Errorf("%s: got %v, want that %s is not trusted", name, err, filepath.Join(dir, "x"))
		}
	}
	if x.Sprung() {
		t.Error("something was started")
	}
}

// So are policies in Python that a folder's team, or what is done around its training, names; what the
// user types is not asked about.
func TestAFoldersPoliciesAreRefused(t *testing.T) {
	x, reg := spectest.NewTrap(t), registry.New()
	t.Setenv("HOP_PYTHON", x.Python)
	file := filepath.Join(t.TempDir(), "spec.yaml")
	const line = `"python3 -m hop_marl.player" with py:evil:act`
	for name, text := range map[string]string{
		"team":     "train: {team: [learn, learn, learn, py:evil:act]}",
		"switch":   "train: {switch: [{agent: 1, to: py:evil:act, at: 100}]}",
		"standins": "train: {standins: {who: [py:evil:act], share: .5}}",
		"follow":   "follow: [{name: lives, adapt: {vs: [py:evil:act]}}]",
		"trios":    "follow: [{name: lives, adapt: {trios: 'ns,nh,py:evil:act ns,ns,ns'}}]",
		"then":     "follow: [{name: lives, adapt: {vs: [ns], then: [py:evil:act]}}]",
	} {
		s, err := reg.Parse([]byte(text), file, "run", nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var no *spec.Untrusted
		if err := s.Allowed(); len(s.Executes()) != 1 || s.Executes()[0] != line || !errors.As(err, &no) {
			t.Errorf("%s: it would run %q, and is allowed: %v", name, s.Executes(), err)
		}
		if err := s.CheckPlayers(); name != "follow" && name != "trios" && name != "then" && !errors.As(err, &no) {
			t.Errorf("%s: players are checked: %v", name, err)
		}
	}
	if x.Sprung() {
		t.Error("something was started")
	}
	typed, err := reg.Load("ppo-4x4", []string{"train.team=[learn, learn, learn, py:own:act]"})
	if err != nil || typed.Allowed() != nil || typed.CheckPlayers() == nil || !x.Sprung() {
		t.Errorf("what the user typed is not started: %v %v", err, typed.Allowed())
	}
	if _, err := reg.Load("ppo-4x4", []string{"train.warm.windows=1", "train.warm.who=[py:own:act]"}); err == nil {
		t.Error("a policy in Python warms up")
	}
}

// A zoo or a team that names an agent of a run starts nothing, whatever the run is called.
func TestAgentsOfRunsAreNoPolicies(t *testing.T) {
	x, reg := spectest.NewTrap(t), registry.New()
	t.Setenv("HOP_PYTHON", x.Python)
	s := spectest.Parse(t, spectest.Small(""))
	g, err := s.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	for _, who := range []string{"py:evil:act", "py:evil:act#0", "evil.onnx", "evil.onnx#0"} {
		if _, err := reg.Member(g, who); err == nil || x.Sprung() {
			t.Errorf("%s: %v", who, err)
		}
	}
}

func onlyErr(_ any, err error) error { return err }

// What is done around a training is done in its game and names no program: of a folder's stages
// there is nothing to trust, and of what they would run in its game all.
func TestStagesRunWhatTheirGameRuns(t *testing.T) {
	x, reg := spectest.NewTrap(t), registry.New()
	file := filepath.Join(t.TempDir(), "spec.yaml")
	const stages = "prepare: [{name: data, collect: {mix: [ns, nh], seed: 77}}]\n"
	s, err := reg.Parse([]byte(stages), file, "run", nil)
	if err != nil || s.Allowed() != nil || len(s.Executes()) > 0 || len(s.Prepare) != 1 {
		t.Errorf("a folder's stages: %v, %v, %q", err, s.Allowed(), s.Executes())
	}
	if s, err = reg.Parse([]byte(strings.Replace(x.Spec(""), "prepare: []\n", stages, 1)), file, "run", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Allowed(); err == nil || !strings.Contains(err.Error(), x.Python) {
		t.Errorf("stages in a game that runs a program: %v", err)
	}
	for _, run := range []string{"collect --game python --set game.python=" + x.Python + " --mix ns,nh",
		"collect {game} --mix ns,nh --env os:makedirs", "train " + file, "pretrain vae --data {data} --trust"} {
		if _, err := reg.Load(write(t, "prepare: [{name: data, run: '"+run+"'}]\n"), nil); err == nil {
			t.Errorf("%s is a stage", run)
		}
	}
	if x.Sprung() {
		t.Error("something was started")
	}
}

// write writes a spec that the user names.
func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "own.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// A run's spec reads no file but presets: what it is based on would be somebody else's file.
func TestAFoldersSpecReadsNoOtherFile(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other.yaml")
	if err := os.WriteFile(other, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"base: " + other, "minds: {slow: {agents: [3], base: " + other + "}}"} {
		_, err := registry.New().Parse([]byte(text), "x/spec.yaml", "run", nil)
		if err == nil || !strings.Contains(err.Error(), "reads no other file") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// elsewhere are the parameters of a matrix game that says of itself that it runs a program.
type elsewhere struct {
	matrix.Config `yaml:",inline"`
}

func (elsewhere) Executes() string { return "a program" }

// What only the built game knows is chosen and checked when it is built, as it is of other
// games when their specs are read.
func TestWhatOnlyTheGameKnowsIsResolvedWhenItIsBuilt(t *testing.T) {
	reg := registry.New()
	reg.Games["elsewhere"] = spec.AddGame("a game", func() elsewhere { return elsewhere{matrix.Default()} },
		func(c elsewhere) (*matrix.Game, error) { return matrix.New(c.Config) })
	load := func(sets ...string) spec.Spec {
		t.Helper()
		s, err := reg.Load("ppo-env", append([]string{"game.name=elsewhere", "train.steps=100"}, sets...))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := load()
	read, err := s.YAML()
	if _, none := s.Build(1, spec.Machine{Workers: 1}); errors.Join(err, none) != nil {
		t.Fatal(err, none)
	}
	_, err = s.Resolve()
	written, none := s.YAML()
	if errors.Join(err, none) != nil || s.Actor.Frame != "board" || !strings.Contains(string(written), "frame: board") {
		t.Errorf("a game without a board has frame %s: %v\n%s", s.Actor.Frame, err, written)
	}
	again, err := reg.Parse(read, "sweep.json", "run", nil)
	if err != nil {
		t.Fatal(err)
	}
	reg.Trust.All = true
	_, err = again.Resolve()
	if text, none := again.YAML(); errors.Join(err, none) != nil || string(text) != string(written) {
		t.Errorf("what was read, written and read again resolves to another spec: %v\n%s\n%s", err, text, written)
	}
	wrong := load("train.team=[learn, nobody]")
	if _, err := wrong.Resolve(); err == nil || !strings.Contains(err.Error(), "--set train.team=[learn, nobody]: train.team") {
		t.Errorf("a bot that there is not is found when the game is built: %v", err)
	}
}
