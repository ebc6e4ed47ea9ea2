package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPretrainWorldKeepsItsPromise(t *testing.T) {
	dir := t.TempDir()
	data, out := filepath.Join(dir, "data"), filepath.Join(dir, "world")
	ok(t, "collect", "--team", "random", "--set", "game.size=3", "--set", "game.hares=2", "--set", "game.horizon=8", "--rows", "800",
		"--out", data)
	other := filepath.Join(dir, "other")
	ok(t, "collect", "--team", "random", "--rows", "100", "--out", other)
	args := []string{"pretrain", "world", "--data", data, "--out", out, "--set", "epochs=1", "--set", "model.hidden=[16]",
		"--probe", "300", "--plays", "20"}
	var got, again map[string]any
	into(t, &got, args...)
	for _, key := range []string{
		"exact", "illegal", "psnr", "reward_mse", "events", "open_loop", "verdict", "illegal_by_kind", "channel_mse", "probe",
	} {
		if _, ok := got[key]; !ok {
			t.Errorf("the object has no %q", key)
		}
	}
	if n := len(got["open_loop"].([]any)); n != 15 {
		t.Errorf("open_loop has %d steps, want 15", n)
	}
	for _, name := range []string{"card.html", "worst.png", "spec.yaml", "metrics.csv", "env.json"} {
		if s, err := os.Stat(filepath.Join(out, name)); err != nil || s.Size() == 0 {
			t.Errorf("%s is missing or empty: %v", name, err)
		}
	}
	if into(t, &again, args...); again["exact"] != got["exact"] {
		t.Errorf("the same command again: exact %v, want %v", again["exact"], got["exact"])
	}
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"other settings in the same folder", append(args, "--seed", "2"), 2, "other settings"},
		{"no such field", []string{"pretrain", "world", "--data", data, "--out", out + "2", "--set", "epoch=1"}, 2, "epoch"},
		{"out of range", []string{"pretrain", "world", "--data", data, "--out", out + "2", "--set", "epochs=0"}, 2, "epochs"},
		{"no data", []string{"pretrain", "world", "--data", dir, "--out", out + "2"}, 2, "holds no dataset"},
		{"two games", []string{"pretrain", "world", "--data", data, "--data", other, "--out", out + "2"}, 1, "one game"},
	} {
		if code, _, errs := hop(t, c.args...); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit %d, want %d; it says %q, want %q in it", c.name, code, c.code, errs, c.want)
		}
	}
}

// The defaults follow the data: what a game's observations do not allow is off.
func TestPretrainMOAWorksOnEveryGame(t *testing.T) {
	for _, tc := range []struct{ game, mix string }{
		{"cartpole", "random,balance"},
		{"cleanup", "cleaner,harvester"},
		{"coin", "own,any"},
		{"commons", "sparing,greedy"},
		{"foraging", "nearest,solo"},
		{"matrix", "allc,alld"},
		{"snowdrift", "nd,fix"},
		{"staghunt", "ns,nh"},
		{"tag", "chase,flee"},
	} {
		t.Run(tc.game, func(t *testing.T) {
			dir := t.TempDir()
			data := filepath.Join(dir, "data")
			ok(t, "collect", "--game", tc.game, "--mix", tc.mix, "--rows", "1500", "--out", data)
			var got struct {
				Top1, CE float64
				Rows     int
			}
			into(t, &got, "pretrain", "moa", "--data", data, "--history", "--out", filepath.Join(dir, "moa"), "--epochs", "1",
				"--set", "model.hidden=[16,16]")
			if got.Rows == 0 || !(got.Top1 > 0) || !(got.CE > 0) {
				t.Errorf("%+v; want top1, ce and rows above 0", got)
			}
		})
	}
}
