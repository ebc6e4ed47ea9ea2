package film

import (
	"context"
	"errors"
	"image/color"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Film takes pictures, one after the other, and is written by Close.
type Film interface {
	Add(picture []uint8, wait time.Duration)
	Close() error
}

// File is a film that is there whole or not at all.
type File struct {
	Film
	path string
	part *os.File
}

// isMP4 says what a film of that name is.
func isMP4(path string) bool { return strings.EqualFold(filepath.Ext(path), ".mp4") }

// Possible says why a film of that name cannot be written, if that is known before
// its first picture.
func Possible(path string) error {
	if isMP4(path) {
		if _, err := exec.LookPath("ffmpeg"); err != nil {
			return errNoFFmpeg
		}
	}
	return nil
}

// Create begins a film: an MP4 if its name ends so, or a GIF. An MP4's pictures are
// shown for multiples of beat.
func Create(ctx context.Context, path string, palette color.Palette, wide, high int, beat time.Duration) (*File, error) {
	if err := Possible(path); err != nil {
		return nil, err
	}
	part, err := os.CreateTemp(filepath.Dir(path), ".film-*"+filepath.Ext(path))
	if err != nil {
		return nil, err
	}
	f := &File{path: path, part: part}
	if !isMP4(path) {
		f.Film = NewGIF(part, palette, wide, high)
	} else if f.Film, err = newMP4(ctx, part.Name(), palette, wide, high, beat); err != nil {
		return nil, errors.Join(err, part.Close(), os.Remove(part.Name()))
	}
	return f, nil
}

// Close puts the film in its place, or takes away what there is of it.
func (f *File) Close() error {
	err := errors.Join(f.Film.Close(), f.part.Chmod(0o644), f.part.Close())
	if err == nil {
		err = os.Rename(f.part.Name(), f.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.part.Name()))
	}
	return nil
}
