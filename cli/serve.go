package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"hop/cli/board"
	"hop/internal/disk"
	"hop/lab"
	"hop/serve"
	"hop/serve/door"
)

type serveCmd struct {
	Folders   []string `arg:"" optional:"" help:"Folders below which runs are looked for." default:"runs" type:"path" placeholder:"FOLDER"`
	Addr      string   `help:"Address to answer at; :0 takes a free port." default:"127.0.0.1:8770" placeholder:"HOST:PORT"`
	TokenFile string   `help:"File that holds the token, 16 letters or more, and that you alone can read; HOP_TOKEN does too. Without either one is made." type:"path" placeholder:"FILE"`
	Host      []string `help:"Another name under which it may be asked for, such as a proxy's." placeholder:"NAME"`
	Control   bool     `help:"Let runs be tagged, and trainings, audits and ladders be started and stopped from the pages, by who opens the address for that."`
	Open      *bool    `help:"Open the page in the browser of this machine, or not; without this, where there is a terminal with a screen." negatable:""`
	CacheMB   int      `name:"cache-mb" help:"Megabytes that may be kept of what was read, all pages together." default:"256" placeholder:"MB"`
	Token     string   `hidden:""`
}

func (c serveCmd) Run(a *app) error {
	token, err := c.token()
	if err != nil {
		return err
	}
	if c.CacheMB < 1 || c.CacheMB > 1<<20 {
		return usage("--cache-mb %d, want 1 or more", c.CacheMB)
	}
	open := opens()
	if c.Open != nil {
		open = *c.Open
	}
	end, err := a.serve(serve.Config{Folders: c.Folders, Addr: c.Addr, Token: token, Hosts: c.Host, Control: c.Control, Cache: c.CacheMB << 20}, open)
	if err != nil {
		return err
	}
	return end(a.ctx)
}

// token reads the token from where other users of the machine cannot.
func (c serveCmd) token() (string, error) {
	if c.Token != "" {
		return "", usage("--token: every user of this machine can read a command line (ps); write the token into a file that you alone can read, " +
			"for --token-file FILE, or into the environment variable HOP_TOKEN")
	}
	if c.TokenFile == "" {
		return os.Getenv("HOP_TOKEN"), nil
	}
	info, err := os.Stat(c.TokenFile)
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", usage("--token-file %s: others than you can read it (%v); run chmod 600 on it", c.TokenFile, info.Mode().Perm())
	}
	var b []byte
	if err == nil {
		b, err = disk.Read(c.TokenFile, 4096)
	}
	if token := strings.TrimSpace(string(b)); err == nil && token != "" {
		return token, nil
	}
	return "", usage("--token-file %s: want a file with a token in it: %w", c.TokenFile, cmp.Or(err, errors.New("it is empty")))
}

// serve listens, says where, and opens that if it is wanted. What it returns answers until
// its context ends.
func (a *app) serve(c serve.Config, open bool) (func(context.Context) error, error) {
	c.Lab = &lab.Lab{Reg: a.reg, Version: version, Command: os.Args}
	c.Log = func(format string, args ...any) { fmt.Fprintf(a.err, format+"\n", args...) }
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return nil, usage("--addr %s: want an address such as 127.0.0.1:8770: %w", c.Addr, err)
	}
	if host == "" {
		c.Addr = "127.0.0.1" + c.Addr // :0 is a port of this machine, for this machine
	}
	l, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return nil, fmt.Errorf("serve: listening: %w; choose another address with --addr, such as --addr :0 for any free port", err)
	}
	c.Addr = l.Addr().String()
	s, err := serve.New(c)
	if err != nil {
		return nil, errors.Join(usageError{err}, l.Close())
	}
	as := door.Look
	if c.Control {
		as = door.Act
		fmt.Fprintf(a.err, "hop serve: to look only, for others: %s\n", s.Visit(l.Addr(), door.Look))
	}
	visit := s.Visit(l.Addr(), as)
	fmt.Fprintf(a.err, "hop serve: %s (Ctrl-C ends it; trainings go on)\n", visit)
	close := func() {}
	if open {
		if close, err = openPage(visit); err != nil {
			fmt.Fprintf(a.err, "hop serve: no browser could be opened (%v); open the address yourself\n", err)
		}
	}
	return func(ctx context.Context) error { defer close(); return s.Serve(ctx, l) }, nil
}

// opens reports whether a browser is opened where nothing says so: on a terminal of a machine
// with a screen, at which a person sits. A connection from elsewhere has none.
func opens() bool {
	if !board.Terminal(os.Stderr) || os.Getenv("SSH_CONNECTION") != "" || os.Getenv("CI") != "" {
		return false
	}
	return runtime.GOOS == "darwin" || runtime.GOOS == "windows" || os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
}

// openPage opens an address in the browser, by a file that this user alone can read and that
// leads there: the address holds the token, and a command line is for all to read. What it
// returns takes the file away.
func openPage(address string) (remove func(), err error) {
	dir, err := os.MkdirTemp("", "hop-serve-") // 0700
	if err != nil {
		return func() {}, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	name := filepath.Join(dir, "open.html")
	page := fmt.Sprintf("<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=\"0; url=%s\"><a href=\"%[1]s\">hop serve</a>\n",
		html.EscapeString(address))
	if err := os.WriteFile(name, []byte(page), 0o600); err != nil {
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

// beside serves the folder above a training's while it lasts. What it returns ends that.
func (a *app) beside(folder string) (func(), error) {
	c := serve.Config{Folders: []string{filepath.Dir(folder)}, Addr: "127.0.0.1:8770", Token: os.Getenv("HOP_TOKEN")}
	run, err := a.serve(c, opens())
	if err != nil { // another one answers there
		c.Addr = ":0"
		if run, err = a.serve(c, opens()); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(a.ctx))
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			fmt.Fprintln(a.err, err)
		}
	}, nil
}
