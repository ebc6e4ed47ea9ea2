package queue

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hop-marl/hop/lab/sweep/hub"
)

// court is a sweep with its server, its desk and what was logged.
type court struct {
	*Queue
	t    *testing.T
	hub  *hub.Hub
	keys *hub.Keys
	shut func() // closes the desk
	mu   sync.Mutex
	said []string
}

var plainAsk = Ask{Build: "b", Cores: 1}

func (c *court) log(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = append(c.said, fmt.Sprintf(format, args...))
}

// says waits for a line in the log.
func (c *court) says(words string) {
	c.t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		c.mu.Lock()
		text := strings.Join(c.said, "\n")
		c.mu.Unlock()
		if strings.Contains(text, words) {
			return
		}
	}
	c.t.Errorf("the log does not say %q:\n%s", words, strings.Join(c.said, "\n"))
}

// must fails the test over an error, unless it is one of those that are wanted.
func (c *court) must(err error, want ...error) {
	c.t.Helper()
	if err != nil && !slices.ContainsFunc(want, func(w error) bool { return errors.Is(err, w) }) {
		c.t.Fatal(err)
	}
}

func newCourt(t *testing.T) *court {
	t.Helper()
	c := &court{t: t}
	var err error
	c.keys, err = hub.Derive("a secret of twenty letters")
	c.must(err)
	c.hub, err = hub.Start(hub.Config{Dir: t.TempDir(), Keys: c.keys, Listen: "127.0.0.1:0", Log: func(s string) { c.log("engine: %s", s) }})
	c.must(err)
	nc, err := c.hub.Connect()
	c.must(err)
	t.Cleanup(func() { nc.Close(); c.hub.Stop() })
	c.Queue, err = Open(t.Context(), nc, "s", Options{Wait: 30 * time.Second, Seal: c.keys.Seal, Log: c.log})
	c.must(err)
	c.shut, err = (&Desk{Queue: c.Queue, Keys: c.keys}).Answer(t.Context())
	c.must(err)
	return c
}

// join is a worker at the other end of the network.
func (c *court) join() (*nats.Conn, *Remote) {
	c.t.Helper()
	token, err := c.keys.Token()
	c.must(err)
	nc, err := hub.Route{Addr: "nats://" + c.hub.Addr(), Name: "w"}.Dial(token)
	c.must(err)
	c.t.Cleanup(nc.Close)
	list, err := Find(c.t.Context(), nc, token)
	c.must(err)
	if len(list) != 1 {
		c.t.Fatalf("%d sweeps, want one", len(list))
	}
	return nc, list[0]
}

func plainJob(id string) Job {
	return Job{ID: id, Name: "run " + id, Kind: Training, Spec: "{}", Ask: plainAsk}
}

// put is a job that is there for workers to take.
func (c *court) put(id string) {
	c.t.Helper()
	c.must(c.Put(c.t.Context(), plainJob(id)))
}

func (c *court) none(r *Remote) {
	c.t.Helper()
	if at, err := r.Take(c.t.Context(), plainAsk, "w", 300*time.Millisecond); !errors.Is(err, ErrNone) {
		c.t.Errorf("something was handed out: %+v, %v", at, err)
	}
}

