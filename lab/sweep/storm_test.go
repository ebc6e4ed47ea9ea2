//go:build unix

package sweep_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hop-marl/hop/lab/sweep/hub"
	"github.com/hop-marl/hop/lab/sweep/queue"
)

// jobs is how many there are in a storm: a few in every run of the tests, and as many as HOP_FAULTS says
// by hand.
func jobs(few int) int {
	if n, err := strconv.Atoi(os.Getenv("HOP_FAULTS")); err == nil {
		return n
	}
	return few
}

// about has jobs take about a second by hand.
func about() string {
	if n := jobs(0); n < 100 {
		return tiny
	}
	return strings.NewReplacer("envs: 8, window: 16, steps: 2048, save: 512", "envs: 64, window: 64, steps: 120000, save: 30000").Replace(tiny)
}

// storm is a sweep with workers in processes of their own.
type storm struct {
	place
	port    int
	at      string // address that workers use
	wait    string
	mu      sync.Mutex
	workers []*worker
	coord   *exec.Cmd
	out     *said
}

type worker struct {
	cmd  *exec.Cmd
	out  *said
	env  []string
	more []string
}

func newStorm(t *testing.T, spec, file string) *storm {
	t.Helper()
	s := &storm{place: newPlace(t, spec), wait: "1500ms"}
	s.write("sweep.yaml", file)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	s.must(err)
	s.port = l.Addr().(*net.TCPAddr).Port
	s.must(l.Close())
	s.at = fmt.Sprintf("nats://127.0.0.1:%d", s.port)
	return s
}

// seeds is a sweep of n runs.
func seeds(n int) string { return fmt.Sprintf("{base: s.yaml, seeds: 1-%d}", n) }

// begin starts the coordinator, anew if it was killed.
func (s *storm) begin(env ...string) {
	s.t.Helper()
	listen := fmt.Sprintf("127.0.0.1:%d", s.port)
	args := []string{"sweep", "sweep.yaml", "--out", "x"}
	if _, err := os.Stat(s.path("x/sweep.json")); err == nil {
		args = []string{"sweep", "resume", "x"}
	}
	s.coord, s.out = s.start(env, append(args, "--listen", listen, "--slots=0", "--wait", s.wait)...)
	s.until("the coordinator listens", s.out, func() bool {
		out := s.out.String()
		if strings.Contains(out, "hop: ") {
			s.t.Fatalf("the coordinator:\n%s", out)
		}
		return strings.Contains(out, "workers join with")
	})
}

// join starts a worker.
func (s *storm) join(env []string, more ...string) *worker {
	s.t.Helper()
	w := &worker{env: env, more: more}
	s.mu.Lock()
	s.workers = append(s.workers, w)
	n := len(s.workers)
	s.mu.Unlock()
	w.more = append([]string{"--slots", "1", "--dir", fmt.Sprintf("w%d", n)}, more...)
	s.again(w)
	return w
}

// again starts a worker that has ended.
func (s *storm) again(w *worker) {
	w.cmd, w.out = s.start(w.env, append([]string{"worker", "--connect", s.at, "--token-file", "x/" + hub.WorkerFile}, w.more...)...)
}

// kill ends a process as if its machine had been switched off.
func kill(c *exec.Cmd) {
	_ = c.Process.Kill()
	_ = c.Wait()
}

// end waits for the coordinator, which must end well, and holds every run against a lone one.
func (s *storm) end(n int) {
	s.t.Helper()
	done := make(chan error, 1)
	go func() { done <- s.coord.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			s.t.Fatalf("the sweep: %v\n%s", err, s.out)
		}
	case <-time.After(20 * time.Minute):
		s.t.Fatalf("the sweep does not end: %v\n%s", s.phases("x"), s.out)
	}
	if got := s.phases("x"); got["train done"] != n {
		s.t.Errorf("jobs %v, want %d done\n%s", got, n, s.out)
	}
	if list, _ := filepath.Glob(s.path("x/*/seed-*")); len(list) != n {
		s.t.Errorf("%d runs, want %d", len(list), n)
	}
	lone := s.lones(n)
	for seed := 1; seed <= n; seed++ {
		same(s.t, s.path(fmt.Sprintf("x/all/seed-%d", seed)), filepath.Join(lone, fmt.Sprintf("seed-%d", seed)))
	}
	attempts, silent := 0, 0
	for _, e := range s.index("x").Jobs {
		attempts, silent = attempts+e.Attempt, silent+e.Silent
	}
	s.t.Logf("%d jobs: %d attempts, %d of which fell silent", n, attempts, silent)
}

