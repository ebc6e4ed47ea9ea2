//go:build unix

package sweep_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/report/adapted"
	"github.com/hop-marl/hop/lab/sweep"
	"github.com/hop-marl/hop/lab/sweep/hub"
	"github.com/hop-marl/hop/lab/sweep/queue"
	work "github.com/hop-marl/hop/lab/sweep/worker"
	"github.com/hop-marl/hop/train/registry"
)

// scored is a place with a run, and with what one machine says of it and of a bot among two strangers.
type scored struct {
	place
	words []string // of hop strangers score and of hop sweep score
	json  string   // that the former prints
}

func newScored(t *testing.T) scored {
	t.Helper()
	p := newPlace(t, tiny)
	p.hop("train", "s.yaml", "--set", "train.steps=512", "--seeds", "1-2", "--out", "runs")
	s := scored{place: p, words: strings.Fields("score runs/s-001 bandit --strangers validation --some 2 --lives 1 --steps 100 " +
		"--last 50 --starts 1")}
	c, _ := p.program(nil, append(append([]string{"strangers"}, s.words...), "--out", "one", "--json")...)
	c.Stdout, c.Stderr = nil, nil
	b, err := c.Output()
	p.must(err)
	s.json = string(b)
	return s
}

// sweep is a line that has the meetings as jobs.
func (s scored) line(out string, more ...string) []string {
	return append(append([]string{"sweep"}, s.words...), append([]string{"--out", out}, more...)...)
}

// same holds the page against that of one machine.
func (s scored) same(out string) {
	s.t.Helper()
	for _, name := range []string{"adapt.json", "adapt.md", "adapt.html"} {
		want, err := os.ReadFile(s.path("one/" + name))
		s.must(err)
		got, err := os.ReadFile(s.path(out + "/" + name))
		if err != nil || string(got) != string(want) {
			s.t.Errorf("%s/%s has %d bytes, and that of one machine %d: %v", out, name, len(got), len(want), err)
		}
	}
}

// It takes 10 s of processor time: every meeting is a process, and of four meetings there are eight times.
func TestAnEvaluationAsJobs(t *testing.T) {
	s := newScored(t)
	for name, part := range map[string]func(scored){
		"has the bytes of one machine": bytesOfOneMachine, "a killed worker's meeting is done by another": killedWorker,
		"a wrong meeting is refused": wrongMeeting, "a worker refuses what is not its job": notItsJob,
	} {
		t.Run(name, func(t *testing.T) {
			own := s
			own.t = t
			part(own)
		})
	}
}

// An evaluation whose meetings are jobs ends in the bytes of hop strangers score, with any number of workers. What took
// place does not take place again, also when there are more agents; a meeting that was changed does, and is named.
func bytesOfOneMachine(s scored) {
	t := s.t
	for n, out := range []string{"w1", "w2", "w3"} {
		c, said := s.program(nil, s.line(out, "--slots", fmt.Sprint(n+1), "--json")...)
		c.Stdout = nil
		b, err := c.Output()
		if err != nil || string(b) != s.json {
			t.Fatalf("with %d workers it prints %d bytes, want %d: %v\n%s", n+1, len(b), len(s.json), err, said)
		}
		s.same(out)
	}
	list, err := filepath.Glob(s.path("w1/meetings/*.json"))
	if err != nil || len(list) != 4 {
		t.Fatalf("%d meetings, want 4: %v", len(list), err)
	}
	b, err := os.ReadFile(list[0])
	s.must(err)
	s.must(os.WriteFile(list[0], []byte(strings.Replace(string(b), `"first_episode": `, `"first_episode": 1`, 1)), 0o644))
	s.must(os.Remove(s.path("w1/adapt.json")))
	out := s.hop("sweep", "resume", "w1")
	again := 0
	for _, e := range s.index("w1").Jobs {
		again += e.Attempt
		if e.Attempt > 0 && !strings.Contains(out, e.Name+" is done again: ") {
			t.Errorf("it is not said that %s is done again:\n%s", e.Name, out)
		}
	}
	if again != 1 {
		t.Errorf("%d meetings took place again, want the one that was changed", again)
	}
	s.same("w1")
	more := s
	more.words = slices.Insert(slices.Clone(s.words), 3, "nh")
	s.hop(more.line("w2")...)
	again = 0
	for _, e := range s.index("w2").Jobs {
		again += e.Attempt
	}
	if x := s.index("w2"); len(x.Jobs) != 6 || again != 2 || len(x.Found) != 3 {
		t.Errorf("with an agent more: %d jobs, of which %d were done; %q", len(x.Jobs), again, x.Found)
	}
	s.refused(2, "whose meetings are not all part of this one", s.line("w2", "--lives", "2")...)
	s.must(os.WriteFile(s.path("w3/.agents/more"), nil, 0o644)) // of nobody
	copies, err := filepath.Glob(s.path("w3/.agents/*/seed-1/spec.yaml"))
	if err != nil || len(copies) != 1 {
		t.Fatalf("%d copies of the agents' first seed: %v", len(copies), err)
	}
	s.must(os.WriteFile(copies[0], []byte("{}"), 0o644))
	s.refused(1, "is not runs/s-001 as it was when it was copied", "sweep", "resume", "w3")
}

