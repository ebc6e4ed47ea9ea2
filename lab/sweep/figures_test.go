//go:build unix

package sweep_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hop-marl/hop/lab/sweep"
	"github.com/hop-marl/hop/lab/sweep/hub"
	"github.com/hop-marl/hop/lab/sweep/queue"
	work "github.com/hop-marl/hop/lab/sweep/worker"
)

// figures are measured by hand: HOP_FIGURES=1 go test -run Figure -v ./lab/sweep. docs/results/speed.md has them.
func figures(t *testing.T) {
	t.Helper()
	if os.Getenv("HOP_FIGURES") == "" {
		t.Skip("measured by hand: HOP_FIGURES=1")
	}
}

// cost is what a process and all that it waited for took.
func cost(c *exec.Cmd) float64 {
	u, ok := c.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

// How much longer do 200 jobs of about a second take as a sweep than in a plain loop of the same processes,
// two at a time? The two take turns, in blocks, since other work on the machine comes and goes.
func TestFigureOverhead(t *testing.T) {
	figures(t)
	const blocks, each = 4, 50
	p := newPlace(t, "{base: ppo-4x4, train: {steps: 90000}, eval: {episodes: 100}}")
	var wall, cpu [2]float64
	for b := range blocks {
		began := time.Now()
		lanes := make(chan struct{}, 2)
		var wg sync.WaitGroup
		var mu sync.Mutex
		for i := range each {
			lanes <- struct{}{}
			wg.Go(func() {
				c, out := p.program([]string{"GOMAXPROCS=1"}, "attempt", "--spec", "s.yaml", "--seed", strconv.Itoa(b*each+i+1), "--out",
					fmt.Sprintf("loop-%d-%d", b, i), "--workers", "1")
				if err := c.Run(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
				mu.Lock()
				cpu[0] += cost(c)
				mu.Unlock()
				<-lanes
			})
		}
		wg.Wait()
		wall[0] += time.Since(began).Seconds()
		began = time.Now()
		c, out := p.program(nil, "sweep", "s.yaml", "--seeds", fmt.Sprintf("%d-%d", b*each+1, (b+1)*each), "--out", fmt.Sprint("x", b),
			"--slots", "2")
		if err := c.Run(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		wall[1] += time.Since(began).Seconds()
		cpu[1] += cost(c)
		t.Logf("block %d: loop %.1f s (%.1f s of processor time), sweep %.1f s (%.1f s)", b+1, wall[0], cpu[0], wall[1], cpu[1])
	}
	n := float64(blocks * each)
	t.Logf("%v jobs: a loop takes %.1f s and %.3f s of processor time a job, a sweep %.1f s and %.3f s: "+
		"%+.1f %% of the clock, %+.1f %% of processor time",
		n, wall[0], cpu[0]/n, wall[1], cpu[1]/n, 100*(wall[1]/wall[0]-1), 100*(cpu[1]/cpu[0]-1))
}

// How long does it take to put ten thousand jobs into the queue, and to list them?
func TestFigureTenThousandJobs(t *testing.T) {
	figures(t)
	s := newStorm(t, tiny, seeds(10000))
	began := time.Now()
	s.begin()
	ready := time.Since(began)
	for s.phases("x")["train queued"] < 10000 {
		time.Sleep(100 * time.Millisecond)
	}
	put := time.Since(began)
	began = time.Now()
	out := s.hop("sweep", "status", "x")
	list := time.Since(began)
	if !strings.Contains(out, "seed-10000") {
		t.Error("a job is missing")
	}
	t.Logf("ready after %.1f s; 10,000 jobs queued after %.1f s; hop sweep status lists them in %.2f s; coordinator's memory %d MiB",
		ready.Seconds(), put.Seconds(), list.Seconds(), s.peak()>>20)
	kill(s.coord)
	began = time.Now()
	s.begin()
	t.Logf("a coordinator that was killed is ready again after %.1f s", time.Since(began).Seconds())
}

// peak is the most memory that the coordinator has had.
func (s *storm) peak() int64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.coord.Process.Pid))
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n << 10
		}
	}
	return 0
}

// used is the processor time that the coordinator has taken.
func (s *storm) used() float64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.coord.Process.Pid))
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(f) < 13 {
		return 0
	}
	u, _ := strconv.ParseFloat(f[11], 64)
	v, _ := strconv.ParseFloat(f[12], 64)
	return (u + v) / 100
}

// sizes are how many workers are tried; HOP_WORKERS alone if it is said.
func sizes(most int) []int {
	if os.Getenv("HOP_WORKERS") != "" {
		return []int{most}
	}
	return []int{1, 10, 100, 300, most}
}

