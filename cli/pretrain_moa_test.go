package cli

import (
	"encoding/json"
	"path/filepath"
	"testing"
)

// The defaults follow the data: what a game's observations do not allow is off.
func TestPretrainMOAWorksOnEveryGame(t *testing.T) {
	for _, tc := range []struct{ game, mix string }{
		{"cartpole", "random,balance"},
		{"cleanup", "cleaner,harvester"},
		{"coin", "own,any"},
		{"foraging", "nearest,solo"},
		{"matrix", "allc,alld"},
		{"snowdrift", "nd,fix"},
		{"staghunt", "ns,nh"},
		{"tag", "chase,flee"},
	} {
		t.Run(tc.game, func(t *testing.T) {
			dir := t.TempDir()
			data := filepath.Join(dir, "data")
			if code, _, err := hop(t, "collect", "--game", tc.game, "--mix", tc.mix, "--rows", "2000", "--out", data); code != 0 {
				t.Fatalf("collect: exit %d: %s", code, err)
			}
			code, text, errs := hop(t, "pretrain", "moa", "--data", data, "--history", "--out", filepath.Join(dir, "moa"), "--epochs", "1", "--set", "model.hidden=[16,16]", "--json")
			if code != 0 {
				t.Fatalf("exit %d: %s", code, errs)
			}
			var got struct {
				Top1, CE float64
				Rows     int
			}
			if err := json.Unmarshal([]byte(text), &got); err != nil || got.Rows == 0 || !(got.Top1 > 0) || !(got.CE > 0) {
				t.Errorf("%+v, %v; want top1, ce and rows above 0", got, err)
			}
		})
	}
}
