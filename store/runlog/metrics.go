package runlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/disk"
)

// header is the first line of metrics.csv.
const header = "step,name,agent,value,n"

// What a file can make its readers take is bounded: tables have a row for each agent.
const (
	maxAgents = 1024    // no game seats more
	maxLine   = 1 << 16 // bytes of a row
)

// append adds the row's line to b.
func (row Row) append(b []byte) []byte {
	b = strconv.AppendInt(b, row.Step, 10)
	b = append(b, ',')
	b = append(b, row.Name...)
	b = append(b, ',')
	if row.Agent >= 0 {
		b = strconv.AppendInt(b, int64(row.Agent), 10)
	}
	b = append(b, ',')
	b = strconv.AppendFloat(b, row.Value, 'g', -1, 64)
	b = append(b, ',')
	b = strconv.AppendInt(b, int64(row.N), 10)
	return append(b, '\n')
}

// readMetrics returns all whole rows of a run's metrics.csv.
func readMetrics(dir string) ([]Row, error) {
	path := filepath.Join(dir, metricsFile)
	f, err := disk.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notRun(dir, metricsFile)
	}
	if err != nil {
		return nil, fmt.Errorf("runlog: reading %s: %w", path, err)
	}
	defer f.Close()
	rows, err := parseMetrics(f)
	if err != nil {
		return nil, fmt.Errorf("runlog: reading %s: %w", path, err)
	}
	return rows, nil
}

// parseMetrics reads the rows; a last line without an end is still being written.
func parseMetrics(r io.Reader) ([]Row, error) {
	var rows []Row
	br := bufio.NewReaderSize(r, maxLine)
	for n := 1; ; n++ {
		b, err := br.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			return nil, fmt.Errorf("line %d: it goes on after %d bytes, which no row does", n, maxLine)
		}
		if err != nil {
			return nil, err
		}
		line := string(b)
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if n == 1 {
			if line != header {
				return nil, fmt.Errorf("line 1: %.80q, want %q", line, header)
			}
			continue
		}
		row, err := parseRow(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		rows = append(rows, row)
	}
}

func parseRow(line string) (Row, error) {
	f := strings.Split(line, ",")
	if len(f) != 5 {
		return Row{}, fmt.Errorf("%d fields, want %s", len(f), header)
	}
	row := Row{Name: f[1], Agent: -1}
	var errs [4]error
	row.Step, errs[0] = strconv.ParseInt(f[0], 10, 64)
	if f[2] != "" {
		if row.Agent, errs[1] = strconv.Atoi(f[2]); errs[1] == nil && (row.Agent < 0 || row.Agent >= maxAgents) {
			errs[1] = fmt.Errorf("agent %d, want one from 0 to %d, or nothing", row.Agent, maxAgents-1)
		}
	}
	row.Value, errs[2] = strconv.ParseFloat(f[3], 64)
	row.N, errs[3] = strconv.Atoi(f[4])
	return row, errors.Join(errs[:]...)
}

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
