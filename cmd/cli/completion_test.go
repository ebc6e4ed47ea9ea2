package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/train/registry"
)

// The test binary is the program if it is called so, or as a sweep's worker calls it: else a
// sweep in a test would run all tests again. The tests' user has settings of their own.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "hop" || len(os.Args) > 1 && os.Args[1] == "attempt" {
		Main(registry.New())
	}
	settings, err := os.MkdirTemp("", "hop-settings-")
	if err != nil {
		panic(err)
	}
	os.Setenv("HOP_CONFIG", settings)
	code := m.Run()
	os.RemoveAll(settings)
	os.Exit(code)
}

// shells says how each of them is asked what it would make of a line: it prints one
// completion a line, behind the script that hop completion prints.
var shells = []struct{ name, ask string }{
	{"bash", `source <(hop completion bash)
COMP_LINE=$LINE COMP_POINT=${#LINE}; _hop; printf '%s\n' "${COMPREPLY[@]}"`},
	{"zsh", `compdef() { }; _files() { }
compadd() { while [[ $1 != -- ]]; do shift; done; shift; for w in "$@"; do [[ $w == $words[CURRENT]* ]] && print -r -- $w; done }
source <(hop completion zsh)
words=("${(@s/ /)LINE}"); CURRENT=$#words; _hop`},
	{"fish", `hop completion fish | source; complete -C "$LINE" | string replace -r '\t.*' ''`},
}

// runFolder makes the folder of a run of two seeds.
func runFolder(t *testing.T) {
	t.Helper()
	for _, seed := range []string{"seed-1", "seed-2"} {
		if err := os.MkdirAll(filepath.Join("runs", "mine-001", seed), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWordsAreCompleted(t *testing.T) {
	t.Chdir(t.TempDir())
	runFolder(t)
	for _, c := range []struct{ line, want string }{
		{"tra", "train"},
		{"pretrain w", "world"},
		{"train --se", "--set --seeds --serve"},
		{"train hop+no", "hop+nogoals hop+nomoa hop+nosearch"},
		{"train --seeds 1-3 --json lola", "lola-matrix"},
		{"train --seeds=1-3 lola", "lola-matrix"},
		{"list f", "fields"},
		{"list fields hop+m", "hop+main"},
		{"eval --game sn", "snowdrift"},
		{"eval --game=sn", "--game=snowdrift"},
		{"eval --team n", "ns nh"},
		{"eval --game snowdrift --team n", "nd"},
		{"eval --game=coin --team own,o", "own,own"},
		{"eval --game nosuch --team n", ""},
		{"adapt runs/mine-001 --vs plan-i", "plan-infer"},
		{"crossplay ns runs/", "runs/mine-001"},
		{"report ", "runs/mine-001"},
		{"train --resume ", "runs/mine-001"},
		{"train --set train.sw", "train.switch="},
		{"eval --set train.", ""},
		{"eval --set game.sta", "game.stags= game.stag_pays="},
		{"pretrain vae --set game.s", ""},
		{"completion ", "bash zsh fish powershell"},
		{"nonsense --what x", ""},
	} {
		words := strings.Split(c.line, " ")
		last := len(words) - 1
		code, out, _ := hop(t, append([]string{"__complete", "=" + words[last]}, words[:last]...)...)
		var got []string
		for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
			name, _, _ := strings.Cut(line, "\t")
			got = append(got, name)
		}
		if strings.Join(got, " ") != c.want || code != 0 {
			t.Errorf("hop %s may become %q, want %s", c.line, got, c.want)
		}
	}
}

func TestShellsCompleteCommands(t *testing.T) {
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(bin, filepath.Join(dir, "hop")); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	t.Chdir(dir)
	runFolder(t)
	for _, shell := range shells {
		t.Run(shell.name, func(t *testing.T) {
			path, err := exec.LookPath(shell.name)
			if err != nil {
				t.Skip(shell.name, " is not installed")
			}
			for _, c := range []struct{ line, want string }{
				{"hop report ", "runs/mine-001"},
				{"hop eval --game snowdrift --team nd,f", "nd,fix"},
				{"hop eval --game=st", "staghunt"},
			} {
				cmd := exec.Command(path, "-c", shell.ask)
				cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "LINE="+c.line, "HOME="+dir)
				out, err := cmd.Output()
				if got := strings.TrimPrefix(strings.TrimSpace(string(out)), "--game="); err != nil || got != c.want {
					t.Errorf("%s may become %q (%v), want %s", c.line, got, err, c.want)
				}
			}
		})
	}
}
