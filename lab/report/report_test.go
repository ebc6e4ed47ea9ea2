package report

import (
	"encoding/json"
	"flag"
	"fmt"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/registry"
)

var update = flag.Bool("update", false, "write the golden files anew")

// tiny is a run made by hand.
type tiny struct {
	seed    int
	status  string
	windows int       // of 10, 1,000 env steps each
	mean    float64   // of the final agents; NaN: not scored
	updates []int     // by agent, in the last window; nil: one a window
	bonus   []float64 // what an agent gets more
	skew    int       // rows that each agent has more than the one before
	train   string    // more of the spec's train block
	more    string    // more names of numbers that each agent writes, of value 0.6
}

// put writes a file, and makes its folder.
func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// load reads a file.
func load(t *testing.T, file ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(file...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// says checks that a text holds some words.
func says(t *testing.T, what, text string, words ...string) {
	t.Helper()
	for _, want := range words {
		if !strings.Contains(text, want) {
			t.Errorf("%s does not say %q:\n%s", what, want, text[:min(len(text), 2500)])
		}
	}
}

// pictures checks that PNGs can be opened, and are wide enough to be read.
func pictures(t *testing.T, files ...string) {
	t.Helper()
	for _, file := range files {
		if img, err := png.Decode(strings.NewReader(load(t, file))); err != nil || img.Bounds().Dx() < 500 {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// lay writes a run's folder.
func lay(t *testing.T, dir string, r tiny) {
	t.Helper()
	write := func(name, text string) { put(t, filepath.Join(dir, name), text) }
	write("spec.yaml", `name: tiny
actor: {frame: egof, hidden: [64, 64]}
ppo: {gamma: 0.99, lr: 1e-3}
game: {name: staghunt, size: 4, agents: 4, stags: 1, hares: 4, horizon: 35}
train: {steps: 10000`+r.train+`}
eval: {episodes: 1000}
`)
	env := runlog.Env{
		Info: runlog.Info{Preset: "tiny", Seed: uint64(r.seed), Command: []string{"/x/hop", "train", "tiny.yaml", "--set",
			"train.brains=[0, 1]"}, Build: runlog.Build{Version: "1.0", Go: "go1.26", OS: "linux", Arch: "amd64", Kernels: "plain"}},
		CPU: "Test CPU", Cores: 2, Started: "2026-01-01T00:00:00Z", Status: r.status, Spent: runlog.Spent{Wall: 10}, Peak: 123_456_789,
		Phases: map[string]float64{"collect": 3, "learn": 6, "learn/forward": 2, "learn/back": 3.5},
		Waits:  map[string]runlog.Waited{"collect": {Core: 6, Idle: 1.5}},
	}
	b, err := json.Marshal(env)
	if err != nil {
		t.Fatal(err)
	}
	write("env.json", string(b))
	var m strings.Builder
	fmt.Fprintln(&m, "step,name,agent,value,n")
	for w := range r.windows {
		step, at := 1000*(w+1), float64(w)/10
		n := 100
		if w == 0 {
			n = 5
		}
		fmt.Fprintf(&m, "%d,return/mean,,%v,%d\n", step, 1+2*at, n)
		for a := range 4 {
			bonus := 0.
			if r.bonus != nil {
				bonus = r.bonus[a]
			}
			fmt.Fprintf(&m, "%d,return,%d,%v,%d\n", step, a, 1+2*at+bonus, n)
			fmt.Fprintf(&m, "%d,goal/stag,%d,%v,%d\n%d,goal/hare,%d,%v,%d\n%d,goal/none,%d,0,%d\n", step, a, at, n, step, a, 1-at, n, step, a, n)
			fmt.Fprintf(&m, "%d,ppo/value_loss,%d,%v,200\n%d,ppo/entropy,%d,%v,200\n%d,ppo/lr,%d,0.001,200\n", step, a, 1-at, step, a, 2-at, step, a)
			for _, name := range strings.Fields(r.more) {
				fmt.Fprintf(&m, "%d,%s,%d,0.6,1900\n", step, name, a)
			}
			updates := w + 1
			if r.updates != nil {
				updates = r.updates[a]
			}
			fmt.Fprintf(&m, "%d,count/updates,%d,%d,1\n%d,count/rows,%d,%d,1\n", step, a, updates, step, a, 200*(w+1)+r.skew*a)
		}
	}
	write("metrics.csv", m.String())
	if !math.IsNaN(r.mean) {
		write("result.json", fmt.Sprintf(`{"seed":%d,"mean":%v,"se":0.01,"greedy_mean":%v,"agents":[%[2]v,%[2]v,%[2]v,%[2]v],`+
			`"env_steps":10000,"cpu_s":5,"wall_s":10}`, r.seed, r.mean, r.mean-0.1))
	}
}

// good are three seeds whose agents take turns at being first.
func good(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tiny-001")
	for i, bonus := range [][]float64{{0.2, 0, 0.1, -0.3}, {-0.3, 0.1, 0.2, 0}, {0.1, -0.3, 0, 0.2}} {
		lay(t, filepath.Join(dir, fmt.Sprintf("seed-%d", i+1)), tiny{seed: i + 1, status: "done", windows: 10, mean: 2.8 + 0.05*float64(i),
			bonus: bonus})
	}
	return dir
}

// rendered returns the page and the text of a folder's report.
func rendered(t *testing.T, dir string, o Options) (html, md string) {
	t.Helper()
	g, err := read(registry.New(), dir)
	if err != nil {
		t.Fatal(err)
	}
	doc := g.document(o)
	page, err := doc.Page()
	if err != nil {
		t.Fatal(err)
	}
	text, err := doc.Markdown()
	if err != nil {
		t.Fatal(err)
	}
	return string(page), strings.ReplaceAll(string(text), filepath.ToSlash(dir), "DIR")
}

func film() Options {
	return Options{Sample: 64, Episodes: []Episode{{Name: "median", Seed: 2, Return: 3, Agents: []float64{5, 5, 1, 1}, Steps: 9,
		GIF: []byte("GIF89a")}}}
}

func TestMarkdownIsAsReviewed(t *testing.T) {
	dir := good(t)
	_, got := rendered(t, dir, film())
	golden := filepath.Join("testdata", "report.md")
	if *update {
		put(t, golden, got)
	}
	if d := cmp.Diff(strings.ReplaceAll(load(t, golden), "\r\n", "\n"), got); d != "" {
		t.Errorf("report.md differs from %s (-want +got); if it should, run with -update:\n%s", golden, d)
	}
}

func TestPageHasEverySectionAndNothingFromElsewhere(t *testing.T) {
	dir := good(t)
	html, text := rendered(t, dir, film())
	if page, again := rendered(t, dir, film()); page != html || again != text {
		t.Error("two reports of the same files differ")
	}
	if unbalanced("<p><b></p></b>") == "" {
		t.Fatal("the check finds nothing wrong with crossed tags")
	}
	if got := unbalanced(html); got != "" {
		t.Error(got)
	}
	says(t, "the page", html,
		"Four agents learnt staghunt 4h1s 4x4: mean return 2.850 (95\u00a0% interval 2.726 to 2.974 over 3 seeds; optimum 3).",
		`id="seeds"`, `id="return"`, `id="agents"`, `id="order"`, `id="goals"`, `id="films"`, `id="counts"`,
		`id="losses"`, `id="ppo"`, `id="time"`, `id="again"`,
		"No order of the agents is shown", "Every learner of a seed was updated equally often", "ppo/value_loss", "ppo/entropy", "24 k rows",
		"selfish equilibrium 2.89", "data:image/gif;base64,R0lGODlh", "forward", "prefers-color-scheme: dark",
		"hop train tiny.yaml --set &#39;train.brains=[0, 1]&#39;")
	for _, bad := range []string{"http://", "https://", "<script", "ZgotmplZ", "NaN", "<no value>"} {
		if i := strings.Index(html, bad); i >= 0 {
			t.Errorf("the page holds %q: ...%s", bad, html[max(0, i-80):min(len(html), i+80)])
		}
	}
	if i := regexp.MustCompile(`(fill|stroke):#`).FindString(html); i != "" {
		t.Errorf("a figure has a colour that does not follow the style sheet: %q", i)
	}
}

// unbalanced returns the first tag that does not close, or "".
func unbalanced(html string) string {
	void := []string{"meta", "img", "br", "link", "hr", "!DOCTYPE"}
	var open []string
	for _, m := range regexp.MustCompile(`<(/?)([!a-zA-Z0-9]+)[^>]*?(/?)>`).FindAllStringSubmatch(html, -1) {
		name := m[2]
		switch {
		case slices.Contains(void, name) || m[3] == "/":
		case m[1] == "":
			open = append(open, name)
		case len(open) == 0 || open[len(open)-1] != name:
			return fmt.Sprintf("</%s> closes %v", name, open)
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return fmt.Sprintf("%v never close", open)
	}
	return ""
}

func TestFilesLieBesideThePage(t *testing.T) {
	dir := good(t)
	if err := Write(t.Context(), registry.New(), dir, film()); err != nil {
		t.Fatal(err)
	}
	html, _ := rendered(t, dir, film())
	if load(t, dir, "report.html") != html {
		t.Error("report.html is not the page")
	}
	load(t, dir, "report.md")
	load(t, dir, "report", "median.gif")
	if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	for _, name := range []string{"final", "return", "agents", "order", "goals", "losses", "ppo"} {
		pictures(t, filepath.Join(dir, "report", name+".png"))
	}
}

func TestUnfinishedRunsAreShownAndSaid(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tiny-001")
	sub := func(i int) string { return filepath.Join(dir, fmt.Sprintf("seed-%d", i)) }
	lay(t, sub(1), tiny{seed: 1, status: "done", windows: 10, mean: 2.5})
	lay(t, sub(2), tiny{seed: 2, status: "running", windows: 3, mean: math.NaN()})
	lay(t, sub(3), tiny{seed: 3, status: "stopped", windows: 9, mean: math.NaN()})
	lay(t, sub(4), tiny{seed: 4, status: "running", windows: 0, mean: math.NaN()})
	if err := os.MkdirAll(sub(5), 0o755); err != nil {
		t.Fatal(err)
	}
	lay(t, sub(6), tiny{seed: 6, status: "done", windows: 10, mean: 2.6})
	put(t, filepath.Join(sub(6), "result.json"), "{")
	lay(t, sub(7), tiny{seed: 7, status: "done", windows: 10, mean: 2.6})
	put(t, filepath.Join(sub(7), "spec.yaml"), "from: the future\n")
	html, md := rendered(t, dir, Options{Notes: []string{"No episodes are shown: as said"}})
	says(t, "report.md", md,
		"mean return 2.550 (95 % interval 1.915 to 3.185 over 2 seeds",
		"Seed 2 is still running, or was killed, at 3 k of 10 k env steps",
		"Seed 3 was stopped at 9 k of 10 k env steps",
		"Seed 4 has no numbers yet",
		"seed-5 is left out",
		"seed 6: result.json cannot be read",
		"seed 7: spec.yaml is not one that this version reads, so no reference lines are shown",
		"No episodes are shown: as said",
		"hop train --resume ")
	if got := unbalanced(html); got != "" {
		t.Error(got)
	}
}

func TestASingleRunIsAReportToo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "seed-4")
	lay(t, dir, tiny{seed: 4, status: "done", windows: 10, mean: 2.5})
	_, md := rendered(t, dir, Options{})
	says(t, "report.md", md, "mean return 2.500 (95 % interval 2.480 to 2.520 over the 1,000 episodes of one seed; optimum 3).",
		"Too few seeds to tell: with 1 seed no order could reach p < 0.05.", "/spec.yaml --seeds 5-9")
}

func TestBotsAreNotCountedAsLearners(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tiny-001")
	for i := range 3 {
		sub := filepath.Join(dir, fmt.Sprintf("seed-%d", i+1))
		lay(t, sub, tiny{seed: i + 1, status: "done", windows: 10, mean: 1, bonus: []float64{0.3, 0.2, 0.1, 0}})
		put(t, filepath.Join(sub, "result.json"), `{"mean":1.5,"se":0.01,"greedy_mean":1.4,"agents":[3,1,1,1]}`)
		put(t, filepath.Join(sub, "spec.yaml"), "name: tiny\ngame: {name: staghunt, size: 4, agents: 4}\n"+
			"train: {steps: 10000, team: [learn, ns, ns, learn], switch: [{agent: 3, at: 5000, to: nh}]}\n")
	}
	_, md := rendered(t, dir, Options{})
	says(t, "report.md", md, "One agent learnt staghunt 4h1s 4x4 with ns, ns, nh: mean return 3.000",
		"the mean over those that learnt", "agent 3, nh")
	for _, bad := range []string{"Do agents differ", "optimum"} {
		if strings.Contains(md, bad) {
			t.Errorf("report.md compares learners and bots: %q", bad)
		}
	}
}

func TestAFolderWithoutRunsIsRefused(t *testing.T) {
	err := Write(t.Context(), registry.New(), t.TempDir(), Options{})
	if err == nil || !strings.Contains(err.Error(), "hop train") {
		t.Errorf("got %v, want an error that says which folders have reports", err)
	}
}