// Who has no token, or another coordinator's, does not come in.
func TestAStrangerStaysOutside(t *testing.T) {
	c := newCourt(t)
	if nc, err := nats.Connect("nats://" + c.hub.Addr()); err == nil {
		nc.Close()
		t.Error("somebody without a token is in")
	}
	other, err := hub.Derive(hub.NewSecret())
	c.must(err)
	token, err := other.Token()
	c.must(err)
	_, err = hub.Route{Addr: "nats://" + c.hub.Addr()}.Dial(token)
	if err == nil || !strings.Contains(err.Error(), "does not accept this token") {
		t.Errorf("another's token: %v", err)
	}
	c.says("authentication error")
	n := 0
	for range 100 { // the server counts when it gets to it
		if n = int(c.hub.Refused()["not authorised"]); n == 2 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("%d were counted, want 2", n)
}

// A worker's token reaches the desk and nothing else: no stream, no state, no store, nor what others say.
func TestAWorkersTokenReachesNothingButTheDesk(t *testing.T) {
	c := newCourt(t)
	c.put("job1")
	nc, r := c.join()
	state := fmt.Sprintf(`{"phase":%q}`, Done)
	for subject, text := range map[string]string{
		c.subject(plainAsk): `{"id":"evil","name":"evil","words":["train","--env","evil:make"]}`,
		"$KV.hop-s.job1":    state, "$O.hop-s.C.x": "x", "$O.hop-s.M.x": "{}", "$JS.ACK.hop-s.x.1.1.1.1.0": "+ACK",
		"$JS.API.STREAM.PURGE.hop-s": "", "$JS.API.STREAM.DELETE.hop-s": "", "$JS.API.STREAM.DELETE.KV_hop-s": "",
		"$JS.API.STREAM.DELETE.OBJ_hop-s": "", "$JS.API.STREAM.PURGE.OBJ_hop-s": "", "$JS.API.CONSUMER.DELETE.hop-s." + plainAsk.class(): "",
		"$JS.API.STREAM.CREATE.other": `{"name":"other"}`, "$JS.API.CONSUMER.MSG.NEXT.hop-s." + plainAsk.class(): "", "_HOP.x": "x",
	} {
		c.must(nc.PublishRequest(subject, nc.NewInbox(), []byte(text)))
		c.must(nc.Flush())
		c.says(fmt.Sprintf("Publish Violation - Subject %q", subject))
	}
	for _, subject := range []string{">", "hop.>", "$KV.>", "_HOP.>"} {
		sub, err := nc.SubscribeSync(subject)
		c.must(err)
		c.must(nc.Flush())
		c.says(fmt.Sprintf("Subscription Violation - Subject %q", subject))
		_ = sub.Unsubscribe()
	}
	s, err := c.State(t.Context(), "job1")
	c.must(err)
	at, err := r.Take(t.Context(), plainAsk, "w", time.Second)
	if err != nil || s.Phase != Queued || at.ID != "job1" {
		t.Errorf("afterwards: %+v, %+v, %v", s, at, err)
	}
	c.none(r)
}

// The coordinator may write where a worker may not, so its answers go to who asked and nowhere else.
func TestAnAnswerGoesNowhereElse(t *testing.T) {
	c := newCourt(t)
	c.put("job1")
	nc, r := c.join()
	for _, to := range []string{"$KV.hop-s.job1", "$JS.API.STREAM.PURGE.hop-s", "_HOP.x", ""} {
		c.must(nc.PublishMsg(&nats.Msg{Subject: hub.Desk("s"), Reply: to, Data: sign("s", request{Op: opAsks}, nil, r.own, r.token.Hello)}))
		c.must(nc.PublishMsg(&nats.Msg{Subject: hub.Who, Reply: to, Data: []byte("x")}))
		c.must(nc.Flush())
		c.says(fmt.Sprintf("its answer is to go to %q", to))
	}
	if s, err := c.State(t.Context(), "job1"); err != nil || s.Phase != Queued {
		t.Errorf("afterwards: %+v, %v", s, err)
	}
}

// What is said of a job counts if it is said by who took it.
func TestOnlyWhoHoldsAJobHandsSomethingIn(t *testing.T) {
	c := newCourt(t)
	c.put("job1")
	_, a := c.join()
	_, b := c.join()
	mine, err := a.Take(t.Context(), plainAsk, "a", time.Second)
	c.must(err)
	theirs := *mine
	theirs.r, theirs.worker = b, "a" // says that it is a
	before, err := c.State(t.Context(), "job1")
	c.must(err)
	for what, do := range map[op]func() error{
		opFinish: func() error { return theirs.Finish(t.Context(), Cost{}) },
		opFail:   func() error { return theirs.Fail(t.Context(), "x", "", true) },
		opMove:   func() error { return theirs.Move(t.Context(), false) },
		opOpen:   func() error { return theirs.Send(t.Context(), t.TempDir()) },
	} {
		if err := do(); !errors.Is(err, ErrLost) {
			t.Errorf("another worker may %s: %v", what, err)
		}
		c.says(fmt.Sprintf("wants to %s job \"job1\", attempt 1, which it does not hold", what))
	}
	if after, err := c.State(t.Context(), "job1"); err != nil || after != before {
		t.Errorf("the state is %+v, was %+v, %v", after, before, err)
	}
	if (News{Attempt: 1, key: "b"}).Of(before) {
		t.Error("news of another worker count")
	}
	c.must(mine.Send(t.Context(), t.TempDir()))
	c.must(mine.Finish(t.Context(), Cost{CPU: 1}))
	c.must(mine.Finish(t.Context(), Cost{CPU: 1})) // the first answer may have been lost
	if err := theirs.Finish(t.Context(), Cost{}); !errors.Is(err, ErrLost) {
		t.Errorf("another worker may finish what is done: %v", err)
	}
}

// Requests of those who have no token, with a wrong signature, of another sweep or of no kind are refused.
func TestWhatIsNoRequestIsRefused(t *testing.T) {
	c := newCourt(t)
	nc, r := c.join()
	good := sign("s", request{Op: opAsks}, nil, r.own, r.token.Hello)
	bent := append([]byte{}, good...)
	bent[len(bent)-1] ^= 1
	unsigned := append([]byte{}, good...)
	unsigned[40] ^= 1
	copy(unsigned[signedHead-32:], welcome(r.token.Hello, "s", unsigned[:signedHead-32]))
	for why, b := range map[string][]byte{
		"no request of a worker":    []byte("{}"),
		"no worker's token":         sign("s", request{Op: opAsks}, nil, r.own, []byte("guess")),
		"its signature is wrong":    unsigned,
		"asks for \"shell\", which": sign("s", request{Op: "shell", ID: "job1", Attempt: 1, Why: "rm -rf /"}, nil, r.own, r.token.Hello),
		"unknown field \"words\"":   signText(r, `{"op":"take","words":["train","--env","evil:make"]}`),
		"number 1e400":              signText(r, `{"op":"beat","attempt":1e400}`),
		"something follows it":      signText(r, `{"op":"asks"}{"op":"asks"}`),
	} {
		if strings.Contains(why, "shell") {
			c.put("job1")
			_, err := r.Take(t.Context(), plainAsk, "w", time.Second)
			c.must(err)
		}
		c.must(nc.PublishRequest(hub.Desk("s"), nc.NewInbox(), b))
		c.says(why)
	}
	c.must(nc.PublishRequest(hub.Desk("other"), nc.NewInbox(), good))
	if _, _, _, err := verify("other", good, r.token.Hello); err == nil {
		t.Error("a request to one sweep is one to another")
	}
	if _, _, _, err := verify("s", bent, r.token.Hello); err == nil {
		t.Error("a request that was changed on the way is taken")
	}
	if _, err := r.Asks(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// signText signs any text as a request.
func signText(r *Remote, text string) []byte {
	body := append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
	return signBody("s", body, r.own, r.token.Hello)
}

// On a server of others anybody may answer. A worker takes the word of its own coordinator, to its own question.
func TestAnAnswerOfSomebodyElseIsRefused(t *testing.T) {
	c := newCourt(t)
	other, err := hub.Derive(hub.NewSecret())
	c.must(err)
	_, r := c.join()
	question := []byte("question")
	evil := reply{Job: &Job{ID: "evil", Name: "evil", Kind: Then, Do: Line{"train", "--env", "evil:make"}}}
	for name, b := range map[string][]byte{
		"another's": answer(evil, nil, question, other.Sign), "to another question": answer(evil, nil, []byte("x"), c.keys.Sign), "empty": nil,
	} {
		if _, _, err := open(b, question, r.token.Coordinator); !errors.Is(err, errNotOurs) {
			t.Errorf("%s answer: %v", name, err)
		}
	}
	if _, _, err := open(answer(evil, nil, question, c.keys.Sign), question, r.token.Coordinator); err != nil {
		t.Error(err)
	}
}

// Whoever can write into the stream of jobs, as anybody can on a server of others, hands out none: a job is sealed by the
// coordinator, of a kind and with flags that there are, and not one that has ended.
func TestAJobOfSomebodyElseIsRefused(t *testing.T) {
	c := newCourt(t)
	c.put("job1") // so that there is a door
	_, r := c.join()
	at, err := r.Take(t.Context(), plainAsk, "w", time.Second)
	c.must(err)
	other := &Queue{Sweep: "s", key: []byte("guess")}
	old := &Queue{Sweep: "another sweep", key: c.key}
	smuggled := plainJob("job2")
	smuggled.Kind, smuggled.Spec, smuggled.Do = Then, "", Line{"train", "ppo-4x4", "--env", "evil:make"}
	unknown := plainJob("job2")
	unknown.Kind = "shell"
	publish := func(b []byte) {
		t.Helper()
		_, err := c.js.Publish(t.Context(), c.subject(plainAsk), b)
		c.must(err)
		c.none(r)
	}
	for _, row := range []struct {
		says string
		b    []byte
	}{
		{"a job is refused: it was not written by this sweep's coordinator", []byte(`{"id":"job1","words":["train","--env","evil:make"]}`)},
		{"a job is refused: it was not written by this sweep's coordinator", other.seal(jobSeal, plainJob("job2"))},
		{"a job is refused: it was not written by this sweep's coordinator", old.seal(jobSeal, plainJob("job2"))},
		{"a job is refused: it was not written by this sweep's coordinator", c.seal(stateSeal+"job2", plainJob("job2"))},
		{`hop train has "--env" in a job`, c.seal(jobSeal, smuggled)},
		{`there is no kind "shell"`, c.seal(jobSeal, unknown)},
		{`unknown field "words"`, c.seal(jobSeal, map[string]any{"id": "job2", "words": []string{"sh"}})},
		{"run job9 is none that was put here", c.seal(jobSeal, plainJob("job9"))},
	} {
		c.mu.Lock()
		c.said = nil
		c.mu.Unlock()
		publish(row.b)
		c.says(row.says)
	}
	c.must(at.Send(t.Context(), t.TempDir()))
	c.must(at.Finish(t.Context(), Cost{}))
	publish(c.seal(jobSeal, plainJob("job1"))) // the coordinator's own words, said again by another
	c.says("run job1 was put again and is done")
	if s, err := c.State(t.Context(), "job1"); err != nil || s.Phase != Done || s.Attempt != 1 {
		t.Errorf("afterwards: %+v, %v", s, err)
	}
}

// A state that somebody else wrote is none, nor is one job's state another's.
func TestAForgedStateIsSeen(t *testing.T) {
	c := newCourt(t)
	c.put("job1")
	c.put("job2")
	two, err := c.state.Get(t.Context(), "job2")
	c.must(err)
	for _, b := range [][]byte{[]byte(`{"phase":"done","kept":true}`), two.Value(), nil} {
		_, err := c.state.Put(t.Context(), "job1", b)
		c.must(err)
		if _, err := c.State(t.Context(), "job1"); !errors.Is(err, ErrForged) {
			t.Errorf("%q is a state: %v", b, err)
		}
		seen := errors.New("seen")
		err = c.Watch(t.Context(), func(ch Change) error {
			if ch.ID == "job1" && ch.Forged != nil {
				return seen
			}
			return map[bool]error{true: errors.New("caught up")}[ch.ID == ""]
		})
		if !errors.Is(err, seen) {
			t.Errorf("watching: %v", err)
		}
	}
	c.must(c.Restore(t.Context(), "job1", State{Phase: Queued}))
	if s, err := c.State(t.Context(), "job1"); err != nil || s.Phase != Queued {
		t.Errorf("restored: %+v, %v", s, err)
	}
}

// A folder that was put in a result's place is not taken for it, by nobody.
func TestAFolderInAnothersPlaceIsRefused(t *testing.T) {
	c := newCourt(t)
	c.put("job1")
	_, r := c.join()
	at, err := r.Take(t.Context(), plainAsk, "w", time.Second)
	c.must(err)
	dir := t.TempDir()
	c.must(os.WriteFile(filepath.Join(dir, "good"), make([]byte, 3*part), 0o644))
	c.must(at.Send(t.Context(), dir))
	c.must(at.Finish(t.Context(), Cost{}))
	s, err := c.State(t.Context(), "job1")
	c.must(err)
	fetch := func() (error, error) {
		to := t.TempDir()
		return c.Fetch(t.Context(), s.File, s.Sum, filepath.Join(to, "a")), r.Fetch(t.Context(), Folder{s.File, s.Sum}, filepath.Join(to, "b"))
	}
	if a, b := fetch(); a != nil || b != nil {
		t.Fatalf("the result: %v, %v", a, b)
	}
	evil := t.TempDir()
	c.must(os.WriteFile(filepath.Join(evil, "evil"), nil, 0o644))
	_, err = c.Send(t.Context(), s.File, evil)
	c.must(err)
	if a, b := fetch(); !errors.Is(a, ErrGone) || !errors.Is(b, ErrGone) {
		t.Errorf("another folder in its place: %v, %v", a, b)
	}
}

// Only so many send at once, and a worker that dies while it sends gives its turn back.
func TestFoldersAreSentInTurn(t *testing.T) {
	c := newCourt(t)
	d := &Desk{Queue: c.Queue, Keys: c.keys, ctx: t.Context(), uploads: map[string]*upload{}, turns: make(chan struct{}, turnsAtOnce)}
	for n := range turnsAtOnce {
		c.must(d.open(&Attempt{Job: Job{ID: fmt.Sprint("job", n)}, Number: 1, state: State{Phase: Running}}, "k"))
	}
	if len(d.turns) != turnsAtOnce {
		t.Fatalf("%d send, want %d", len(d.turns), turnsAtOnce)
	}
	d.end("job0.1", context.Canceled)
	c.must(d.open(&Attempt{Job: Job{ID: "job8"}, Number: 1, state: State{Phase: Running}}, "k"))
	if err := d.part("job8.1", request{Op: opPart, Number: 3}, []byte("x"), "k"); err == nil {
		t.Error("a part that others are missing before was taken")
	}
	if err := d.part("job8.1", request{Op: opPart, Number: 1}, []byte("x"), "other"); err == nil {
		t.Error("another worker's part was taken")
	}
	info, err := c.files.GetInfo(t.Context(), "job0.1")
	if !errors.Is(err, jetstream.ErrObjectNotFound) {
		t.Errorf("half a folder is in the store: %+v, %v", info, err)
	}
}

// A desk that closes when it sees that the last job has failed answers the worker that said so.
func TestADeskThatClosesAnswersFirst(t *testing.T) {
	c := newCourt(t)
	_, r := c.join()
	for n := range 20 {
		id := fmt.Sprint("job", n)
		c.put(id)
		at, err := r.Take(t.Context(), plainAsk, "w", time.Second)
		c.must(err)
		failed := make(chan error, 1)
		go func() { failed <- at.Fail(t.Context(), "planted", "", true) }()
		c.must(c.Watch(t.Context(), func(ch Change) error {
			if ch.ID == id && ch.Phase == Failed {
				return ErrNone
			}
			return nil
		}), ErrNone)
		c.shut()
		if err := <-failed; err != nil {
			t.Fatalf("job %d: the worker that gave it up hears %v", n, err)
		}
		c.shut, err = (&Desk{Queue: c.Queue, Keys: c.keys}).Answer(t.Context())
		c.must(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	c.shut()
	shut, err := (&Desk{Queue: c.Queue, Keys: c.keys}).Answer(stopped)
	c.must(err)
	defer shut()
	c.put("last")
	at, err := r.Take(t.Context(), plainAsk, "w", time.Second)
	c.must(err)
	stop()
	c.put("none")
	c.none(r) // nothing is handed out any more
	c.must(at.Send(t.Context(), t.TempDir()))
	c.must(at.Move(t.Context(), true)) // but a worker may hand back what it has
}
