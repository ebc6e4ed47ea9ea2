package auth

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a server behind a door, with a page, data, something that changes, a stream,
// something that controls, and a page that panics.
type site struct {
	*Door
	url  string
	logs []string
	got  int // requests that came in

	sends []string // header lines of every request
}

func open(t *testing.T, c Config, wait *patience) *site {
	t.Helper()
	s := &site{}
	c.Log = func(format string, args ...any) { s.logs = append(s.logs, fmt.Sprintf(format, args...)) }
	d, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if wait != nil {
		d.wait = *wait
	}
	s.Door = d
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, r *http.Request) {
		s.got++
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		fmt.Fprintln(w, "in")
	}
	mux.HandleFunc("/", answer)
	mux.HandleFunc("/panics", func(http.ResponseWriter, *http.Request) { panic("ouch") })
	mux.HandleFunc("/half", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 1<<16)); panic("ouch") })
	mux.HandleFunc("/api/slow/stream", func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		for {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil || rc.Flush() != nil {
				return
			}
		}
	})
	mux.HandleFunc("/api/stream", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "data: in\n\n")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
		case <-time.After(time.Second):
			fmt.Fprint(w, "data: still\n\n")
		}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + l.Addr().String()
	l = d.Listen(l)
	h := d.Server(d.Wrap(mux))
	done := make(chan error)
	go func() { done <- h.Serve(l) }()
	t.Cleanup(func() {
		h.Close()
		<-done
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

// asked is one request; header lines are "Name: value".
func (s *site) ask(t *testing.T, method, path, body string, header ...string) (code int, text string, h http.Header) {
	t.Helper()
	r, err := http.NewRequest(method, s.url+"/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.URL.Opaque = path // as it is, whatever it holds
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			r.Host = value
		}
		r.Header.Add(name, value)
	}
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	a, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, _ := io.ReadAll(a.Body)
	return a.StatusCode, string(b), a.Header
}

const (
	cross  = "Sec-Fetch-Site: cross-site"
	ours   = "Sec-Fetch-Site: same-origin"
	near   = "Sec-Fetch-Site: same-site"
	goes   = "Sec-Fetch-Mode: navigate"
	secret = "0123456789abcdefghij"
	isJSON = "Content-Type: application/json"
	bearer = "Authorization: Bearer " + secret
)

func TestAttacksAreRefused(t *testing.T) {
	local := open(t, Config{Addr: "127.0.0.1:0", Hosts: []string{"Lab.Example"}, Token: secret, Control: true}, nil)
	local.sends = []string{bearer} // as its own pages and programs do
	browser := open(t, Config{Addr: "127.0.0.1:0", Token: secret, Control: true}, nil)
	browser.sends = []string{"Cookie: " + browser.cookie() + "=" + browser.pass(Act)} // which every server of this host is sent
	guarded := open(t, Config{Addr: "127.0.0.1:0", Token: secret}, nil)
	control := open(t, Config{Addr: "localhost:0", Control: true}, nil)
	own, looks := "Authorization: Bearer "+control.act, "Authorization: Bearer "+control.look
	port := local.url[strings.LastIndex(local.url, ":"):]
	for _, c := range []struct {
		name         string
		s            *site
		method, path string
		body         string
		header       []string
		want         int
	}{
		{"a page", local, "GET", "/", "", nil, 200},
		{"as localhost", local, "GET", "/", "", []string{"Host: localhost" + port}, 200},
		{"through a forwarded port", local, "GET", "/", "", []string{"Host: localhost:9999"}, 200},
		{"as a name that was given", local, "GET", "/", "", []string{"Host: lab.example"}, 200},
		{"DNS rebinding", local, "GET", "/", "", []string{"Host: evil.example"}, 421},
		{"DNS rebinding, with the port", local, "GET", "/api/runs", "", []string{"Host: evil.example" + port}, 421},
		{"a name that begins as ours", local, "GET", "/", "", []string{"Host: localhost.evil.example"}, 421},
		{"a name with our address in it", local, "GET", "/", "", []string{"Host: 127.0.0.1.evil.example"}, 421},
		{"another address in digits", local, "GET", "/", "", []string{"Host: 10.0.0.7"}, 421},
		{"a host with markup", local, "GET", "/", "", []string{"Host: <script>"}, 421},

		{"a change by a page of ours", local, "POST", "/api/note", "{}", []string{isJSON, "Origin: " + local.url, ours}, 200},
		{"a change by a program", local, "POST", "/api/note", "{}", []string{isJSON}, 200},
		{"cross-origin POST", local, "POST", "/api/note", "{}", []string{isJSON, "Origin: http://evil.example"}, 403},
		{"cross-site POST", local, "POST", "/api/note", "{}", []string{isJSON, cross}, 403},
		{"POST from another port", local, "POST", "/api/note", "{}", []string{isJSON, "Origin: http://127.0.0.1:1", near}, 403},
		{"POST of a page without origin", local, "POST", "/api/note", "{}", []string{isJSON, "Origin: null"}, 403},
		{"a form elsewhere", local, "POST", "/api/note", "{}", []string{"Content-Type: text/plain"}, 415},
		{"a form elsewhere, no kind", local, "POST", "/api/note", "{}", nil, 415},
		{"DELETE across origins", local, "DELETE", "/api/note", "", []string{"Origin: http://evil.example"}, 403},
		{"a stream across origins", local, "GET", "/api/stream", "", []string{"Origin: http://evil.example"}, 403},
		{"a stream in a page elsewhere", local, "GET", "/api/stream", "", []string{cross, "Sec-Fetch-Mode: no-cors"}, 403},
		{"data as a picture elsewhere", local, "GET", "/api/runs", "", []string{cross, "Sec-Fetch-Dest: image"}, 403},
		{"a link elsewhere", local, "GET", "/curves", "", []string{cross, goes, "Sec-Fetch-Dest: document"}, 403},
		{"a link on another port, with the cookie", browser, "GET", "/start?set=game.name=python", "", []string{near, goes,
			"Sec-Fetch-Dest: document"}, 403},
		{"a page of ours, with the cookie", browser, "GET", "/start", "", []string{ours, goes, "Sec-Fetch-Dest: document"}, 200},
		{"a script of another port, with the cookie", browser, "GET", "/api/runs", "", []string{near, "Origin: http://127.0.0.1:1"}, 403},
		{"a change with the cookie and the token, by a page of ours", browser, "POST", "/api/note", "{}", []string{isJSON, "Origin: " +
			browser.url, bearer}, 200},
		{"a change with the cookie alone", browser, "POST", "/api/note", "{}", []string{isJSON, "Origin: " + browser.url, ours}, 403},
		{"a change with the cookie as a token", browser, "POST", "/api/note", "{}", []string{isJSON, "Authorization: Bearer " +
			browser.pass(Act)}, 403},
		{"a seat with the cookie", browser, "POST", "/api/join", "{}", []string{isJSON, "Origin: " + browser.url, ours}, 200},
		{"jobs with the cookie", browser, "GET", "/api/control/jobs", "", []string{ours}, 200},
		{"the token as a cookie", guarded, "GET", "/", "", []string{"Cookie: " + guarded.cookie() + "=" + secret}, 401},
		{"a change with the cookie, on another port", browser, "POST", "/api/note", "{}", []string{isJSON,
			"Origin: http://127.0.0.1:1", near}, 403},
		{"a frame elsewhere", local, "GET", "/", "", []string{cross, goes, "Sec-Fetch-Dest: iframe"}, 403},

		{"no token", guarded, "GET", "/", "", nil, 401},
		{"no token, data", guarded, "GET", "/api/runs", "", nil, 401},
		{"a script needs none", guarded, "GET", "/static/kit.js", "", nil, 200},
		{"the token", guarded, "GET", "/", "", []string{bearer}, 200},
		{"a wrong token", guarded, "GET", "/", "", []string{"Authorization: Bearer 0123456789abcdefghiJ"}, 401},
		{"a truncated token", guarded, "GET", "/", "", []string{bearer[:len(bearer)-1]}, 401},
		{"a longer token", guarded, "GET", "/", "", []string{bearer + "k"}, 401},
		{"an empty token", guarded, "GET", "/", "", []string{"Authorization: Bearer "}, 401},
		{"the token as another cookie", guarded, "GET", "/", "", []string{"Cookie: hop=" + secret}, 401},
		{"the token in the address of data", guarded, "GET", "/api/runs?token=" + secret, "", nil, 401},
		{"a wrong token in the address", guarded, "GET", "/?token=" + secret[1:], "", nil, 401},
		{"an empty one", guarded, "GET", "/?token=", "", nil, 401},

		{"control that is off", guarded, "POST", "/api/control/start", "{}", []string{isJSON, bearer}, 403},
		{"a note where control is off", guarded, "POST", "/api/runs/label", "{}", []string{isJSON, bearer}, 403},
		{"a seat where control is off", guarded, "POST", "/api/join", "{}", []string{isJSON, bearer}, 200},
		{"a seat without the token", guarded, "POST", "/api/join", "{}", []string{isJSON}, 401},
		{"what only begins as a seat", guarded, "POST", "/api/joined", "{}", []string{isJSON, bearer}, 403},
		{"control without the token", control, "POST", "/api/control/start", "{}", []string{isJSON}, 401},
		{"control's list without the token", control, "GET", "/api/control", "", nil, 401},
		{"control with the token", control, "POST", "/api/control/start", "{}", []string{isJSON, own}, 200},
		{"control, across origins", control, "POST", "/api/control/start", "{}", []string{isJSON, own, "Origin: http://evil.example"}, 403},
		{"control by who may look", control, "POST", "/api/control/start", "{}", []string{isJSON, looks}, 403},
		{"control's list by who may look", control, "GET", "/api/control/jobs", "", []string{looks}, 403},
		{"a note by who may look", control, "POST", "/api/runs/label", "{}", []string{isJSON, looks}, 403},
		{"deleting by who may look", control, "DELETE", "/api/runs", "", []string{looks}, 403},
		{"a seat for who may look", control, "POST", "/api/join/move", "{}", []string{isJSON, looks}, 200},
		{"reading by who may look", control, "GET", "/", "", []string{looks}, 200},
		{"reading beside control, without a token", control, "GET", "/", "", nil, 401},
		{"a change below /static/", guarded, "POST", "/static/kit.js", "", nil, 401},

		{"out of the folder", local, "GET", "/static/../../etc/passwd", "", nil, 400},
		{"out of the folder, encoded", local, "GET", "/static/%2e%2e/%2e%2e/etc/passwd", "", nil, 400},
		{"out of the folder, encoded more", local, "GET", "/static/..%2f..%2fetc/passwd", "", nil, 400},
		{"out of the folder, backslashes", local, "GET", `/static/..%5c..%5cetc`, "", nil, 400},
		{"a zero byte", local, "GET", "/static/kit.js%00.css", "", nil, 400},
		{"a zero byte in a name", local, "GET", "/api/runs?run=0:a%00b", "", nil, 400},
		{"a broken query", local, "GET", "/api/runs?run=%zz", "", nil, 400},
		{"an address of another host", local, "GET", "http://evil.example/", "", nil, 400},
		{"a long address", local, "GET", "/?q=" + strings.Repeat("x", maxAddress), "", nil, 414},
		{"a long header", local, "GET", "/", "", []string{"X-Long: " + strings.Repeat("x", 2*maxHeader)}, 431},
		{"a huge body", local, "POST", "/api/note", strings.Repeat("x", maxBody+1), []string{isJSON}, 413},
	} {
		before := c.s.got
		code, text, _ := c.s.ask(t, c.method, c.path, c.body, append(c.header, c.s.sends...)...)
		if code != c.want {
			t.Errorf("%s: %d %.200s, want %d", c.name, code, text, c.want)
		}
		if in := c.s.got > before; in != (code == 200 || code == 413) {
			t.Errorf("%s: answered %d, and came in: %v", c.name, code, in)
		}
		if strings.Contains(text, "<script") || strings.Contains(text, secret) {
			t.Errorf("%s: the answer holds what was sent: %.300s", c.name, text)
		}
	}
}

func TestAPassIsKeptInACookieAndNotTheToken(t *testing.T) {
	s := open(t, Config{Addr: ":0", Token: secret, Control: true}, nil)
	code, text, h := s.ask(t, "GET", "/curves?run=0:a&token="+secret, "")
	cookie := h.Get("Set-Cookie")
	if code != 200 || !strings.Contains(text, `data-to="/curves?run=0%3Aa" data-act="true"`) || strings.Contains(text+cookie, secret) {
		t.Errorf("%d %s", code, text)
	}
	for _, part := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(cookie, "; "+part) {
			t.Errorf("the cookie %q lacks %s", cookie, part)
		}
	}
	name, _, _ := strings.Cut(cookie, ";")
	if code, _, _ := s.ask(t, "GET", "/curves", "", "Cookie: "+name); code != 200 {
		t.Errorf("with the cookie: %d", code)
	}
	if code, _, _ := s.ask(t, "GET", "/curves", "", "Cookie: "+name[:len(name)-1]); code != 401 {
		t.Errorf("with half the cookie: %d", code)
	}
	u := &url.URL{Path: "//evil.example/"}
	if to := onThisServer(u, nil); to != "/evil.example/" {
		t.Errorf("sent on to %s", to)
	}
	if _, text, _ := s.ask(t, "GET", "/?token="+s.look, ""); !strings.Contains(text, `data-act="false"`) {
		t.Errorf("who may look: %s", text)
	}
}

