// Package disk reads files with bounds and writes them whole or not at all.
//
// A file that is no regular file (a pipe, a device, a folder) is refused: reading it
// could wait for ever. A file is written under a name that nobody can have made
// before, in its own folder, and then renamed, so that no link that lies there is
// followed and no half of it is ever seen, also if the power goes.
package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
)

// Open opens a regular file for reading.
func Open(name string) (*os.File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is %s, want a regular file", name, kind(info.Mode()))
	}
	return open(name)
}

// Own refuses a name at which something else lies than a regular file, for a file that
// is written in place: a link would lead to somebody else's.
func Own(name string) error {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is %s, want a regular file", name, kind(info.Mode()))
	}
	return nil
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a link"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// Read returns a regular file's bytes, of which there may be at most so many.
func Read(name string, most int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, fmt.Errorf("%s holds %d bytes, want at most %d", name, info.Size(), most)
	}
	b := make([]byte, info.Size())
	n, err := io.ReadFull(f, b)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = nil // it was cut meanwhile: what is there is what it holds
	}
	return b[:n], err
}

// Match returns what lies below a folder and matches a pattern, such as seed-* or
// */seed-*, in order of the names. What the folder itself is called plays no part.
func Match(dir, pattern string) ([]string, error) {
	pattern, rest, deeper := strings.Cut(pattern, "/")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []string
	for _, e := range entries {
		ok, err := path.Match(pattern, e.Name())
		if err != nil {
			return nil, err
		}
		name := filepath.Join(dir, e.Name())
		switch {
		case ok && !deeper:
			list = append(list, name)
		case ok:
			if info, err := os.Stat(name); err != nil || !info.IsDir() {
				continue
			}
			below, err := Match(name, rest)
			if err != nil {
				return nil, err
			}
			list = append(list, below...)
		}
	}
	return list, nil
}

// Make makes a folder, and those above it that are not there yet. That it is there
// survives a crash.
func Make(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	} else if err == nil {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
	}
	if above := filepath.Dir(dir); above != dir {
		if err := Make(above); err != nil {
			return err
		}
	}
	if err := MakeNew(dir); err != nil {
		if info, other := os.Stat(dir); other != nil || !info.IsDir() { // else somebody else has just made it
			return err
		}
	}
	return nil
}

// MakeNew makes a folder that may not be there yet, below one that is.
func MakeNew(dir string) error {
	if err := note(Change{Op: Made, Name: dir}); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(dir))
}

// Unfinished is how the names of files begin that are being written.
const Unfinished = ".part-"

// Write writes a file whole or not at all.
func Write(name string, b []byte) error { return write(name, b, 0o644) }

// WriteSecret is Write for what only this user may read.
func WriteSecret(name string, b []byte) error { return write(name, b, 0o600) }

func write(name string, b []byte, mode fs.FileMode) error {
	dir := filepath.Dir(name)
	f, err := os.CreateTemp(dir, Unfinished+"*")
	if err != nil {
		return err
	}
	file := &File{f}
	_, err = file.Write(b)
	err = errors.Join(err, f.Chmod(mode))
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = note(Change{Op: Renamed, Name: f.Name(), To: name})
	}
	if err == nil {
		err = rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return SyncDir(dir)
}

// Reason is what went wrong, without the path.
func Reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// Remove removes a file. That it is gone survives a crash after SyncDir.
func Remove(name string) error {
	if err := note(Change{Op: Removed, Name: name}); err != nil {
		return err
	}
	return os.Remove(name)
}

// SyncDir makes what was made, renamed or removed in a folder survive a crash, where
// the file system knows how.
func SyncDir(dir string) error {
	if err := note(Change{Op: Synced, Name: dir}); err != nil {
		return err
	}
	return syncDir(dir)
}

// Sweep removes what writings that were cut off left in a folder. Nobody may be
// writing there.
func Sweep(dir string) error {
	list, err := Match(dir, Unfinished+"*")
	for _, name := range list {
		err = errors.Join(err, Remove(name))
	}
	return err
}

// Below returns the path of a file or folder below another folder, for names that come
// from a file. It must be there, and may not lead out of the folder, neither by .. nor
// by links.
func Below(dir, name string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	name = filepath.FromSlash(name)
	if _, err := root.Stat(name); err != nil {
		return "", fmt.Errorf("%s: %w", dir, err)
	}
	return filepath.Join(dir, name), nil
}

// File is a file that grows.
type File struct{ f *os.File }

// Append opens a file to be read and written on, makes it if it is not there, and
// returns how long it is. It follows no link.
func Append(name string) (*File, int64, error) {
	if err := Own(name); err != nil {
		return nil, 0, err
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, 0, err
	}
	n, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return &File{f}, n, nil
}

// Name returns the file's name.
func (f *File) Name() string { return f.f.Name() }

// Write writes at the file's end.
func (f *File) Write(b []byte) (int, error) {
	if err := note(Change{Op: Written, Name: f.Name(), Data: b}); err != nil {
		return 0, err
	}
	return f.f.Write(b)
}

// Sync makes what was written survive a crash.
func (f *File) Sync() error {
	if err := note(Change{Op: Synced, Name: f.Name()}); err != nil {
		return err
	}
	return f.f.Sync()
}

// Cut takes the file back to its first n bytes; what is written next follows them.
func (f *File) Cut(n int64) error {
	if err := note(Change{Op: Cut, Name: f.Name(), Bytes: n}); err != nil {
		return err
	}
	if err := f.f.Truncate(n); err != nil {
		return err
	}
	_, err := f.f.Seek(n, io.SeekStart)
	return err
}

// ReadAt reads what was written.
func (f *File) ReadAt(b []byte, at int64) (int, error) { return f.f.ReadAt(b, at) }

// Close closes the file. What was written and not synced may be lost in a crash.
func (f *File) Close() error { return f.f.Close() }

// Change is a change to the disk.
type Change struct {
	Op    Op
	Name  string
	To    string // the new name
	Data  []byte // what is written; only valid during the call
	Bytes int64  // how long the file will be
}

// Op is a kind of change.
type Op int

// The kinds of changes.
const (
	Written Op = iota // to a file that may be new
	Cut
	Synced // a file, or the entries of a folder
	Made   // a folder
	Renamed
	Removed
)

var trace atomic.Pointer[func(Change) error]

// Trace has every change seen before it is made through this package, in its order,
// until it is given nil; an error that see returns is the change's. It is for tests
// that let a disk be full, or the power fail: what is left on the disk then is what
// was synced before.
func Trace(see func(Change) error) {
	if see == nil {
		trace.Store(nil)
		return
	}
	trace.Store(&see)
}

func note(c Change) error {
	if see := trace.Load(); see != nil {
		return (*see)(c)
	}
	return nil
}
