package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/disk/disktest"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/store/runlog"
)

var (
	long    = flag.Bool("long", false, "try every cell of the corruption matrix, and hold the table of docs/results/corruption.md against it")
	rewrite = flag.Bool("rewrite", false, "with -long: write that table")
)

// harms are what can happen to a file; other is a file of the same kind of another run,
// dataset, model or stage.
var harms = []struct {
	name string
	do   func(b, other []byte) []byte // nil: the file is removed
}{
	{"flip", func(b, _ []byte) []byte { b = bytes.Clone(b); b[len(b)/2] ^= 1; return b }},
	{"truncate", func(b, _ []byte) []byte { return b[:len(b)/2] }},
	{"empty", func([]byte, []byte) []byte { return []byte{} }},
	{"zero", func(b, _ []byte) []byte { return make([]byte, len(b)) }},
	{"swap", func(_, other []byte) []byte { return other }},
	{"delete", nil},
	{"edit", func(b, _ []byte) []byte { return edited(b, number, func(n byte) byte { return '1' + (n-'0'+1)%9 }) }},
	{"toggle", toggled},
}

// row is what a file's row of the table has: by harm, the letters of each group of commands.
type row [8][groups]string

// number is a value that somebody might mistype: its last digit.
var number = regexp.MustCompile(`[0-9](?:[,\s\]}])`)

// edited changes a byte of the match in the middle, or, where there is none, of the whole.
func edited(b []byte, what *regexp.Regexp, change func(byte) byte) []byte {
	b = bytes.Clone(b)
	all := what.FindAllIndex(b, -1)
	if len(all) == 0 {
		b[len(b)-1] ^= 1
		return b
	}
	at := all[len(all)/2][0]
	b[at] = change(b[at])
	return b
}

// yesNo are answers that somebody might change.
var yesNo = regexp.MustCompile(`\b(true|false)\b`)

// toggled turns the answer in the middle into the other one; where there is none, the
// line in the middle is left out.
func toggled(b, _ []byte) []byte {
	if all := yesNo.FindAllIndex(b, -1); len(all) > 0 {
		at := all[len(all)/2]
		other := map[string]string{"true": "false", "false": "true"}[string(b[at[0]:at[1]])]
		return slices.Concat(b[:at[0]], []byte(other), b[at[1]:])
	}
	lines := bytes.SplitAfter(b, []byte("\n"))
	at := max(len(lines)-1, 0) / 2
	return bytes.Join(slices.Delete(lines, at, at+1), nil)
}

// What a command may do about a harmed file. Everything else is a fault.
const (
	sameResult = "s" // the same result
	fileNamed  = "e" // an error that names the file
	doneAnew   = "o" // an older one, or done anew, and said
)

// What commands do, of which the table has a letter each.
const (
	shows = iota
	reports
	uses
	goesOn
	groups
)

// reader is a command, in which ROOT stands for the place and OUT for a new folder.
type reader struct {
	name   string
	group  int
	args   string
	reads  string // folders or files that are harmed
	leaves string // files that it writes and that belong to its result, of OUT or ROOT
	slow   bool   // to its end; everyday it only meets what it should refuse
}

// one is a seed's folder with what lies beside it. What is so of one seed is so of another.
const one = "runs/a-001/group.json runs/a-001/report.md runs/a-001/seed-1"

const (
	adaptSteps  = " --steps 40 --last 20 --lives 1 --starts 2 --json"
	adaptArgs   = " --vs ns,ns,ns" + adaptSteps
	zooMembers  = "--who selfish-1,selfish-1-young --hold selfish-2 --steps 9000 --set game.horizon=6"
	responds    = "--set steps=200 --set envs=4 --set window=10 --set net.hidden=[8] --episodes 4 --json"
	oneSweep    = "sweep/index.json sweep/sweep.json sweep/report.md sweep/report.json sweep/lr=0.001" // and what is so of one variant
	sweepLeaves = "ROOT/sweep/report.md ROOT/sweep/*/seed-1/metrics.csv ROOT/sweep/*/seed-1/checkpoints/step-000000000664.safetensors"
)

