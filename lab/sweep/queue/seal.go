package queue

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// What seals are over, before the rest of a text: a state is no job, and one job's state no other's.
const (
	jobSeal   = "job"
	stateSeal = "state of "
)

// ErrForged says that something on the server was written by somebody else than the sweep's coordinator.
var ErrForged = errors.New("it was not written by this sweep's coordinator")

// seal writes a value so that only the coordinator can have written it, for this sweep and this purpose.
func (q *Queue) seal(what string, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain structs
	}
	return append(q.mac(what, b), b...)
}

// unseal reads what seal wrote, and nothing else.
func (q *Queue) unseal(what string, b []byte, v any) error {
	if len(b) < sha256.Size || !hmac.Equal(b[:sha256.Size], q.mac(what, b[sha256.Size:])) {
		return ErrForged
	}
	return strict(b[sha256.Size:], v)
}

func (q *Queue) mac(what string, b []byte) []byte {
	m := hmac.New(sha256.New, q.key)
	fmt.Fprintf(m, "%q %q\n", q.Sweep, what)
	m.Write(b)
	return m.Sum(nil)
}

// strict decodes a text in which nothing is unknown and after which nothing follows.
func strict(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows it")
	}
	return nil
}
