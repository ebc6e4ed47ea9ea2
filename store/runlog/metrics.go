package runlog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

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
