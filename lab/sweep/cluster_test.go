//go:build unix

package sweep_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/hop-marl/hop/lab/sweep/hub"
)

// example is the path of a file in examples/cluster.
func example(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../examples/cluster", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// The ssh loop, with machines that are network namespaces where that is allowed, and plain processes where
// it is not. One worker leaves with the script, and its job moves on.
func TestTheSSHLoopRunsWorkers(t *testing.T) {
	byHand(t)
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	n := 4
	s := newStorm(t, tiny, seeds(n))
	host := "127.0.0.1"
	ssh := "shift; exec bash -c \"$1\"\n"
	if spaces(t) {
		host = "10.213.7.1"
		ssh = "node=$1; shift; exec ip netns exec hop-$node bash -c \"$1\"\n"
	}
	s.write("ssh", "#!/bin/bash\n"+ssh)
	s.must(os.Chmod(s.path("ssh"), 0o755))
	s.coord, s.out = s.start(nil, "sweep", "sweep.yaml", "--out", "x", "--listen", fmt.Sprintf("%s:%d", host, s.port),
		"--token-file", "secret", "--slots=0", "--wait", "5s")
	s.until("the coordinator listens", s.out, func() bool { return strings.Contains(s.out.String(), "workers join with") })
	loop := exec.Command("bash", example(t, "ssh.sh"), s.path("x/"+hub.WorkerFile), fmt.Sprintf("nats://%s:%d", host, s.port), "a", "b")
	loop.Dir = s.dir
	loop.Env = append(os.Environ(), asProgram+"=1", "HOP="+os.Args[0], "SSH="+s.path("ssh"), "TMPDIR="+s.dir)
	out := &said{}
	loop.Stdout, loop.Stderr = out, out
	s.must(loop.Start())
	t.Cleanup(func() { kill(loop) })
	s.end(n)
	s.must(loop.Process.Signal(syscall.SIGINT))
	if err := loop.Wait(); err != nil {
		t.Errorf("the loop ends with %v\n%s", err, out)
	}
	text := out.String()
	if !strings.Contains(text, "a: worker ") || !strings.Contains(text, "b: worker ") || strings.Contains(text, "hop-worker-") {
		t.Errorf("it says\n%s", text)
	}
}

// spaces makes two network namespaces a and b that reach this one at 10.213.7.1; false if that is not allowed.
func spaces(t *testing.T) bool {
	t.Helper()
	ip := func(args ...string) error { return exec.Command("ip", args...).Run() }
	clean := func() {
		for _, node := range []string{"a", "b"} {
			_ = ip("netns", "del", "hop-"+node)
		}
		_ = ip("link", "del", "hop-br")
	}
	clean()
	t.Cleanup(clean)
	if ip("link", "add", "hop-br", "type", "bridge") != nil || ip("addr", "add", "10.213.7.1/24", "dev", "hop-br") != nil ||
		ip("link", "set", "hop-br", "up") != nil {
		clean()
		return false
	}
	for i, node := range []string{"a", "b"} {
		in := []string{"netns", "exec", "hop-" + node, "ip"}
		for _, args := range [][]string{
			{"netns", "add", "hop-" + node},
			{"link", "add", "hop-v" + node, "type", "veth", "peer", "name", "eth0", "netns", "hop-" + node},
			{"link", "set", "hop-v" + node, "master", "hop-br", "up"},
			append(in, "addr", "add", fmt.Sprintf("10.213.7.%d/24", i+2), "dev", "eth0"),
			append(in, "link", "set", "eth0", "up"),
		} {
			if ip(args...) != nil {
				clean()
				return false
			}
		}
	}
	t.Log("machines are network namespaces")
	return true
}

// The Slurm script is a script of bash, its directives are such as sbatch knows, and it passes the signal on: run
// without Slurm it is one worker, which leaves when asked to.
func TestTheSlurmScript(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	if out, err := exec.Command(bash, "-n", example(t, "slurm.sh")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, err := os.ReadFile(example(t, "slurm.sh"))
	if err != nil {
		t.Fatal(err)
	}
	// As sbatch(1) has them.
	known := map[string]*regexp.Regexp{
		"job-name": regexp.MustCompile(`^[\w-]+$`), "array": regexp.MustCompile(`^\d+-\d+(%\d+)?$`), "ntasks": regexp.MustCompile(`^\d+$`),
		"cpus-per-task": regexp.MustCompile(`^\d+$`), "mem": regexp.MustCompile(`^\d+[KMGT]?$`), "requeue": regexp.MustCompile(`^$`),
		"time": regexp.MustCompile(`^(\d+-)?\d+:\d\d:\d\d$`), "signal": regexp.MustCompile(`^B:[A-Z]+@\d+$`),
		"output": regexp.MustCompile(`^[\w%.-]+$`),
	}
	count := 0
	code := false // directives after the first command are not read
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		rest, ok := strings.CutPrefix(line, "#SBATCH --")
		if !ok {
			code = code || line != "" && !strings.HasPrefix(line, "#")
			continue
		}
		count++
		name, value, _ := strings.Cut(rest, "=")
		if re := known[name]; re == nil || !re.MatchString(value) || code {
			t.Errorf("sbatch would not take %q", line)
		}
	}
	if count != len(known) {
		t.Errorf("%d directives, want %d", count, len(known))
	}
	byHand(t)
	s := newStorm(t, strings.NewReplacer("steps: 2048, save: 512", "steps: 32768, save: 1024").Replace(tiny), seeds(1))
	s.wait = "30s"
	s.begin()
	c := exec.Command(bash, example(t, "slurm.sh"))
	c.Dir = s.dir
	c.Env = append(os.Environ(), asProgram+"=1", "HOP_TOKEN_FILE="+s.path("x/"+hub.WorkerFile), "HOP="+os.Args[0], "TMPDIR="+s.dir,
		fmt.Sprintf("HOP_CONNECT=nats://127.0.0.1:%d", s.port), "SLURM_CPUS_PER_TASK=1")
	out := &said{}
	c.Stdout, c.Stderr = out, out
	s.must(c.Start())
	t.Cleanup(func() { kill(c) })
	s.until("the job has saved something", out, func() bool {
		list, _ := filepath.Glob(s.path("hop-worker.*/*/*/out/s-001/seed-1/checkpoints/step-*.json"))
		return len(list) > 0
	})
	s.must(c.Process.Signal(syscall.SIGTERM))
	_ = c.Wait()
	if !strings.Contains(out.String(), "moves on to another worker") {
		t.Errorf("it says\n%s", out)
	}
	if list, _ := filepath.Glob(s.path("hop-worker.*")); len(list) > 0 {
		t.Errorf("it has left %v", list)
	}
	s.join(nil)
	s.end(1)
}

// The Kubernetes file is a Job of batch/v1 whose fields exist, as far as a worker needs them.
func TestTheKubernetesFile(t *testing.T) {
	b, err := os.ReadFile(example(t, "kubernetes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var job any
	if err := yaml.Unmarshal(b, &job); err != nil {
		t.Fatal(err)
	}
	// The part of the schema of batch/v1 Job (Kubernetes 1.33) that workers use. A string is a value's kind.
	text := map[string]any{"*": "string"}
	volume := map[string]any{"name": "string", "emptyDir": map[string]any{"sizeLimit": "string", "medium": "string"}}
	env := map[string]any{"name": "string", "value": "string",
		"valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "string", "key": "string", "optional": "bool"}}}
	container := map[string]any{
		"name": "string", "image": "string", "imagePullPolicy": "string", "command": []any{"string"}, "args": []any{"string"}, "env": []any{env},
		"resources":    map[string]any{"requests": text, "limits": text},
		"volumeMounts": []any{map[string]any{"name": "string", "mountPath": "string", "readOnly": "bool"}},
	}
	meta := map[string]any{"name": "string", "namespace": "string", "labels": text, "annotations": text}
	schema := map[string]any{"apiVersion": "string", "kind": "string", "metadata": meta, "spec": map[string]any{
		"completionMode": "string", "completions": "int", "parallelism": "int", "backoffLimitPerIndex": "int", "maxFailedIndexes": "int",
		"podReplacementPolicy": "string", "ttlSecondsAfterFinished": "int", "activeDeadlineSeconds": "int",
		"template": map[string]any{"metadata": meta, "spec": map[string]any{
			"restartPolicy": "string", "terminationGracePeriodSeconds": "int", "containers": []any{container}, "volumes": []any{volume},
			"nodeSelector": text,
		}},
	}}
	for _, wrong := range fits("", job, schema) {
		t.Error(wrong)
	}
	get := func(path ...string) any {
		at := job
		for _, p := range path {
			at = at.(map[string]any)[p]
		}
		return at
	}
	if get("apiVersion") != "batch/v1" || get("kind") != "Job" || get("spec", "completionMode") != "Indexed" ||
		get("spec", "template", "spec", "restartPolicy") != "Never" { // which backoffLimitPerIndex asks for
		t.Error("it is no indexed Job")
	}
	if bad := fits("", map[string]any{"spec": map[string]any{"completionMod": "Indexed", "completions": "16"}}, schema); len(bad) != 2 {
		t.Errorf("of two mistakes %v were seen", bad)
	}
}

// fits says what of a value is not as a schema has it.
func fits(path string, v, schema any) (wrong []string) {
	switch s := schema.(type) {
	case map[string]any:
		m, ok := v.(map[string]any)
		if !ok {
			return []string{path + " is no object"}
		}
		for k, x := range m {
			of, known := s[k]
			if !known {
				of, known = s["*"]
			}
			if !known {
				wrong = append(wrong, path+"."+k+" is not known")
				continue
			}
			wrong = append(wrong, fits(path+"."+k, x, of)...)
		}
	case []any:
		list, ok := v.([]any)
		if !ok {
			return []string{path + " is no list"}
		}
		for i, x := range list {
			wrong = append(wrong, fits(fmt.Sprintf("%s[%d]", path, i), x, s[0])...)
		}
	case string:
		if is := map[bool]string{true: fmt.Sprintf("%T", v)}[true]; is != s {
			wrong = append(wrong, fmt.Sprintf("%s is a %s, want a %s", path, is, s))
		}
	}
	return wrong
}
