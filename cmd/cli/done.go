package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"
	"unicode"
)

// ending is what is told when a command has ended.
type ending struct {
	says string // the result in a sentence, if there is one
}

// awaited is how long a command takes at least whose end rings: whoever waited for less still looks.
const awaited = 10 * time.Second

// notifier returns the program that --notify names and its words. It is of the command line alone: no folder,
// spec or server can name one.
func notifier(line string) ([]string, error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil, nil
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return nil, usage("--notify %s: %w", line, err)
	}
	return words, nil
}

// over tells that a command has ended: the terminal by its title and bell, and the user's own command.
func (a *app) over(what string, err error, took time.Duration, notify []string) {
	says := "hop " + what + ": " + a.end.says
	switch {
	case errors.Is(err, context.Canceled):
		says = "hop " + what + " was stopped"
	case err != nil:
		first, _, _ := strings.Cut(err.Error(), "\n")
		says = "hop " + what + " failed: " + first
	case a.end.says == "":
		says = "hop " + what + " is done"
	}
	if a.terminal() && took >= awaited {
		ring(a.err, says)
	}
	if len(notify) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // not a.ctx, which a stop has ended
	defer cancel()
	words := saying(notify, says)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = a.err, a.err
	if err := cmd.Run(); err != nil {
		fmt.Fprintf(a.err, "note: --notify %s: %v\n", notify[0], err)
	}
}

// saying puts a sentence in the place of {}, or else at the end of words.
func saying(words []string, says string) []string {
	words = slices.Clone(words)
	if !strings.Contains(strings.Join(words[1:], " "), "{}") {
		return append(words, says)
	}
	for i := range words[1:] {
		words[i+1] = strings.ReplaceAll(words[i+1], "{}", says)
	}
	return words
}

// ring sets a terminal's title and rings its bell. A name that a folder has chosen says nothing to the terminal.
func ring(w io.Writer, says string) {
	plain := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, says)
	fmt.Fprintf(w, "\x1b]2;%s\x1b\\\a", plain)
}

// withoutNotify is a command line as folders keep it: whom its user tells is nobody else's business.
func withoutNotify(args []string) (kept []string) {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--notify":
			i++
		case !strings.HasPrefix(args[i], "--notify="):
			kept = append(kept, args[i])
		}
	}
	return kept
}
