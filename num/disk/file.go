package disk

import (
	"io"
	"os"
	"sync/atomic"
)

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
