package stage

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The list of stages is as it was written, and of the training that it lies beside.
func TestTheListOfStagesIsSealed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, recordFile)
	of := []Scores{{1, []float64{2.5, 1}}}
	list := []Record{{Name: "data", Command: "hop collect", Wall: 1.5}, {Name: "train", Verdict: "mean return 2.5"}}
	if err := WriteRecords(dir, list, of); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadRecords(dir, of); err != nil || len(got) != 2 || got[1] != list[1] {
		t.Fatalf("%+v, %v", got, err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(name string, b []byte, of []Scores) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadRecords(dir, of); err == nil || !strings.Contains(err.Error(), path+" is damaged") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	refused("a number", bytes.Replace(b, []byte("2.5"), []byte("3.5"), 1), of)
	refused("a seconds", bytes.Replace(b, []byte("1.5"), []byte("1.6"), 1), of)
	refused("a sum", bytes.Replace(b, []byte(`"sum"`), []byte(`"sun"`), 1), of)
	refused("of another training", b, []Scores{{1, []float64{2.5, 2}}})
	refused("half", b[:len(b)/2], of)
	if err := os.WriteFile(path, []byte(`[{"name": "data"}]`), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadRecords(dir, of); err != nil || len(got) != 1 {
		t.Errorf("of an earlier program: %+v, %v", got, err)
	}
}
