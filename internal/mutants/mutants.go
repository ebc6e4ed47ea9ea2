// Package mutants holds slips: small patches of this program's source, each one that
// an honest colleague could make, with the module that an audit ought to name. They
// say how good hop audit is.
//
// To add one, append a record to corpus/MODULE.txt (corpus/blind.txt: forty that were
// planted blind); records are separated by a line of three dashes:
//
//	name: advantages with the wrong sign
//	module: ppo
//	presets: ppo-4x4
//	set: ppo.clip_value=true
//	file: agent/ppo/ppo.go
//	old:
//	<lines of the file, which occur in it exactly once>
//	new:
//	<what stands there instead>
//
// module lists the right answers, the best one first; several only where either is
// honestly right. presets are the one or two cheapest that run the patched lines, and
// set, as often as wanted, is a field of their spec. Two more lines are optional.
// "prepare: anew" says that the slip lies in what comes before a training, so that the
// patched program makes the models too. "quiet: WHY" says that nothing a run computes
// is changed, and proves it in a sentence.
//
// Then go test ./internal/mutants, and go run ./internal/mutants/cmd --differs --only
// NAME, which proves that a short run of the patched program computes something else.
// go run ./internal/mutants/cmd audits them all. Do not look at the audit first: a slip
// that is written with a check in mind proves nothing.
package mutants

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Modules are those that an audit may name, in causal order.
var Modules = []string{
	"game", "spec", "rollout", "buffers", "ppo", "goals", "moa", "beliefs", "world", "planner", "checkpoint", "logging", "guards",
}

// Record is one slip.
type Record struct {
	Name    string
	Modules []string // right answers, the best one first
	Presets []string // that run it
	Sets    []string // fields of their spec, FIELD=VALUE
	Anew    bool     // the models before a training are made by the patched program
	Quiet   string   // why it changes nothing; "": it does
	File    string   // path in the module
	Old     string   // whole lines of the file
	New     string
}

// Parse reads records; file is for messages.
func Parse(text, file string) ([]Record, error) {
	var list []Record
	var errs []error
	for i, part := range strings.Split("\n"+text, "\n---\n") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		r, err := parse(part)
		if err != nil {
			errs = append(errs, fmt.Errorf("mutants: %s, record %d, %q: %w", file, i+1, r.Name, err))
		}
		list = append(list, r)
	}
	return list, errors.Join(errs...)
}

func parse(part string) (Record, error) {
	head, body, ok := strings.Cut(part, "\nold:\n")
	old, now, both := strings.Cut(body, "\nnew:\n")
	if now == "" && strings.HasSuffix(body, "\nnew:") {
		old, both = strings.TrimSuffix(body, "\nnew:"), true
	}
	r := Record{Old: strings.Trim(old, "\n") + "\n", New: strings.Trim(now, "\n") + "\n"}
	if strings.TrimSpace(now) == "" {
		r.New = ""
	}
	for _, line := range strings.Split(head, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		key, value, _ := strings.Cut(line, ": ")
		switch value = strings.TrimSpace(value); key {
		case "name":
			r.Name = value
		case "module":
			r.Modules = words(value)
		case "presets":
			r.Presets = words(value)
		case "set":
			r.Sets = append(r.Sets, value)
		case "prepare":
			r.Anew = value == "anew"
		case "quiet":
			r.Quiet = value
		case "file":
			r.File = value
		default:
			return r, fmt.Errorf("there is no field %q", key)
		}
	}
	switch {
	case !ok || !both:
		return r, errors.New("want a line \"old:\" and a line \"new:\" below it")
	case r.Name == "" || len(r.Modules) == 0 || len(r.Presets) == 0 || r.File == "":
		return r, errors.New("want name, module, presets and file")
	case r.Old == r.New:
		return r, errors.New("old and new are the same")
	}
	return r, nil
}

func words(list string) (out []string) {
	for _, w := range strings.Split(list, ",") {
		out = append(out, strings.TrimSpace(w))
	}
	return out
}

// Load reads all records of the module whose root that is, those in corpus and those
// in corpus/held, by file, then in their order.
func Load(root string) ([]Record, error) {
	first, err := load(root, "corpus/*.txt")
	held, err2 := load(root, heldBack)
	return append(first, held...), errors.Join(err, err2)
}

// HeldBack returns the names of those that were held back until the audit was done.
func HeldBack(root string) (map[string]bool, error) {
	list, err := load(root, heldBack)
	names := map[string]bool{}
	for _, r := range list {
		names[r.Name] = true
	}
	return names, err
}

const heldBack = "corpus/held/*.txt"

func load(root, pattern string) ([]Record, error) {
	var list []Record
	files, err := filepath.Glob(filepath.Join(root, "internal", "mutants", filepath.FromSlash(pattern)))
	errs := []error{err}
	slices.Sort(files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		errs = append(errs, err)
		part, err := Parse(string(text), filepath.Base(file))
		list, errs = append(list, part...), append(errs, err)
	}
	return list, errors.Join(errs...)
}

// Root returns the root of the module that the working folder is in.
func Root() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, none := os.Stat(filepath.Join(dir, "go.mod")); none == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			err = errors.New("mutants: no go.mod above the working folder")
		}
	}
	return "", err
}

// Patched returns the record's file with the slip in it, where it can be with as many lines as before. It
// is an error unless the old lines occur exactly once.
func (r Record) Patched(root string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(r.File)))
	if err != nil {
		return nil, fmt.Errorf("mutants: %s: %w", r.Name, err)
	}
	text := "\n" + string(b)
	if n := strings.Count(text, "\n"+r.Old); n != 1 {
		return nil, fmt.Errorf("mutants: %s: the old lines occur %d times in %s, want once", r.Name, n, r.File)
	}
	fewer := max(0, strings.Count(r.Old, "\n")-strings.Count(r.New, "\n"))
	return []byte(strings.Replace(text, "\n"+r.Old, "\n"+r.New+strings.Repeat("\n", fewer), 1)[1:]), nil
}

// Sum tells records apart that have one name but are not the same slip.
func (r Record) Sum() string {
	h := sha256.Sum256(fmt.Appendf(nil, "%+v", r))
	return hex.EncodeToString(h[:6])
}
