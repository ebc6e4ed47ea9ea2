package browsertest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// walk is a new user's way: each step is named, and none takes long but those that build or train.
type walk struct {
	t     *testing.T
	dir   string
	steps int
}

const patience = 10 * time.Second

// step takes a step in the browser, by the clock.
func (w *walk) step(what string, do func()) {
	w.t.Helper()
	w.steps++
	began := time.Now()
	do()
	if took := time.Since(began); took > patience {
		w.t.Errorf("step %d, %s, took %v", w.steps, what, took.Round(time.Millisecond))
	}
}

// run takes a step in the terminal, by processor time, and returns what was printed; slow ones build or train.
func (w *walk) run(slow bool, want string, words ...string) string {
	w.t.Helper()
	w.steps++
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = w.dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		w.t.Fatalf("step %d, %s: %v\n%s", w.steps, strings.Join(words, " "), err, &out)
	}
	if took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); took > patience && !slow {
		w.t.Errorf("step %d, %s, took %v", w.steps, strings.Join(words, " "), took)
	}
	if !strings.Contains(out.String(), want) {
		w.t.Errorf("step %d, %s: nothing about %q in\n%s", w.steps, strings.Join(words, " "), want, &out)
	}
	return out.String()
}

// there is a file that a step made.
func (w *walk) there(name string, least int64) {
	w.t.Helper()
	if at, err := os.Stat(filepath.Join(w.dir, name)); err != nil || at.Size() < least {
		w.t.Errorf("step %d made no %s of %d bytes: %v", w.steps, name, least, err)
	}
}