// A thousand workers, each with a connection of its own, do jobs that only sleep: in simulated time, in which
// an hour is as long as HOP_HOUR says (a second if it does not). The coordinator is a process of its own. What
// a job hands in is a real run's folder.
func TestFigureAThousandWorkers(t *testing.T) {
	figures(t)
	hour := time.Second
	if d, err := time.ParseDuration(os.Getenv("HOP_HOUR")); err == nil {
		hour = d
	}
	most := 1000
	if n, err := strconv.Atoi(os.Getenv("HOP_WORKERS")); err == nil {
		most = n
	}
	var rows []string
	for _, workers := range sizes(most) {
		n := min(10*workers+20, 4000)
		s := newStorm(t, tiny, seeds(n))
		s.wait = "30s"
		s.hop("attempt", "--spec", "s.yaml", "--seed", "1", "--out", "model", "--workers", "1")
		model := s.path("model/s-001/seed-1")
		s.begin()
		for s.phases("x")["train queued"] < n {
			time.Sleep(100 * time.Millisecond)
		}
		before := s.used()
		var taken atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var first sync.Once
		var began time.Time
		var me syscall.Rusage
		s.must(syscall.Getrusage(syscall.RUSAGE_SELF, &me))
		build := s.sweep("x").Build
		var conns []*nats.Conn
		for i := range workers {
			server := sweep.Server{Connect: s.at, TokenFile: s.path("x/" + hub.WorkerFile)}
			nc, token, err := server.Join(fmt.Sprint("sim", i), func(string, ...any) {})
			s.must(err)
			conns = append(conns, nc)
			found, err := queue.Find(ctx, nc, token)
			for len(found) == 0 && ctx.Err() == nil { // as sweep.Work does: those before it keep the server busy
				time.Sleep(time.Second)
				found, err = queue.Find(ctx, nc, token)
			}
			s.must(err)
			q := found[0]
			w := &work.Worker{Name: fmt.Sprint("sim", i), Build: build, Cores: 1, Dir: s.path(fmt.Sprint("sim/", i)), Log: func(string, ...any) {}}
			w.Run = func(ctx context.Context, j queue.Job, dir string, _ func(string, float64)) work.Outcome {
				first.Do(func() { began = time.Now() })
				taken.Add(1)
				time.Sleep(hour)
				err := os.CopyFS(filepath.Join(dir, fmt.Sprintf("out/s-001/seed-%d", j.Seed)), os.DirFS(model))
				return work.Outcome{Err: err, Cost: queue.Cost{CPU: 3600, Wall: 3600}}
			}
			wg.Go(func() { _ = w.Serve(ctx, q) })
		}
		s.until("a job is done", s.out, func() bool { return taken.Load() > 0 })
		var peak int64
		for s.phases("x")["train done"] < n {
			peak = max(peak, s.peak())
			time.Sleep(200 * time.Millisecond)
		}
		took := time.Since(began).Seconds()
		engine := s.used() - before
		cancel()
		wg.Wait()
		for _, nc := range conns {
			nc.Close()
		}
		_ = s.coord.Wait()
		ideal := float64((n+workers-1)/workers) * hour.Seconds()
		rows = append(rows, fmt.Sprintf("| %d | %d | %.1f | %.1f | %.0f %% | %.1f | %d |",
			workers, n, took, float64(n)/took, 100*ideal/took, 1000*engine/float64(n), peak>>20))
		t.Logf("%s", rows[len(rows)-1])
	}
	t.Logf("%d cores; an hour is %v\n| workers | jobs | s | jobs a second | of the ideal | "+
		"ms of the coordinator's processor a job | its memory, MiB |\n%s",
		runtime.NumCPU(), hour, strings.Join(rows, "\n"))
}

// Three servers in processes of their own keep everything thrice. One is killed in the middle, and nothing is
// lost.
func TestFigureAClusterLosesAServer(t *testing.T) {
	figures(t)
	n := jobs(40)
	s := newStorm(t, about(), seeds(n))
	var nodes []*exec.Cmd
	var urls, routes []string
	ports := make([]int, 6)
	for i := range ports {
		ports[i] = freePort(t)
	}
	for i := range 3 {
		urls, routes = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", ports[i])), append(routes, fmt.Sprintf("nats://127.0.0.1:%d", ports[3+i]))
	}
	for i := range 3 {
		c := exec.Command(os.Args[0])
		conf, err := json.Marshal(node{Name: fmt.Sprint("n", i), Port: ports[i], Cluster: ports[3+i], Routes: routes,
			Dir: s.path(fmt.Sprint("node", i))})
		s.must(err)
		c.Env = append(os.Environ(), asNode+"="+string(conf))
		out := &said{}
		c.Stdout, c.Stderr = out, out
		s.must(c.Start())
		t.Cleanup(func() { kill(c) })
		nodes = append(nodes, c)
	}
	s.at = strings.Join(urls, ",")
	s.until("the cluster is there", &said{}, func() bool {
		nc, err := nats.Connect(s.at)
		if err != nil {
			return false
		}
		defer nc.Close()
		q, err := queue.Open(t.Context(), nc, "try", queue.Options{Replicas: 3})
		if err != nil {
			return false
		}
		return q.Remove(t.Context()) == nil
	})
	began := time.Now()
	s.coord, s.out = s.start(nil, "sweep", "sweep.yaml", "--out", "x", "--connect", s.at, "--replicas", "3", "--slots=0", "--wait", "3s")
	for range 4 {
		s.join(nil)
	}
	s.until("some jobs are done", s.out, func() bool { return s.doneJobs() >= n/4 })
	kill(nodes[1])
	s.end(n)
	t.Logf("%d jobs in %.1f s on a cluster of three, of which one was killed", n, time.Since(began).Seconds())
}

func freePort(t *testing.T) int {
	t.Helper()
	return newStorm(t, tiny, "").port
}
