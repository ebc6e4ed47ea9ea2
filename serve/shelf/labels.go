package shelf

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hop/internal/disk"
)

// Tags and notes of all runs below a served folder lie in one file there, never in a run.
const (
	labelFolder = ".hop-serve"
	labelFile   = "tags.json"
	labelBytes  = 8 << 20
)

// Bounds of what people may write.
const (
	MaxTags = 20
	MaxTag  = 40   // letters
	MaxNote = 4000 // letters
)

// label is what people wrote about a training.
type label struct {
	Tags []string `json:"tags,omitempty"`
	Note string   `json:"note,omitempty"`
}

// labels is a folder's file, as it was when it was last read.
type labels struct {
	Runs map[string]label `json:"runs"` // by path below the folder
	mark mark
}

// read reads the file if it has changed. One that cannot be read is as if there were none,
// and is not written over.
func (l *labels) read(root string) {
	dir := filepath.Join(root, labelFolder)
	now := markOf(dir, labelFile)
	if now == l.mark && l.Runs != nil {
		return
	}
	if fresh, err := readLabels(root); err == nil {
		l.Runs = fresh.Runs
	} else {
		l.Runs = map[string]label{}
	}
	l.mark = now
}

func readLabels(root string) (labels, error) {
	l := labels{Runs: map[string]label{}}
	b, err := disk.Read(filepath.Join(root, labelFolder, labelFile), labelBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &l)
	}
	if l.Runs == nil {
		l.Runs = map[string]label{}
	}
	return l, err
}

// ErrLabel is what errors are that say that a tag or a note cannot be kept.
var ErrLabel = errors.New("shelf: tags and notes")

// Label sets the tags and the note of a training. Other servers may do so at the same
// time: the file is read again under a lock, and only this training's entry changes.
func (s *Shelf) Label(name string, tags []string, note string) error {
	if _, err := s.Dir(name); err != nil {
		return err
	}
	row, ok := s.Now().Row(name)
	if !ok {
		return fmt.Errorf("%w: %.200q is no training of the list", ErrName, name)
	}
	tags, note, err := tidy(tags, note)
	if err != nil {
		return err
	}
	var folder int
	if _, err := fmt.Sscanf(name, "%d:", &folder); err != nil {
		return fmt.Errorf("%w: %.200q", ErrName, name)
	}
	root := s.folders[folder]
	if hasRun(root) {
		return fmt.Errorf("%w: the folder that is served is a run itself, in which nothing is written; serve the folder above it", ErrLabel)
	}
	if err := writeLabel(root, row.Title, label{tags, note}); err != nil {
		return fmt.Errorf("%w: they could not be written: %s", ErrLabel, s.Plain(err.Error()))
	}
	s.mu.Lock()
	s.next = time.Time{}
	s.mu.Unlock()
	return nil
}

// tidy cleans tags and a note, or says what is wrong with them.
func tidy(tags []string, note string) ([]string, string, error) {
	var out []string
	for _, t := range tags {
		t = strings.Join(strings.Fields(t), " ")
		switch {
		case t == "" || slices.Contains(out, t):
			continue
		case !utf8.ValidString(t) || strings.ContainsFunc(t, unicode.IsControl) || strings.Contains(t, ","):
			return nil, "", fmt.Errorf("%w: a tag is plain text without commas", ErrLabel)
		case utf8.RuneCountInString(t) > MaxTag:
			return nil, "", fmt.Errorf("%w: a tag has at most %d letters", ErrLabel, MaxTag)
		}
		out = append(out, t)
	}
	if len(out) > MaxTags {
		return nil, "", fmt.Errorf("%w: a training has at most %d tags", ErrLabel, MaxTags)
	}
	note = strings.TrimSpace(note)
	if !utf8.ValidString(note) || utf8.RuneCountInString(note) > MaxNote {
		return nil, "", fmt.Errorf("%w: a note is a text of at most %d letters", ErrLabel, MaxNote)
	}
	return out, note, nil
}

// writeLabel changes one entry of the file.
func writeLabel(root, title string, e label) (err error) {
	dir := filepath.Join(root, labelFolder)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := disk.Below(root, labelFolder); err != nil { // a link would lead to somebody else's files
		return err
	}
	var lock *os.File
	for range 100 {
		if lock, err = disk.Lock(dir); !errors.Is(err, disk.ErrHeld) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, disk.Unlock(lock)) }()
	l, err := readLabels(root)
	if err != nil {
		return fmt.Errorf("%s is damaged: %w; put it back from a copy, or remove it to begin anew", filepath.Join(labelFolder, labelFile), err)
	}
	if len(e.Tags) == 0 && e.Note == "" {
		delete(l.Runs, title)
	} else {
		l.Runs[title] = e
	}
	return disk.WriteJSON(filepath.Join(dir, labelFile), l)
}
