package worker_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/lab/sweep/queue"
	"github.com/hop-marl/hop/lab/sweep/worker"
)

// A job's command line is the worker's own, whatever the job says.
func TestWordsAreMadeOfAJobsFields(t *testing.T) {
	spec := func(k queue.Kind) queue.Job {
		return queue.Job{ID: "a", Name: "a", Kind: k, Spec: "{}", Ask: queue.Ask{Cores: 2}}
	}
	train, stage, then := spec(queue.Training), spec(queue.Stage), spec(queue.Then)
	train.Seed, train.Until, stage.Stage = 7, 500, "world"
	then.Spec, then.Do = "", queue.Line{"adapt", "in/seed-1", "--vs", "ns,ns,ns", "--set", "ppo.lr=-1e-3", "--steps=40"}
	meets := queue.Job{ID: "a", Name: "a", Kind: queue.Score, Ask: queue.Ask{Cores: 2}, Score: &queue.Scoring{Who: "bandit", Stranger: "wsls",
		Game: json.RawMessage(`{"name":"staghunt"}`), Seeds: []uint64{1}, Terms: queue.Terms{Split: "test", Learn: "beliefs", Lives: 1, Steps: 2,
			Last: 1}}}
	for want, j := range map[string]queue.Job{
		"attempt --leash --out out --workers 2 --score score.json":                    meets,
		"attempt --leash --out out --workers 2 --spec spec.yaml --seed 7 --until 500": train,
		"attempt --leash --out out --workers 2 --spec spec.yaml --stage world":        stage,
		"attempt --leash --out out --workers 2 --spec spec.yaml --follow":             spec(queue.Follow),
		"attempt --leash --out out --workers 2 -- " + strings.Join(then.Do, " "):      then,
	} {
		if got, err := worker.Words(j); err != nil || strings.Join(got, " ") != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
}

// hostile are jobs that somebody would like a worker to do.
func hostile() map[string]queue.Job {
	plain := queue.Job{ID: "a", Name: "a", Kind: queue.Training, Spec: "{}"}
	jobs := map[string]queue.Job{}
	with := func(name string, f func(*queue.Job)) {
		j := plain
		f(&j)
		jobs[name] = j
	}
	with("a meeting of nobody", func(j *queue.Job) { j.Kind = queue.Score })
	with("a training that is a meeting", func(j *queue.Job) { j.Score = &queue.Scoring{} })
	with("a meeting with a folder", func(j *queue.Job) { j.Kind, j.Spec, j.Score = queue.Score, "", &queue.Scoring{Stranger: "/etc"} })
	with("no kind", func(j *queue.Job) { j.Kind = "" })
	with("a kind that there is not", func(j *queue.Job) { j.Kind = "shell" })
	with("a training with a command", func(j *queue.Job) { j.Do = queue.Line{"train"} })
	with("a stage that is a flag", func(j *queue.Job) { j.Kind, j.Stage = queue.Stage, "--env=evil:make" })
	with("a stage that is a path", func(j *queue.Job) { j.Kind, j.Stage = queue.Stage, "../../x" })
	with("an id that is a path", func(j *queue.Job) { j.ID = "../../x" })
	with("a beginning that is a path", func(j *queue.Job) { j.Begin = "../x" })
	with("more cores than there are", func(j *queue.Job) { j.Ask.Cores = 1 << 40 })
	with("less than no memory", func(j *queue.Job) { j.Ask.Memory = -1 })
	with("less than no time", func(j *queue.Job) { j.Limit = -1 })
	for _, at := range []string{"../x", "/etc", "in/../../x", "spec.yaml", "", "out/..", `in\..\x`} {
		with("reads to "+at, func(j *queue.Job) { j.Needs = []queue.Need{{ID: "b", At: at}} })
	}
	with("reads from outside", func(j *queue.Job) { j.Needs = []queue.Need{{ID: "b", Sub: "../x", At: "in/x"}} })
	for _, name := range []string{"../x.yaml", "/x.yaml", "--env=evil:make.yaml", ".bashrc", "x.sh", "a/b.yaml"} {
		with("a file called "+name, func(j *queue.Job) {
			j.Kind, j.Spec, j.Do, j.Specs = queue.After, "", queue.Line{"compare", "v.yaml"}, queue.Texts{name: "{}"}
		})
	}
	for _, text := range []string{"", "serve .", "sh -c id", "worker --connect nats://evil", "attempt --spec x", "collect --out /x",
		"train --env evil:make",
		"train --env=evil:make", "audit --env evil:make", "audit --data /etc", "train --out /etc", "train --resume ../x", "train --serve",
		"train x --set game.env=subprocess:check_output", "train x --set=game.env=evil:make", "train x --set game.python=/bin/sh",
		"train x --set game.kwargs={}", "train x --set game.name=python", "train x --set prepare=[]", "train x --set prepare.0.run=x",
		"train x --set game={env:evil}", "train x --set", "adapt ../../home", "adapt /etc", "adapt in/seed-1 --zoo /zoo",
		"adapt in/seed-1 --zoo=~/zoo",
		"adapt in/../../x", "adapt in/seed-1 --vs ns,../x#0", "compare v.yaml --reuse /runs", "adapt -- in/seed-1", "adapt in/seed-1 -x",
		`adapt C:\windows`, "crossplay in/a --planner game.env=evil:make", "train x --set ppo.lr=1 --set game.env=x"} {
		with("the command "+text, func(j *queue.Job) { j.Kind, j.Spec, j.Do = queue.Then, "", strings.Fields(text) })
	}
	return jobs
}

// No command line comes of a hostile job, and no process.
func TestAHostileJobIsNotDone(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace")
	program := script(t, "touch "+trace)
	for name, j := range hostile() {
		words, err := worker.Words(j)
		if name == "the command train x --set" && err == nil {
			continue // hop itself says what is missing
		}
		if err == nil {
			t.Errorf("%s: %q", name, words)
		}
		if out := (worker.Process{Program: program}).Run(t.Context(), j, t.TempDir(), nil); out.Err == nil || !out.Useless {
			t.Errorf("%s was done: %+v", name, out)
		}
	}
	if _, err := os.Stat(trace); err == nil {
		t.Error("a process was started")
	}
}

// script is a program.
func script(t *testing.T, line string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a script of sh")
	}
	name := filepath.Join(t.TempDir(), "program")
	must(t, os.WriteFile(name, []byte("#!/bin/sh\n"+line+"\n"), 0o755))
	return name
}

