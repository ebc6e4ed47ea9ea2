package runlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hop/check"
)

const findingsFile = "findings.json"

// Find adds a finding to findings.json and says it in log.txt. It reaches the
// disk at once, because a run that goes wrong may not live to its next checkpoint.
func (r *Run) Find(f check.Finding) error {
	r.Printf("env step %d: %s: %s; %s", f.Step, f.Check, f.Says, f.Next)
	list, err := ReadFindings(r.dir)
	if err != nil {
		return err
	}
	return r.writeFindings(append(list, f))
}

func (r *Run) writeFindings(list []check.Finding) error {
	b, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return fmt.Errorf("runlog: writing %s: %w", findingsFile, err)
	}
	return replace(filepath.Join(r.dir, findingsFile), append(b, '\n'))
}

// cutFindings forgets what was found after a step: it will be found again.
func (r *Run) cutFindings(step int64) error {
	list, err := ReadFindings(r.dir)
	if err != nil || len(list) == 0 {
		return err
	}
	kept := list[:0]
	for _, f := range list {
		if int64(f.Step) <= step {
			kept = append(kept, f)
		}
	}
	if len(kept) == 0 {
		return os.Remove(filepath.Join(r.dir, findingsFile))
	}
	return r.writeFindings(kept)
}

// ReadFindings returns what was found in a run, in order; nothing if all was well.
func ReadFindings(dir string) ([]check.Finding, error) {
	path := filepath.Join(dir, findingsFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("runlog: reading findings: %w", err)
	}
	var list []check.Finding
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, fmt.Errorf("runlog: %s is damaged: %w; remove it to go on without what was found", path, err)
	}
	return list, nil
}
