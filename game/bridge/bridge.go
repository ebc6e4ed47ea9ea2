// Package bridge is how hop and Python talk: messages on a pipe, arrays in shared
// memory. docs/bridge.md describes the protocol; python/hop_marl/_wire.py is its other half.
//
// One process, the host, starts the other, the guest, and asks; the guest answers every
// question before the next one. Both directions are the same: Python hosts hop for our
// games and agents (Serve), hop hosts Python for the users' environments (Start).
//
// A frame is the length of its body (4 bytes, little endian), its kind (1 byte) and the
// body: a JSON object, or a tick, a number whose arguments and results stand in shared
// memory. Nothing on the path of a tick allocates.
package bridge

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Protocol is the version of what is said here. Both ends must speak the same.
const Protocol = 1

// The kinds of frames.
const (
	kindJSON byte = iota
	kindTick
)

// maxBody bounds a frame; more is no frame of this protocol.
const maxBody = 64 << 20

// hello is the first question and its answer: the program's own version is for people.
type hello struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`
}

// shared is the question by which a host hands over memory.
type shared struct {
	Path   string  `json:"path"`
	Bytes  int     `json:"bytes"`
	Arrays []Array `json:"arrays"`
}

// question is a JSON question.
type question struct {
	Op   string          `json:"op"`
	Args json.RawMessage `json:"args,omitempty"`
}

// failure is the answer to a question that could not be answered.
type failure struct {
	Error string `json:"error"`
	// Trace is where in the guest's code it happened, if the guest knows.
	Trace string `json:"trace,omitempty"`
}

// Refusal is what the other end answered instead of doing what it was asked.
type Refusal struct {
	Text  string
	Trace string // where it happened in the other end's code; may be empty
}

func (r *Refusal) Error() string { return r.Text }

// pipe reads and writes frames.
type pipe struct {
	in   *bufio.Reader
	out  io.Writer
	head [9]byte // a whole tick
	body []byte
}

func newPipe(in io.Reader, out io.Writer) *pipe {
	return &pipe{in: bufio.NewReaderSize(in, 1<<16), out: out}
}

// writeTick sends a tick.
func (p *pipe) writeTick(code uint32) error {
	binary.LittleEndian.PutUint32(p.head[:], 4)
	p.head[4] = kindTick
	binary.LittleEndian.PutUint32(p.head[5:], code)
	_, err := p.out.Write(p.head[:])
	return err
}

// writeJSON sends an object.
func (p *pipe) writeJSON(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(body) > maxBody {
		return fmt.Errorf("a message of %d bytes is too long; the most is %d", len(body), maxBody)
	}
	frame := binary.LittleEndian.AppendUint32(make([]byte, 0, 5+len(body)), uint32(len(body)))
	_, err = p.out.Write(append(append(frame, kindJSON), body...))
	return err
}

// errStrange says that what came is no frame.
var errStrange = errors.New("what came does not follow the protocol")

// read returns the next frame; its body is valid until the next read. io.EOF: the other
// end has closed the pipe.
func (p *pipe) read() (kind byte, body []byte, err error) {
	head := p.head[:5]
	if _, err := io.ReadFull(p.in, head); err != nil {
		return 0, nil, err
	}
	size, kind := int(binary.LittleEndian.Uint32(head)), head[4]
	if size > maxBody || kind > kindTick || kind == kindTick && size != 4 {
		rest := make([]byte, min(p.in.Buffered(), 80))
		io.ReadFull(p.in, rest)
		return 0, nil, fmt.Errorf("%w: it begins with %q", errStrange, append(head, rest...))
	}
	if cap(p.body) < size {
		p.body = make([]byte, size)
	}
	p.body = p.body[:size]
	if _, err := io.ReadFull(p.in, p.body); err != nil {
		return 0, nil, err
	}
	return kind, p.body, nil
}

// Handler answers a host.
type Handler interface {
	// Call answers a question. An error goes back as a sentence.
	Call(op string, args json.RawMessage) (any, error)
	// Share takes memory that the host has made, of arrays that were agreed on before.
	Share(m *Memory) error
	// Tick does what a number says, with arguments and results in shared memory.
	Tick(code uint32) error
}

// Serve answers the host at the other end of in and out until the host closes them or
// is gone. Panics of the handler are answers too, so that the host learns of them.
func Serve(in io.Reader, out io.Writer, version string, h Handler) error {
	done := make(chan error, 1)
	go func() { done <- serve(newPipe(in, out), version, h) }()
	select {
	case err := <-done:
		return err
	case <-orphaned():
		return errors.New("bridge: the process that started this one is gone")
	}
}

func serve(p *pipe, version string, h Handler) error {
	for {
		kind, body, err := p.read()
		switch {
		case errors.Is(err, io.EOF):
			return nil // the host has closed the pipe, or died
		case err != nil:
			return fmt.Errorf("bridge: reading a question: %w", err)
		}
		if kind == kindTick {
			if err = answered(func() error { return h.Tick(binary.LittleEndian.Uint32(body)) }); err == nil {
				err = p.writeTick(0)
			} else {
				err = p.writeJSON(failure{Error: err.Error()})
			}
		} else {
			err = p.writeJSON(answer(body, version, h))
		}
		if err != nil {
			return fmt.Errorf("bridge: writing an answer: %w", err)
		}
	}
}

// answer answers a JSON question.
func answer(body []byte, version string, h Handler) any {
	var q question
	var got any
	err := json.Unmarshal(body, &q)
	if err == nil {
		err = answered(func() (err error) {
			switch q.Op {
			case "hello":
				got = hello{Protocol, version}
			case "share":
				var s shared
				var m *Memory
				if err = json.Unmarshal(q.Args, &s); err == nil {
					if m, err = open(s); err == nil {
						err = h.Share(m)
					}
				}
			default:
				got, err = h.Call(q.Op, q.Args)
			}
			return err
		})
	}
	if err != nil {
		return failure{Error: err.Error()}
	}
	if got == nil {
		return struct{}{}
	}
	return got
}

// answered turns a panic into an error.
func answered(do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("bridge: hop panicked: %v", r)
		}
	}()
	return do()
}
