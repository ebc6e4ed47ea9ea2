package queue

import (
	"crypto/ed25519"
	"encoding/json"
	"strings"
	"testing"
)

// Whatever comes over the wire is a request of a worker, a reply of the coordinator, a job or a state, or it is refused.
func FuzzMessages(f *testing.F) {
	hello, own := []byte("hello"), ed25519.NewKeyFromSeed(make([]byte, 32))
	q := &Queue{Sweep: "s", key: []byte("k")}
	good := sign("s", request{Op: opTake, Worker: "w", Ask: &Ask{Cores: 1}}, []byte("part"), own, hello)
	for _, b := range [][]byte{nil, []byte("{"), good, good[:len(good)-5], good[signedHead:], answer(reply{Sweep: "s"}, nil, good, own),
		q.seal(jobSeal, Job{ID: "a", Kind: Training, Spec: "{}"}), q.seal(stateSeal+"a", State{Phase: Done, Attempt: 1 << 62}),
		[]byte(`{"id":"../../..","name":"x","kind":"then","do":["sh","-c","id"],"words":["sh"]}`),
		[]byte(`{"id":"a","needs":[{"id":"b","at":"../../etc"}],"ask":{"cores":1e400}}`), []byte(strings.Repeat("[", 10000)),
		{0xff, 0xff, 0xff, 0xff, 0}} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, _, key, err := verify("s", b, hello); err == nil && key == "" {
			t.Fatal("a request of nobody")
		}
		if r, _, err := open(b, good, own.Public().(ed25519.PublicKey)); err == nil {
			_ = r.err()
		}
		var r request
		_, _ = unframe(b, &r)
		var s State
		_ = q.unseal(stateSeal+"a", b, &s)
		var j Job
		if strict(b, &j) != nil || j.Validate() != nil {
			return
		}
		text, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		var again Job
		if err := q.unseal(jobSeal, append(q.mac(jobSeal, text), text...), &again); err != nil || again.Validate() != nil {
			t.Fatalf("a good job does not come back: %v", err)
		}
	})
}
