package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// patience is how long a guest may take for its first answer, and to end by itself.
const (
	helloPatience = 30 * time.Second
	closePatience = time.Second
)

// Peer is a guest process, seen by its host. It is for one goroutine, except Kill.
type Peer struct {
	Version string // of the guest's program

	cmd    *exec.Cmd
	pipe   *pipe
	in     io.WriteCloser
	tail   tail
	memory []*Memory
	ended  chan struct{} // closed when the process has ended
	end    error
	failed error // why no more can be asked
}

// Start starts a guest and agrees with it on the protocol. What it writes to stderr
// goes to cmd.Stderr, if that is set, and its last lines into the error if it dies. The
// guest is in a process group of its own: Ctrl-C is its host's to answer.
func Start(cmd *exec.Cmd, version string) (*Peer, error) {
	p := &Peer{cmd: cmd, ended: make(chan struct{})}
	p.tail.to = cmd.Stderr
	cmd.Stderr = &p.tail
	detach(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	// A pipe of our own: cmd.Wait would close one of cmd's while an answer may be in it.
	out, child, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	cmd.Stdout = child
	cmd.WaitDelay = closePatience // grandchildren may hold stderr open
	err = cmd.Start()
	child.Close()
	if err != nil {
		out.Close()
		return nil, fmt.Errorf("bridge: starting %s: %w", cmd.Path, err)
	}
	p.in, p.pipe = in, newPipe(out, in)
	go func() {
		p.end = cmd.Wait()
		close(p.ended)
	}()
	late := time.AfterFunc(helloPatience, p.Kill)
	var got hello
	err = p.Call("hello", hello{Protocol, version}, &got)
	if !late.Stop() && err != nil {
		err = fmt.Errorf("bridge: %s has not answered for %v", p.name(), helloPatience)
	}
	if err == nil && got.Protocol != Protocol {
		err = fmt.Errorf("bridge: %s is of version %s and speaks protocol %d; this is hop %s, which speaks %d: install the same version of both",
			p.name(), got.Version, got.Protocol, version, Protocol)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	p.Version = got.Version
	return p, nil
}

// name is the guest's command, for messages.
func (p *Peer) name() string { return strings.Join(p.cmd.Args, " ") }

// Call asks a question with arguments and reads the answer into answer; either may be nil.
func (p *Peer) Call(op string, args, answer any) error {
	if p.failed != nil {
		return p.failed
	}
	q := question{Op: op}
	if args != nil {
		var err error
		if q.Args, err = json.Marshal(args); err != nil {
			return fmt.Errorf("bridge: asking %s: %w", op, err)
		}
	}
	if err := p.pipe.writeJSON(q); err != nil {
		return p.lost(err)
	}
	kind, body, err := p.pipe.read()
	if err != nil {
		return p.lost(err)
	}
	if kind != kindJSON {
		return p.lost(fmt.Errorf("%w: %s was answered by a tick", errStrange, op))
	}
	if err := refusal(body); err != nil {
		return err
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(body, answer); err != nil {
		return p.lost(fmt.Errorf("%w: the answer to %s: %w", errStrange, op, err))
	}
	return nil
}

// refusal returns what an answer says went wrong, or nil.
func refusal(body []byte) error {
	var f failure
	if err := json.Unmarshal(body, &f); err == nil && f.Error != "" {
		return &Refusal{f.Error, f.Trace}
	}
	return nil
}

// Share makes memory for arrays that the guest sees too.
func (p *Peer) Share(arrays []Array) (*Memory, error) {
	if p.failed != nil {
		return nil, p.failed
	}
	m, f, err := create(arrays)
	if err != nil {
		return nil, err
	}
	f.Close()
	err = p.Call("share", shared{f.Name(), len(m.data), m.arrays}, nil)
	if early {
		err = errors.Join(err, os.Remove(f.Name()))
	} else {
		m.path = f.Name()
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	p.memory = append(p.memory, m)
	return m, nil
}

// Tick asks by a number alone: arguments and results stand in shared memory.
func (p *Peer) Tick(code uint32) error {
	if err := p.Send(code); err != nil {
		return err
	}
	return p.Wait()
}

// Send sends a tick. Wait must follow before anything else is asked.
func (p *Peer) Send(code uint32) error {
	if p.failed != nil {
		return p.failed
	}
	if err := p.pipe.writeTick(code); err != nil {
		return p.lost(err)
	}
	return nil
}

// Wait waits until the guest has done what was sent.
func (p *Peer) Wait() error {
	kind, body, err := p.pipe.read()
	if err != nil {
		return p.lost(err)
	}
	if kind == kindTick {
		return nil
	}
	if err := refusal(body); err != nil {
		return err
	}
	return p.lost(fmt.Errorf("%w: a tick was answered by %.200s", errStrange, body))
}

// lost says why the guest does not answer any more, and ends it.
func (p *Peer) lost(why error) error {
	if errors.Is(why, errStrange) {
		p.Kill()
	}
	select {
	case <-p.ended:
	case <-time.After(closePatience):
		p.Kill()
		<-p.ended
	}
	switch {
	case errors.Is(why, errStrange):
		p.failed = fmt.Errorf("bridge: %s: %w%s", p.name(), why, p.tail.last())
	default:
		state := "ended"
		if p.end != nil {
			state = p.end.Error()
		}
		p.failed = fmt.Errorf("bridge: %s is gone: %s%s", p.name(), state, p.tail.last())
	}
	return p.failed
}

// Wrote returns the end of what the guest has written to stderr.
func (p *Peer) Wrote() string { return p.tail.text() }

// Pid is the guest's process.
func (p *Peer) Pid() int { return p.cmd.Process.Pid }

// Kill ends the guest at once. What is being asked of it fails.
func (p *Peer) Kill() { p.cmd.Process.Kill() }

// Close lets the guest end, ends it if it does not, and gives its memory back.
func (p *Peer) Close() error {
	if p.failed == nil {
		p.failed = errors.New("bridge: " + p.name() + " was closed")
	}
	p.in.Close()
	select {
	case <-p.ended:
	case <-time.After(closePatience):
		p.Kill()
		<-p.ended
	}
	var errs []error
	for _, m := range p.memory {
		errs = append(errs, m.Close())
	}
	p.memory = nil
	return errors.Join(errs...)
}

// tail hands on what is written to it and keeps the end.
type tail struct {
	to   io.Writer // nil: nobody
	mu   sync.Mutex
	kept []byte
}

// tailLen is how much of a guest's stderr an error shows.
const tailLen = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	t.kept = append(t.kept, b...)
	if len(t.kept) > tailLen {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-tailLen:]...)
	}
	t.mu.Unlock()
	if t.to != nil {
		t.to.Write(b)
	}
	return len(b), nil
}

// last returns the end of what was written, for an error.
func (t *tail) last() string {
	if text := t.text(); text != "" {
		return "; it wrote last:\n" + text
	}
	return ""
}

// text returns the end of what was written.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.kept))
}

