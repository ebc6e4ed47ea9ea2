package runlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/disk"
)

const findingsFile = "findings.json"

// closing ends findings.json. What stands before it stays when findings are added.
const closing = "\n]\n"

// Find adds a finding to findings.json and says it in log.txt. It reaches the
// disk at once, because a run that goes wrong may not live to its next checkpoint.
func (r *Run) Find(f check.Finding) error {
	r.Printf("env step %d: %s: %s; %s", f.Step, f.Check, f.Says, f.Next)
	text, err := json.MarshalIndent(f, "  ", "  ")
	if err != nil {
		return fmt.Errorf("runlog: writing %s: %w", findingsFile, err)
	}
	b, err := findingsText(r.dir)
	if err != nil {
		return err
	}
	if b = bytes.TrimSuffix(b, []byte(closing)); len(b) == 0 {
		b = []byte("[")
	} else {
		b = append(b, ',')
	}
	return r.writeFindings(fmt.Appendf(b, "\n  %s", text))
}

// writeFindings writes them without what closes them.
func (r *Run) writeFindings(b []byte) error {
	r.found = Part{int64(len(b)), sumOf(b)}
	path := filepath.Join(r.dir, findingsFile)
	if len(b) > 0 {
		return replace(path, append(b, closing...))
	}
	if err := disk.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return explain("removing", path, err)
	}
	return nil
}

// findingsText returns findings.json, nothing if there is none.
func findingsText(dir string) ([]byte, error) {
	b, err := readSmall(dir, findingsFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("runlog: reading findings: %w", err)
	}
	return b, nil
}

// sumFindings sums what will stay of findings.json when there are more.
func sumFindings(dir string) (Part, error) {
	b, err := findingsText(dir)
	b = bytes.TrimSuffix(b, []byte(closing))
	return Part{int64(len(b)), sumOf(b)}, err
}

// foundUntil sums the findings up to a step.
func foundUntil(dir string, step int64) (Part, error) {
	b, err := findingsText(dir)
	if err != nil {
		return Part{}, err
	}
	n, read := 0, json.NewDecoder(bytes.NewReader(b))
	if _, err := read.Token(); err == nil {
		for read.More() {
			var f check.Finding
			if read.Decode(&f) != nil || int64(f.Step) > step {
				break
			}
			n = int(read.InputOffset())
		}
	}
	return Part{int64(n), sumOf(b[:n])}, nil
}

// cutFindings forgets what was found after a checkpoint: it will be found again.
func (r *Run) cutFindings(to Part) error {
	b, err := findingsText(r.dir)
	if err != nil || to.Bytes+int64(len(closing)) == int64(len(b)) || int64(len(b)) < to.Bytes {
		return err
	}
	return r.writeFindings(b[:to.Bytes])
}

// readFindings returns what was found in a run, in order; nothing if all was well.
func readFindings(dir string) ([]check.Finding, error) {
	b, err := findingsText(dir)
	if err != nil || b == nil {
		return nil, err
	}
	var list []check.Finding
	if err := json.Unmarshal(b, &list); err != nil {
		path := filepath.Join(dir, findingsFile)
		return nil, damaged{why: fmt.Sprintf("%s is damaged: %v; remove it to go on without what was found", path, err)}
	}
	return list, nil
}
