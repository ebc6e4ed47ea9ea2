// Package trust remembers whose folders may run programs on this machine.
//
// A run's folder is data, also where it names a program: an environment in Python, a
// command before a training. Such a line runs only if this user wrote it or has said so.
// What this user's commands write is signed, line by line, with a key that lies in the
// user's own settings and that no folder can hold; what the user has said is kept there
// too. It is Jupyter's model of notebooks.
//
// The zero Trust is the one of whoever runs the program. Nothing here reads the clock or
// runs anything.
package trust

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hop-marl/hop/num/disk"
)

// What lies in the user's settings.
const (
	keyFile  = "key"
	listFile = "trusted.json"
)

// Trust is what one user trusts.
type Trust struct {
	Config string // the folder of the user's settings; "": HOP_CONFIG, or hop in the system's place for them
	All    bool   // every folder, for as long as this value is used (--trust)
}

// Entry is a folder that the user has said to trust, with all below it.
type Entry struct {
	Folder string   `json:"folder"` // absolute
	What   []string `json:"what"`   // the lines that it may run; others are asked about again
}

// folder returns the folder of the user's settings.
func (t Trust) folder() (string, error) {
	if t.Config != "" {
		return t.Config, nil
	}
	if dir := os.Getenv("HOP_CONFIG"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("trust: there is no folder for your settings (%w); name one with HOP_CONFIG", err)
	}
	return filepath.Join(dir, "hop"), nil
}

// Trusts reports whether all that a folder names to run may be run: each line was signed
// by this user, in the folder or above it, or the user said so of one of these.
func (t Trust) Trusts(dir string, what []string) bool {
	if t.All || len(what) == 0 {
		return true
	}
	at := plain(dir)
	said := map[string]bool{}
	list, _ := t.Entries() // what cannot be read trusts nobody
	for _, e := range list {
		for _, line := range e.What {
			said[line] = said[line] || within(at, e.Folder)
		}
	}
	signed := map[string]bool{}
	for ; ; at = filepath.Dir(at) {
		for _, s := range signatures(at) {
			signed[s] = true
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	key, _ := t.key(false)
	return !slices.ContainsFunc(what, func(line string) bool {
		return !said[line] && (key == nil || !signed[sign(key, line)])
	})
}

// Sign writes into a folder, which is made if it is not there, that this user wrote the lines
// that it names to run. It comes before what it is about: a folder whose maker died is the
// maker's all the same. Where it fails the folder is one that has to be trusted.
func (t Trust) Sign(dir string, what []string) error {
	if len(what) == 0 {
		return nil
	}
	key, err := t.key(true)
	if err = errors.Join(err, disk.Make(dir)); err != nil {
		return fmt.Errorf("%s is not signed as yours, and will have to be trusted (hop trust): %w", dir, err)
	}
	old := signatures(dir)
	all := slices.Clone(old)
	for _, line := range what {
		all = append(all, sign(key, line))
	}
	slices.Sort(all)
	if all = slices.Compact(all); slices.Equal(all, old) {
		return nil
	}
	name := filepath.Join(dir, disk.SignatureFile)
	if err := disk.Write(name, []byte(strings.Join(all, "\n")+"\n")); err != nil {
		return fmt.Errorf("trust: writing %s: %w", name, err)
	}
	return nil
}

// Add remembers that the user trusts a folder to run these lines.
func (t Trust) Add(dir string, what []string) error {
	list, err := t.Entries()
	if err != nil {
		return err
	}
	at := plain(dir)
	list = slices.DeleteFunc(list, func(e Entry) bool { return e.Folder == at })
	return t.write(append(list, Entry{at, what}))
}

// Remove forgets that, of the folder itself, and reports whether there was something to forget.
func (t Trust) Remove(dir string) (bool, error) {
	list, err := t.Entries()
	if err != nil {
		return false, err
	}
	at, n := plain(dir), len(list)
	list = slices.DeleteFunc(list, func(e Entry) bool { return e.Folder == at })
	if len(list) == n {
		return false, nil
	}
	return true, t.write(list)
}

// Entries lists the folders that the user has said to trust.
func (t Trust) Entries() ([]Entry, error) {
	dir, err := t.folder()
	if err != nil {
		return nil, err
	}
	name := filepath.Join(dir, listFile)
	b, err := disk.Read(name, 16<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []Entry
	if err == nil {
		err = json.Unmarshal(b, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("trust: reading %s: %w; mend it, or remove it and trust anew", name, err)
	}
	return list, nil
}

// write writes the list.
func (t Trust) write(list []Entry) error {
	dir, err := t.own()
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.Folder, b.Folder) })
	return disk.WriteJSON(filepath.Join(dir, listFile), list)
}

// own makes the folder of the user's settings, which nobody else may read.
func (t Trust) own() (string, error) {
	dir, err := t.folder()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("trust: making the folder of your settings: %w; name another with HOP_CONFIG", err)
	}
	return dir, nil
}

// key returns the user's key; nil if there is none and none is to be made.
func (t Trust) key(fresh bool) ([]byte, error) {
	dir, err := t.folder()
	if err != nil {
		return nil, err
	}
	name := filepath.Join(dir, keyFile)
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) && !fresh {
		return nil, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		if err = t.newKey(name); err == nil {
			info, err = os.Stat(name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("trust: your key: %w", err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("trust: others may read or write your key, so it vouches for nothing: chmod 600 %s, or remove it", name)
	}
	b, err := disk.Read(name, 64)
	if err == nil && len(b) != 32 {
		err = fmt.Errorf("it has %d bytes, want 32; remove it, and trust your folders anew", len(b))
	}
	if err != nil {
		return nil, fmt.Errorf("trust: your key %s: %w", name, err)
	}
	return b, nil
}

// newKey makes a key. Of two processes that do so at once one wins, and both use its key.
func (t Trust) newKey(name string) error {
	dir, err := t.own()
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, disk.Unfinished+"*") // only its owner may read it
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	b := make([]byte, 32)
	rand.Read(b) // never fails
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = os.Link(f.Name(), name); err != nil && !errors.Is(err, fs.ErrExist) {
		err = os.Rename(f.Name(), name) // a file system without links
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// sign returns the signature of a line.
func sign(key []byte, line string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(line))
	return hex.EncodeToString(h.Sum(nil))
}

// signatures returns those of a folder.
func signatures(dir string) []string {
	b, err := disk.Read(filepath.Join(dir, disk.SignatureFile), 1<<20)
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
}

// plain returns where a folder really lies.
func plain(dir string) string {
	at, err := filepath.Abs(dir)
	if err != nil {
		at = dir
	}
	if there, err := filepath.EvalSymlinks(at); err == nil {
		at = there
	}
	return filepath.Clean(at)
}

// within reports whether a folder is another or below it.
func within(dir, other string) bool {
	rel, err := filepath.Rel(other, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
