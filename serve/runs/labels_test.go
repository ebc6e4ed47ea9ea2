package runs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// labelled is a folder with two trainings that have labels, and the text of their file.
func labelled(t *testing.T) (s *Shelf, file, text string) {
	t.Helper()
	root := t.TempDir()
	for _, name := range []string{"a", "b"} {
		finish(t, begin(t, filepath.Join(root, name), 1), "done", 1)
	}
	s, err := New([]string{root})
	must(t, err)
	must(t, s.Label("0:a", []string{"good"}, "it learns"))
	must(t, s.Label("0:b", []string{"bad"}, ""))
	file = filepath.Join(root, labelFolder, labelFile)
	b, err := os.ReadFile(file)
	must(t, err)
	return s, file, string(b)
}

func TestLabelsThatWereChangedFromOutsideAreSaidToBeAndKept(t *testing.T) {
	s, file, text := labelled(t)
	if notes := s.Now().Notes; len(notes) != 0 {
		t.Errorf("labels as they were written: %q", notes)
	}
	i := strings.Index(text, `    "b": {`)
	j := i + strings.Index(text[i:], "}") + 1
	for name, c := range map[string]struct{ text, says string }{
		"a tag":              {strings.Replace(text, `"good"`, `"best"`, 1), `that of "a", written 20`},
		"a note":             {strings.Replace(text, "it learns", "", 1), `that of "a", written 20`},
		"a label taken out":  {strings.TrimRight(text[:i], " \n,") + text[j:], "some were taken out"},
		"the seal taken out": {strings.Replace(text, `"check"`, `"other"`, 1), "seal was"},
		"a label of another": {strings.Replace(text, `"a": {`, `"c": {"tags": ["x"]}, "a": {`, 1), `that of "c" was added`},
		"two exchanged":      {strings.NewReplacer(`"a": {`, `"b": {`, `"b": {`, `"a": {`).Replace(text), `that of "a"`},
	} {
		must(t, os.WriteFile(file, []byte(c.text), 0o644))
		again, err := New(s.folders)
		must(t, err)
		notes := strings.Join(again.Now().Notes, "; ")
		if !strings.Contains(notes, "was changed") || !strings.Contains(notes, c.says) {
			t.Errorf("%s: said %q, want %q", name, notes, c.says)
		}
		err = again.Label("0:a", []string{"new"}, "")
		if !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "put the file back") {
			t.Errorf("%s: %v", name, err)
		}
		if b, err := os.ReadFile(file); err != nil || string(b) != c.text {
			t.Errorf("%s: the file was written over", name)
		}
	}
}

func TestLabelsOfAnEarlierProgramGetTheirSeal(t *testing.T) {
	s, file, _ := labelled(t)
	must(t, os.WriteFile(file, []byte(`{"runs": {"a": {"tags": ["old"]}, "b": {"note": "n"}}}`), 0o644))
	s, err := New(s.folders)
	must(t, err)
	if row, _ := s.Now().Row("0:a"); len(s.Now().Notes) != 0 || len(row.Tags) != 1 {
		t.Errorf("%q, %q", s.Now().Notes, row.Tags)
	}
	must(t, s.Label("0:b", []string{"x"}, "n"))
	l, err := readLabels(s.folders[0])
	if err != nil || l.Runs["a"].Sum == "" || l.Runs["a"].Tags[0] != "old" || l.Check == "" {
		t.Errorf("%+v %v", l, err)
	}
}
