package runlog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ReadMetrics returns all whole rows of a run's metrics.csv.
func ReadMetrics(dir string) ([]Row, error) {
	path := filepath.Join(dir, metricsFile)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("runlog: %s is not a run's folder: it has no %s", dir, metricsFile)
	}
	if err != nil {
		return nil, err
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
	br := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := br.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		if n == 1 {
			continue
		}
		row, err := parseRow(strings.TrimRight(line, "\r\n"))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		rows = append(rows, row)
	}
}

func parseRow(line string) (Row, error) {
	f := strings.Split(line, ",")
	if len(f) != 5 {
		return Row{}, fmt.Errorf("%d fields, want step,name,agent,value,n", len(f))
	}
	row := Row{Name: f[1], Agent: -1}
	var errs [4]error
	row.Step, errs[0] = strconv.ParseInt(f[0], 10, 64)
	if f[2] != "" {
		row.Agent, errs[1] = strconv.Atoi(f[2])
	}
	row.Value, errs[2] = strconv.ParseFloat(f[3], 64)
	row.N, errs[3] = strconv.Atoi(f[4])
	return row, errors.Join(errs[:]...)
}
