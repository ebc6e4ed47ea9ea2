package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"hop/lab"
	"hop/serve"
)

type serveCmd struct {
	Folders []string `arg:"" optional:"" help:"Folders below which runs are looked for." default:"runs" type:"path" placeholder:"FOLDER"`
	Addr    string   `help:"Address to answer at; :0 takes a free port. Any other machine's needs --token." default:"127.0.0.1:8770" placeholder:"HOST:PORT"`
	Token   string   `help:"What visitors must know, 16 letters or more; made where one is needed and none is given." placeholder:"TOKEN"`
	Host    []string `help:"Another name under which it may be asked for, such as a proxy's." placeholder:"NAME"`
	Control bool     `help:"Let trainings, audits and ladders be started and stopped from the pages; needs the token."`
}

func (c serveCmd) Run(a *app) error {
	end, err := a.serve(serve.Config{Folders: c.Folders, Addr: c.Addr, Token: c.Token, Hosts: c.Host, Control: c.Control})
	if err != nil {
		return err
	}
	return end(a.ctx)
}

// serve listens and says where. What it returns answers until its context ends.
func (a *app) serve(c serve.Config) (func(context.Context) error, error) {
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
	fmt.Fprintf(a.err, "hop serve: %s (Ctrl-C ends it; trainings go on)\n", s.Visit(l.Addr()))
	return func(ctx context.Context) error { return s.Serve(ctx, l) }, nil
}

// beside serves the folder above a training's while it lasts. What it returns ends that.
func (a *app) beside(folder string) (func(), error) {
	c := serve.Config{Folders: []string{filepath.Dir(folder)}, Addr: "127.0.0.1:8770"}
	run, err := a.serve(c)
	if err != nil { // another one answers there
		c.Addr = ":0"
		if run, err = a.serve(c); err != nil {
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
