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
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hop/check"
	"hop/internal/disk/disktest"
	"hop/runlog"
)

var long = flag.Bool("long", false, "try every cell of the corruption matrix, and print the table of docs/reliability.md")

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

const adaptArgs = " --vs ns,ns,ns --steps 40 --last 20 --lives 1 --starts 2 --json"

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
	{"train with stages", goesOn, "train ROOT/s.yaml --out ROOT/staged --json", "staged/stages", "ROOT/staged/s-002/seed-1/metrics.csv", true},
}

// TestCorruptionMatrix harms every file of a run, a dataset, a model and a stage in
// every way, and has every command read it: each gives the same result, or an error that
// names the file, or says that it used an older checkpoint or did something anew, as
// docs/reliability.md has it. With -long every cell is tried and the table printed;
// otherwise some are, and of slow commands those that end in an error.
func TestCorruptionMatrix(t *testing.T) {
	p := buildPlace(t)
	table, found, cells := readTable(t), map[string][6][groups]string{}, 0
	for r, c := range matrixReaders {
		t.Run(c.name, func(t *testing.T) {
			var want outcome
			if *long || !c.slow {
				if want = c.result(t, p, "", nil); want.code != 0 {
					t.Fatalf("%s, nothing harmed: exit %d\n%s", c.name, want.code, want.errs)
				}
			}
			for f, file := range p.files(c.reads) {
				row := p.row(file)
				for h, harm := range harms {
					says := table[row][h][c.group]
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
						t.Errorf("%s: is %s, docs/reliability.md has %s; it says\n%s", where, kind, says, got.errs)
					}
					if *long {
						t.Logf("%s: %s", where, kind)
					}
					line := found[row]
					if !strings.Contains(line[h][c.group], kind) {
						line[h][c.group] += kind
					}
					found[row] = line
				}
			}
		})
	}
	t.Logf("%d cells", cells)
	if text := tableText(found); *long && text != tableText(table) {
		t.Errorf("docs/reliability.md has another table; this is it, of the commands that were asked for:\n%s", text)
	}
}

// readTable reads the table of docs/reliability.md: by row and harm, the letters of each
// group of commands.
func readTable(t *testing.T) map[string][6][groups]string {
	t.Helper()
	b, err := os.ReadFile(filepath.FromSlash("../docs/reliability.md"))
	if err != nil {
		t.Fatal(err)
	}
	table := map[string][6][groups]string{}
	for line := range strings.Lines(string(b)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 1+len(harms) || !strings.Contains(cells[1], "`") {
			continue
		}
		var row [6][groups]string
		for h := range harms {
			for g, letters := range strings.Fields(strings.Trim(cells[h+1], " `")) {
				row[h][g] = letters
			}
		}
		table[strings.TrimSpace(cells[0])] = row
	}
	return table
}

// tableText writes such a table, in order of its rows.
func tableText(table map[string][6][groups]string) string {
	var b strings.Builder
	for _, row := range slices.Sorted(maps.Keys(table)) {
		fmt.Fprintf(&b, "| %s |", row)
		for _, cell := range table[row] {
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
	`older checkpoint|checkpoint before|starting over|scored again|not reused|done anew|made anew|seeds are added|not shown|not known`)

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
	whole map[string][]byte // by path below it: what belongs there
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
		if b, err := os.ReadFile(path); err == nil && bytes.Equal(b, want) {
			delete(left, name)
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

func (p *place) names() []string { return slices.Sorted(maps.Keys(p.whole)) }

// files lists what lies in folders, but for pictures, locks and what holds nothing.
func (p *place) files(folders string) (list []string) {
	for _, folder := range strings.Fields(folders) {
		for _, name := range p.names() {
			skip := path.Base(name) == "lock" || slices.Contains([]string{".png", ".gif"}, path.Ext(name)) || len(p.whole[name]) == 0
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
	what := "run"
	for prefix, is := range map[string]string{
		"runs/k-001/": "killed run", "data/": "dataset", "part/": "unfinished dataset", "vae/": "model", "staged/stages/": "stage",
		"staged/s-001/follow/": "stage",
	} {
		if strings.HasPrefix(file, prefix) {
			what = is
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
	p := &place{root: root, whole: map[string][]byte{}}
	in := func(name string) string { return filepath.Join(root, filepath.FromSlash(name)) }
	for name, text := range map[string]string{
		"a": matrixSpec,
		"b": strings.Replace(matrixSpec, "save: 300", "save: 300, team: [learn, '"+in("runs/a-001/seed-1#0")+"', ns, ns]", 1),
		"s": matrixSpec + `
prepare: [{name: data, run: "collect {game} --mix ns,nh --rows 200 --seed 7"}]
follow: [{name: adapt, run: "adapt {run} --vs ns,ns,ns --steps 40 --last 20 --lives 1 --starts 2"}]
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
	err = errors.Join(
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
