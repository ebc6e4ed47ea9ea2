package disk

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

type sealed struct {
	Rate  float64        `json:"rate"`
	Check string         `json:"check"`
	Parts map[string]any `json:"parts"`
}

// Every byte of a sealed file counts: it is refused, unreadable or unsealed whatever byte becomes another, and also
// if a line is added or taken.
func TestAChangeOfASealedFileIsSeen(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.json")
	v := sealed{Rate: 0.001, Check: "of an earlier writing", Parts: map[string]any{"check": "", "note": "\n  \"check\": \"\""}}
	if err := WriteSealed(name, v); err != nil {
		t.Fatal(err)
	}
	var got sealed
	if err := ReadSealed(name, 1<<10, &got); err != nil || got.Rate != v.Rate || len(got.Check) != 64 {
		t.Fatalf("got %+v, %v", got, err)
	}
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(good, []byte(got.Check))
	tries := [][]byte{append(bytes.Clone(good), ' '), bytes.Replace(good, []byte("0.001"), []byte("0.01"), 1), good[1:],
		bytes.Replace(good, []byte("{\n"), []byte("{\n  \"check\": \""+got.Check+"\",\n"), 1),
		bytes.ReplaceAll(good, []byte("\n  "), []byte("\n    "))}
	for i := range good {
		b := bytes.Clone(good)
		b[i] ^= 1
		tries = append(tries, b)
	}
	for _, b := range tries {
		if err := Sealed(b); err == nil {
			t.Errorf("nothing was seen of the change to %s", b)
		}
	}
	bad := bytes.Clone(good)
	bad[at] ^= 1
	if err := Sealed(bad); !errors.Is(err, ErrChanged) {
		t.Errorf("another sum: %v, want ErrChanged", err)
	}
}

// What an earlier program wrote is told from what was changed, and can still be read.
func TestAFileWithoutASealIsSaidToHaveNone(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.json")
	for text, want := range map[string]error{`{"rate": 2}`: ErrUnsealed, `{"rate": 2, "check": ""}`: ErrUnsealed,
		`{"rate": 2, "check": "00"}`: ErrChanged} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		var got sealed
		if err := ReadSealed(name, 1<<10, &got); !errors.Is(err, want) || got.Rate != 2 {
			t.Errorf("%s: %v with %+v, want %v", text, err, got, want)
		}
	}
	if err := WriteSealed(name, struct{ Rate float64 }{1}); err == nil {
		t.Error("a value that has no place for its seal was written")
	}
}