// lones trains the seeds without a sweep; by hand, once for all storms of one spec (HOP_FAULTS_LONE is where).
func (s *storm) lones(n int) string {
	s.t.Helper()
	out := s.path("lone")
	if dir := os.Getenv("HOP_FAULTS_LONE"); dir != "" && s.exe == os.Args[0] {
		text, err := os.ReadFile(s.path("s.yaml"))
		s.must(err)
		out = filepath.Join(dir, fmt.Sprintf("%x-%d", sha256.Sum256(text), n))
	}
	if _, err := os.Stat(out); err != nil {
		s.hop("train", "s.yaml", "--seeds", fmt.Sprintf("1-%d", n), "--out", out)
	}
	return filepath.Join(out, "s-001")
}

// doneJobs counts.
func (s *storm) doneJobs() int { return s.phases("x")["train done"] }

func TestWorkersAreKilledAgainAndAgain(t *testing.T) {
	n := jobs(4)
	s := newStorm(t, about(), seeds(n))
	s.begin()
	for range 4 {
		s.join(nil)
	}
	r, kills := rand.New(rand.NewPCG(1, 2)), 0
	for end := time.Now().Add(15 * time.Minute); s.doneJobs() < n*3/4 && time.Now().Before(end); {
		time.Sleep(time.Duration(r.IntN(1500)) * time.Millisecond)
		w := s.workers[r.IntN(4)]
		kill(w.cmd)
		kills++
		s.again(w)
	}
	t.Logf("%d kills of workers", kills)
	s.end(n)
}

func TestTheCoordinatorIsKilledAndStartedAgain(t *testing.T) {
	byHand(t)
	n := jobs(8)
	s := newStorm(t, about(), seeds(n))
	s.begin()
	for range 4 {
		s.join(nil)
	}
	r, kills := rand.New(rand.NewPCG(3, 4)), 0
	for end := time.Now().Add(15 * time.Minute); s.doneJobs() < n*3/4 && kills < max(2, n/10) && time.Now().Before(end); {
		time.Sleep(time.Duration(300+r.IntN(1500)) * time.Millisecond)
		kill(s.coord)
		kills++
		s.begin()
	}
	t.Logf("%d kills of the coordinator", kills)
	s.end(n)
}

// proxy passes bytes on between workers and the server, or drops them.
type proxy struct {
	l     net.Listener
	to    string
	mu    sync.Mutex
	drop  bool
	conns []net.Conn
}

func newProxy(t *testing.T, to string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{l: l, to: to}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			d, err := net.Dial("tcp", to)
			if err != nil {
				_ = c.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, c, d)
			p.mu.Unlock()
			go p.pass(c, d)
			go p.pass(d, c)
		}
	}()
	return p
}

