package runs

import (
	"crypto/sha256"
	"encoding/hex"
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

	"github.com/hop-marl/hop/num/disk"
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

// label is what people wrote about a training, with the sum of it, by which a change that
// was not made here is found.
type label struct {
	Tags    []string  `json:"tags,omitempty"`
	Note    string    `json:"note,omitempty"`
	Written time.Time `json:"written,omitzero"`
	Sum     string    `json:"sum,omitempty"`
}

// sealed returns the label with its sum.
func (e label) sealed(title string) label {
	e.Sum = ""
	b, err := json.Marshal(struct {
		Title string
		label
	}{title, e})
	if err != nil {
		panic("shelf: a label that is no JSON")
	}
	sum := sha256.Sum256(b)
	e.Sum = hex.EncodeToString(sum[:16])
	return e
}

// labels is a folder's file, as it was when it was last read.
type labels struct {
	Runs  map[string]label `json:"runs"` // by path below the folder
	Check string           `json:"check"`
	mark  mark
	note  string // what is wrong with the file
}

// read reads the file if it has changed. One that cannot be read is as if there were none.
// Whatever is wrong with it is said, and it is not written over.
func (l *labels) read(root string) {
	now := markOf(filepath.Join(root, labelFolder), labelFile)
	if now == l.mark && l.Runs != nil {
		return
	}
	fresh, err := readLabels(root)
	l.Runs, l.mark, l.note = fresh.Runs, now, ""
	if err != nil {
		l.note = fmt.Sprintf("%s: %s", filepath.Base(root), reason(err))
	}
}

// readLabels reads the file. With errForeign the labels are what it says now. A file without
// a seal, of an earlier program, gets one when something is written next.
func readLabels(root string) (labels, error) {
	l := labels{}
	name := filepath.Join(root, labelFolder, labelFile)
	err := disk.ReadSealed(name, labelBytes, &l)
	if l.Runs == nil {
		l.Runs = map[string]label{}
	}
	switch {
	case err == nil || errors.Is(err, fs.ErrNotExist):
		return l, nil
	case errors.Is(err, disk.ErrUnsealed) && !l.anySealed():
		return l, nil
	case errors.Is(err, disk.ErrUnsealed), errors.Is(err, disk.ErrChanged):
		return l,
			fmt.Errorf("%w: %s; put the file back from a copy, or, if the change is yours, take all lines \"sum\" and \"check\" out of it: "+
				"the next label that is written seals it anew", errForeign, l.differs())
	}
	return labels{Runs: map[string]label{}}, fmt.Errorf("%s/%s is damaged: %s; put it back from a copy, or remove it to begin anew",
		labelFolder, labelFile, reason(err))
}

// errForeign is what errors are that say that somebody else wrote into the file.
var errForeign = errors.New(labelFolder + "/" + labelFile + ", the tags and notes, was changed by another program or by hand")

func (l *labels) anySealed() bool {
	for _, e := range l.Runs {
		if e.Sum != "" {
			return true
		}
	}
	return false
}

// differs says which labels are not as they were written.
func (l *labels) differs() string {
	var list []string
	for title, e := range l.Runs {
		switch {
		case e.Sum == "":
			list = append(list, fmt.Sprintf("that of %.100q was added", title))
		case e.sealed(title).Sum != e.Sum:
			list = append(list, fmt.Sprintf("that of %.100q, written %s, says something else", title, e.Written.Format("2006-01-02 15:04:05 UTC")))
		}
	}
	if len(list) == 0 {
		return "some were taken out, or the file's seal was"
	}
	slices.Sort(list)
	more := ""
	if len(list) > 5 {
		list, more = list[:5], fmt.Sprintf(" and %d more", len(list)-5)
	}
	return strings.Join(list, ", ") + more
}

// ErrLabel is what errors are that say that a tag or a note cannot be kept.
var ErrLabel = errors.New("shelf: tags and notes")

// ErrForeign is what errors are that say that the file is not as it was written here: it is
// not written over.
var ErrForeign = errors.New("shelf: nothing was written")

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
	err = writeLabel(root, row.Title, label{Tags: tags, Note: note, Written: s.now().UTC().Truncate(time.Second)})
	if errors.Is(err, errForeign) {
		return fmt.Errorf("%w: %s", ErrForeign, s.Plain(err.Error()))
	}
	if err != nil {
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
		return err
	}
	if len(e.Tags) == 0 && e.Note == "" {
		delete(l.Runs, title)
	} else {
		l.Runs[title] = e
	}
	for title, e := range l.Runs { // those of an earlier program get theirs now
		l.Runs[title] = e.sealed(title)
	}
	return disk.WriteSealed(filepath.Join(dir, labelFile), l)
}
