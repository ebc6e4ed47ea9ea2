package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hop/lab"
	"hop/registry"
)

// hop runs the program in this process and returns its exit code, stdout and stderr.
func hop(t *testing.T, args ...string) (code int, out, err string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(&app{context.Background(), registry.New(), strings.NewReader(""), &o, &e}, args)
	return code, o.String(), e.String()
}

// commands returns the lines of a page's sh blocks.
func commands(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", page))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	in := false
	for _, line := range strings.Split(string(text), "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			in = line == "```sh"
		case in:
			lines = append(lines, line)
		}
	}
	return lines
}

// quick are settings that make a README's longer commands short, by how the
// command starts.
var quick = []struct {
	start string
	flags []string
}{
	{"go run ./cmd/hop train", []string{
		"--set", mainStages, "--set", "follow=[{name: adapt, run: 'adapt {run} --vs ns,nh,nh --lives 1 --steps 200 --last 100'}]",
		"--set", "train.steps=2500", "--set", "eval.episodes=20", "--set", "train.save=1000", "--set", "train.warm.windows=1",
	}},
	{"hop train ppo", []string{"--set", "train.steps=20000", "--set", "eval.episodes=200", "--set", "train.save=10000"}},
	{"hop compare ppo", []string{"--set", "train.steps=10000", "--set", "eval.episodes=100"}},
	{"hop train hop", []string{
		"--set", "train.steps=2500", "--set", "eval.episodes=20", "--set", "train.save=1000", "--set", "train.warm.windows=1",
	}},
	{"hop ladder", []string{"--vs", "ns,nh,nh", "--episodes", "4"}},
	{"hop audit", []string{"--seeds", "1", "--updates", "6", "--episodes", "100"}},
	{"hop adapt", []string{"--lives", "2", "--steps", "200", "--last", "100"}},
	{"hop crossplay", []string{"--episodes", "4"}},
	{"hop zoo train", []string{"--steps", "5000"}},
	{"hop pretrain moa", []string{"--epochs", "1", "--set", "model.hidden=[16,16]"}},
	{"hop pretrain world", []string{"--set", "epochs=1", "--set", "model.hidden=[16]", "--probe", "500", "--plays", "10"}},
	{"hop pretrain response", []string{"--set", "steps=5000", "--episodes", "20"}},
	{"hop collect", []string{"--rows", "5000"}},
	{"hop oracle", []string{"--episodes", "5"}},
	{"hop bench env", []string{"--time", "10ms"}},
	{"hop bench nn", []string{"--net", "actor", "--round", "1ms"}},
}

// mainStages is the main job's preparation, made small.
const mainStages = `prepare=[{name: data, run: 'collect {game} --mix ns,nh --rows 3000 --seed 7'},
{name: vae, run: 'pretrain vae --data {data} --loss b --set epochs=1'}, {name: cvae, run: 'pretrain cvae --data {data} --vae {vae} --set epochs=1'},
{name: world, run: 'pretrain world --data {data} --set epochs=1 --set model.hidden=[16] --probe 500 --plays 10'}, {name: response, run: 'pretrain response {game} --set steps=5000 --set save=1000 --episodes 20'}]`

func TestReadmeCommandsRun(t *testing.T) {
	english, chinese := commands(t, "README.md"), commands(t, "README.zh-CN.md")
	if len(english) < 8 || !slices.Equal(english, chinese) {
		t.Fatalf("the two READMEs show different commands:\n%v\n%v", english, chinese)
	}
	t.Chdir(t.TempDir())
	for _, line := range english {
		t.Run(line, func(t *testing.T) {
			words := strings.Fields(line)
			switch {
			case line == "go test ./...":
				return // this is it
			case strings.HasPrefix(line, "go run ./cmd/hop "):
				words = words[3:]
			case words[0] == "hop":
				words = words[1:]
			default:
				t.Fatalf("what is %q?", line)
			}
			for _, q := range quick {
				if strings.HasPrefix(line, q.start) {
					words = append(words, q.flags...)
				}
			}
			code, out, errs := hop(t, words...)
			if code != 0 || out == "" && words[0] != "play" {
				t.Fatalf("exit %d\n%s\n%s", code, out, errs)
			}
			if slices.Contains(words, "--json") && !json.Valid([]byte(out)) {
				t.Errorf("stdout is not one JSON object:\n%s", out)
			}
			if line == "go run ./cmd/hop train" {
				wholePage(t)
			}
		})
	}
}

// wholePage checks that the main job ends in a page with all that it promises.
func wholePage(t *testing.T) {
	t.Helper()
	page, err := os.ReadFile("runs/hop+main-001/report.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Meeting strangers", "What it is made of", "Every seed", "Three episodes of the final agents",
		"What they know of each other"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the main job's page lacks %q", want)
		}
	}
}

// Selfish learners hunt the stag together, with the preset as it stands.
func TestPPOCooperates(t *testing.T) {
	t.Chdir(t.TempDir())
	code, out, errs := hop(t, "train", "ppo-4x4", "--set", "eval.episodes=2000", "--json")
	if code != 0 {
		t.Fatal(errs)
	}
	var r lab.Trained
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if r.Mean < 2.84 {
		t.Errorf("mean return %.3f, want at least 2.84: the agents do not cooperate", r.Mean)
	}
}

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	for _, cmd := range [][]string{
		{"train"}, {"eval"}, {"play"}, {"collect"}, {"list"}, {"bench", "env"}, {"bench", "nn"}, {"bench", "train"}, {"bench", "plan"},
		{"adapt"}, {"audit"}, {"ladder"}, {"zoo", "train"}, {"zoo", "list"}, {"oracle"}, {"crossplay"}, {"compare"}, {"report"},
		{"pretrain", "moa"}, {"pretrain", "vae"}, {"pretrain", "cvae"}, {"pretrain", "world"},
	} {
		code, out, _ := hop(t, append(cmd, "--help")...)
		if code != 0 || !strings.Contains(out, "Example") {
			t.Errorf("hop %s --help: exit %d, no example:\n%s", strings.Join(cmd, " "), code, out)
		}
	}
	if code, out, _ := hop(t); code != 0 || !strings.Contains(out, "train") {
		t.Errorf("hop alone: exit %d\n%s", code, out)
	}
}

func TestWrongUsageExitsWithTwoAndSaysWhatToDo(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"trian"}, "unexpected argument"},
		{[]string{"eval", "--team", "ns,nh"}, "4 seats"},
		{[]string{"eval", "--team", "nss"}, "random ns nh"},
		{[]string{"eval", "--team", "ns", "--game", "chess"}, "staghunt"},
		{[]string{"eval", "--team", "ns", "--set", "game.sise=8"}, "did you mean"},
		{[]string{"eval", "--team", "ns", "--set", "game.size=1"}, "at least 2"},
		{[]string{"train", "ppo-5x5"}, "ppo-4x4"},
		{[]string{"train", "--set", "ppo.lr=-1"}, "ppo.lr is -1"},
		{[]string{"train", "--seeds", "5-1"}, "1-5"},
		{[]string{"train", "--resume", "nowhere"}, "holds no run"},
		{[]string{"collect", "--out", "d"}, "--mix"},
	} {
		code, _, errs := hop(t, c.args...)
		if code != 2 || !strings.Contains(errs, c.want) {
			t.Errorf("hop %s: exit %d, want 2 and %q:\n%s", strings.Join(c.args, " "), code, c.want, errs)
		}
	}
}

// Must-show of the games: the reference table, a fast subset (SPEC's own cells
// have a standard error of up to 0.006; the bound is 4 combined).
func TestScriptedTeamsGetTheReferenceReturns(t *testing.T) {
	for _, c := range []struct {
		set, team   string
		focal, mean float64
	}{
		{"game.size=4", "ns,ns,ns,ns", 2.831, 2.831},
		{"game.size=4", "nh,ns,ns,ns", 0.998, 2.926},
		{"game.size=4", "ns,ns,nh,nh", 5.000, 2.975},
		{"game.size=4", "ns,random,random,random", 2.098, 1.525},
		{"game.size=8", "ns,ns,ns,nh", 3.613, 2.959},
		{"game.size=8", "random,random,random,random", 0.258, 0.259},
		{"game.stags=2", "ns,ns,nh,nh", 2.704, 1.827},
	} {
		code, out, errs := hop(t, "eval", "--set", c.set, "--team", c.team, "--episodes", "10000", "--json")
		if code != 0 {
			t.Fatal(errs)
		}
		var got lab.Evaluation
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatal(err)
		}
		near := func(what string, x, se, want float64) {
			if bound := 4 * (se + 0.006); x < want-bound || x > want+bound {
				t.Errorf("%s %s: %s %.4f, want %.3f within %.3f", c.set, c.team, what, x, want, bound)
			}
		}
		near("focal", got.Seats[0].Mean, got.Seats[0].SE, c.focal)
		near("mean", got.Mean, got.SE, c.mean)
	}
}

// The same numbers for any number of workers.
func TestEvalDoesNotDependOnWorkers(t *testing.T) {
	var first string
	for _, w := range []string{"1", "2", "5"} {
		_, out, _ := hop(t, "eval", "--team", "switcher,ns,nh,random", "--episodes", "700", "--workers", w, "--json")
		if first == "" {
			first = out
		}
		if out != first {
			t.Errorf("with %s workers:\n%s\nwith 1:\n%s", w, out, first)
		}
	}
}
