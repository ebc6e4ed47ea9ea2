// Package browsertest tries hop serve in a real Chromium. It is a module of its own, so
// that hop itself does not depend on what drives a browser.
//
//	go test ./...                           # needs chromium; builds hop
//	HOP_SHOTS=shots go test ./...           # keeps pictures of every page
//	HOP_BIN=path/to/hop go test ./...       # tries that program
package browsertest

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

//go:embed axe/axe.min.js.gz
var axePacked []byte

// tab is one tab of the browser. What chromedp's interface is called is known here alone.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string

	mu   sync.Mutex
	said []string // errors on the console
}

// browser starts Chromium, once for a test.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := os.Getenv("CHROMIUM")
	for _, name := range []string{"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"} {
		if _, err := os.Stat(name); path == "" && err == nil {
			path = name
		}
	}
	if path == "" {
		t.Skip("there is no Chromium here")
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("lang", "en-US"), chromedp.Flag("hide-scrollbars", true))
	t.Cleanup(cancel)
	return ctx
}

// open opens a tab, wide and light, on a server.
func open(t *testing.T, browser context.Context, base string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx, base: base}
	b.size(1280, 900)
	b.media("light")
	go func() {
		for m, err := range chromedp.Console(ctx) {
			if err != nil {
				return
			}
			if kind := string(m.Type); kind == "error" || kind == "exception" {
				b.mu.Lock()
				b.said = append(b.said, kind+": "+m.Text)
				b.mu.Unlock()
			}
		}
	}()
	return b
}

func (b *tab) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) size(w, h int64) { b.must(chromedp.Do(b.ctx, chromedp.EmulateViewport(w, h))) }

// media makes the page light or dark.
func (b *tab) media(scheme string) {
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	b.must(err)
}

// visit opens an address of the server.
func (b *tab) visit(path string) {
	b.t.Helper()
	b.must(chromedp.Do(b.ctx, chromedp.Navigate(b.base+path)))
}

// is waits until a JavaScript expression is true, and fails with what it was about.
func (b *tab) is(what, js string) {
	b.t.Helper()
	b.within(20*time.Second, what, js)
}

func (b *tab) within(d time.Duration, what, js string) {
	b.t.Helper()
	var err error
	for until := time.Now().Add(d); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		var ok bool
		ok, err = chromedp.Run(b.ctx, chromedp.Evaluate[bool]("(() => { try { return !!("+js+") } catch { return false } })()"))
		if ok && err == nil {
			return
		}
	}
	b.shot("failed")
	b.t.Fatalf("%s: not so after %v (%v); the page says\n%.3000s\nconsole %q", what, d, err, b.text("main"), b.said)
}

// do runs JavaScript.
func (b *tab) do(js string) {
	b.t.Helper()
	_, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("(() => { "+js+"; return true })()"))
	b.must(err)
}

// get returns what a JavaScript expression is, as text.
func (b *tab) get(js string) string {
	b.t.Helper()
	s, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("String("+js+")"))
	b.must(err)
	return s
}

func (b *tab) text(selector string) string {
	b.t.Helper()
	return b.get(fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector))
}

// on is the selector of what is meant for tests.
func on(name string) string { return fmt.Sprintf(`document.querySelector('[data-test="%s"]')`, name) }

// click clicks what is meant for tests, once it is there and enabled.
func (b *tab) click(name string) {
	b.t.Helper()
	b.is(name+" can be clicked", on(name)+" && !"+on(name)+".disabled")
	b.do(on(name) + ".click()")
}

// choose sets a field or a choice as a person would.
func (b *tab) choose(selector, value string) {
	b.t.Helper()
	b.is(selector+" is there", fmt.Sprintf("document.querySelector(%q)", selector))
	b.do(fmt.Sprintf(`const x = document.querySelector(%q); x.value = %q; x.dispatchEvent(new Event('input', {bubbles: true})); `+
		`x.dispatchEvent(new Event('change', {bubbles: true}))`, selector, value))
}

// press presses a key on what has the focus.
func (b *tab) press(keys string) {
	b.t.Helper()
	b.must(chromedp.Do(b.ctx, chromedp.KeyEvent(keys)))
}

// shot keeps a picture, if HOP_SHOTS names a folder.
func (b *tab) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("HOP_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
	}
	if err != nil {
		b.t.Error(err)
	}
}

var axe = sync.OnceValue(func() string {
	z, err := gzip.NewReader(bytes.NewReader(axePacked))
	if err != nil {
		panic(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		panic(err)
	}
	return string(text)
})

// accessible has axe-core look at the page, light and dark; nothing serious may be found.
func (b *tab) accessible(page string) {
	b.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		b.media(scheme)
		b.do("if (!window.axe) { " + axe() + " }")
		text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](
			`axe.run(document, {resultTypes: ['violations'], iframes: false}).then((r) => JSON.stringify(r.violations.map((v) => `+
				`({id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.slice(0, 4).map((n) => `+
				`n.html.slice(0, 200) + ' ' + (n.any[0]?.message ?? ''))}))))`,
			chromedp.EvalAwaitPromise))
		b.must(err)
		var found []struct {
			ID, Impact, Help string
			Nodes            []string
		}
		b.must(json.Unmarshal([]byte(text), &found))
		for _, f := range found {
			if f.Impact == "serious" || f.Impact == "critical" {
				b.t.Errorf("%s, %s: %s (%s): %s\n  %s", page, scheme, f.ID, f.Impact, f.Help, strings.Join(f.Nodes, "\n  "))
			}
		}
		b.shot(page + "-" + scheme)
	}
	b.media("light")
}

// expected are refusals, which tests ask for and browsers note, and streams whose server
// ended.
var expected = regexp.MustCompile(`status of 4(00|01|09|22) |ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION`)

// quiet fails if something else was said on the console.
func (b *tab) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, line := range b.said {
		if !expected.MatchString(line) {
			b.t.Errorf("the console says %s", line)
		}
	}
	b.said = nil
}

// fits fails if the page stays wider than the screen: what is drawn to a width is drawn anew a moment later.
func (b *tab) fits(page string) {
	b.t.Helper()
	b.size(390, 844)
	wide := func() bool { return b.get("document.documentElement.scrollWidth > innerWidth + 1") == "true" }
	for i := 0; i < 20 && wide(); i++ {
		time.Sleep(100 * time.Millisecond)
	}
	if wide() {
		b.t.Errorf("%s is wider than a phone: %s", page, b.get("document.documentElement.scrollWidth"))
	}
	b.shot(page + "-phone")
	b.size(1280, 900)
}