// From a clone to a first comparison to a figure for a paper, in a terminal and in Chromium.
func TestANewUsersWalk(t *testing.T) {
	chrome := browser(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	w := &walk{t: t, dir: t.TempDir()}
	w.run(false, "", "git", "clone", "-q", "--depth", "1", "file://"+root, "hop")
	w.dir = filepath.Join(w.dir, "hop")
	bin := filepath.Join(t.TempDir(), "hop")
	w.run(true, "", "go", "build", "-o", bin, "./cmd/hop")
	w.terminal(bin)
	base, _ := serve(t, bin, w.dir, "--control")
	b := open(t, chrome, base)
	w.browser(b, bin)
	site := open(t, chrome, "file://"+filepath.Join(w.dir, "dist", "site"))
	w.site(site)
	if w.steps < 30 {
		t.Errorf("%d steps", w.steps)
	}
}

// terminal goes from help to a comparison with a figure.
func (w *walk) terminal(bin string) {
	short := []string{"--steps", "2e4", "--seeds", "1-2", "--set", "eval.episodes=200"}
	w.run(false, "commit", bin, "version")
	w.run(false, "train", bin)
	w.run(false, "hop+main", bin, "list", "presets")
	w.run(false, "staghunt", bin, "list", "games")
	w.run(false, "learning rate", bin, "list", "fields", "ppo-4x4")
	w.run(false, "lr: 0.001", bin, "show", "ppo-4x4")
	w.run(false, "wrote", bin, "play", "--team", "ns,ns,nh,random", "--gif", "hunt.gif")
	w.there("hunt.gif", 10_000)
	w.run(false, "random", bin, "eval", "--team", "ns,ns,nh,random")
	w.run(true, "all seeds", append([]string{bin, "train", "ppo-4x4", "--notify", "echo told"}, short...)...)
	w.there("runs/ppo-4x4-001/report.html", 100_000)
	w.run(false, "wrote", bin, "play", "--run", "runs/ppo-4x4-001", "--gif", "learnt.gif")
	w.run(true, "all seeds", append([]string{bin, "train", "ppo-4x4", "--set", "ppo.lr=5e-4"}, short...)...)
	w.run(false, "ppo.lr", bin, "show", "runs/ppo-4x4-002", "--diff", "runs/ppo-4x4-001")
	w.run(false, "ppo-4x4-002", bin, "ls", "runs")
	said := w.run(false, "compare.html", bin, "compare", "runs/ppo-4x4-001", "runs/ppo-4x4-002")
	for word := range strings.FieldsSeq(said) {
		if strings.HasSuffix(word, "compare.html") {
			figures, _ := filepath.Glob(filepath.Join(filepath.Dir(word), "compare", "*.png"))
			if len(figures) < 2 {
				w.t.Errorf("the comparison has figures %v beside %s", figures, word)
			}
		}
	}
	w.run(false, "Audit of", bin, "audit", "runs/ppo-4x4-001")
	w.run(false, "wandb sync", bin, "export", "runs/ppo-4x4-001", "--wandb")
	w.run(false, "mlruns", bin, "export", "runs/ppo-4x4-001", "--mlflow")
	w.run(true, "sections to search", "go", "run", "./internal/site")
}

// browser goes from the list of runs to a figure for a paper, in both languages, dark, and on a phone.
func (w *walk) browser(b *tab, bin string) {
	const two = "run=0:ppo-4x4-001&run=0:ppo-4x4-002"
	w.step("the runs", func() {
		b.visit("/?token=" + token)
		b.is("both are there", `document.querySelectorAll('#runs tbody tr[data-run]').length === 2`)
	})
	w.step("search by a setting", func() {
		b.choose("#q", "lr<0.001")
		b.is("one is left", `document.querySelectorAll('#runs tbody tr[data-run]').length === 1`)
		b.choose("#q", "")
	})
	w.step("curves of both", func() {
		b.visit("/curves?" + two)
		b.is("they are drawn", `document.querySelector('.u-wrap canvas, .uplot canvas')`)
	})
	w.step("the comparison", func() {
		b.visit("/compare?" + two)
		b.is("it says in what they differ", on("compare-table")+" && "+on("spec-diff")+".innerText.includes('ppo.lr')")
		b.shot("walk-compare")
	})
	w.step("in Chinese", func() {
		b.visit("/compare?lang=zh&" + two)
		b.is("so it is", `document.documentElement.lang === 'zh-CN'`)
		b.visit("/?lang=en")
	})
	w.step("dark, on a phone", func() {
		b.media("dark")
		b.size(390, 844)
		b.visit("/compare?" + two)
		b.is("it fits", on("compare-table")+` && document.documentElement.scrollWidth <= innerWidth`)
		b.shot("walk-compare-phone-dark")
		b.media("light")
		b.size(1280, 900)
	})
	w.step("an episode", func() {
		b.visit("/theatre?run=0:ppo-4x4-001/seed-1")
		b.is("it is staged", "!"+on("stage")+".hidden && "+on("board")+".childElementCount > 0")
	})
	w.step("a figure for a paper", func() {
		b.visit("/curves?" + two)
		b.is("it can be saved", `!document.querySelector('#export').hidden &&
			document.querySelector('#export a[data-format=svg]').href.includes('/api/')`)
		b.do(`window.paper = null; fetch(document.querySelector('#export a[data-format=svg]').href).then((r) => r.text())` +
			`.then((x) => { window.paper = x })`)
		b.is("an SVG of both", `window.paper && window.paper.includes('<svg')`)
	})
	w.notified(b, bin)
}

// notified ends a run beside the page, which says so.
func (w *walk) notified(b *tab, bin string) {
	b.visit("/")
	b.do(`window.said = []; window.Notification = class { constructor(t, o) { said.push(t + ' ' + o.body); } }; ` +
		`Notification.permission = 'default'; Notification.requestPermission = async () => { Notification.permission = 'granted'; }`)
	train := exec.Command(bin, "train", "ppo-4x4", "--steps", "150000", "--set", "eval.episodes=20")
	train.Dir = w.dir
	b.must(train.Start())
	w.step("a run is begun beside the page", func() {
		b.is("a button asks", `document.querySelector('#tell')`)
		b.do(`document.querySelector('#tell').click()`)
		b.is("it runs", `document.querySelector('#runs tr[data-state=running]')`)
	})
	b.must(train.Wait()) // which trains
	w.step("its end is said", func() {
		b.is("by a notification", `said.length === 1 && said[0].includes('ppo-4x4-003') && said[0].includes('done')`)
	})
}

// site searches the docs, without a server.
func (w *walk) site(b *tab) {
	w.step("the docs", func() {
		b.visit("/index.html")
		b.choose("#q", "strangers bandit")
		b.is("search finds a page", `document.querySelector('#found a[href*="strangers"]')`)
	})
	w.step("a page found", func() {
		b.do(`document.querySelector('#found a').click()`)
		b.is("it opens", `location.href.includes('strangers') && document.querySelector('main h1')`)
		b.shot("walk-docs")
		b.is("it leads to Chinese", `document.querySelector('header a[lang=zh-CN]')`)
	})
}
