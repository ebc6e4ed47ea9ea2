package export

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/store/runlog"
)

// Tracker writes runs as a tracker of others keeps them on the disk, for its own tools to upload or show.
type Tracker func(t *tracked, out string) (path string, err error)

// Trackers are those that there are, by name, with the folder that each looks for by itself.
var Trackers = map[string]struct {
	Write Tracker
	Out   string
	Next  string // what to do with it
}{
	"wandb":  {writeWandB, "wandb", "wandb sync %s/offline-run-*"},
	"mlflow": {writeMLflow, "mlruns", "MLFLOW_ALLOW_FILE_STORE=true mlflow ui --backend-store-uri %s"},
}

// tracked is one seed of a run, as any tracker wants it.
type tracked struct {
	group, name string // of the training; of this seed within it
	settings    []runlog.Setting
	rows        []runlog.Row
	last        map[string]float64 // by tag, the results among them
	spec        []byte
	env         runlog.Env
	started     time.Time
}

// Track writes every seed of a run and returns where.
func Track(run, tracker, out string) (paths []string, err error) {
	dirs, err := lab.Folders(run)
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		t, err := track(dir)
		if err != nil {
			return nil, err
		}
		path, err := Trackers[tracker].Write(t, out)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// track reads a seed.
func track(dir string) (*tracked, error) {
	r, err := runlog.Read(dir)
	if err != nil {
		return nil, err
	}
	full, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	t := &tracked{
		group: filepath.Base(filepath.Dir(full)), name: filepath.Base(full), spec: r.Spec, env: r.Env, last: map[string]float64{},
	}
	seed := fmt.Sprint(r.Env.Seed)
	if t.settings, err = runlog.Settings(r.Spec); err != nil {
		return nil, err
	}
	t.settings = append(t.settings, runlog.Setting{Path: "seed", Text: seed, JSON: seed})
	if t.rows, err = r.Metrics(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(t.rows, func(a, b runlog.Row) int { return cmp.Compare(a.Step, b.Step) })
	for _, row := range t.rows {
		t.last[row.Tag()] = row.Value
	}
	t.started, _ = time.Parse(time.RFC3339Nano, r.Env.Started) // one that cannot be read is the beginning of time
	return t, t.results(r)
}

// results adds what the final agents got, if they have been scored.
func (t *tracked) results(r *runlog.Record) error {
	text, err := r.Result()
	if err != nil || text == nil {
		return nil // not yet, which no tracker needs to know
	}
	var got lab.SeedResult
	if err := json.Unmarshal(text, &got); err != nil {
		return err
	}
	t.last["result/mean"], t.last["result/greedy_mean"] = got.Mean, got.GreedyMean
	for a, mean := range got.Agents {
		t.last[fmt.Sprintf("result/agent%d", a)] = mean
	}
	return nil
}

// id is the same for the same run, however often it is written.
func (t *tracked) id(letters int) string {
	sum := sha256.Sum256([]byte(t.group + "/" + t.name + "/" + t.env.Started))
	return hex.EncodeToString(sum[:])[:letters]
}

// steps calls f with the rows of each step, in order.
func (t *tracked) steps(f func(step int64, rows []runlog.Row)) {
	for i := 0; i < len(t.rows); {
		j := i
		for j < len(t.rows) && t.rows[j].Step == t.rows[i].Step {
			j++
		}
		f(t.rows[i].Step, t.rows[i:j])
		i = j
	}
}

// jsonNumber is a number as JSON has it, and as Python reads what JSON has not.
func jsonNumber(x float64) string {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 0):
		return strings.Replace(fmt.Sprintf("%+fnity", x), "+Inf", "Infi", 1)
	}
	b, _ := json.Marshal(x)
	return string(b)
}

// writeMLflow writes a run into a folder of MLflow's file store.
func writeMLflow(t *tracked, out string) (string, error) {
	out, err := filepath.Abs(out)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(t.group))
	experiment := fmt.Sprintf("%d", 100_000_000+int(sum[0])<<16+int(sum[1])<<8+int(sum[2]))
	home, run := filepath.Join(out, experiment), filepath.Join(out, experiment, t.id(32))
	began := t.started.UnixMilli()
	ended := began + int64(1000*t.env.Wall)
	files := map[string][]byte{"artifacts/spec.yaml": t.spec, "tags/mlflow.runName": []byte(t.name), "tags/mlflow.user": nil}
	files["meta.yaml"], err = yaml.Marshal(map[string]any{
		"artifact_uri": "file://" + filepath.ToSlash(filepath.Join(run, "artifacts")), "end_time": ended, "entry_point_name": "",
		"experiment_id": experiment, "lifecycle_stage": "active", "run_id": t.id(32), "run_name": t.name, "run_uuid": t.id(32),
		"source_name": strings.Join(t.env.Command, " "), "source_type": 4, "source_version": t.env.Commit, "start_time": began,
		"status": map[string]int{"running": 1, "done": 3, "failed": 4}[t.env.Status], "tags": []string{}, "user_id": "",
	})
	if err != nil {
		return "", err
	}
	about, err := yaml.Marshal(map[string]any{
		"artifact_location": "file://" + filepath.ToSlash(home), "creation_time": began, "experiment_id": experiment,
		"last_update_time": ended, "lifecycle_stage": "active", "name": t.group,
	})
	if err != nil {
		return "", err
	}
	for _, s := range t.settings {
		files["params/"+s.Path] = []byte(s.Text)
	}
	for _, row := range t.rows {
		name := "metrics/" + row.Tag()
		files[name] = fmt.Appendf(files[name], "%d %s %d\n", began, jsonNumber(row.Value), row.Step)
	}
	for name, x := range t.last {
		if strings.HasPrefix(name, "result/") {
			files["metrics/"+name] = fmt.Appendf(nil, "%d %s %d\n", ended, jsonNumber(x), t.rows[len(t.rows)-1].Step)
		}
	}
	for name, text := range files {
		path := filepath.Join(run, filepath.FromSlash(name))
		if err := cmp.Or(disk.Make(filepath.Dir(path)), disk.Write(path, text)); err != nil {
			return "", err
		}
	}
	return run, disk.Write(filepath.Join(home, "meta.yaml"), about)
}
