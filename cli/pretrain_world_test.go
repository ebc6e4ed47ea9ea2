package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPretrainWorldKeepsItsPromise(t *testing.T) {
	dir := t.TempDir()
	data, out := filepath.Join(dir, "data"), filepath.Join(dir, "world")
	if code, _, err := hop(t, "collect", "--team", "random", "--set", "game.size=3", "--set", "game.hares=2", "--set", "game.horizon=8", "--rows", "800", "--out", data); code != 0 {
		t.Fatalf("collect: exit %d: %s", code, err)
	}
	args := []string{"pretrain", "world", "--data", data, "--out", out, "--set", "epochs=1", "--set", "model.hidden=[16]", "--probe", "300", "--plays", "20", "--json"}
	code, text, errs := hop(t, args...)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"exact", "illegal", "psnr", "reward_mse", "events", "open_loop", "verdict", "illegal_by_kind", "channel_mse", "probe"} {
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
	if code, again, errs := hop(t, args...); code != 0 || exactOf(t, again) != exactOf(t, text) {
		t.Errorf("the same command again: exit %d, %s; exact %v, want %v", code, errs, exactOf(t, again), exactOf(t, text))
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
		{"no data", []string{"pretrain", "world", "--data", dir, "--out", out + "2"}, 1, "holds no dataset"},
		{"two games", []string{"pretrain", "world", "--data", data, "--data", other(t, dir), "--out", out + "2"}, 1, "one game"},
	} {
		if code, _, errs := hop(t, c.args...); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit %d, want %d; it says %q, want %q in it", c.name, code, c.code, errs, c.want)
		}
	}
}

func exactOf(t *testing.T, text string) float64 {
	t.Helper()
	var got struct{ Exact float64 }
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	return got.Exact
}

// other collects a dataset of another board.
func other(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(dir, "other")
	if code, _, err := hop(t, "collect", "--team", "random", "--rows", "100", "--out", to); code != 0 {
		t.Fatalf("collect: exit %d: %s", code, err)
	}
	return to
}
