package cli

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/store/trust"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec/spectest"
)

// trapped says of every command what it makes of somebody else's folders: with reads it
// starts nothing, whatever they name; with runs it would start what they name, is refused,
// and does once the folder is trusted. A command that is in neither has a reason.
var trapped = map[string]struct {
	reads, runs [][]string
	neither     string
}{
	"list": {reads: [][]string{
		{"list", "fields", "done"}, {"list", "fields", "stranger.yaml"}, {"list", "games"}, {"list", "minds"}, {"list", "presets"},
		{"list", "bots", "--env", "os:makedirs", "--set", "game.python=PYTHON"},
	}},
	"show": {reads: [][]string{
		{"show", "done"}, {"show", "stranger.yaml"}, {"show", "done", "--diff", "stranger.yaml"}, {"show", "--", "--env=evil:make"},
	}},
	"train": {
		reads: [][]string{{"train", "--help"}, {"train", "--resume", "done"}},
		runs:  [][]string{{"train", "--resume", "stopped"}, {"train", "done/seed-1/spec.yaml", "--out", "new"}},
	},
	"eval": {neither: "its game and team are those that the user types"},
	"report": {
		reads: [][]string{{"report", "done", "--no-gif"}, {"report", "stopped", "--no-gif"}, {"report", "--no-gif", "--", "--env=evil:make"}},
		runs:  [][]string{{"report", "done"}},
	},
	"audit": {runs: [][]string{{"audit", "done"}}},
	"adapt": {runs: [][]string{
		{"adapt", "done", "--vs", "random", "--out", "lives"}, {"adapt", "--vs", "random", "--out", "lives", "--", "--env=evil:make"},
	}},
	"strangers list":    {neither: "its game is the one that the user types"},
	"strangers words":   {neither: "its game is the one that the user types"},
	"strangers show":    {neither: "its game is the one that the user types"},
	"strangers score":   {runs: [][]string{{"strangers", "score", "done"}}},
	"crossplay":         {runs: [][]string{{"crossplay", "done", "random", "--out", "cross"}}},
	"compare":           {runs: [][]string{{"compare", "done/seed-1/spec.yaml", "ppo-4x4", "--out", "compared"}}},
	"play":              {runs: [][]string{{"play", "--run", "done", "--plain"}}},
	"collect":           {runs: [][]string{{"collect", "--agents", "done/seed-1", "--rows", "10", "--out", "rows"}}},
	"pretrain vae":      {runs: [][]string{{"pretrain", "vae", "--data", "data", "--out", "vae"}}},
	"pretrain cvae":     {runs: [][]string{{"pretrain", "cvae", "--data", "data", "--vae", "codes", "--out", "cvae"}}},
	"pretrain moa":      {runs: [][]string{{"pretrain", "moa", "--data", "data", "--out", "moa"}}},
	"pretrain world":    {runs: [][]string{{"pretrain", "world", "--data", "data", "--out", "world"}}},
	"pretrain sequence": {runs: [][]string{{"pretrain", "sequence", "--data", "data", "--out", "sequence"}}},
	"pretrain response": {neither: "its game is the one that the user types, and members of a zoo must be of that game"},
	"oracle":            {neither: "its game and team are those that the user types"},
	"ladder":            {reads: [][]string{{"ladder", "done"}}, neither: "it refuses runs that search no rules of ours"},
	"export":            {runs: [][]string{{"export", "done", "--onnx", "--out", "onnx"}}},
	"bench env":         {neither: "it measures our own games"},
	"bench nn":          {neither: "it measures our own networks"},
	"bench growth":      {neither: "it measures presets"},
	"bench plan":        {neither: "it measures our own search"},
	"bench scale":       {neither: "it measures presets"},
	"bench train":       {runs: [][]string{{"bench", "train", "done/seed-1/spec.yaml", "--steps", "1024"}}},
	"serve":             {neither: "its routes are walked by a test of package serve"},
	"zoo train":         {neither: "its game is the one that the user types, and what it goes on with has the same spec"},
	"zoo list":          {reads: [][]string{{"zoo", "list", "--out", "."}, {"zoo", "list", "--out", "zoo"}}},
	"sweep run":         {reads: [][]string{{"sweep", "run", "--dry-run", "stranger.yaml", "--seeds", "1-2", "--out", "new"}}},
	"sweep score":       {runs: [][]string{{"sweep", "score", "done"}}},
	"sweep status":      {reads: [][]string{{"sweep", "status", "sweep"}}},
	"sweep resume":      {runs: [][]string{{"sweep", "resume", "sweep"}}},
	"sweep cancel":      {reads: [][]string{{"sweep", "cancel", "sweep"}}},
	"sweep retry":       {reads: [][]string{{"sweep", "retry", "sweep"}}},
	"worker":            {neither: "it does what the coordinator asks that the user names"},
	"attempt":           {neither: "it is a worker's, which does what its coordinator asks"},
	"bridge":            {reads: [][]string{{"bridge"}}}, // which is handed what the environment of such a run sees
	"trust":             {reads: [][]string{{"trust", "--list"}}},
	"version":           {reads: [][]string{{"version"}}},
	"ls":                {reads: [][]string{{"ls", "."}}},
	"mv":                {reads: [][]string{{"mv", "done", "moved"}, {"mv", "moved", "done"}}},
	"rm":                {neither: "it moves a folder as hop mv does"},
	"completion": {reads: [][]string{
		{"completion", "bash"}, {"__complete", "=", "show"}, {"__complete", "=", "play", "--game", "python", "--team"},
	}},
}

