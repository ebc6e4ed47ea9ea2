package browsertest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"
)

// evil is another server on this machine, whose page tries to reach hop serve through its
// visitor's browser. It keeps the cookies that it is sent: browsers do not tell ports apart.
type evil struct {
	base string
	mu   sync.Mutex
	sent []string
}

func newEvil(t *testing.T) *evil {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &evil{base: "http://" + l.Addr().String()}
	h := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		e.sent = append(e.sent, r.Header.Get("Cookie"))
		e.mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>evil</title><main>evil</main>")
	})}
	go func() { _ = h.Serve(l) }()
	t.Cleanup(func() { _ = h.Close() })
	return e
}

// state is all files below a folder, with their sums, but locks, whose times tell of life.
func state(t *testing.T, dir string) string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		list = append(list, fmt.Sprintf("%s %x", name, sha256.Sum256(b)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(list)
	return strings.Join(list, "\n")
}

// changing are the addresses that change something, with what would.
func changing(run string) map[string]string {
	return map[string]string{
		"/api/runs/label":     `{"run":"` + run + `","tags":["evil"],"note":"evil"}`,
		"/api/control/start":  `{"preset":"ppo-4x4","sets":[],"seeds":"1","folder":0}`,
		"/api/control/resume": `{"run":"` + run + `"}`, "/api/control/audit": `{"run":"` + run + `"}`,
		"/api/control/ladder": `{"run":"` + run + `"}`,
		"/api/control/stop":   `{"job":"0:train-001"}`, "/api/join?game=staghunt&seat=0": `{}`,
		"/api/join/move": `{"ID":"x","At":0,"Action":0}`, "/api/join/leave": `{"ID":"x"}`,
	}
}

// TestAPageOfAnotherServerReachesNothing is visited by somebody who may act on hop serve and
// opens a page of another port of this machine, whose cookies are shared. It tries all that a
// page can; nothing of the machine changes, and nothing is read.
func TestAPageOfAnotherServerReachesNothing(t *testing.T) {
	chrome := browser(t)
	bin, dir := program(t), t.TempDir()
	hop(t, bin, dir, "train", "ppo-4x4", "--steps", "4000", "--set", "eval.episodes=20")
	const run = "0:ppo-4x4-001"
	trace := filepath.Join(dir, "trace")
	trap := filepath.Join(dir, "python")
	if err := os.WriteFile(trap, []byte("#!/bin/sh\necho sprung >> '"+trace+"'\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	base, _ := serve(t, bin, dir, "--control")
	e := newEvil(t)
	b := open(t, chrome, base)
	b.visit("/?token=" + token)
	b.is("the victim is in", `document.querySelector('#runs tbody tr[data-run]')`)
	time.Sleep(1500 * time.Millisecond) // until the server has looked at everything
	before := state(t, dir)

	python := url.Values{"preset": {"ppo"}, "set": {"game.name=python", "game.env=subprocess:check_output", "game.python=" + trap,
		`game.kwargs={"args":["touch","x"]}`}}
	reads := []string{"/", "/start?" + python.Encode(), "/api/runs", "/api/runs/stream", "/api/curves?run=" + run + "&m=return",
		"/api/control/jobs",
		"/api/theatre/stream?game=staghunt", "/curves?run=" + run, "/diagnose", "/page?file=" + run + "/report.html"}
	b.base = e.base
	type result struct{ attack, got string }
	var table []result
	try := func(attack, js string) {
		t.Helper()
		b.visit("/" + url.PathEscape(attack))
		b.do(`window.got = 'nothing'; window.base = ` + quote(base) + `; window.reads = ` + asJSON(t, reads) + `; window.changing = ` +
			asJSON(t, changing(run)) +
			`; window.frame = (src) => { const f = document.createElement('iframe'); f.name = 'f' + Math.random();
				if (src) f.src = src; document.body.append(f); return f; };` +
			`window.over = false; (async () => { ` + js + ` })().catch((e) => { got = 'error ' + e.message }).finally(() => { window.over = true })`)
		b.within(40*time.Second, attack, "window.over")
		got := b.get("window.got")
		table = append(table, result{attack, got})
		if got != "nothing" {
			t.Errorf("%s: the page got %.300s", attack, got)
		}
	}
	const body = `const see = (what) => { if (what && /ppo-4x4-001|staghunt|<main/.test(what)) got = String(what).slice(0, 200); };`
	for _, mode := range []string{"cors", "no-cors"} {
		for _, credentials := range []string{"include", "omit"} {
			try("fetch "+mode+" "+credentials,
				body+`for (const path of reads) { try { const c = new AbortController(); setTimeout(() => c.abort(), 1500);
				const r = await fetch(base + path, {mode: '`+mode+`', credentials: '`+credentials+`',
					signal: c.signal}); see(await r.text()); } catch {} }`)
			try("POST fetch "+mode+" "+credentials,
				`for (const [path, text] of Object.entries(changing)) for (const type of ['application/json', 'text/plain'])
				try { const r = await fetch(base + path, {method: 'POST', mode: '`+mode+`', credentials: '`+credentials+`', body: text,
				headers: '`+mode+`' === 'cors' ? {'Content-Type': type,
					Authorization: 'Bearer guess'} : {}}); if (r.ok) got = await r.text(); } catch {}`)
		}
	}
	try("iframe",
		body+`for (const path of reads) { const f = frame(base + path); await new Promise((ok) => { f.onload = ok; setTimeout(ok, 1500) });
		try { see(f.contentDocument.documentElement.outerHTML) } catch {} }`)
	try("img, script, style, object",
		body+`for (const path of reads) for (const [tag, at] of [['img', 'src'], ['script', 'src'], ['link', 'href'], ['object', 'data']]) {
		const x = document.createElement(tag); x.rel = 'stylesheet'; x[at] = base + path; document.body.append(x);
		await new Promise((ok) => { x.onload = () => { if (tag !== 'object') got = tag + ' loaded ' +
			path; ok() }; x.onerror = ok; setTimeout(ok, 400) }); }`)
	try("form POST",
		`for (const [path, text] of Object.entries(changing))
		for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
		const f = frame(), form = document.createElement('form'); form.method = 'POST'; form.enctype = type; form.action = base +
			path; form.target = f.name;
		const x = document.createElement('input'); x.name = text.slice(0, -1) +
			',"x":"'; x.value = '"}'; form.append(x); document.body.append(form); form.submit();
		await new Promise((ok) => setTimeout(ok, 150)); }`)
	try("window.open",
		body+`for (const path of reads) { const w = window.open(base + path, '_blank'); await new Promise((ok) => setTimeout(ok, 500));
		try { see(w.document.documentElement.outerHTML) } catch {} try { w.close() } catch {} }`)
	try("EventSource", `for (const path of reads.filter((p) => p.includes('stream'))) for (const withCredentials of [true, false]) {
		const s = new EventSource(base + path, {withCredentials}); s.onopen = () => { got = 'opened' }; for (const n of ['runs',
			'head', 'message']) s.addEventListener(n, (m) => { got = m.data });
		await new Promise((ok) => setTimeout(ok, 800)); s.close(); }`)
	try("WebSocket",
		`for (const path of reads) { const s = new WebSocket(base.replace('http', 'ws') + path); s.onopen = () => { got = 'opened' };
		await new Promise((ok) => { s.onerror = ok; s.onclose = ok; setTimeout(ok, 500) }); }`)
	try("beacon",
		`for (const [path, text] of Object.entries(changing)) 
		navigator.sendBeacon(base + path, new Blob([text], {type: 'text/plain'})); await new Promise((ok) => setTimeout(ok, 500));`)

	// A link that the visitor follows, or is made to: the door says so, and shows nothing.
	for _, path := range reads {
		b.visit("/navigate")
		b.do("location.href = " + quote(base+path))
		b.is("the visitor gets to "+path, "location.origin === "+quote(base)+" || document.body.innerText !== 'evil'")
		time.Sleep(200 * time.Millisecond)
		if text := b.get("document.body.innerText"); strings.Contains(text, "ppo-4x4-001\n") || strings.Contains(text,
			"subprocess:check_output\n") || strings.Contains(text, `"rows"`) {
			t.Errorf("a navigation to %s is answered: %.300s", path, text)
		}
	}
	table = append(table, result{"navigation", "nothing"})

	// The cookies that the other server was sent: its own program tries them on hop serve.
	e.mu.Lock()
	cookies := strings.Join(e.sent, "; ")
	e.mu.Unlock()
	for path, text := range changing(run) {
		r, _ := http.NewRequest("POST", base+path, strings.NewReader(text))
		r.Header.Set("Cookie", cookies)
		r.Header.Set("Origin", base)
		r.Header.Set("Content-Type", "application/json")
		w, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(w.Body)
		w.Body.Close()
		if seat := strings.HasPrefix(path, "/api/join"); !seat && w.StatusCode != http.StatusForbidden {
			t.Errorf("a stolen cookie: %s: %d %s", path, w.StatusCode, answer)
		}
	}
	if strings.Contains(cookies, token) {
		t.Error("the other server was sent the token")
	}

	if _, err := os.Stat(trace); err == nil {
		t.Error("a program was started")
	}
	if after := state(t, dir); after != before {
		t.Errorf("files have changed:\n%s\nwere\n%s", after, before)
	}
	for _, r := range table {
		t.Logf("%-32s %s", r.attack, r.got)
	}

	// The visitor, who came to no harm, can still act.
	b.base = base
	b.visit("/")
	b.click("edit")
	b.choose("[data-test=edit-tags]", "mine")
	b.click("edit-save")
	b.is("the visitor's own tag", `[...document.querySelectorAll('#runs .chip')].some((c) => c.textContent.includes('mine'))`)
}

func quote(s string) string { return fmt.Sprintf("%q", s) }

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The file that hop serve --open opens leads in, with the token to act, although browsers hold
// a file for a stranger.
func TestTheFileThatIsOpenedLeadsIn(t *testing.T) {
	chrome := browser(t)
	bin, dir := program(t), t.TempDir()
	hop(t, bin, dir, "train", "ppo-4x4", "--steps", "4000", "--set", "eval.episodes=20")
	script := "#!/bin/sh\necho \"$1\" > '" + filepath.Join(dir, "opened") + "'\n"
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	base, _ := serve(t, bin, dir, "--control", "--open")
	var file []byte
	for range 100 {
		if file, _ = os.ReadFile(filepath.Join(dir, "opened")); len(file) > 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	b := open(t, chrome, "file://")
	b.visit(strings.TrimSpace(string(file)))
	b.is("the page is there", "location.origin === "+quote(base)+
		" && !location.search.includes('token') && document.querySelector('#runs tbody tr[data-run]')")
	b.click("edit")
	b.choose("[data-test=edit-tags]", "mine")
	b.click("edit-save")
	b.is("and one may act", `[...document.querySelectorAll('#runs .chip')].some((c) => c.textContent.includes('mine'))`)
	b.quiet()
}