var matrixReaders = []reader{
	{"show", shows, "show ROOT/runs/a-001/seed-1", "runs/a-001/seed-1", "", false},
	{"report", reports, "report ROOT/runs/a-001 --no-gif", one, "ROOT/runs/a-001/report.md", true},
	{"report with episodes", reports, "report ROOT/runs/a-001", "runs/a-001/seed-2", "ROOT/runs/a-001/report.md", true},
	{"report of a killed run", reports, "report ROOT/runs/k-001 --no-gif", "runs/k-001", "ROOT/runs/k-001/report.md", true},
	{"report with stages", reports, "report ROOT/staged/s-001 --no-gif", "staged/s-001/follow staged/s-001/stages.json",
		"ROOT/staged/s-001/report.md", true},
	{"zoo list", shows, "zoo list --out ROOT/runs", one, "", false},
	{"adapt", uses, "adapt ROOT/runs/a-001" + adaptArgs, one, "", false},
	{"crossplay", uses, "crossplay ROOT/runs/a-001 ns --episodes 1 --out OUT --json", one, "", true},
	{"audit", uses, "audit ROOT/runs/a-001 --updates 3 --episodes 20 --out OUT --json", one, "", true},
	{"collect --agents", uses, "collect --agents ROOT/runs/a-001/seed-1 --rows 40 --out OUT --json", "runs/a-001/seed-1",
		"OUT/manifest.json", false},
	{"play --run", uses, "play --run ROOT/runs/a-001 --plain --episodes 1", "runs/a-001/seed-1", "", false},
	{"train RUN#AGENT", uses, "train ROOT/b.yaml --out OUT --json", "runs/a-001/seed-1", "OUT/b-001/seed-1/metrics.csv", true},
	{"pretrain on a dataset", uses, "pretrain vae --data ROOT/data --out OUT --set epochs=1 --set model.hidden=[8] --json", "data",
		"OUT/metrics.csv", true},
	{"pretrain on a model", uses, "pretrain cvae --data ROOT/data --vae ROOT/vae --out OUT --set epochs=1 --set model.gru=8 --json", "vae",
		"OUT/metrics.csv", true},
	{"train --resume", goesOn, "train --resume ROOT/runs/a-001 --json", one, "", false},
	{"train --resume, with stages", goesOn, "train --resume ROOT/staged/s-001 --json", "staged/s-001/stages.json", "", false},
	{"train --resume of a killed run", goesOn, "train --resume ROOT/runs/k-001 --json", "runs/k-001",
		"ROOT/runs/k-001/seed-1/metrics.csv ROOT/runs/k-001/seed-1/checkpoints/step-000000000880*", true},
	{"adapt --accept-older", goesOn, "adapt ROOT/runs/a-001 --accept-older" + adaptArgs, "runs/a-001/seed-1/checkpoints", "", false},
	{"compare", goesOn, "compare ROOT/a.yaml --seeds 1-2 --reuse ROOT/runs --out OUT --json", one, "", true},
	{"collect again", goesOn, "collect --mix ns,nh --rows 500 --shard 200 --seed 7 --out ROOT/data --json", "data",
		"ROOT/data/manifest.json ROOT/data/shard*", false},
	{"collect the rest", goesOn, "collect --mix ns,nh --rows 500 --shard 200 --seed 7 --out ROOT/part --json", "part",
		"ROOT/part/manifest.json ROOT/part/shard*", false},
	{"pretrain again", goesOn, "pretrain vae --data ROOT/data --out ROOT/vae --set epochs=1 --set model.hidden=[8] --json", "vae",
		"ROOT/vae/metrics.csv ROOT/vae/checkpoints/* ROOT/vae/card.json", true},
	{"zoo list of a zoo", shows, "zoo list --out ROOT/zoo --json", "zoo", "", true},
	{"adapt --zoo", uses, "adapt ns --zoo ROOT/zoo --set game.horizon=6 --vs selfish-1,selfish-1-young,selfish-2" + adaptSteps, "zoo", "",
		true},
	{"pretrain --zoo", uses, "pretrain response --zoo ROOT/zoo --set game.horizon=6 --out OUT " + responds, "zoo", "OUT/metrics.csv", true},
	{"zoo train again", goesOn, "zoo train --out ROOT/zoo --json " + zooMembers, "zoo", "ROOT/zoo/zoo.json", true},
	{"sweep status", shows, "sweep status ROOT/sweep --json", "sweep/index.json sweep/sweep.json", "", false},
	{"sweep resume", goesOn, "sweep resume ROOT/sweep", oneSweep, sweepLeaves, true},
	{"sweep again", goesOn, "sweep ROOT/a.yaml --set ppo.lr=0.001,0.01 --out ROOT/sweep", oneSweep, sweepLeaves, true},
	{"report of a sweep's run", reports, "report ROOT/sweep/lr=0.001 --no-gif", "sweep/lr=0.001", "ROOT/sweep/lr=0.001/report.md", true},
	{"train with stages", goesOn, "train ROOT/s.yaml --out ROOT/staged --json", "staged/stages", "ROOT/staged/s-002/seed-1/metrics.csv", true},
}

