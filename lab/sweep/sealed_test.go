//go:build unix

package sweep_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hop-marl/hop/lab/sweep"
	"github.com/hop-marl/hop/lab/sweep/hub"
	"github.com/hop-marl/hop/lab/sweep/queue"
	"github.com/hop-marl/hop/num/disk"
)

// edit changes a text in a file, and returns a function that takes it back.
func (p place) edit(name, from, to string) (undo func()) {
	p.t.Helper()
	b, err := os.ReadFile(p.path(name))
	p.must(err)
	if !strings.Contains(string(b), from) {
		p.t.Fatalf("%s does not hold %q", name, from)
	}
	p.write(name, strings.ReplaceAll(string(b), from, to))
	return func() { p.write(name, string(b)) }
}

// A sweep that was changed trains nothing at what was written into it, and is refused by everything that reads it, with
// what differs. (It once trained good runs again at a changed learning rate and reported that under the old name.)
func TestAChangedSweepIsRefused(t *testing.T) {
	p := newPlace(t, tiny)
	p.hop("sweep", "s.yaml", "--set", "ppo.lr=0.001,0.002", "--set", "train.steps=512", "--seeds", "1", "--out", "x")
	before := bytesOf(t, p.path("x/lr=0.002/seed-1"))
	undo := p.edit("x/sweep.json", "lr: 0.002", "lr: 0.9")
	for _, args := range [][]string{{"resume", "x"}, {"resume", "x", "--accept-unsealed"}, {"status", "x"}, {"retry", "x"}, {"cancel", "x"},
		{"run", "s.yaml", "--set", "ppo.lr=0.001,0.002", "--set", "train.steps=512", "--seeds", "1-2", "--out", "x"}} {
		c, out := p.program(nil, append([]string{"sweep"}, args...)...)
		_ = c.Run()
		text := strings.Join(strings.Fields(out.String()), " ")
		if c.ProcessState.ExitCode() == 0 || !strings.Contains(text, "of lr=0.002 ppo.lr is 0.9, was 0.002") ||
			!strings.Contains(text, "from a copy") {
			t.Errorf("hop sweep %v: exit code %d: %s", args, c.ProcessState.ExitCode(), text)
		}
	}
	if _, err := sweep.Read(p.path("x")); err == nil || sweep.Report(p.path("x")) == nil {
		t.Error("a report is made of it")
	}
	undo()
	undo = p.edit("x/index.json", `"phase": "done"`, `"phase": "failed"`)
	p.refused(1, "index.json was changed after it was written", "sweep", "resume", "x")
	p.refused(1, "index.json was changed after it was written", "sweep", "status", "x")
	undo()
	p.hop("sweep", "resume", "x")
	after := bytesOf(t, p.path("x/lr=0.002/seed-1"))
	for name := range before {
		if before[name] != after[name] {
			t.Errorf("%s of a good run has changed", name)
		}
	}
}

// loosen takes the seals from a sweep's folder, as an earlier program left it.
func (p place) loosen(dir string) {
	p.t.Helper()
	for _, name := range []string{"sweep.json", "index.json"} {
		b, err := os.ReadFile(p.path(dir + "/" + name))
		p.must(err)
		var v map[string]any
		p.must(json.Unmarshal(b, &v))
		delete(v, "check")
		p.must(disk.WriteJSON(p.path(dir+"/"+name), v))
	}
}

// A folder of a program that sealed nothing can be looked at, with a word; to go on with it somebody has to say so.
func TestASweepWithoutSealsIsNotGoneOnWithSilently(t *testing.T) {
	p := newPlace(t, tiny)
	p.hop("sweep", "s.yaml", "--set", "train.steps=512", "--out", "x")
	p.loosen("x")
	if out := p.hop("sweep", "status", "x"); !strings.Contains(out, "nothing vouches for what it says") || !strings.Contains(out, "seed-1") {
		t.Errorf("status says\n%s", out)
	}
	p.must(sweep.Report(p.path("x")))
	if b, err := os.ReadFile(p.path("x/report.md")); err != nil || !strings.Contains(string(b), "nothing vouches for them") {
		t.Errorf("the report says %v\n%s", err, b)
	}
	p.refused(1, "--accept-unsealed", "sweep", "resume", "x")
	p.refused(2, "--accept-unsealed", "sweep", "s.yaml", "--set", "train.steps=512", "--seeds", "1-2", "--out", "x")
	if out := p.hop("sweep", "resume", "x", "--accept-unsealed"); !strings.Contains(out, "had no seals; it is sealed as it is now") {
		t.Errorf("resume says\n%s", out)
	}
	if out := p.hop("sweep", "status", "x"); strings.Contains(out, "vouches") {
		t.Errorf("afterwards status says\n%s", out)
	}
	s, err := sweep.Read(p.path("x"))
	if err != nil || s.Loose() || p.index("x").Loose() {
		t.Errorf("it is not sealed: %v", err)
	}
}

