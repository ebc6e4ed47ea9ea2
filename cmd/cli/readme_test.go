package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/train/registry"
)

// hop runs the program in this process and returns its exit code, stdout and stderr.
func hop(t *testing.T, args ...string) (code int, out, err string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(&app{ctx: context.Background(), reg: registry.New(), in: strings.NewReader(""), out: &o, err: &e}, args)
	return code, o.String(), e.String()
}

// ok runs a command that must succeed, and returns what it prints.
func ok(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errs := hop(t, args...)
	if code != 0 {
		t.Fatalf("hop %s: exit %d\n%s", strings.Join(args, " "), code, errs)
	}
	return out
}

// into reads what a command with --json prints.
func into(t *testing.T, v any, args ...string) {
	t.Helper()
	if err := json.Unmarshal([]byte(ok(t, append(args, "--json")...)), v); err != nil {
		t.Fatal(err)
	}
}

// commands returns the lines of a page's sh blocks, without what follows a #; or of blocks of other kinds.
func commands(t *testing.T, page string, kinds ...string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", page))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	in := false
	for _, line := range strings.Split(string(text), "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			in = line == "```sh" || slices.Contains(kinds, strings.TrimPrefix(line, "```"))
		case in:
			line, _, _ = strings.Cut(line, " #")
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// pages are those that there are in Chinese as well.
var pages = map[string]string{
	"README.md":         "README.zh-CN.md",
	"docs/tutorial.md":  "docs/zh/tutorial.md",
	"docs/hop.md":       "docs/zh/hop.md",
	"docs/audit.md":     "docs/zh/audit.md",
	"docs/python.md":    "docs/zh/python.md",
	"docs/strangers.md": "docs/zh/strangers.md",
}

func TestChinesePagesShowTheSameCommands(t *testing.T) {
	for english, chinese := range pages {
		e, c := commands(t, english, "python", "py"), commands(t, chinese, "python", "py")
		if len(e) < 4 || !slices.Equal(e, c) {
			t.Errorf("%s and %s show different commands:\n%q\n%q", english, chinese, e, c)
		}
	}
}

// short makes episodes short, and small networks: what costs most is drawing episodes
// for a report, and making networks.
const short, small = "game.horizon=12", "actor.hidden=[16]"

// shortened makes a command short, by how it starts.
type shortened struct {
	start string
	flags []string
}

// quick are settings that make a README's longer commands short.
var quick = []shortened{
	{"go run ./cmd/hop train", []string{
		"--set", mainStages,
		"--set", "follow=[{name: strangers, adapt: {strangers: validation, some: 1, steps: 60, last: 30, lives: 1, starts: 2}}]",
		"--set", "train.steps=1500", "--set", "train.envs=32", "--set", "eval.episodes=4", "--set", "train.save=600",
		"--set", "search.trees=2", "--set", "search.sims=4", "--set", small, "--set", short,
	}},
	{"hop train ppo", []string{
		"--set", "train.steps=6000", "--set", "eval.episodes=20", "--set", "train.save=3000", "--set", short, "--set", small,
	}},
	{"hop compare ppo", []string{"--set", "train.steps=4096", "--set", "eval.episodes=20", "--set", short, "--set", small}},
	{"hop train hop", []string{
		"--set", short, "--set", small, "--set", "search.trees=2", "--set", "search.sims=4",
		"--set", "train.steps=2000", "--set", "eval.episodes=4", "--set", "train.save=1000", "--set", "train.warm.windows=1",
		"--set", "moa.hidden=[16,16]",
	}},
	{"hop ladder", []string{"--vs", "ns,nh,nh", "--episodes", "4"}},
	{"hop audit", []string{"--seeds", "1", "--updates", "3", "--episodes", "20", "--set", "train.envs=8", "--set", short, "--set", small}},
	{"hop adapt", []string{"--lives", "2", "--steps", "200", "--last", "100"}},
	{"hop crossplay", []string{"--episodes", "4"}},
	{"hop zoo train", []string{"--steps", "1500", "--set", short}},
	{"hop pretrain moa", []string{"--epochs", "1", "--set", "model.hidden=[16,16]"}},
	{"hop pretrain world", []string{"--set", "epochs=1", "--set", "model.hidden=[16]", "--probe", "500", "--plays", "10"}},
	{"hop pretrain response", []string{"--set", "steps=2000", "--episodes", "10"}},
	{"hop collect", []string{"--rows", "2000"}},
	{"hop oracle", []string{"--episodes", "5"}},
	{"hop eval", []string{"--episodes", "200"}},
	{"hop bench env", []string{"--time", "2ms"}},
	{"hop bench nn", []string{"--net", "actor", "--round", "1ms"}},
	{"hop bench plan", []string{"--time", "1ms", "--size", "4", "--agents", "2"}},
	{"hop bench train", []string{"--steps", "4096", "--set", small}},
	{"hop bench growth", []string{"--turns", "1", "--points", "1", "--axis", "width"}},
	{"hop bench scale", []string{"--job", "ppo", "--cpu", "1,2", "--steps", "9000"}},
}

// mainStages is the main job's preparation, made small.
const mainStages = `prepare=[{name: lives, collect: {among: [train@1], life: 4, rows: 2000, seed: 7}},
{name: reader, pretrain sequence: {data: '{lives}', model: {history: gru, code: 4, untyped: true, head: {distances: false}}, epochs: 1}},
{name: world, pretrain world: {data: ['{lives}'], model: {hidden: [16]}, epochs: 1, probe: 100, plays: 4}}]`

// The two pages share what their commands make. It takes 10 s of processor time, a quarter of
// it the main job made small: every command that the pages show is run.
func TestReadmeCommandsRun(t *testing.T) {
	lines := slices.Concat(commands(t, "README.md"), commands(t, "docs/commands.md"))
	t.Chdir(t.TempDir())
	for _, line := range lines {
		t.Run(line, func(t *testing.T) {
			if line == "go test ./..." {
				return // this is it
			}
			runLine(t, line, quick)
			if line == "go run ./cmd/hop train" {
				wholePage(t)
			}
		})
	}
}

// runLine runs a command of a page, made short.
func runLine(t *testing.T, line string, quick []shortened) {
	t.Helper()
	words, ok := strings.CutPrefix(line, "go run ./cmd/hop ")
	if !ok {
		words, ok = strings.CutPrefix(line, "hop ")
	}
	if !ok {
		t.Fatalf("what is %q?", line)
	}
	args := strings.Fields(words)
	for _, q := range quick {
		if strings.HasPrefix(line, q.start) {
			args = append(args, q.flags...)
		}
	}
	code, out, errs := hop(t, args...)
	if code != 0 || out == "" && args[0] != "play" {
		t.Fatalf("exit %d\n%s\n%s", code, out, errs)
	}
	if slices.Contains(args, "--json") && !json.Valid([]byte(out)) {
		t.Errorf("stdout is not one JSON object:\n%s", out)
	}
}

// wholePage checks that the main job ends in a page with all that it promises.
func wholePage(t *testing.T) {
	t.Helper()
	page, err := os.ReadFile("runs/hop+main-001/report.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Among strangers", "What it is made of", "Every seed", "Episodes of the final agents"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the main job's page lacks %q", want)
		}
	}
}

// Selfish learners hunt the stag together, with the preset at half of its steps: 4 s of processor time, for it is
// a whole training.
func TestPPOCooperates(t *testing.T) {
	t.Chdir(t.TempDir())
	var r lab.Trained
	into(t, &r, "train", "ppo-4x4", "--steps", "300000", "--set", "eval.episodes=2000")
	if r.Mean < 2.84 {
		t.Errorf("mean return %.3f, want at least 2.84: the agents do not cooperate", r.Mean)
	}
}

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	for _, cmd := range [][]string{
		{"train"}, {"eval"}, {"play"}, {"collect"}, {"list"}, {"show"}, {"bench", "env"}, {"bench", "nn"}, {"bench", "train"},
		{"bench", "plan"}, {"bench", "growth"}, {"sweep", "run"}, {"sweep", "score"}, {"worker"},
		{"adapt"}, {"audit"}, {"completion"}, {"ladder"}, {"zoo", "train"}, {"zoo", "list"}, {"oracle"}, {"crossplay"}, {"compare"}, {"report"},
		{"pretrain", "moa"}, {"pretrain", "vae"}, {"pretrain", "cvae"}, {"pretrain", "world"}, {"pretrain", "response"},
	} {
		code, out, _ := hop(t, append(cmd, "--help")...)
		if code != 0 || !strings.Contains(out, "Example") {
			t.Errorf("hop %s --help: exit %d, no example:\n%s", strings.Join(cmd, " "), code, out)
		}
		if at := regexp.MustCompile(`@\w+_\w+`).FindString(out); at != "" {
			t.Errorf("hop %s --help: flags.txt has nothing for %s", strings.Join(cmd, " "), at)
		}
	}
	if code, out, _ := hop(t); code != 0 || !strings.Contains(out, "train") {
		t.Errorf("hop alone: exit %d\n%s", code, out)
	}
}

