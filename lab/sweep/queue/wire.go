package queue

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// op is what a worker can ask of a coordinator. There is nothing else.
type op string

const (
	opAsks    op = "asks"    // what jobs ask for
	opTake    op = "take"    // a job that asks for this
	opBeat    op = "beat"    // I am alive
	opState   op = "state"   // how does a job stand whose folder mine reads
	opRead    op = "read"    // a part of a folder
	opOpen    op = "open"    // I am going to send a folder
	opPart    op = "part"    // a part of it
	opClose   op = "close"   // that was all of it
	opFinish  op = "finish"  // the folder is the job's result
	opFail    op = "fail"    // the attempt failed
	opMove    op = "move"    // another worker may go on
	opDiscard op = "discard" // I have lost the job; nobody reads what I sent
	opNews    op = "news"
	opRefuse  op = "refuse" // I take none of the jobs that ask for something
)

// request is what a worker asks.
type request struct {
	Op       op            `json:"op"`
	Worker   string        `json:"worker,omitempty"`
	Ask      *Ask          `json:"ask,omitempty"`
	Patience time.Duration `json:"patience_ns,omitempty"`
	ID       string        `json:"id,omitempty"`
	Attempt  int           `json:"attempt,omitempty"`
	File     string        `json:"file,omitempty"`
	Object   string        `json:"object,omitempty"` // the writing of the file that is read
	Number   uint64        `json:"number,omitempty"` // of a part
	Sum      string        `json:"sum,omitempty"`
	Stored   bool          `json:"stored,omitempty"`
	Cost     Cost          `json:"cost,omitzero"`
	Why      string        `json:"why,omitempty"`
	Log      string        `json:"log,omitempty"`
	Useless  bool          `json:"useless,omitempty"`
	Line     string        `json:"line,omitempty"`
	Progress float64       `json:"progress,omitempty"`
}

// reply is what the coordinator answers.
type reply struct {
	Error  string        `json:"error,omitempty"`
	Code   code          `json:"code,omitempty"`
	Sweep  string        `json:"sweep,omitempty"`
	Wait   time.Duration `json:"wait_ns,omitempty"`
	Asks   []Ask         `json:"asks,omitempty"`
	Job    *Job          `json:"job,omitempty"`
	Number int           `json:"number,omitempty"`
	From   string        `json:"from,omitempty"`
	Sum    string        `json:"sum,omitempty"`
	State  *State        `json:"state,omitempty"`
	Object string        `json:"object,omitempty"`
	Next   uint64        `json:"next,omitempty"` // where the next part is looked for; 0: there is none
}

// code is an error that workers tell from others.
type code string

const (
	lostCode code = "lost"
	goneCode code = "gone"
	noneCode code = "none"
)

var codes = map[code]error{lostCode: ErrLost, goneCode: ErrGone, noneCode: ErrNone}

// failed is how an error is answered.
func failed(err error) reply {
	r := reply{Error: err.Error()}
	for c, known := range codes {
		if errors.Is(err, known) {
			r.Code = c
		}
	}
	return r
}

// err is what went wrong, as the coordinator said it.
func (r *reply) err() error {
	if known := codes[r.Code]; known != nil {
		return known
	}
	if r.Error != "" {
		return errors.New(r.Error)
	}
	return nil
}

// frame joins a text and the bytes that go with it.
func frame(v any, with []byte) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain structs
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	return append(append(b, text...), with...)
}

// unframe takes them apart.
func unframe(b []byte, v any) (with []byte, err error) {
	if len(b) < 4 {
		return nil, errors.New("it is too short")
	}
	n := binary.BigEndian.Uint32(b)
	if uint64(n) > uint64(len(b)-4) {
		return nil, errors.New("it is cut short")
	}
	return b[4+n:], strict(b[4:4+n], v)
}

// Requests are signed with the worker's own key, which it made when it began: what is said of an attempt counts if the
// same key signs it that took the job. That the worker has a token is shown by a sum.
const signedHead = ed25519.PublicKeySize + ed25519.SignatureSize + sha256.Size

// sign writes a request.
func sign(sweep string, r request, with []byte, own ed25519.PrivateKey, hello []byte) []byte {
	return signBody(sweep, frame(r, with), own, hello)
}

func signBody(sweep string, body []byte, own ed25519.PrivateKey, hello []byte) []byte {
	b := append([]byte{}, own.Public().(ed25519.PublicKey)...)
	b = append(b, ed25519.Sign(own, requested(sweep, body))...)
	b = append(b, welcome(hello, sweep, b)...)
	return append(b, body...)
}

func requested(sweep string, body []byte) []byte {
	sum := sha256.Sum256(body)
	return fmt.Appendf(nil, "hop request %q %x", sweep, sum)
}

func welcome(hello []byte, sweep string, signed []byte) []byte {
	m := hmac.New(sha256.New, hello)
	fmt.Fprintf(m, "%q\n", sweep)
	m.Write(signed)
	return m.Sum(nil)
}

// verify reads a request, and returns whose key signed it.
func verify(sweep string, b, hello []byte) (r request, with []byte, key string, err error) {
	if len(b) < signedHead {
		return r, nil, "", errors.New("it is no request of a worker")
	}
	head, body := b[:signedHead], b[signedHead:]
	public, signature := ed25519.PublicKey(head[:ed25519.PublicKeySize]), head[ed25519.PublicKeySize:signedHead-sha256.Size]
	switch {
	case !hmac.Equal(head[signedHead-sha256.Size:], welcome(hello, sweep, head[:signedHead-sha256.Size])):
		return r, nil, "", errors.New("whoever sent it has no worker's token of this sweep")
	case !ed25519.Verify(public, requested(sweep, body), signature):
		return r, nil, "", errors.New("its signature is wrong")
	}
	with, err = unframe(body, &r)
	return r, with, fmt.Sprintf("%x", []byte(public)), err
}

// answer writes a reply to a request; it is one to no other.
func answer(r reply, with, to []byte, own ed25519.PrivateKey) []byte {
	body := frame(r, with)
	return append(ed25519.Sign(own, replied(to, body)), body...)
}

func replied(to, body []byte) []byte {
	a, b := sha256.Sum256(to), sha256.Sum256(body)
	return fmt.Appendf(nil, "hop reply %x %x", a, b)
}

// open reads the reply to a request, if it is the coordinator's.
func open(b, to []byte, coordinator ed25519.PublicKey) (r reply, with []byte, err error) {
	if len(b) < ed25519.SignatureSize || !ed25519.Verify(coordinator, replied(to, b[ed25519.SignatureSize:]), b[:ed25519.SignatureSize]) {
		return r, nil, errNotOurs
	}
	with, err = unframe(b[ed25519.SignatureSize:], &r)
	return r, with, err
}

var errNotOurs = errors.New("sweep: somebody else answered than the coordinator of this worker's token")

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
