package cli

import (
	"context"
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/hop-marl/hop/game/bridge"
	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/serve"
	"github.com/hop-marl/hop/serve/auth"
	"github.com/hop-marl/hop/serve/games"
)

type serveCmd struct {
	Folders   []string `arg:"" optional:"" help:"Folders below which runs are looked for." default:"runs" type:"path" placeholder:"FOLDER"`
	Addr      string   `help:"Address to answer at; :0 takes a free port." default:"127.0.0.1:8770" placeholder:"HOST:PORT"`
	TokenFile string   `help:"File that holds the token, 16 letters or more, and that you alone can read; HOP_TOKEN does too. Without either one is made." type:"path" placeholder:"FILE"`
	Host      []string `help:"Another name under which it may be asked for, such as a proxy's." placeholder:"NAME"`
	Control   bool     `help:"Let runs be tagged, and trainings, audits and ladders be started and stopped from the pages, by who opens the address for that."`
	Open      *bool    `help:"Open the page in the browser of this machine, or not; without this, where there is a terminal with a screen." negatable:""`
	CacheMB   int      `name:"cache-mb" help:"Megabytes that may be kept of what was read, all pages together." default:"256" placeholder:"MB"`
	Record    string   `help:"Write what people play in Join into DIR/NAME, under the name that each gives: hop adapt RUN --vs played:DIR/NAME." type:"path" placeholder:"DIR"`
	Token     string   `hidden:""`
}

func (c serveCmd) Run(a *app) error {
	if c.Token != "" {
		return usage("--token: every user of this machine can read a command line (ps); write the token into a file that you alone can read, " +
			"for --token-file FILE, or into the environment variable HOP_TOKEN")
	}
	token, err := readToken(c.TokenFile)
	if err != nil {
		return usage("--token-file %s: %w", c.TokenFile, err)
	}
	if c.CacheMB < 1 || c.CacheMB > 1<<20 {
		return usage("--cache-mb %d, want 1 or more", c.CacheMB)
	}
	open := a.opens()
	if c.Open != nil {
		open = *c.Open
	}
	config := serve.Config{Folders: c.Folders, Addr: c.Addr, Token: token, Hosts: c.Host, Control: c.Control, Cache: c.CacheMB << 20,
		Record: c.Record}
	end, err := a.serve(config, open)
	if err != nil {
		return err
	}
	return end(a.ctx)
}

// serve listens, says where, and opens that if it is wanted. What it returns answers until
// its context ends.
func (a *app) serve(c serve.Config, open bool) (func(context.Context) error, error) {
	c.Lab = &lab.Lab{Reg: a.reg, Version: version, Command: os.Args}
	c.Log = func(format string, args ...any) { fmt.Fprintf(a.err, format+"\n", args...) }
	l, err := serve.Listen(c.Addr)
	if err != nil {
		return nil, err
	}
	c.Addr = l.Addr().String()
	s, err := serve.New(c)
	if err != nil {
		return nil, errors.Join(usageError{err}, l.Close())
	}
	as := auth.Look
	if c.Control {
		as = auth.Act
		fmt.Fprintf(a.err, "hop serve: to look only, for others: %s\n", s.Visit(l.Addr(), auth.Look))
	}
	address := s.Visit(l.Addr(), as)
	fmt.Fprintf(a.err, "hop serve: %s (Ctrl-C ends it; trainings go on)\n", address)
	remove := func() {}
	if open {
		if remove, err = openBrowser(address); err != nil {
			fmt.Fprintf(a.err, "hop serve: no browser could be opened (%v); open the address yourself\n", err)
		}
	}
	return func(ctx context.Context) error { defer remove(); return s.Serve(ctx, l) }, nil
}

// opens reports whether a browser is opened where nothing says so.
func (a *app) opens() bool { return a.terminal() && atScreen() }

// beside serves the folder above a training's while it lasts. What it returns ends that.
func (a *app) beside(folder string) (func(), error) {
	c := serve.Config{Folders: []string{filepath.Dir(folder)}, Addr: "127.0.0.1:8770", Token: os.Getenv("HOP_TOKEN")}
	run, err := a.serve(c, a.opens())
	if err != nil { // another one answers there
		c.Addr = ":0"
		if run, err = a.serve(c, a.opens()); err != nil {
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

type bridgeCmd struct{}

// Run answers the program at the other end of stdin and stdout until that closes them.
func (bridgeCmd) Run(a *app) error {
	return bridge.Serve(a.in, a.out, version, games.New(a.lab()))
}
