package stage

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/hop-marl/hop/num/disk"
)

// Record is how one stage around a training went. A training's folder holds the list of
// them, for its report.
type Record struct {
	Name    string  `json:"name"`
	Command string  `json:"command"`
	Dir     string  `json:"dir"`
	Reused  bool    `json:"reused"`
	Wall    float64 `json:"wall_s"`
	Verdict string  `json:"verdict,omitempty"` // of the report card in its folder
	Status  string  `json:"status,omitempty"`
	Sum     string  `json:"sum,omitempty"` // of the whole list, and of what was trained
}

// Scores is what was trained: the returns of a seed's final agents.
type Scores struct {
	Seed   uint64
	Agents []float64
}

const recordFile = "stages.json"

// WriteRecords writes the list into a training's folder.
func WriteRecords(dir string, list []Record, of []Scores) error {
	sum, err := sumRecords(list, of)
	if err != nil {
		return err
	}
	for i := range list {
		list[i].Sum = sum
	}
	return disk.WriteJSON(filepath.Join(dir, recordFile), list)
}

// ReadRecords reads the list from a training's folder. It must be as it was written, and
// of what was trained there, unless an earlier program wrote it, which took no sums.
func ReadRecords(dir string, of []Scores) ([]Record, error) {
	path := filepath.Join(dir, recordFile)
	b, err := disk.Read(path, 64<<20)
	if err != nil {
		return nil, err
	}
	var list []Record
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; %s", path, err, without)
	}
	sum, err := sumRecords(list, of)
	if err != nil {
		return nil, err
	}
	sealed := false
	for _, r := range list {
		sealed = sealed || r.Sum != ""
	}
	for _, r := range list {
		if sealed && r.Sum != sum {
			return nil, fmt.Errorf("%s is damaged: it was changed after it was written, or is of another training; %s", path, without)
		}
	}
	return list, nil
}

const without = "put it back from a copy, or remove it to do without"

func sumRecords(list []Record, of []Scores) (string, error) {
	bare := make([]Record, len(list))
	for i, r := range list {
		r.Sum = ""
		bare[i] = r
	}
	b, err := json.Marshal(map[string]any{"stages": bare, "of": of})
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:]), err
}
