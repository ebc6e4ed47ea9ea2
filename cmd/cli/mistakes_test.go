package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/hop-marl/hop/store/runlog"
)

// Mistakes exit with 2, name what was typed (not a line of a file that the user never
// saw), say what there is, and leave nothing behind.
func TestMistakesNameWhatWasTyped(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ command, want string }{
		{"train ppo-4x4 --set ppo.lrr=1", "hop: --set ppo.lrr=1: ppo.lrr is not a field"},
		{"train ppo-4x4 --set ppo.learning_rate=1", "did you mean ppo.lr?"},
		{"train ppo-4x4 --set lr=1", "did you mean ppo.lr or imagine.lr?"},
		{"train ppo-4x4 --set total_timesteps=1", "did you mean train.steps"},
		{"train ppo-4x4 --steps 1e-1", "hop: --steps: want a whole number, such as 20000 or 2e4, not \"1e-1\""},
		{"adapt", "Usage: hop adapt <run> ... [flags]\nExample: hop adapt runs/hop-4x4-001 --vs ns,ns,ns\nTry: hop adapt --help"},
		{"train ppo-4x4 --set ppo.lr=-1", "hop: --set ppo.lr=-1: ppo.lr is -1, want above 0"},
		{"train ppo-4x4 --set game.size=-3", "hop: --set game.size=-3: game.size is -3"},
		{"train ppo-4x4 --set mind=nix", "hop: --set mind=nix: there is no mind"},
		{"train ppo-vs-bots --set train.team=[learn,nx]", "--set train.team=[learn,nx]: "},
		{"train ppo-vs-bots --set train.team=[learn,nx,ns,ns]", "learn, bots of staghunt (random, ns, nh, switcher, deadline), or RUN#AGENT"},
		{"train ppo-4x4 --set train.standins.who=[nx]", "--set train.standins.who=[nx]: "},
		{"train ppo-4x4 --set train.warm.who=[ns,nx]", "--set train.warm.who=[ns,nx]: "},
		{"train ppo-4x4 --set train.switch=[{at:1,agent:0,to:nx}]", "--set train.switch="},
		{"train ppo-4x4 --set train.team=[learn,learn,learn,no#0]", "no is not a run's folder"},
		{"train ppo-4x4 --set train.envs=65536 --set train.window=4096 --seeds 1-64",
			" (train.envs 65536, train.window 4096); with --set train.envs="},
		{"train ppo-4x4 --workers=-1", "--workers -1"},
		{"train ppo-4x4 --steps 0", "--steps 0"},
		{"train ppo-4x4 --steps=-5", "--steps -5"},
		{"train ppo-4x4 --seeds 3-1", "--seeds: 3-1"},
		{"train --resume no ppo-4x4", "ppo-4x4 beside --resume"},
		{"train --resume no --set ppo.lr=1", "--set beside --resume"},
		{"train --resume no --out other", "--out beside --resume"},
		{"train --resume no --out runs", "--out beside --resume"},
		{"train --resume no --steps 9 --seeds 1-2 --workers 1 --json", "no holds no run"},
		{"list bots --game nix", "--game nix: "},
		{"list fields --game nix", "--game nix: "},
		{"eval --team ns,nx,nh,nh", "--team ns,nx,nh,nh: "},
		{"eval --team ns,ns", "--team ns,ns: "},
		{"eval --team ns --episodes 0", "--episodes 0"},
		{"eval --team ns --set game.size=1", "--set game.size=1: "},
		{"report no", "no holds no run"},
		{"adapt ns --vs ns,nx,ns", "--vs ns,nx,ns: "},
		{"adapt ns --vs ns,ns,ns --then nx,ns,ns", "--then nx,ns,ns: "},
		{"adapt ns --vs ns,ns,ns --lives 0", "--lives 0"},
		{"adapt ns --vs ns,ns,ns --last 9999", "--last 9999"},
		{"crossplay ns --game nix", "--game nix: "},
		{"play --team nx", "--team nx: "},
		{"play --run no", "no holds no run"},
		{"collect --mix nx,ns --out data", "--mix nx,ns: "},
		{"collect --mix ns --out data", "--mix ns: want two bots"},
		{"collect --team nx --out data", "--team nx: "},
		{"collect --agents no --out data", "--agents "},
		{"collect --mix ns,nh --out data --rows 0", "--rows 0"},
		{"pretrain vae --data no --out out", "--data "},
		{"pretrain cvae --data no --vae no --out out", "--vae "},
		{"pretrain moa --data no --out out --epochs=-1", "--epochs -1"},
		{"oracle --vs nx,ns,ns", "--vs nx,ns,ns: "},
		{"ladder hop-4x4 --vs ns", "--vs ns: "},
		{"ladder hop-4x4 --vs nx,ns,ns", "--vs nx,ns,ns: "},
		{"ladder hop-4x4 --ppo no", "--ppo no: "},
		{"bench nn --net nix", "--net nix: "},
		{"bench nn --cpu 2", "--cpu 2: "},
		{"bench train --steps 0", "--steps 0"},
		{"bench growth --turns 0", "--turns 0"},
		{"bench growth --axis nix", "--axis nix"},
		{"zoo train --who nix", "--who nix: "},
		{"zoo train --set game.size=-4", "--set game.size=-4: "},
	} {
		refused(t, c.command, c.want)
	}
	if list, err := os.ReadDir("."); err != nil || len(list) > 0 {
		t.Errorf("%v was left behind, %v", list, err)
	}
}

// A file's own faults have their lines, beside those that were typed.
func TestFaultsOfAFileHaveLines(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("s.yaml", []byte("ppo:\n  lr: -1\n  clip: 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, _, errs := hop(t, "train", "s.yaml", "--set", "ppo.lr=-2")
	for _, want := range []string{"s.yaml has 2 faults:", "--set ppo.lr=-2: ppo.lr is -2", "line 3: ppo.clip is 0"} {
		if !strings.Contains(errs, want) {
			t.Errorf("it does not say %q:\n%s", want, errs)
		}
	}
}

// hop version, hop --version and env.json say the same.
func TestVersionSaysWhichProgramItIs(t *testing.T) {
	_, line, _ := hop(t, "version")
	for _, want := range []string{"hop " + version, "commit ", "go1.", "/", " kernels"} {
		if !strings.Contains(line, want) {
			t.Errorf("it does not say %q: %s", want, line)
		}
	}
	if code, flag, _ := hop(t, "--version"); code != 0 || flag != line {
		t.Errorf("--version: exit %d, %q, want %q", code, flag, line)
	}
	_, text, _ := hop(t, "version", "--json")
	var b runlog.Build
	if err := json.Unmarshal([]byte(text), &b); err != nil || b.Line()+"\n" != line {
		t.Errorf("--json says %s, %v", text, err)
	}
}

// Whole numbers may be written as people write large ones.
func TestLargeNumbersAreReadAsPeopleWriteThem(t *testing.T) {
	t.Chdir(t.TempDir())
	want := ok(t, "eval", "--team", "ns,nh,nh,nh", "--episodes", "200", "--json")
	for _, text := range []string{"2e2", "2_00", "200.0", "0.2e3"} {
		if got := ok(t, "eval", "--team", "ns,nh,nh,nh", "--episodes", text, "--json"); got != want {
			t.Errorf("--episodes %s is not 200:\n%s", text, got)
		}
	}
}