// On loopback too: other users of the machine, and pages in a browser, reach it.
func TestEveryAddressHasATokenForEachRole(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:8770", "[::1]:0", "localhost:0", ":8770", "0.0.0.0:0", "[::]:0", "192.168.1.2:1",
		"lab.example:1"} {
		for _, control := range []bool{false, true} {
			d, err := New(Config{Addr: addr, Control: control})
			if err != nil {
				t.Fatal(err)
			}
			if len(d.act) != 43 || len(d.look) != 43 || d.act == d.look {
				t.Errorf("%s: tokens %q and %q", addr, d.act, d.look)
			}
			acts := Look
			if control {
				acts = Act
			}
			if d.knows(d.act) != acts || d.knows(d.look) != Look || d.knows("") != Nobody {
				t.Errorf("%s, control %v: %s, %s", addr, control, d.knows(d.act), d.knows(d.look))
			}
		}
	}
	for _, bad := range []Config{{Addr: "8770"}, {Addr: ":1", Token: "short"}, {Addr: ":1", Token: "with a space and more"}} {
		if _, err := New(bad); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

// A browser that comes from elsewhere with the token, as from a link in a mail, would send
// no strict cookie if an answer sent it on.
func TestWhoComesFromElsewhereIsSentOnByAPage(t *testing.T) {
	s := open(t, Config{Addr: "127.0.0.1:0", Token: secret}, nil)
	code, text, h := s.ask(t, "GET", "/x?a=%22&token="+secret, "", cross, goes, "Sec-Fetch-Dest: document")
	if code != 200 || h.Get("Set-Cookie") == "" || !strings.Contains(text, `content="0; url=/x?a=%22"`) || s.got != 0 {
		t.Errorf("%d %q\n%s", code, h.Get("Set-Cookie"), text)
	}
	code, text, h = s.ask(t, "GET", "/x?run=0:a", "", cross, goes, "Sec-Fetch-Dest: document")
	if code != 403 || h.Get("Set-Cookie") != "" || !strings.Contains(text, `<a href="/x?run=0%3Aa">`) {
		t.Errorf("a link without the token: %d\n%s", code, text)
	}
	if code, _, h := s.ask(t, "GET", "/?token="+secret, "", cross, "Sec-Fetch-Dest: iframe"); code != 403 || h.Get("Set-Cookie") != "" {
		t.Errorf("a frame was let in: %d", code)
	}
}

func TestHeadersAreStrict(t *testing.T) {
	s := open(t, Config{Addr: "127.0.0.1:0"}, nil)
	_, _, h := s.ask(t, "GET", "/", "")
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Resource-Policy": "same-origin"} {
		if h.Get(name) != want {
			t.Errorf("%s is %q, want %s", name, h.Get(name), want)
		}
	}
	if p := h.Get("Content-Security-Policy"); !strings.HasPrefix(p, "default-src 'self';") || strings.Contains(p, "unsafe") {
		t.Errorf("the policy is %s", p)
	}
}