// TestCorruptionMatrix harms every file of a run, a dataset, a model and a stage in
// every way, and has every command read it: each gives the same result, or an error that
// names the file, or says that it used an older checkpoint or did something anew, as
// docs/results/corruption.md has it. With -long every cell is tried and the table printed;
// otherwise some are, and of slow commands those that end in an error: 8 s of processor time,
// for each of some hundred cells is a command.
func TestCorruptionMatrix(t *testing.T) {
	p := buildPlace(t)
	table, found, cells := readTable(t), map[string]row{}, 0
	for r, c := range matrixReaders {
		t.Run(c.name, func(t *testing.T) {
			var want outcome
			if *long || !c.slow {
				if want = c.result(t, p, "", nil); want.code != 0 {
					t.Fatalf("%s, nothing harmed: exit %d\n%s", c.name, want.code, want.errs)
				}
			}
			for f, file := range p.files(c.reads) {
				in := p.row(file)
				for h, harm := range harms {
					says := table[in][h][c.group]
					if !*long && (h != (f+r)%len(harms) || c.slow && says != fileNamed) {
						continue
					}
					cells++
					got := c.result(t, p, file, harm.do)
					kind := got.kind(want, file)
					where := fmt.Sprintf("%s, %s of %s", c.name, harm.name, file)
					switch {
					case kind == "":
						t.Errorf("%s: exit %d, and none of what is allowed; it says\n%s\nit gives\n%s", where, got.code, got.errs, differ(got.out, want.out))
						kind = "?"
					case !*long && !strings.Contains(says, kind):
						t.Errorf("%s: is %s, %s has %s; it says\n%s", where, kind, tablePage, says, got.errs)
					}
					if *long {
						t.Logf("%s: %s", where, kind)
					}
					line := found[in]
					if !strings.Contains(line[h][c.group], kind) {
						line[h][c.group] += kind
					}
					found[in] = line
				}
			}
		})
	}
	t.Run("finished, without its last checkpoint", func(t *testing.T) { cells += lostCheckpoints(t, p) })
	t.Logf("%d cells", cells)
	switch text := tableText(found); {
	case *long && *rewrite && !t.Failed():
		writeTable(t, text, cells)
	case *long && text != tableText(table):
		t.Errorf("%s has another table (-args -long -rewrite writes it); this is it, of the commands that were asked for:\n%s", tablePage, text)
	}
}

const tablePage = "../../docs/results/corruption.md"

