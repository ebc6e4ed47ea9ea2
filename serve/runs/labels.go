package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
	Tags     []string  `json:"tags,omitempty"`
	Note     string    `json:"note,omitempty"`
	Archived bool      `json:"archived,omitempty"` // it is not listed unless asked for
	Written  time.Time `json:"written,omitzero"`
	Sum      string    `json:"sum,omitempty"`
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
		l.note = fmt.Sprintf("%s: %s", filepath.Base(root), disk.Reason(err))
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
		labelFolder, labelFile, disk.Reason(err))
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

// Label sets the tags and the note of a training.
func (s *Shelf) Label(name string, tags []string, note string) error {
	tags, note, err := tidy(tags, note)
	if err != nil {
		return err
	}
	return s.relabel([]string{name}, func(e label) label {
		e.Tags, e.Note = tags, note
		return e
	})
}

// Archive puts trainings out of the list, or back into it.
func (s *Shelf) Archive(names []string, archived bool) error {
	return s.relabel(names, func(e label) label {
		e.Archived = archived
		return e
	})
}

// relabel changes what is written about trainings of the list.
func (s *Shelf) relabel(names []string, f func(label) label) error {
	titles := map[string][]string{} // by folder
	for _, name := range names {
		root, title, err := s.labelled(name)
		if err != nil {
			return err
		}
		if _, ok := s.Now().Row(name); !ok {
			return fmt.Errorf("%w: %.200q is no training of the list", ErrName, name)
		}
		titles[root] = append(titles[root], title)
	}
	for root, list := range titles {
		err := s.write(root, func(all map[string]label) {
			for _, title := range list {
				all[title] = f(all[title])
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Moved has what was written about a training follow it to its new title; "": it is gone.
func (s *Shelf) Moved(name, to string) error {
	s.again()
	number, title, _ := strings.Cut(name, ":")
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n >= len(s.folders) {
		return fmt.Errorf("%w: %.200q", ErrName, name)
	}
	s.mu.Lock()
	_, known := s.labels[n].Runs[title]
	s.mu.Unlock()
	if !known {
		return nil
	}
	return s.write(s.folders[n], func(all map[string]label) {
		if to != "" {
			all[to] = all[title]
		}
		delete(all, title)
	})
}

// labelled returns the served folder of a training and its title there.
func (s *Shelf) labelled(name string) (root, title string, err error) {
	if _, err := s.Dir(name); err != nil {
		return "", "", err
	}
	number, title, _ := strings.Cut(name, ":")
	n, err := strconv.Atoi(number) // Dir has read it
	if err != nil {
		return "", "", fmt.Errorf("%w: %.200q", ErrName, name)
	}
	if root = s.folders[n]; hasRun(root) {
		return "", "", fmt.Errorf("%w: the folder that is served is a run itself, in which nothing is written; serve the folder above it", ErrLabel)
	}
	return root, title, nil
}

// write changes the labels of a served folder, and has the next look see it. Other servers may
// do so at the same time: the file is read again under a lock, and only what f changes changes.
func (s *Shelf) write(root string, f func(all map[string]label)) error {
	err := writeLabels(root, s.now().UTC().Truncate(time.Second), f)
	if errors.Is(err, errForeign) {
		return fmt.Errorf("%w: %s", ErrForeign, s.Plain(err.Error()))
	}
	if err != nil {
		return fmt.Errorf("%w: they could not be written: %s", ErrLabel, s.Plain(err.Error()))
	}
	s.again()
	return nil
}

// again has the next look be taken now.
func (s *Shelf) again() {
	s.mu.Lock()
	s.next = time.Time{}
	s.mu.Unlock()
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

// writeLabels changes entries of the file. Those that are another then get the time.
func writeLabels(root string, now time.Time, f func(all map[string]label)) (err error) {
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
	was := maps.Clone(l.Runs)
	f(l.Runs)
	for title, e := range l.Runs { // those of an earlier program get their seals now
		switch old := was[title]; {
		case len(e.Tags) == 0 && e.Note == "" && !e.Archived:
			delete(l.Runs, title)
			continue
		case e.Note != old.Note || e.Archived != old.Archived || !slices.Equal(e.Tags, old.Tags):
			e.Written = now
		}
		l.Runs[title] = e.sealed(title)
	}
	return disk.WriteSealed(filepath.Join(dir, labelFile), l)
}
