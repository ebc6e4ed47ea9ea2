package dataset

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

const tmpSuffix = ".tmp"

// writeWhole writes a file that appears whole or not at all: a temporary file
// beside it is written, synced and renamed. It returns the content's SHA-256. A
// power cut may undo the rename until syncDir.
func writeWhole(path string, write func(w io.Writer) error) (sum string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-*"+tmpSuffix)
	if err != nil {
		return "", fmt.Errorf("dataset: writing %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("dataset: writing %s: %w", path, err)
		}
	}()
	hash := sha256.New()
	w := bufio.NewWriterSize(io.MultiWriter(f, hash), 1<<20)
	if err = write(w); err != nil {
		return "", err
	}
	if err = w.Flush(); err != nil {
		return "", err
	}
	if err = f.Chmod(0o644); err != nil && runtime.GOOS != "windows" {
		return "", err
	}
	if err = f.Sync(); err != nil {
		return "", err
	}
	if err = f.Close(); err != nil {
		return "", err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// syncDir makes renames last through a power cut, where folders can be synced.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("dataset: syncing the folder: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("dataset: syncing %s: %w", dir, err)
	}
	return nil
}

// hashFile returns a file's SHA-256, or "" if it cannot be read.
func hashFile(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return ""
	}
	return hex.EncodeToString(hash.Sum(nil))
}