func TestAPanicTakesNothingElseDown(t *testing.T) {
	s := open(t, Config{Addr: "127.0.0.1:0", Token: secret}, nil)
	if code, text, _ := s.ask(t, "GET", "/panics", "", bearer); code != 500 || !strings.Contains(text, "fault of the server") {
		t.Errorf("%d %s", code, text)
	}
	if a, err := get(t, s.url+"/half"); err == nil {
		if _, err = io.ReadAll(a.Body); err == nil {
			t.Error("half an answer looks whole")
		}
		a.Body.Close()
	}
	if code, _, _ := s.ask(t, "GET", "/", "", bearer); code != 200 {
		t.Errorf("afterwards: %d", code)
	}
	if len(s.logs) != 2 || !strings.Contains(s.logs[0], "/panics") || !strings.Contains(s.logs[0], "ouch") {
		t.Errorf("logged %q", s.logs)
	}
}

// get asks with the token.
func get(t *testing.T, address string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequest("GET", address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	return http.DefaultClient.Do(r)
}

func quick() *patience {
	const ms = time.Millisecond
	return &patience{header: 200 * ms, body: 400 * ms, answer: 1000 * ms, slow: 300 * ms, idle: 1000 * ms}
}

// TestSlowClientsAreDropped sends headers and bodies byte by byte, and takes no stream.
func TestSlowClientsAreDropped(t *testing.T) {
	s := open(t, Config{Addr: "127.0.0.1:0", Token: secret, Control: true}, quick())
	host := strings.TrimPrefix(s.url, "http://")
	for name, begins := range map[string]string{
		"headers": "GET / HTTP/1.1\r\nHost: localhost\r\n" + bearer + "\r\nX-A: ",
		"a body": "POST /api/note HTTP/1.1\r\nHost: localhost\r\n" + bearer +
			"\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n",
		"reading": "GET /api/slow/stream HTTP/1.1\r\nHost: localhost\r\n" + bearer + "\r\n\r\n",
	} {
		c, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, begins)
		ended := make(chan time.Duration, 1)
		start := time.Now()
		go func() {
			for {
				if name == "reading" { // it takes nothing, until the server gives up
					time.Sleep(50 * time.Millisecond)
					s.mu.Lock()
					open := s.open
					s.mu.Unlock()
					if open == 0 && time.Since(start) > 100*time.Millisecond {
						break
					}
				} else if _, err := c.Write([]byte("x")); err != nil {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
			ended <- time.Since(start)
		}()
		select {
		case <-ended:
		case <-time.After(3 * time.Second):
			t.Errorf("%s: still held after 3 s", name)
		}
		c.Close()
	}
}

// TestAStreamOutlivesTheTimes of ordinary requests.
func TestAStreamOutlivesTheTimes(t *testing.T) {
	s := open(t, Config{Addr: "127.0.0.1:0", Token: secret, Control: true}, quick())
	a, err := get(t, s.url+"/api/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil || !strings.Contains(string(b), "still") {
		t.Errorf("%q %v", b, err)
	}
}

func TestStreamsAreCounted(t *testing.T) {
	s := open(t, Config{Addr: "127.0.0.1:0", Token: secret}, nil)
	s.streams["127.0.0.1"], s.Door.open = maxEach-1, maxEach-1
	ctx, cancel := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, "GET", s.url+"/api/stream", nil)
	r.Header.Set("Authorization", "Bearer "+secret)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(a.Body).ReadString('\n'); err != nil || line != "data: in\n" {
		t.Fatalf("%q %v", line, err)
	}
	if code, text, h := s.ask(t, "GET", "/api/stream", "", bearer); code != 429 || h.Get("Retry-After") == "" ||
		!strings.Contains(text, `{"error":`) {
		t.Errorf("one too many: %d %s", code, text)
	}
	cancel()
	a.Body.Close()
	for range 100 {
		s.mu.Lock()
		n := s.Door.open
		s.mu.Unlock()
		if n == maxEach-1 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("a stream that has ended still counts")
}

func TestASandboxedPageIsShownByOursAlone(t *testing.T) {
	w := httptest.NewRecorder()
	Sandbox(w.Header())
	p := w.Header().Get("Content-Security-Policy")
	if !strings.HasPrefix(p, "sandbox;") || strings.Contains(p, "allow") || !strings.Contains(p, "frame-ancestors 'self'") {
		t.Error(p)
	}
}

func FuzzDoor(f *testing.F) {
	f.Add("/", "localhost", "", "token=a")
	f.Add("/api/control/x", "evil.example", "http://evil.example", "run=0%3Aa")
	f.Add("/static/../..", "[::1]:1", "null", "%zz")
	f.Add("/start", "127.0.0.1:1", "http://127.0.0.1:2", "set=game.name=python&set=game.env=subprocess:check_output")
	f.Add("//evil.example/static/", "localhost", "", "token=")
	f.Add("/api/join", "localhost", "http://localhost", "run=0:--env=evil:make")
	d, err := New(Config{Addr: ":0", Token: secret, Control: true})
	if err != nil {
		f.Fatal(err)
	}
	in := false
	h := d.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { in = true }))
	f.Fuzz(func(t *testing.T, path, host, origin, query string) {
		r := httptest.NewRequest("POST", "/", strings.NewReader("{}"))
		r.URL.Path, r.URL.RawQuery, r.Host = path, query, host
		r.Header.Set("Origin", origin)
		in = false
		h.ServeHTTP(httptest.NewRecorder(), r)
		if in && !strings.HasPrefix(path, "/static/") {
			t.Errorf("%q %q %q %q came in without the token", path, host, origin, query)
		}
	})
}
