package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/hop-marl/hop/lab/export"
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
