package bridge

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

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