// Every command is one that starts nothing that somebody else's folders name, or one that
// asks first. The list of commands is the command line's own.
func TestNoCommandRunsWhatAStrangersFolderNames(t *testing.T) {
	parser := newParser(&app{context.Background(), registry.New(), strings.NewReader(""), io.Discard, io.Discard, &ending{}}, "")
	for _, n := range parser.Model.Leaves(false) {
		path := n.Path()
		c, known := trapped[path]
		if !known || len(c.reads)+len(c.runs) == 0 && c.neither == "" {
			t.Errorf("hop %s is not among the commands that read, or that run what folders name: add it to the list", path)
		}
	}
	x := strangers(t)
	for path, c := range trapped {
		for _, words := range c.reads {
			code, _, errs := x.hop(t, words)
			if x.Sprung() {
				t.Errorf("hop %s started what a folder names\n%s", strings.Join(words, " "), errs)
			}
			if code != 0 && !slices.Contains([]string{"ladder", "sweep status", "sweep cancel", "sweep retry"}, path) {
				t.Errorf("hop %s: exit %d, want it to work without running anything\n%s", strings.Join(words, " "), code, errs)
			}
		}
	}
}

// What a folder names is refused with a sentence that says what and how to allow it, and
// runs once the folder is trusted or with --trust.
func TestWhatAStrangersFolderNamesRunsOnceItIsTrusted(t *testing.T) {
	x := strangers(t)
	for _, c := range trapped {
		for _, words := range c.runs {
			said := func(errs string) bool {
				return strings.Contains(errs, "it would run") && strings.Contains(errs, x.Python) && strings.Contains(errs, "hop trust ")
			}
			_, out, errs := x.hop(t, words)
			if x.Sprung() || !said(out+errs) {
				t.Errorf("hop %s: want a refusal that says what would run and how to allow it, got\n%s", strings.Join(words, " "), errs)
			}
			if _, _, errs := x.hop(t, append([]string{"--trust"}, words...)); !x.Sprung() {
				t.Errorf("hop --trust %s starts nothing\n%s", strings.Join(words, " "), errs)
			}
		}
	}
	x = strangers(t)
	ok(t, "trust", ".")
	for _, c := range trapped {
		for _, words := range c.runs {
			if _, _, errs := x.hop(t, words); !x.Sprung() {
				t.Errorf("hop %s starts nothing, although its folder is trusted\n%s", strings.Join(words, " "), errs)
			}
		}
	}
	ok(t, "trust", "--remove", ".")
	if _, _, errs := x.hop(t, []string{"audit", "done"}); x.Sprung() {
		t.Errorf("a folder that is trusted no longer runs something\n%s", errs)
	}
}

