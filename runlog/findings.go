package runlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"hop/check"
	"hop/internal/disk"
)

const findingsFile = "findings.json"

// closing ends findings.json. What stands before it stays when findings are added.
const closing = "\n]\n"

// Find adds a finding to findings.json and says it in log.txt. It reaches the
// disk at once, because a run that goes wrong may not live to its next checkpoint.
func (r *Run) Find(f check.Finding) error {
	r.Printf("env step %d: %s: %s; %s", f.Step, f.Check, f.Says, f.Next)
	list, err := readFindings(r.dir)
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
	if err := replace(filepath.Join(r.dir, findingsFile), append(b, '\n')); err != nil {
		return err
	}
	r.found, err = sumFindings(r.dir)
	return err
}

// sumFindings sums what will stay of findings.json when there are more.
func sumFindings(dir string) (Part, error) {
	b, err := readSmall(dir, findingsFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Part{}, err
	}
	b = bytes.TrimSuffix(b, []byte(closing))
	return Part{int64(len(b)), sumOf(b)}, nil
}

// cutFindings forgets what was found after a step: it will be found again.
func (r *Run) cutFindings(step int64) error {
	list, err := readFindings(r.dir)
	if err != nil || len(list) == 0 {
		return err
	}
	kept := list[:0]
	for _, f := range list {
		if int64(f.Step) <= step {
			kept = append(kept, f)
		}
	}
	if len(kept) == len(list) {
		return nil
	}
	if len(kept) > 0 {
		return r.writeFindings(kept)
	}
	r.found = Part{0, sumOf(nil)}
	return disk.Remove(filepath.Join(r.dir, findingsFile))
}

// readFindings returns what was found in a run, in order; nothing if all was well.
func readFindings(dir string) ([]check.Finding, error) {
	b, err := readSmall(dir, findingsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("runlog: reading findings: %w", err)
	}
	var list []check.Finding
	if err := json.Unmarshal(b, &list); err != nil {
		path := filepath.Join(dir, findingsFile)
		return nil, damaged{why: fmt.Sprintf("%s is damaged: %v; remove it to go on without what was found", path, err)}
	}
	return list, nil
}