// The token is the worker's: what its jobs start does not see it.
func TestAJobsProcessDoesNotSeeTheToken(t *testing.T) {
	t.Setenv(worker.TokenEnv, "open-sesame")
	t.Setenv("HOP_OTHER", "seen")
	j := queue.Job{ID: "a", Kind: queue.Training, Spec: "{}"}
	out := worker.Process{Program: script(t, "env >&2")}.Run(context.Background(), j, t.TempDir(), nil)
	if out.Err != nil || strings.Contains(out.Log, "open-sesame") || !strings.Contains(out.Log, "HOP_OTHER=seen") {
		t.Errorf("%v: %s", out.Err, out.Log)
	}
}

// Whatever a message says, what comes of it is a command of the list with flags of the list.
func FuzzAJobIsOfTheList(f *testing.F) {
	for _, j := range hostile() {
		f.Add(string(j.Kind), j.Stage, strings.Join(j.Do, "\x1f"), j.ID, len(j.Needs), int64(j.Ask.Cores))
	}
	f.Add("then", "", "adapt\x1fin/seed-1\x1f--vs\x1fns,ns", "a", 0, int64(1))
	f.Add("train", "", "", "a", 0, int64(-1<<63))
	f.Fuzz(func(t *testing.T, kind, stage, do, id string, needs int, cores int64) {
		j := queue.Job{ID: id, Kind: queue.Kind(kind), Stage: stage, Ask: queue.Ask{Cores: int(cores)}}
		if do == "" {
			j.Spec = "{}"
		} else {
			j.Do = strings.Split(do, "\x1f")
		}
		if needs > 0 {
			j.Needs = []queue.Need{{ID: id, At: stage}}
		}
		words, err := worker.Words(j)
		if err != nil {
			return
		}
		if !slices.Equal(words[:4], []string{"attempt", "--leash", "--out", "out"}) {
			t.Fatalf("%q", words)
		}
		for i, w := range words[6:] {
			bad := strings.HasPrefix(w, "/") || strings.HasPrefix(w, "--env") || strings.HasPrefix(w, "--out") ||
				slices.Contains(strings.Split(w, "/"), "..") || strings.Contains(w, "game.env") && i > 0
			if bad {
				t.Fatalf("%q of %+v", words, j)
			}
		}
	})
}