// So it is of policies in Python that somebody else's folder lets play in a game of ours: what needs
// none of them works, what would start one is refused until it is trusted.
func TestAPolicyThatAStrangersFolderNamesIsRefused(t *testing.T) {
	x := foreign{spectest.NewTrap(t)}
	t.Chdir(t.TempDir())
	ok(t, "train", "ppo-4x4", "--steps", "200", "--set", "eval.episodes=4", "--out", "own")
	for _, status := range []string{"done", "stopped"} {
		x.Among(t, "own/ppo-4x4-001/seed-1", status, status, "ppo-4x4")
	}
	if err := os.RemoveAll("own"); err != nil {
		t.Fatal(err)
	}
	if x.Sprung() {
		t.Fatal("making the folders started something")
	}
	for _, words := range [][]string{
		{"show", "done"}, {"list", "fields", "done"}, {"report", "done", "--no-gif"}, {"train", "--resume", "done"},
		{"adapt", "done", "--vs", "ns", "--lives", "2", "--steps", "40", "--last", "20", "--workers", "1"},
	} {
		if code, _, errs := x.hop(t, words); code != 0 || x.Sprung() {
			t.Errorf("hop %s: exit %d, want it to work without running anything\n%s", strings.Join(words, " "), code, errs)
		}
	}
	starts := [][]string{
		{"train", "--resume", "stopped"}, {"train", "done/seed-1/spec.yaml", "--out", "new"}, {"audit", "done"},
		{"play", "--run", "done", "--plain"}, {"report", "done"}, {"bench", "train", "done/seed-1/spec.yaml", "--steps", "8192"},
		{"compare", "done/seed-1/spec.yaml", "ppo-4x4", "--out", "compared"},
	}
	for _, words := range starts {
		_, out, errs := x.hop(t, words)
		if x.Sprung() || !strings.Contains(out+errs, `it would run "python3 -m hop_marl.player" with py:evil:act`) {
			t.Errorf("hop %s: want a refusal that says what would run, got\n%s", strings.Join(words, " "), errs)
		}
		if _, _, errs := x.hop(t, append([]string{"--trust"}, words...)); !x.Sprung() {
			t.Errorf("hop --trust %s starts nothing\n%s", strings.Join(words, " "), errs)
		}
	}
	ok(t, "trust", ".")
	for _, words := range starts {
		if _, _, errs := x.hop(t, words); !x.Sprung() {
			t.Errorf("hop %s starts nothing, although its folder is trusted\n%s", strings.Join(words, " "), errs)
		}
	}
}

// What the user types runs: a policy in Python among those who play, or as the one who is scored.
func TestAPolicyThatTheUserTypesRuns(t *testing.T) {
	x := spectest.NewTrap(t)
	t.Chdir(t.TempDir())
	t.Setenv("HOP_PYTHON", x.Python)
	if err := os.WriteFile("net.onnx", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{
		{"adapt", "nh", "--vs", "py:own:act"}, {"adapt", "nh", "--vs", "ns", "--then", "net.onnx"}, {"adapt", "py:own:act", "--vs", "ns"},
		{"strangers", "score", "net.onnx", "--some", "1"}, {"strangers", "score", "py:own:act", "--some", "1"},
		{"eval", "--team", "py:own:act"}, {"play", "--team", "ns,ns,ns,py:own:act", "--plain"},
		{"crossplay", "py:own:act", "ns", "--out", "cross"},
	} {
		code, _, errs := hop(t, words...)
		if code != 2 || !x.Sprung() || !strings.Contains(errs, "hop_marl.player is gone") {
			t.Errorf("hop %s: exit %d, want 2 because it ends at once\n%s", strings.Join(words, " "), code, errs)
		}
	}
	for _, words := range [][]string{
		{"collect", "--team", "py:own:act", "--rows", "10", "--out", "rows"},
		{"oracle", "--vs", "py:own:act,ns,ns"},
	} {
		if code, _, _ := hop(t, words...); code != 2 || x.Sprung() {
			t.Errorf("hop %s: exit %d, want 2 and nothing started", strings.Join(words, " "), code)
		}
	}
}

// foreign is a folder of somebody else's folders.
type foreign struct{ *spectest.Trap }

// strangers makes, in the working folder of the test, a run that is done and one that was stopped, a
// dataset, a spec file, a zoo and a sweep, all of which name a program that leaves a trace.
func strangers(t *testing.T) foreign {
	t.Helper()
	x := foreign{spectest.NewTrap(t)}
	t.Chdir(t.TempDir())
	x.Run(t, "done", "done")
	x.Run(t, "stopped", "stopped")
	x.Run(t, "--env=evil:make", "done")
	x.Run(t, filepath.Join("zoo", "selfish-1-00000000"), "done")
	ok(t, "collect", "--mix", "ns,nh", "--rows", "1500", "--out", "plain")
	ok(t, "pretrain", "vae", "--data", "plain", "--out", "codes", "--set", "epochs=1", "--set", "model.hidden=[8]")
	x.Data(t, "plain", "data")
	if err := os.RemoveAll("plain"); err != nil {
		t.Fatal(err)
	}
	write := func(name string, text []byte) {
		t.Helper()
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("stranger.yaml", []byte(x.Spec("")))
	if err := os.Mkdir("sweep", 0o755); err != nil {
		t.Fatal(err)
	}
	sweep, err := disk.Seal(map[string]any{
		"id": "0123456789abcdef", "base": "ppo-env", "build": thisBuild().ID(), "seeds": []int{1}, "each": map[string]int{"cores": 1},
		"variants": []map[string]any{{"name": "a", "spec": x.Spec("")}}, "check": "",
	})
	if err != nil {
		t.Fatal(err)
	}
	write(filepath.Join("sweep", "sweep.json"), sweep)
	return x
}

// hop runs a command; PYTHON stands for the trap, and hop bridge is asked to load a run.
func (x foreign) hop(t *testing.T, words []string) (code int, out, errs string) {
	t.Helper()
	words = slices.Clone(words)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "PYTHON", x.Python)
	}
	if slices.Contains(words, "bridge") {
		return x.bridge(t, words)
	}
	return hop(t, words...)
}

