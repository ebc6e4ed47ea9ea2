package browsertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// shown has a page say when what it shows is first there, in milliseconds since it was asked for:
// rows that its script has drawn, or lines.
const shown = `new MutationObserver((_, o) => {
	if (document.querySelector('#runs tbody tr[tabindex]') || document.querySelector('.panel .uplot canvas')) {
		o.disconnect();
		requestAnimationFrame(() => requestAnimationFrame(() => { window.shownAt = performance.now(); }));
	}
}).observe(document, {subtree: true, childList: true});`

// TestTwoThousandRuns says how long the list, a search, groups and curves take with two thousand
// runs of five settings: HOP_MANY=1 go test -run TwoThousand; HOP_MANY=DIR keeps the runs there
// for the next time. On a machine that does nothing else each is to take less than half a second.
func TestTwoThousandRuns(t *testing.T) {
	dir := os.Getenv("HOP_MANY")
	if dir == "" {
		t.Skip("HOP_MANY=1, or a folder")
	}
	if dir == "1" {
		dir = t.TempDir()
	}
	if _, err := os.Stat(filepath.Join(dir, "runs")); err != nil {
		cmd := exec.Command("go", "test", "./serve", "-run", "TestManyAreWritten", "-args", "-many", filepath.Join(dir, "runs"))
		cmd.Dir = "../.."
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	base, _ := serve(t, program(t), dir)
	b := open(t, browser(t), base)
	_, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: shown})
	b.must(err)
	b.visit("/?token=" + token)
	b.is("all are listed", on("count")+".innerText.startsWith('2000')")
	took, cost := map[string][]float64{}, map[string][]float64{}
	measured := func(name string, f func() float64) {
		began := busy(t)
		took[name] = append(took[name], f())
		cost[name] = append(cost[name], busy(t)-began)
	}
	for range 5 {
		for _, c := range []struct{ name, do, until string }{
			{"list", "", ""},
			{"search", on("search") + ".value = 'lr<0.002 gamma>0.1'; " + on("search") + ".dispatchEvent(new Event('input'))",
				on("count") + ".innerText.startsWith('1000 of')"},
			{"group", on("group") + ".value = 'ppo.lr'; " + on("group") + ".dispatchEvent(new Event('change'))",
				"document.querySelectorAll('tr.group').length === 4"},
		} {
			if c.do != "" {
				b.visit("/")
				b.is("the list is there", "window.shownAt > 0")
			}
			measured(c.name, func() float64 { return b.time(c.do, c.until) })
		}
	}
	for i := range 6 {
		name := "curves again"
		if i == 0 {
			name = "curves, first time"
		}
		measured(name, func() float64 {
			b.visit("/curves?find=1&group=ppo.lr")
			b.is("curves are drawn", "window.shownAt > 0")
			return number(t, b.get("window.shownAt"))
		})
		b.is("all is read", `!document.querySelector('#says').innerText.includes('%') && document.querySelectorAll('.uplot').length === 4`)
	}
	b.accessible("many-curves")
	for _, name := range []string{"list", "search", "group", "curves, first time", "curves again"} {
		slices.Sort(took[name])
		slices.Sort(cost[name])
		median := took[name][len(took[name])/2]
		t.Logf("%-18s median %4.0f ms, %.0f; processor time of server and browser together, median %4.0f ms", name, median, took[name],
			cost[name][len(cost[name])/2])
		if median > 500 && os.Getenv("HOP_BUSY") == "" {
			t.Errorf("%s takes %.0f ms, want less than 500 on a machine that does nothing else", name, median)
		}
	}
	if n := b.get(`document.querySelectorAll('#chosen li').length`); n != "5" {
		t.Errorf("%s lines beside the curves, want the count and four groups", n)
	}
	b.quiet()
}

// time opens the list, or does something on it, and returns how many milliseconds pass until it is seen.
func (b *tab) time(do, until string) float64 {
	b.t.Helper()
	if do == "" {
		b.visit("/")
		b.is("the list is there", "window.shownAt > 0")
		return number(b.t, b.get("window.shownAt"))
	}
	js := fmt.Sprintf(`new Promise((done) => {
		const t = performance.now();
		%s;
		const look = () => {
			if (%s) requestAnimationFrame(() => done(performance.now() - t));
			else if (performance.now() - t > 20000) done(1e9);
			else setTimeout(look, 4);
		};
		look();
	})`, do, until)
	ms, err := chromedp.Run(b.ctx, chromedp.Evaluate[float64](js, chromedp.EvalAwaitPromise))
	b.must(err)
	return ms
}

// busy is how many milliseconds of processor time the server and the browser have used: all that
// this test has started.
func busy(t *testing.T) float64 {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	parent, used := map[int]int{}, map[int]float64{}
	for _, name := range files {
		b, err := os.ReadFile(name)
		_, rest, ok := strings.Cut(string(b), ") ")
		pid, err2 := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		f := strings.Fields(rest)
		if err != nil || err2 != nil || !ok || len(f) < 13 {
			continue // it has ended meanwhile
		}
		parent[pid], _ = strconv.Atoi(f[1])
		for _, ticks := range f[11:13] {
			n, _ := strconv.ParseFloat(ticks, 64)
			used[pid] += 10 * n
		}
	}
	sum := 0.
	for pid := range used {
		for of := parent[pid]; of > 1; of = parent[of] {
			if of == os.Getpid() {
				sum += used[pid]
				break
			}
		}
	}
	return sum
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}