// elsewhere begins an evaluation that only others work at, and returns their address.
func (s scored) elsewhere(dir string) (at string, wait func()) {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	s.must(err)
	addr := l.Addr().String()
	s.must(l.Close())
	c, out := s.start(nil, s.line(dir, "--listen", addr, "--slots=0", "--wait", "1500ms")...)
	s.until("the coordinator listens", out, func() bool { return strings.Contains(out.String(), "workers join with") })
	return "nats://" + addr, func() {
		s.t.Helper()
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		select {
		case err := <-ended:
			if err != nil {
				s.t.Logf("the coordinator: %v\n%s", err, out)
			}
		case <-time.After(time.Minute):
			s.t.Fatalf("it does not end: %v\n%s", s.phases(dir), out)
		}
	}
}

// The meetings of a worker that is killed are done by another.
func killedWorker(s scored) {
	t := s.t
	at, wait := s.elsewhere("x")
	join := []string{"worker", "--connect", at, "--token-file", "x/" + hub.WorkerFile, "--slots", "1"}
	slow, out := s.start([]string{"HOP_TEST_SLOW=1h"}, append(join, "--dir", "w1")...)
	s.until("a worker has a meeting", out, func() bool { return s.phases("x")["score running"] == 1 })
	kill(slow)
	s.start(nil, append(join, "--dir", "w2")...)
	wait()
	if got := s.phases("x"); got["score done"] != 4 {
		t.Errorf("jobs %v, want 4 done", got)
	}
	silent := 0
	for _, e := range s.index("x").Jobs {
		silent += e.Silent
	}
	if silent != 1 {
		t.Errorf("%d attempts fell silent, want one", silent)
	}
	s.same("x")
}

// A result that is another meeting's, or was changed, is refused with a sentence; the job is done again, and given up if
// it goes on so.
func wrongMeeting(s scored) {
	t := s.t
	at, wait := s.elsewhere("y")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server := sweep.Server{Connect: at, TokenFile: s.path("y/" + hub.WorkerFile)}
	nc, token, err := server.Join("liar", func(string, ...any) {})
	s.must(err)
	defer nc.Close()
	found, err := queue.Find(ctx, nc, token)
	for len(found) == 0 && ctx.Err() == nil {
		found, err = queue.Find(ctx, nc, token)
	}
	s.must(err)
	lies := 0
	honest := work.Process{Program: s.exe, Env: []string{asProgram + "=1"}}
	w := &work.Worker{Name: "liar", Build: s.sweep("y").Build, Cores: 1, Dir: s.path("liar"), Log: func(string, ...any) {}}
	w.Run = func(ctx context.Context, j queue.Job, dir string, say func(string, float64)) work.Outcome {
		out := honest.Run(ctx, j, dir, say)
		name := filepath.Join(dir, "out", "meeting.json")
		row, err := adapted.ReadMeeting(name, j.Score.ID())
		if err != nil {
			return work.Outcome{Err: err}
		}
		switch {
		case strings.HasPrefix(j.Name, "s-001 among follow"): // always
			err = adapted.NewMeeting(strings.Repeat("a", 64), row).Write(name)
		case lies == 0: // once
			lies++
			row.Lives = 77
			err = adapted.NewMeeting(j.Score.ID(), row).Write(name)
		}
		if err != nil {
			return work.Outcome{Err: err}
		}
		return out
	}
	go func() { _ = w.Serve(ctx, found[0]) }()
	wait()
	if got := s.phases("y"); got["score done"] != 3 || got["score failed"] != 1 {
		t.Errorf("jobs %v, want 3 done and one given up", got)
	}
	again := 0
	for _, e := range s.index("y").Jobs {
		switch {
		case e.Phase == queue.Failed && (e.Attempt != queue.Tries || !strings.Contains(e.Why, "worker liar handed in is refused") ||
			!strings.Contains(e.Why, "is of another meeting")):
			t.Errorf("given up after %d tries: %s", e.Attempt, e.Why)
		case strings.Contains(e.Again, "it is of 77 lives, want 1"):
			again++
		}
	}
	if again != 1 {
		t.Errorf("%d meetings were done again since theirs had too many lives, want one", again)
	}
	if _, err := os.Stat(s.path("y/adapt.json")); err == nil {
		t.Error("there is a page although a meeting is missing")
	}
}

// A worker refuses agents that are not those of the job, a job that is too large, and one that names a path.
func notItsJob(s scored) {
	t := s.t
	t.Chdir(s.dir)
	l := &lab.Lab{Reg: registry.New()}
	plain := `{"sum":"` + strings.Repeat("0", 64) + `","stranger":"follow","game":{"name":"staghunt"},"seeds":[1],` +
		`"split":"validation","learn":"beliefs","every":1,"steps":10,"last":5,"lives":1,"agent":0,"starts":1}`
	s.must(os.CopyFS(queue.AgentAt, os.DirFS("runs/s-001")))
	for want, text := range map[string]string{
		"are not those of the job": plain,
		"no text of a game's":      strings.Replace(plain, "follow", "../x#0", 1),
		"unknown field":            strings.Replace(plain, `"agent"`, `"env":"evil:make","agent"`, 1),
		"holds":                    plain + strings.Repeat(" ", 2*queue.MostScoring),
		"its game runs": strings.NewReplacer(`"sum":"`+strings.Repeat("0", 64)+`"`, `"who":"ns"`, `{"name":"staghunt"}`,
			`{"name":"python","env":"evil:make"}`).Replace(plain),
	} {
		s.write("score.json", text)
		err := sweep.Meet(t.Context(), l, "score.json", "out", 1)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
		if _, err := os.Stat("out"); err == nil {
			t.Errorf("%s: something was left", want)
		}
	}
}