func (p *proxy) pass(from, to net.Conn) {
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		drop := p.drop
		p.mu.Unlock()
		if err != nil {
			return
		}
		if drop {
			continue // as if it had never been sent
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// cut drops everything from now on; mended, the connections that lost something end.
func (p *proxy) cut(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop = on
	if !on {
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.conns = nil
	}
}

// Two of four workers are behind a network that is cut for longer than the wait, again and again: others
// take their jobs, and what they hand in late is thrown away.
func TestAPartitionLongerThanTheWait(t *testing.T) {
	byHand(t)
	n := jobs(8)
	s := newStorm(t, about(), seeds(n))
	s.begin()
	direct, p := s.at, newProxy(t, fmt.Sprintf("127.0.0.1:%d", s.port))
	s.join(nil)
	s.join(nil)
	s.at = fmt.Sprintf("nats://%s", p.l.Addr())
	late := []*worker{s.join([]string{"HOP_TEST_SLOW=300ms"}), s.join([]string{"HOP_TEST_SLOW=300ms"})}
	s.at = direct
	cuts := 0
	for end := time.Now().Add(15 * time.Minute); s.doneJobs() < n*3/4 && time.Now().Before(end); cuts++ {
		time.Sleep(500 * time.Millisecond)
		p.cut(true)
		time.Sleep(2500 * time.Millisecond)
		p.cut(false)
		time.Sleep(700 * time.Millisecond)
	}
	s.end(n)
	thrown := 0
	for _, w := range late {
		thrown += strings.Count(w.out.String(), "thrown away")
	}
	t.Logf("%d partitions; %d results that came late were thrown away", cuts, thrown)
}

// A worker that is twenty times slower, one that says it has 64 cores and takes as many jobs, and one that
// is frozen for longer than the wait and then goes on: none has an effect on results.
func TestASlowWorkerALiarAndAFrozenOne(t *testing.T) {
	byHand(t)
	n := jobs(8)
	s := newStorm(t, about(), seeds(n))
	s.begin()
	s.join([]string{"HOP_TEST_SLOW=2s"})
	s.join(nil, "--cores", "64", "--slots", "6")
	frozen := s.join(nil)
	s.join(nil)
	s.until("a job is done", s.out, func() bool { return s.doneJobs() > 0 })
	s.must(frozen.cmd.Process.Signal(syscall.SIGSTOP))
	time.Sleep(2500 * time.Millisecond)
	s.must(frozen.cmd.Process.Signal(syscall.SIGCONT))
	s.end(n)
}

// Jobs that panic, hang and eat memory are given up after three tries, named, with their log; the others
// go on.
func TestPoisonedJobsAreGivenUpAndTheOthersGoOn(t *testing.T) {
	byHand(t)
	n := jobs(6)
	s := newStorm(t, about(), fmt.Sprintf("{base: s.yaml, seeds: 1-%d, each: {limit: 6s, quiet: 3s, memory: 400MB}}", n))
	s.begin()
	for range 4 {
		s.join([]string{"HOP_TEST_POISON=2=panic,3=hang,4=eat"})
	}
	err := s.coord.Wait()
	if err == nil || !strings.Contains(s.out.String(), "3 jobs given up") {
		t.Fatalf("the sweep: %v\n%s", err, s.out)
	}
	if got := s.phases("x"); got["train done"] != n-3 || got["train failed"] != 3 {
		t.Errorf("jobs %v", got)
	}
	for seed, want := range map[int]string{2: "panic: planted", 3: "said nothing for 3s", 4: "MB of memory, more than"} {
		b, err := os.ReadFile(s.path(fmt.Sprintf("x/failed/all_seed-%d.txt", seed)))
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("seed %d: want %q: %v\n%s", seed, want, err, b)
		}
		for _, e := range s.index("x").Jobs {
			if int(e.Seed) == seed && (e.Lost != queue.Tries || e.Attempt != queue.Tries) {
				t.Errorf("%s was tried %d times", e.Name, e.Attempt)
			}
		}
	}
}

// stranger is a worker's token of another coordinator.
func stranger(t *testing.T) *hub.Token {
	t.Helper()
	keys, err := hub.Derive(hub.NewSecret())
	if err != nil {
		t.Fatal(err)
	}
	token, err := keys.Token()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// A wrong token, another build and garbage on the wire are refused and counted, and take nothing down.
func TestStrangersAreRefusedAndCounted(t *testing.T) {
	byHand(t)
	n := jobs(4)
	s := newStorm(t, about(), seeds(n))
	s.begin()
	s.must(os.WriteFile(s.path("other.token"), []byte(stranger(t).String()), 0o600))
	s.refused(2, "does not accept this token", "worker", "--connect", s.at, "--token-file", "other.token")
	s.refused(2, "a worker needs a token", "worker", "--connect", s.at)
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 20 {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port))
		s.must(err)
		b := make([]byte, 4096)
		for j := range b {
			b[j] = byte(r.Uint32())
		}
		if i%4 == 0 {
			copy(b, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		}
		_, _ = c.Write(b)
		_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
	}
	old := s.join([]string{"HOP_KERNELS=generic"}) // another kernel set computes other bytes: another build
	s.until("a worker of another build is refused", s.out, func() bool { return strings.Contains(s.out.String(), "takes no jobs") })
	if !strings.Contains(old.out.String(), "it is for another build of hop") {
		t.Errorf("it says\n%s", old.out)
	}
	s.join(nil)
	s.join(nil)
	s.end(n)
	x := s.index("x")
	if x.Turned["not authorised"]+x.Turned["not the protocol"] < 21 || len(x.Refused) != 1 {
		t.Errorf("turned away %v, refused %v", x.Turned, x.Refused)
	}
	s.refused(2, "can be reached from other machines", "sweep", "sweep.yaml", "--out", "y", "--listen", "0.0.0.0:0")
}

// A worker that is asked to leave hands its checkpoint over, and the job goes on from there elsewhere, with
// the bytes of a run that never stopped.
func TestAWorkerThatLeavesHandsItsJobOn(t *testing.T) {
	byHand(t)
	s := newStorm(t, strings.NewReplacer("steps: 2048, save: 512", "steps: 32768, save: 1024").Replace(tiny), seeds(1))
	s.wait = "30s" // nobody falls silent here
	s.begin()
	a := s.join(nil)
	s.until("the job has saved something", a.out, func() bool {
		list, _ := filepath.Glob(s.path("w1/*/*/out/s-001/seed-1/checkpoints/step-*.json"))
		return len(list) > 0
	})
	s.must(a.cmd.Process.Signal(syscall.SIGTERM))
	_ = a.cmd.Wait()
	if code := a.cmd.ProcessState.ExitCode(); code != 0 || !strings.Contains(a.out.String(), "moves on to another worker") {
		t.Errorf("a worker that leaves: exit code %d\n%s", code, a.out)
	}
	s.join(nil)
	s.end(1)
	e := s.index("x").Jobs[0]
	b, err := os.ReadFile(s.path("x/all/seed-1/log.txt"))
	if err != nil || e.Attempt != 2 || e.Lost+e.Silent != 0 || !strings.Contains(string(b), "resumed") {
		t.Errorf("attempt %d, %d lost: %v\n%s", e.Attempt, e.Lost, err, b)
	}
}