// bridge asks hop bridge about a run, as hop.load does in Python.
func (x foreign) bridge(t *testing.T, words []string) (code int, out, errs string) {
	t.Helper()
	ask := `{"op": "run", "args": {"run": "done", "trust": ` + fmt.Sprint(slices.Contains(words, "--trust")) + `}}`
	words = []string{"bridge"} // which Python programs start without flags
	frame := append(binary.LittleEndian.AppendUint32(nil, uint32(len(ask))), 0)
	var o, e bytes.Buffer
	code = run(&app{context.Background(), registry.New(), strings.NewReader(string(frame) + ask), &o, &e, &ending{}}, words)
	return code, o.String(), e.String()
}

// A training in one of our games is trusted without a word, also after it was copied, and by
// another user.
func TestATrainingInOurGamesIsTrusted(t *testing.T) {
	x := spectest.NewTrap(t)
	t.Chdir(t.TempDir())
	spec := filepath.Join(t.TempDir(), "own.yaml")
	text := "train: {steps: 200, envs: 4, window: 16}\neval: {episodes: 4}\n" +
		"prepare: [{name: data, collect: {mix: [ns, nh], rows: 50, seed: 3}}]\n"
	if err := os.WriteFile(spec, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	ok(t, "train", spec, "--out", "runs")
	ok(t, "train", "--resume", "runs/own-001", "--steps", "300")
	if err := os.CopyFS("copied", os.DirFS("runs/own-001")); err != nil {
		t.Fatal(err)
	}
	ok(t, "train", "--resume", "copied", "--steps", "400")
	t.Setenv("HOP_CONFIG", t.TempDir())
	ok(t, "train", "--resume", "copied", "--steps", "500") // its stages are done in its game and name no program
	ok(t, "show", "copied")
	if x.Sprung() {
		t.Error("a plain game started a program")
	}
}

// read returns a file's text.
func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Folders of runs that run nothing but our own games hold no signature.
func TestPlainRunsKeepTheirBytes(t *testing.T) {
	spectest.NewTrap(t)
	t.Chdir(t.TempDir())
	ok(t, "train", "ppo-4x4", "--steps", "200", "--set", "eval.episodes=4", "--out", "runs")
	err := filepath.WalkDir("runs", func(path string, e os.DirEntry, err error) error {
		if strings.HasPrefix(e.Name(), ".") {
			t.Errorf("%s lies in a plain run", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if list, err := (trust.Trust{}).Entries(); err != nil || len(list) > 0 {
		t.Errorf("training trusts %v, %v", list, err)
	}
}
