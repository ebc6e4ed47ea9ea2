package cli

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hop-marl/hop/lab/export"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/spec/spectest"
)

// The networks of a run become files, one for each, and what is left out is named.
func TestExportWritesTheNetworks(t *testing.T) {
	t.Chdir(t.TempDir())
	dir := spectest.Play(t, "mind: hop\nactor: {hidden: [8]}\nppo: {lambda: 1}\nmoa: {hidden: [8, 8]}\n"+
		"train: {envs: 2, window: 4, steps: 8, save: 8}\n", 1, 1).Dir
	var got struct{ Runs []export.Result }
	into(t, &got, "export", dir, "--onnx", "--check", "3")
	if len(got.Runs) != 1 || len(got.Runs[0].Files) != 8 {
		t.Fatalf("exported %+v, want four networks that act and four models of others", got)
	}
	for i, f := range got.Runs[0].Files {
		want := []string{"actor", "others"}[i%2]
		if f.Kind != want || len(f.Agents) != 1 || f.Agents[0] != i/2 {
			t.Errorf("file %d is %s of %v, want %s of %d", i, f.Kind, f.Agents, want, i/2)
		}
		for _, path := range []string{f.Path, f.Check} {
			if at, err := os.Stat(path); err != nil || at.Size() < 1000 {
				t.Errorf("%s: %v", path, err)
			}
		}
		if f.Inputs[0].Name != "obs" || f.Inputs[1].Name != "goals" {
			t.Errorf("%s reads %v", f.Path, f.Inputs)
		}
	}
	text := ok(t, "export", dir, "--onnx", "--out", "nets")
	if !strings.Contains(text, "Not in these files: beliefs, search.") || !strings.Contains(text, "obs [batch, 148]") {
		t.Errorf("it says\n%s", text)
	}
	if _, err := os.Stat("nets/agent-3-others.onnx"); err != nil {
		t.Error(err)
	}
	if code, _, err := hop(t, "export", dir); code != 2 || !strings.Contains(err, "--onnx") {
		t.Errorf("without a format: code %d, %s", code, err)
	}
}

// Every number of a run reaches other trackers, in the forms that their tools read (python/tests/test_trackers.py
// lets them): a log of whole records, and a folder of files.
func TestExportWritesForOtherTrackers(t *testing.T) {
	t.Chdir(t.TempDir())
	ok(t, "train", "ppo-matrix", "--set", "train.steps=20000", "--set", "train.envs=4", "--set", "train.save=20000",
		"--set", "eval.episodes=4")
	var got struct{ Runs []string }
	into(t, &got, "export", "runs/ppo-matrix-001", "--mlflow")
	rows, err := runlog.ReadMetrics("runs/ppo-matrix-001/seed-1")
	if err != nil || len(got.Runs) != 1 {
		t.Fatal(err, got)
	}
	last := map[string]string{}
	steps := map[int64]bool{}
	for _, r := range rows {
		last[r.Tag()] = fmt.Sprint(r.Value)
		steps[r.Step] = true
	}
	for tag, x := range last {
		text, err := os.ReadFile(filepath.Join(got.Runs[0], "metrics", filepath.FromSlash(tag)))
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		if words := strings.Fields(lines[len(lines)-1]); err != nil || len(words) != 3 || !same(words[1], x) {
			t.Errorf("%s ends with %q (%v), want %s", tag, words, err, x)
		}
	}
	lr, err := os.ReadFile(filepath.Join(got.Runs[0], "params", "ppo.lr"))
	if err != nil || !strings.Contains(ok(t, "show", "ppo-matrix"), "lr: "+string(lr)) {
		t.Errorf("ppo.lr is %q, %v", lr, err)
	}
	into(t, &got, "export", "runs/ppo-matrix-001", "--wandb")
	files, _ := filepath.Glob(got.Runs[0] + "/*.wandb")
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if n := wandbRecords(t, text); n[2] != len(steps) || n[17] != 1 || n[3] != 1 || n[18] != 1 || len(text) < 40_000 {
		t.Errorf("%d bytes of records %v, want %d of history", len(text), n, len(steps))
	}
	refused(t, "export runs/ppo-matrix-001 --wandb --mlflow", "choose one")
	refused(t, "export runs/ppo-matrix-001 --wandb --check 3", "--check is of --onnx")
}

// same says whether two numbers are the same, however they are written.
func same(a, b string) bool {
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err == nil && err2 == nil && (x == y || x != x && y != y)
}

// wandbRecords counts the records of a log by their kind, across its blocks of 32 kB.
func wandbRecords(t *testing.T, b []byte) map[protowire.Number]int {
	t.Helper()
	counts, whole := map[protowire.Number]int{}, []byte(nil)
	for i := 7; i < len(b); {
		if left := 32768 - i%32768; left < 7 {
			i += left
			continue
		}
		sum, n, kind := binary.LittleEndian.Uint32(b[i:]), int(binary.LittleEndian.Uint16(b[i+4:])), b[i+6]
		if i/32768 != (i+6+n)/32768 || crc32.ChecksumIEEE(b[i+6:i+7+n]) != sum || (len(whole) == 0) != (kind < 3) {
			t.Fatalf("at byte %d a part of %d bytes, kind %d, is wrong", i, n, kind)
		}
		whole = append(whole, b[i+7:i+7+n]...)
		if i += 7 + n; kind == 2 || kind == 3 {
			continue
		}
		num, _, n1 := protowire.ConsumeTag(whole)
		n2 := protowire.ConsumeFieldValue(num, protowire.VarintType, whole[n1:])
		field, _, _ := protowire.ConsumeTag(whole[n1+n2:])
		counts[field]++
		whole = nil
	}
	return counts
}