// A run of a sweep that was lost or changed is trained again, and named wherever the sweep is told of.
func TestRunsThatAreTrainedAgainAreNamed(t *testing.T) {
	p := newPlace(t, tiny)
	p.hop("sweep", "s.yaml", "--set", "train.steps=512", "--seeds", "1-3", "--out", "x")
	f, err := os.OpenFile(p.path("x/all/seed-1/metrics.csv"), os.O_WRONLY, 0)
	p.must(err)
	_, err = f.WriteAt([]byte("9"), 40)
	p.must(err)
	p.must(f.Close())
	p.must(os.RemoveAll(p.path("x/all/seed-2")))
	out := p.hop("sweep", "resume", "x")
	for seed, why := range map[int]string{1: "is damaged", 2: "its folder is gone"} {
		name := fmt.Sprintf("all/seed-%d", seed)
		if text := strings.Join(strings.Fields(out), " "); !strings.Contains(text, name+" is done again: ") || !strings.Contains(text, why) {
			t.Errorf("resume does not say that %s is done again since %q:\n%s", name, why, out)
		}
		same(t, p.path("x/"+name), p.lone(seed, "train.steps=512"))
	}
	again := 0
	for _, e := range p.index("x").Jobs {
		if e.Again != "" {
			again++
		}
	}
	b, err := os.ReadFile(p.path("x/report.md"))
	if err != nil || again != 2 || strings.Count(string(b), "its folder is gone") != 1 {
		t.Errorf("%d are named in the index; the report: %v\n%s", again, err, b)
	}
	if out := p.hop("sweep", "status", "x"); strings.Count(out, "done again") != 2 {
		t.Errorf("status says\n%s", out)
	}
}

// On a server of somebody else anybody who can connect can write anything. Nothing of it is done, every run has the bytes
// of a lone run, and the log says what was refused.
func TestAStrangerOnAServerOfOthersIsRefused(t *testing.T) {
	p := newPlace(t, tiny)
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: p.path("nats"),
		NoSigs: true, NoLog: true})
	p.must(err)
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(10 * time.Second) {
		t.Fatal("no server")
	}
	c, out := p.start([]string{"HOP_TEST_SLOW=700ms"}, "sweep", "s.yaml", "--set", "train.steps=512", "--seeds", "1-3", "--out", "x",
		"--connect", srv.ClientURL(), "--slots", "1")
	p.until("a job is at work", out, func() bool { return p.phases("x")["train running"] > 0 })
	nc, err := nats.Connect(srv.ClientURL())
	p.must(err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	p.must(err)
	id := p.sweep("x").ID
	jobs, err := js.Stream(t.Context(), "hop-"+id)
	p.must(err)
	states, err := js.KeyValue(t.Context(), "hop-"+id)
	p.must(err)
	trace := p.path("trace")
	evil := fmt.Sprintf(`{"id":"evil","name":"evil","kind":"then","do":["train","--env","os:system"],"words":["touch",%q]}`, trace)
	names := jobs.ConsumerNames(t.Context())
	for name := range names.Name() {
		_, err = js.Publish(t.Context(), "hop."+id+".job."+name, []byte(evil))
		p.must(err)
	}
	for _, e := range p.index("x").Jobs {
		if e.Phase == queue.Queued {
			_, err := states.Put(t.Context(), e.ID, []byte(`{"phase":"done","kept":true}`))
			p.must(err)
		}
	}
	p.must(nc.PublishRequest(hub.Desk(id), nc.NewInbox(), []byte(evil)))
	p.must(c.Wait())
	for _, words := range []string{"a job is refused: it was not written by this sweep's coordinator", "a request is refused",
		"what is known here is put back"} {
		if !strings.Contains(out.String(), words) {
			t.Errorf("the log does not say %q:\n%s", words, out)
		}
	}
	for seed := 1; seed <= 3; seed++ {
		same(t, p.path(fmt.Sprintf("x/all/seed-%d", seed)), p.lone(seed, "train.steps=512"))
	}
	if _, err := os.Stat(trace); err == nil {
		t.Error("a stranger's words were run")
	}
}

// No token stands where others can read it: not in a command line, nor in a file that others may read.
func TestATokenIsNotShown(t *testing.T) {
	p := newPlace(t, tiny)
	for _, args := range [][]string{
		{"worker", "--connect", "nats://127.0.0.1:1", "--token", "x"}, {"worker", "--connect", "nats://x@127.0.0.1:1"},
		{"sweep", "s.yaml", "--listen", "127.0.0.1:0", "--token", "x"}, {"sweep", "s.yaml", "--connect", "nats://x@127.0.0.1:1"},
	} {
		p.refused(2, "in the list of processes; write it into a file that only you can read and give --token-file", args...)
	}
	p.write("open", "hop-worker-x")
	p.refused(2, "chmod 600", "worker", "--connect", "nats://127.0.0.1:1", "--token-file", "open")
	p.refused(2, "not who may come in", "sweep", "s.yaml", "--listen", "0.0.0.0:0", "--cert", "c", "--key", "k")
	c, out := p.start([]string{"HOP_TEST_POISON=1=hang"}, "sweep", "s.yaml", "--out", "x", "--listen", "127.0.0.1:0")
	p.until("it listens", out, func() bool {
		return strings.Contains(out.String(), "--token-file "+filepath.Join("x", hub.WorkerFile)) ||
			strings.Contains(out.String(), "--token-file "+p.path("x/"+hub.WorkerFile))
	})
	for _, name := range []string{hub.WorkerFile, "coordinator.secret"} {
		if info, err := os.Stat(p.path("x/" + name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	kill(c)
}