// Presets are listed by what they are for, the main job first; scripts find the group too.
func TestPresetsAreListedByGroup(t *testing.T) {
	var list struct{ Presets []named }
	into(t, &list, "list", "presets")
	text := ok(t, "list", "presets")
	if !strings.HasPrefix(text, "Start here\n  hop+main ") {
		t.Errorf("a newcomer reads first:\n%.200s", text)
	}
	for _, p := range list.Presets {
		head := strings.Index(text, p.Group+"\n")
		if p.Group == "" || p.Doc == "" || head < 0 || strings.Index(text, "\n  "+p.Name+" ") < head {
			t.Errorf("preset %s (%s), of group %q, is not below its headline", p.Name, p.Doc, p.Group)
		}
	}
}

// refused runs a command that must be wrong usage, and say so.
func refused(t *testing.T, command, want string) {
	t.Helper()
	code, _, errs := hop(t, strings.Fields(command)...)
	if code != 2 || !strings.Contains(errs, want) {
		t.Errorf("hop %s: exit %d, want 2 and %q:\n%s", command, code, want, errs)
	}
}

// Nothing is trained or left behind before a command has been understood.
func TestWrongUsageExitsWithTwoAndSaysWhatToDo(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ command, want string }{
		{"trian", "unexpected argument"},
		{"eval --team ns,nh", "4 seats"},
		{"eval --team nss", "random ns nh"},
		{"eval --team ns --game chess", "staghunt"},
		{"eval --team ns --set game.sise=8", "did you mean"},
		{"eval --team ns --set game.size=1", "at least 2"},
		{"train ppo-5x5", "ppo-4x4"},
		{"train --set ppo.lr=-1", "ppo.lr is -1"},
		{"train --seeds 5-1", "1-5"},
		{"train --resume nowhere", "holds no run"},
		{"collect --out d", "--mix"},
		{"audit nothing-there", "there is no preset and no file"},
		{"audit ppo-matrix --seeds x", "--seeds"},
		{"audit ppo-matrix --updates 2", "want 0 or at least 3"},
		{"audit ppo-matrix --episodes 1", "want at least 20"},
		{"ladder ppo-4x4", "do not plan"},
		{"ladder hop-4x4 --episodes 1", "at least 2"},
		{"ladder hop-4x4 --vs ns,,nh", "want bots"},
		{"ladder nothing", "nothing"},
		{"compare ppo-4x4 ppo-snowdrift", "different games"},
		{"compare ppo-4x4 ppo-4x4", "two variants"},
		{"compare ppo-4x4 ppo-8x8", "game.size (4 and 8)"},
		{"compare ppo-4x4 --seeds 3-1", "1-5"},
		{"compare ppo-4x4 --threshold high", "expected a float"},
		{"compare ppo-5x5", "ppo-4x4"},
		{"crossplay ns nss", "no player of staghunt"},
		{"crossplay ppo-4x4 ns", "has not been trained yet"},
		{"crossplay ns ns", "entered twice"},
		{"crossplay ns nh --episodes 0", "at least 1"},
		{"crossplay random --game cartpole", "one seat"},
		{"crossplay ns --set stags=2", "game.FIELD"},
		{"show ppo-4x", "did you mean ppo-4x4?"},
		{"show ppo-4x4 --diff hopp-4x4", "did you mean hop-4x4?"},
		{"show ppo-4x4 --set search.trees=3", "search is of mind hop"},
		{"show .", "holds no run"},
		{"list minds ppo-4x4", "only hop list fields"},
		{"bench train --steps 100", "--steps 100, want at least 4096: a window of ppo-4x4"},
	} {
		refused(t, c.command, c.want)
	}
	if list, err := filepath.Glob("runs/*"); err != nil || len(list) > 0 {
		t.Errorf("%v was left behind, %v", list, err)
	}
}
