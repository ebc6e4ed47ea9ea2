package cli

import (
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/hop-marl/hop/num/disk"
)

// readToken reads the token of a server from a file that nobody else can read or, without one,
// from HOP_TOKEN; "": there is none.
func readToken(file string) (string, error) {
	if file == "" {
		return os.Getenv("HOP_TOKEN"), nil
	}
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("others than you can read it (%v); run chmod 600 on it", info.Mode().Perm())
	}
	b, err := disk.Read(file, 4096)
	token := strings.TrimSpace(string(b))
	if err == nil && token == "" {
		err = errors.New("it is empty, want a token in it")
	}
	return token, err
}

// atScreen reports whether a person sits at a screen of this machine: who is connected from
// elsewhere, and a program that tests, do not.
func atScreen() bool {
	if os.Getenv("SSH_CONNECTION") != "" || os.Getenv("CI") != "" {
		return false
	}
	return runtime.GOOS == "darwin" || runtime.GOOS == "windows" || os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
}

// openBrowser opens an address in the browser, by a file that this user alone can read and that
// leads there: the address holds the token, and a command line is for all to read. What it
// returns takes the file away.
func openBrowser(address string) (remove func(), err error) {
	dir, err := os.MkdirTemp("", "hop-serve-") // which nobody else may enter
	if err != nil {
		return func() {}, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	name := filepath.Join(dir, "open.html")
	text := fmt.Sprintf(`<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=%s">`+
		`<a href="%[1]s">hop serve</a>`+"\n",
		html.EscapeString(address))
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		return remove, err
	}
	words := []string{"xdg-open", name}
	switch runtime.GOOS {
	case "darwin":
		words = []string{"open", name}
	case "windows":
		words = []string{"rundll32", "url.dll,FileProtocolHandler", name}
	}
	cmd := exec.Command(words[0], words[1:]...)
	if err := cmd.Start(); err != nil {
		return remove, err
	}
	go func() { _ = cmd.Wait() }()
	return remove, nil
}