// Python starts a module of hop's Python package as a guest. named is the interpreter; "": the
// usual one. flag is how a user names another, beside HOP_PYTHON; "": by that alone.
func Python(module, named, flag string) (*Peer, error) {
	by := "HOP_PYTHON"
	if flag != "" {
		by = flag + " or HOP_PYTHON"
	}
	python, err := interpreter(named)
	if err != nil {
		return nil, fmt.Errorf("%w; install one, or name it with %s", err, by)
	}
	p, err := Start(exec.Command(python, "-m", module), thisVersion())
	if err == nil {
		return p, nil
	}
	if strings.Contains(err.Error(), "No module named hop_marl") || strings.Contains(err.Error(), "No module named 'hop_marl'") {
		return nil, fmt.Errorf("%s does not have hop's Python package; install it there (pip install hop-marl), or name the interpreter "+
			"that has it with %s", python, by)
	}
	return nil, err
}

// interpreter returns the Python that is named or, if it is "", that of HOP_PYTHON, the one beside
// this program, the one of VIRTUAL_ENV, or python3.
func interpreter(named string) (string, error) {
	if named != "" {
		return named, nil
	}
	if p := os.Getenv("HOP_PYTHON"); p != "" {
		return p, nil
	}
	var folders []string
	if exe, err := os.Executable(); err == nil { // a wheel puts both into one folder
		folders = append(folders, filepath.Dir(exe))
	}
	if v := os.Getenv("VIRTUAL_ENV"); v != "" {
		folders = append(folders, filepath.Join(v, "bin"), filepath.Join(v, "Scripts"))
	}
	for _, dir := range folders {
		for _, name := range []string{"python3", "python", "python.exe"} {
			path := filepath.Join(dir, name)
			if info, err := os.Stat(path); err == nil && !info.IsDir() {
				return path, nil
			}
		}
	}
	for _, name := range []string{"python3", "python"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no Python here")
}

// thisVersion is the version of this program, for people.
func thisVersion() string {
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		return b.Main.Version
	}
	return "dev"
}

// Traced is an error with where it happened in the guest's code, if that is known.
func Traced(err error) error {
	var r *Refusal
	if errors.As(err, &r) && r.Trace != "" {
		return fmt.Errorf("%s\n%s", r.Text, strings.TrimSpace(r.Trace))
	}
	return err
}