// writeTable puts the table into docs/results/corruption.md, and how many cells it has.
func writeTable(t *testing.T, text string, cells int) {
	t.Helper()
	b, err := os.ReadFile(filepath.FromSlash(tablePage))
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(b), "| file | ")
	if !ok {
		t.Fatalf("%s has no table", tablePage)
	}
	names, line := "| file |", "|---|"
	for _, h := range harms {
		names, line = names+" "+h.name+" |", line+"---|"
	}
	count := regexp.MustCompile(`The whole has [0-9,]+ cells`)
	head = count.ReplaceAllString(head, "The whole has "+plot.Thousands(cells)+" cells")
	build := thisBuild() // a test is not told its commit
	if commit, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output(); err == nil {
		build.Commit, build.Program = strings.TrimSpace(string(commit)), ""
	}
	head = regexp.MustCompile(`(?m)silent\. .*$`).ReplaceAllString(head, "silent. Written by "+build.Line()+".")
	if err := os.WriteFile(filepath.FromSlash(tablePage), []byte(head+names+"\n"+line+"\n"+text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// readTable reads the table of docs/results/corruption.md: by row and harm, the letters of each
// group of commands.
func readTable(t *testing.T) map[string]row {
	t.Helper()
	b, err := os.ReadFile(filepath.FromSlash(tablePage))
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]row{}
	for line := range strings.Lines(string(b)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 1+len(harms) || !strings.Contains(cells[1], "`") {
			continue
		}
		var r row
		for h := range harms {
			for g, letters := range strings.Fields(strings.Trim(cells[h+1], " `")) {
				r[h][g] = letters
			}
		}
		table[strings.TrimSpace(cells[0])] = r
	}
	return table
}

// tableText writes such a table, in order of its rows.
func tableText(table map[string]row) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(table)) {
		fmt.Fprintf(&b, "| %s |", name)
		for _, cell := range table[name] {
			var words []string
			for _, letters := range cell {
				sorted := []byte(strings.Trim(letters, "-"))
				slices.Sort(sorted)
				if len(sorted) == 0 {
					sorted = []byte("-")
				}
				words = append(words, string(sorted))
			}
			fmt.Fprintf(&b, " `%s` |", strings.Join(words, " "))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// differ returns the first lines that differ.
func differ(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	show := func(lines []string) string { return strings.Join(lines[min(i, len(lines)):min(i+5, len(lines))], "\n") }
	return show(a) + "\ninstead of\n" + show(b)
}

// outcome is what a command came to.
type outcome struct {
	code      int
	out, errs string
}

// result runs a command in the place, in which a file is harmed, and mends it.
func (c reader) result(t *testing.T, p *place, file string, harm func(b, other []byte) []byte) (o outcome) {
	t.Helper()
	defer p.mend(t)
	if path := filepath.Join(p.root, filepath.FromSlash(file)); file != "" {
		err := os.Remove(path)
		if err == nil && harm != nil {
			err = os.WriteFile(path, harm(p.whole[file], p.other(file)), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	fill := strings.NewReplacer("ROOT", p.root, "OUT", filepath.Join(p.root, "out"))
	o.code, o.out, o.errs = hop(t, strings.Fields(fill.Replace(c.args))...)
	if o.code != 0 {
		return o
	}
	for _, pattern := range strings.Fields(fill.Replace(c.leaves)) {
		list, err := filepath.Glob(pattern)
		if err != nil || len(list) == 0 {
			t.Fatalf("%s left no %s", c.name, pattern)
		}
		for _, path := range list {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			o.out += fmt.Sprintf("%s\n%s", filepath.Base(path), b)
		}
	}
	o.out = clocks.ReplaceAllString(used.ReplaceAllString(o.out, ""), "")
	return o
}

// clocks are the lines in which equal results differ: they say how long something took,
// when, and what was done again.
var clocks = regexp.MustCompile(`(?m)^.*(_s"|"reused"|"sum"|[0-9] s\b|started).*$`)

// used says which checkpoints were read: more of them, where a page is written anew.
var used = regexp.MustCompile(`(?s),\s*"checkpoints": \[.*?\]`)

// again is how commands say that they did something anew.
var again = regexp.MustCompile(
	`older checkpoint|checkpoint before|starting over|(scored|done) again|not reused|(done|made) anew|seeds are added|not shown|not known`)

// kind says which of what is allowed an outcome is, "" if none. A page says what it has
// to say to whoever reads it.
func (o outcome) kind(want outcome, file string) string {
	base := filepath.Base(file)
	text := o.errs
	if strings.Contains(o.out, "report.md\n") {
		text += o.out
	}
	said := strings.Contains(text, base)
	switch {
	case strings.Contains(text, "goroutine ") || strings.Contains(text, "panic"):
		return ""
	case o.code != 0 && said:
		return fileNamed
	case o.code != 0:
		return ""
	case said && again.MatchString(text):
		return doneAnew
	case o.out == want.out:
		return sameResult
	}
	return ""
}

// place is a folder of everything that commands read.
type place struct {
	root  string
	whole map[string][]byte    // by path below it: what belongs there
	list  []string             // its keys, in order
	clean map[string]time.Time // when those were written that need not be read again
}

// mend brings everything back to what it was.
func (p *place) mend(t *testing.T) {
	t.Helper()
	left := maps.Clone(p.whole)
	err := filepath.WalkDir(p.root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == p.root {
			return err
		}
		rel, err := filepath.Rel(p.root, path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		if e.IsDir() {
			if !slices.ContainsFunc(p.names(), func(n string) bool { return strings.HasPrefix(n, name+"/") }) {
				if err := os.RemoveAll(path); err != nil {
					return err
				}
				return filepath.SkipDir
			}
			return nil
		}
		want, known := p.whole[name]
		if !known {
			return os.Remove(path)
		}
		info, err := e.Info()
		if err == nil && int(info.Size()) == len(want) && info.ModTime().Equal(p.clean[name]) {
			delete(left, name)
			return nil
		}
		if b, err := os.ReadFile(path); err == nil && bytes.Equal(b, want) {
			delete(left, name)
			if time.Since(info.ModTime()) > time.Second { // else its next writer could leave the same time
				p.clean[name] = info.ModTime()
			}
		}
		return nil
	})
	for name, b := range left {
		path := filepath.Join(p.root, filepath.FromSlash(name))
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, b, 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// names lists what belongs there; it is asked for at every folder that is mended.
func (p *place) names() []string {
	if len(p.list) != len(p.whole) {
		p.list = slices.Sorted(maps.Keys(p.whole))
	}
	return p.list
}

// files lists what lies in folders, but for pictures, locks and what holds nothing.
func (p *place) files(folders string) (list []string) {
	for _, folder := range strings.Fields(folders) {
		for _, name := range p.names() {
			skip := path.Base(name) == "lock" || slices.Contains([]string{".png", ".gif"}, path.Ext(name)) ||
				strings.Contains(name, "/report/") || len(p.whole[name]) == 0
			if (name == folder || strings.HasPrefix(name, folder+"/")) && !skip {
				list = append(list, name)
			}
		}
	}
	return list
}

// row says in which row of the table a file stands.
func (p *place) row(file string) string {
	name := path.Base(file)
	what, longest := "run", ""
	for prefix, is := range map[string]string{
		"runs/k-001/": "killed run", "data/": "dataset", "part/": "unfinished dataset", "vae/": "model", "staged/stages/": "stage",
		"staged/s-001/follow/": "stage", "zoo/": "zoo", "zoo/selfish": "zoo's run", "sweep/": "sweep", "sweep/lr": "sweep's run",
	} {
		if strings.HasPrefix(file, prefix) && len(prefix) > len(longest) {
			what, longest = is, prefix
		}
	}
	switch {
	case path.Ext(name) == ".html" || path.Ext(name) == ".md" || name == "log.txt":
		return "pages, `log.txt`"
	case strings.HasPrefix(name, "shard"):
		return what + ": a shard"
	case strings.HasPrefix(name, "events"):
		name = "events"
	case path.Base(path.Dir(file)) == "checkpoints":
		all := p.files(path.Dir(file))
		age := "older"
		if strings.TrimSuffix(all[len(all)-1], path.Ext(all[len(all)-1])) == strings.TrimSuffix(file, path.Ext(file)) {
			age = "newest"
		}
		return what + ": " + age + " " + map[string]string{".json": "seal", ".safetensors": "checkpoint"}[path.Ext(name)]
	}
	return what + ": `" + name + "`"
}

// other returns what lies in the same place of another run, dataset, model or stage.
// Numbers in names may differ there.
func (p *place) other(file string) []byte {
	dir, name := path.Split(file)
	for _, pair := range [][2]string{
		{"runs/a-001/seed-1/spec.yaml", "staged/s-001"}, {"runs/a-001/seed-2/spec.yaml", "staged/s-001"}, // seeds of one training share it
		{"runs/k-001/seed-1/env.json", "runs/a-001/seed-1"}, {"runs/k-001/seed-1/spec.yaml", "runs/a-001/seed-1"}, // of the same seed
		{"runs/k-001/seed-1", "runs/a-001/seed-2"}, {"runs/a-001/seed-1", "runs/a-001/seed-2"}, {"runs/a-001/seed-2", "runs/a-001/seed-1"},
		{"runs/a-001/group", "staged/s-001/group"}, {"runs/k-001/group", "runs/a-001/group"}, {"data", "data2"}, {"part", "data2"},
		{"vae", "vae2"}, {"staged/stages/", "data2"}, {"staged/s-001/follow/", "adapt2"}, {"staged/s-001/stages.json", "stages2.json"},
		{"zoo/zoo.json", "zoo2/zoo.json"}, {"zoo/selfish", "runs/a-001/seed-2"}, {"sweep/index.json", "sweep2/index.json"},
		{"sweep/sweep.json", "sweep2/sweep.json"}, {"sweep/lr=0.001", "sweep/lr=0.01"}, {"sweep/lr=0.01", "sweep/lr=0.001"},
	} {
		from, to := pair[0], pair[1]
		if !strings.HasPrefix(file, from) {
			continue
		}
		if name == "partial.json" {
			name = "manifest.json"
		}
		kind := func(n string) string {
			return regexp.MustCompile(`[0-9]{3,}|[0-9a-f]{12}`).ReplaceAllString(path.Base(n), "#")
		}
		all := p.files(strings.TrimSuffix(dir, "/"))
		same := func(n string) bool { return kind(n) == kind(name) }
		of := slices.DeleteFunc(all, func(n string) bool { return !same(n) || path.Dir(n) != path.Clean(dir) })
		var list []string
		for _, n := range p.names() {
			if strings.HasPrefix(n, to) && same(n) {
				list = append(list, n)
			}
		}
		if i := slices.Index(of, file); len(list) > 0 {
			return p.whole[list[min(max(i, 0), len(list)-1)]]
		}
	}
	return []byte("something else\n") // there is none
}

const matrixSpec = "game: {horizon: 6}\nactor: {hidden: [8]}\ntrain: {envs: 8, window: 16, steps: 600, save: 300}\neval: {episodes: 4}\n"

// buildPlace fills a place.
func buildPlace(t *testing.T) *place {
	t.Helper()
	root, remove, err := disktest.Folder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	p := &place{root: root, whole: map[string][]byte{}, clean: map[string]time.Time{}}
	in := func(name string) string { return filepath.Join(root, filepath.FromSlash(name)) }
	for name, text := range map[string]string{
		"a": matrixSpec,
		"b": strings.Replace(matrixSpec, "save: 300", "save: 300, team: [learn, '"+in("runs/a-001/seed-1#0")+"', ns, ns]", 1),
		"s": matrixSpec + `
prepare: [{name: data, collect: {mix: [ns, nh], rows: 200, seed: 7}}]
follow: [{name: adapt, adapt: {vs: [ns, ns, ns], steps: 40, last: 20, lives: 1, starts: 2}}]
`} {
		if err := os.WriteFile(in(name+".yaml"), []byte("name: "+name+"\n"+text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ok(t, "train", in("a.yaml"), "--seeds", "1-2", "--out", in("runs"))
	ok(t, "train", in("s.yaml"), "--out", in("staged"))
	ok(t, append(append([]string{"adapt", in("staged/s-001")}, strings.Fields(adaptArgs)...), "--seeds", "2", "--out", in("adapt2"))...)
	for name, seed := range map[string]string{"": "7", "2": "8"} {
		ok(t, "collect", "--mix", "ns,nh", "--rows", "500", "--shard", "200", "--seed", seed, "--out", in("data"+name))
		ok(t, "pretrain", "vae", "--data", in("data"+name), "--out", in("vae"+name), "--set", "epochs=1", "--set", "model.hidden=[8]")
	}
	ok(t, append([]string{"zoo", "train", "--out", in("zoo")}, strings.Fields(zooMembers)...)...)
	ok(t, "sweep", in("a.yaml"), "--set", "ppo.lr=0.001,0.01", "--out", in("sweep"))
	if *long { // to be swapped with
		ok(t, strings.Fields("zoo train --who selfish-3 --hold selfish-4 --steps 600 --set game.horizon=6 --out "+in("zoo2"))...)
		ok(t, "sweep", in("a.yaml"), "--set", "ppo.lr=0.003,0.03", "--out", in("sweep2"))
	}
	err = errors.Join(
		os.RemoveAll(in("sweep/engine")), os.RemoveAll(in("sweep2/engine")),
		withFinding(in("runs/a-001/seed-1")),
		os.CopyFS(in("runs/k-001"), os.DirFS(in("runs/a-001"))), os.RemoveAll(in("runs/k-001/seed-2")), kill(in("runs/k-001")),
		os.CopyFS(in("part"), os.DirFS(in("data"))), os.Rename(in("part/manifest.json"), in("part/partial.json")), // it died just then
		os.WriteFile(in("stages2.json"), []byte("[]\n"), 0o644),
	)
	if err == nil {
		err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if err == nil {
				p.whole[filepath.ToSlash(rel)], err = os.ReadFile(path)
			}
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// withFinding adds a finding to a run that is done.
func withFinding(dir string) error {
	r, err := runlog.Open(dir)
	if err != nil {
		return err
	}
	defer r.Close()
	return errors.Join(r.Find(check.Finding{Step: 100, Check: "entropy", Says: "it is 0"}), r.Finish("done"))
}

// kill makes of a training that was done one that was killed when it had been made
// longer.
func kill(dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, "group.json"))
	var g runlog.Group
	if err == nil {
		err = json.Unmarshal(b, &g)
	}
	if err != nil {
		return err
	}
	g.Seeds = []uint64{1}
	r, err := runlog.Open(filepath.Join(dir, "seed-1"))
	if err != nil {
		return err
	}
	defer r.Close()
	longer := strings.Replace(string(r.Spec()), "steps: 600", "steps: 800", 1)
	_, step, _, err := r.Resume()
	return errors.Join(err, g.Write(dir), r.RemoveResult(), r.SetSpec([]byte(longer)),
		r.Log([]runlog.Row{{Step: step + 8, Name: "return/mean", Agent: -1, Value: 1, N: 1}}))
}

// lostCheckpoints destroys the last checkpoint of a run and of a model that are finished,
// whose numbers are all there: neither hop train --resume nor the same hop pretrain
// calls that fine. Both say what is missing and what can still be done.
func lostCheckpoints(t *testing.T, p *place) (cells int) {
	for _, dir := range []string{"runs/a-001/seed-1", "vae"} {
		reads := map[string]string{"vae": "pretrain again", "runs/a-001/seed-1": "train --resume"}[dir]
		c := matrixReaders[slices.IndexFunc(matrixReaders, func(c reader) bool { return c.name == reads })]
		for name, harm := range destroyed {
			gone := harm(t, filepath.Join(p.root, dir, "checkpoints"))
			got := c.result(t, p, "", nil)
			if got.code != 1 || !strings.Contains(got.errs, gone) || !strings.Contains(got.errs, "is finished") ||
				!strings.Contains(got.errs, "anew into another folder") {
				t.Errorf("%s of %s: exit %d, want 1 with %s and what to do:\n%s", name, dir, got.code, gone, got.errs)
			}
			cells++
		}
	}
	return cells
}

// destroyed are the ways to lose a run's last checkpoint; each returns what a message must name.
var destroyed = map[string]func(t *testing.T, dir string) string{
	"all deleted":        func(t *testing.T, dir string) string { return lose(t, dir, "*") },
	"the folder deleted": func(t *testing.T, dir string) string { s := lose(t, dir, "*"); _ = os.Remove(dir); return s },
	"the newest deleted": func(t *testing.T, dir string) string { return lose(t, dir, newest(t, dir)+".*") },
	"its body deleted":   func(t *testing.T, dir string) string { return lose(t, dir, newest(t, dir)+".safetensors") },
	"its seal deleted":   func(t *testing.T, dir string) string { return lose(t, dir, newest(t, dir)+".json") },
	"its body cut":       func(t *testing.T, dir string) string { return shorten(t, dir, newest(t, dir)+".safetensors") },
	"its seal cut":       func(t *testing.T, dir string) string { return shorten(t, dir, newest(t, dir)+".json") },
	"every body deleted": func(t *testing.T, dir string) string { return lose(t, dir, "*.safetensors") },
}

// newest is the name of a run's last checkpoint.
func newest(t *testing.T, dir string) string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(list) == 0 {
		t.Fatalf("%s holds no checkpoint: %v", dir, err)
	}
	return strings.TrimSuffix(filepath.Base(list[len(list)-1]), ".json")
}

// lose removes files and returns the newest one's name.
func lose(t *testing.T, dir, pattern string) string {
	t.Helper()
	name := newest(t, dir)
	list, err := filepath.Glob(filepath.Join(dir, pattern))
	for _, file := range list {
		err = errors.Join(err, os.Remove(file))
	}
	if err != nil || len(list) == 0 {
		t.Fatalf("%s: nothing to remove: %v", pattern, err)
	}
	return name
}

func shorten(t *testing.T, dir, name string) string {
	t.Helper()
	if err := os.Truncate(filepath.Join(dir, name), 100); err != nil {
		t.Fatal(err)
	}
	return name
}
