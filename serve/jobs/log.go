package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hop-marl/hop/num/disk"
)

// Where it is written down who did what: in a file of the served folder that only grows,
// and one before it.
const (
	logFile  = ".hop-serve/log.jsonl"
	oldLog   = ".hop-serve/log.1.jsonl"
	maxLog   = 1 << 20 // bytes, from which on it is the one before
	maxEntry = 16 << 10
)

// Entry is a line of the log: something that somebody asked for.
type Entry struct {
	At   time.Time `json:"at"`
	Role string    `json:"role"`
	From string    `json:"from"` // address
	Did  string    `json:"did"`  // start, stop, label
	What string    `json:"what"` // the command line, or what was changed
}

// Note writes an entry into the log of a folder. What cannot be written down must not be
// done: it is called before.
func (c *Control) Note(folder int, e Entry) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.At = time.Now().UTC().Truncate(time.Second)
	if len(e.What) > maxEntry/2 {
		e.What = strings.ToValidUTF8(e.What[:maxEntry/2], "") + "..."
	}
	b, err := json.Marshal(e)
	if err == nil {
		err = c.appendLog(c.folders[folder], append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("nothing was done, because %s, in which it is written down who did what, cannot be written: %w", logFile, err)
	}
	return nil
}

func (c *Control) appendLog(root string, line []byte) error {
	name := filepath.Join(root, filepath.FromSlash(logFile))
	if err := disk.Make(filepath.Dir(name)); err != nil {
		return err
	}
	if _, err := disk.Below(root, filepath.Dir(logFile)); err != nil {
		return err // a link that leads elsewhere
	}
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return errors.New("it is no file")
	} else if err == nil && info.Size()+int64(len(line)) > maxLog {
		if err := os.Rename(name, filepath.Join(root, filepath.FromSlash(oldLog))); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Close())
}

// Log returns the last entries of all folders, newest first.
func (c *Control) Log(most int) []Entry {
	var list []Entry
	for _, root := range c.folders {
		for _, name := range []string{oldLog, logFile} {
			path, err := disk.Below(root, name)
			if err != nil {
				continue
			}
			b, err := disk.Read(path, 2*maxLog)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				list = append(list, Entry{Did: "?", What: fmt.Sprintf("%s cannot be read", name)})
			}
			for line := range bytes.Lines(b) {
				var e Entry
				if json.Unmarshal(line, &e) == nil { // the last one may be half, after a crash
					list = append(list, e)
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Entry) int { return b.At.Compare(a.At) })
	return list[:min(len(list), most)]
}
