package spec_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/train/registry"
)

// hostileSpecs name programs, folders that lead out, absurd sizes, depth and no numbers.
// TRACE stands for a program that leaves a trace if anybody runs it.
var hostileSpecs = []string{
	"game: {name: python, env: 'os:system', python: TRACE}\n",
	"game: {name: python, env: 'subprocess:check_output', kwargs: '{\"args\": [\"TRACE\"]}', python: TRACE, workers: 1}\n",
	"game: {name: python, env: '--help', python: TRACE, replay: false}\nmind: hop\n",
	"prepare: [{name: x, run: \"collect --game python --set game.env=os:system --set game.python=TRACE\"}]\n",
	"follow: [{name: x, run: \"play --gif /dev/full; TRACE\"}]\n",
	"train: {team: ['../../../../etc#0', '/dev/zero#0@1', '--out=/tmp#0', learn]}\n",
	"train: {standins: {share: 0.5, who: ['../../../../proc/self/root#0']}}\n",
	"mind: hop\ngoals: {kind: latent, vae: ../../../../etc, cvae: /dev/zero}\n",
	"base: ../../../../etc/passwd\n", "base: /dev/stdin\n", "name: ../../x\n", "name: \"a\\0b\"\n",
	"train: {envs: 9223372036854775807, window: 9223372036854775807, steps: 1}\n", "actor: {hidden: [2147483647, 2147483647]}\n",
	"game: {size: 1e18}\n", "game: {stag_pays: .nan, hare_pays: .inf}\n",
	"ppo: {lr: -.inf, gamma: 1e999}\n", "game: {player_strength: [.nan]}\n",
	"game: " + strings.Repeat("{a: ", 5_000) + "\n", "actor: {hidden: " + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + "}\n",
	"actor: {hidden: &l [*l]}\n", "game: !!python/object/apply:os.system ['TRACE']\n", "game: {name: !!binary AAAA}\n",
}

// FuzzParse reads specs as somebody else may have written them: that starts no program,
// and what is taken can be written and read back.
func FuzzParse(f *testing.F) {
	for _, text := range hostileSpecs {
		f.Add(text)
	}
	dir := f.TempDir()
	trace, program := filepath.Join(dir, "trace"), filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ntouch '"+trace+"'\n"), 0o755); err != nil {
		f.Fatal(err)
	}
	reg := registry.New()
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ReplaceAll(text, "TRACE", program)
		s, err := reg.Parse([]byte(text), "s.yaml", "s", nil)
		if _, ran := os.Stat(trace); ran == nil {
			t.Fatal("reading it has run a program")
		}
		if err != nil {
			return
		}
		first, err := s.YAML()
		if err != nil {
			t.Fatalf("taken but not written back: %v", err)
		}
		again, err := reg.Parse(first, "s.yaml", "s", nil)
		if err != nil {
			t.Fatalf("written back but refused: %v", err)
		}
		if second, err := again.YAML(); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("written back as another spec: %v\n%s\n%s", err, first, second)
		}
	})
}
