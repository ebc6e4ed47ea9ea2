package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// policy is the Content-Security-Policy of the server's own pages: nothing from elsewhere,
// no script or style but files, and no page that shows them inside itself.
const policy = "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'self'; " +
	"frame-src 'self'; frame-ancestors 'none'"

// Sandbox says that an answer is a page out of a run's folder, such as an audit's: it is
// shown, inside a page of ours, and can do nothing. Its styles and pictures stand in it.
func Sandbox(h http.Header) {
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors 'self'")
	h.Set("X-Frame-Options", "SAMEORIGIN")
}

// refusal is why a request is not let in.
type refusal struct {
	code int
	says string
	on   string // where a person who came from elsewhere can go on to
}

// Wrap returns a handler that lets in to next what may come in.
func (d *Door) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := &watched{ResponseWriter: w}
		defer d.caught(out, r)
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		times := http.NewResponseController(w)
		_ = times.SetWriteDeadline(time.Now().Add(d.wait.answer))
		for _, ask := range []func(*http.Request) *refusal{d.address, d.named} {
			if no := ask(r); no != nil {
				refuse(w, r, no)
				return
			}
		}
		if d.entered(w, r) {
			return
		}
		for _, ask := range []func(*http.Request) *refusal{sameOrigin, d.known} {
			if no := ask(r); no != nil {
				refuse(w, r, no)
				return
			}
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		if isStream(r) {
			who, ok := d.enter(r)
			if !ok {
				h.Set("Retry-After", "5")
				refuse(w, r, &refusal{code: http.StatusTooManyRequests,
					says: "Too many pages are following this server; close some and load this one anew."})
				return
			}
			defer d.leave(who)
			_ = times.SetReadDeadline(time.Time{})
			_ = times.SetWriteDeadline(time.Time{})
			out.each = d.wait.slow
		}
		next.ServeHTTP(out, r)
	})
}

// Allowed reports whether it is a request of somebody who may change, start and stop something.
func (d *Door) Allowed(r *http.Request) bool { return d.Role(r) == Act }

// Role returns whose request it is: by the pass in its cookie, or by the token in its header.
func (d *Door) Role(r *http.Request) Role {
	if role := d.bearer(r); role != Nobody {
		return role
	}
	if c, err := r.Cookie(d.cookie()); err == nil {
		return d.among(c.Value, d.pass(Act), d.pass(Look))
	}
	return Nobody
}

// bearer returns the role of the token in a request's header, which no page elsewhere can
// have a browser send.
func (d *Door) bearer(r *http.Request) Role {
	if given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return d.knows(given)
	}
	return Nobody
}

// isStream goes by the address: streams are what ends in /stream.
func isStream(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/stream") }

func isAPI(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/api/") }

func changes(r *http.Request) bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

// address refuses what no page of the server asks for.
func (d *Door) address(r *http.Request) *refusal {
	raw := strings.ToLower(r.URL.EscapedPath())
	odd := func(s string) bool { return strings.ContainsAny(s, "\x00\\") }
	switch {
	case len(r.RequestURI) > maxAddress:
		return &refusal{code: http.StatusRequestURITooLong, says: "The address is too long."}
	case r.URL.Host != "" || !strings.HasPrefix(r.URL.Path, "/"), strings.Contains(raw, "%2f"), strings.Contains(raw, "%5c"), odd(r.URL.Path),
		slices.Contains(strings.Split(r.URL.Path, "/"), ".."):
		return &refusal{code: http.StatusBadRequest, says: "There is no such address."}
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return &refusal{code: http.StatusBadRequest, says: "What follows the question mark of the address cannot be read."}
	}
	for _, values := range q {
		if slices.ContainsFunc(values, func(s string) bool { return strings.Contains(s, "\x00") }) {
			return &refusal{code: http.StatusBadRequest, says: "The address holds a zero byte."}
		}
	}
	return nil
}

// named refuses requests for another host. A page elsewhere whose name was made to point
// to this machine (DNS rebinding) asks for its own name. An address in digits cannot be
// made to point elsewhere; it must be the one that the request came in by.
func (d *Door) named(r *http.Request) *refusal {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(strings.ToLower(host), "["), "]")
	if host == "localhost" || host != "" && (host == d.host || slices.Contains(d.c.Hosts, host)) {
		return nil
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		if at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
			if local, err := netip.ParseAddrPort(at.String()); err == nil && local.Addr().Unmap() == ip.Unmap() {
				return nil
			}
		}
	}
	return &refusal{code: http.StatusMisdirectedRequest,
		says: fmt.Sprintf("This server is not called %.100q. Ask for it by its address or as localhost, "+
			"or start it with --host and that name.", host)}
}

// foreign reports whether the browser says that another server's page asks. Another port of
// this machine is another server, though its cookies are ours: "same-site".
func foreign(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site != "" && site != "same-origin" && site != "none"
}

// sameOrigin refuses what another page has its visitor's browser ask for. A person who
// followed a link is shown where it leads and can go on; nothing is done before that.
func sameOrigin(r *http.Request) *refusal {
	no := &refusal{code: http.StatusForbidden, says: "The request comes from a page of another server."}
	if foreign(r) {
		if r.Header.Get("Sec-Fetch-Dest") == "document" && !changes(r) && !isAPI(r) {
			no.says, no.on = "A page of another server led here.", onThisServer(r.URL, r.URL.Query())
		}
		return no
	}
	if origin := r.Header.Get("Origin"); origin != "" && (changes(r) || isAPI(r)) {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return no
		}
	}
	if changes(r) && r.ContentLength != 0 { // a form elsewhere cannot send this
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			return &refusal{code: http.StatusUnsupportedMediaType, says: "What is sent must be JSON (Content-Type: application/json)."}
		}
	}
	return nil
}

// onThisServer is an address with a query, which leads to no other host, as //evil would.
func onThisServer(u *url.URL, q url.Values) string {
	to := url.URL{Path: "/" + strings.TrimLeft(u.Path, "/"), RawQuery: q.Encode()}
	return to.String()
}

// entered takes a token out of a page's address, keeps a pass in a cookie, and sends the
// visitor to the address without it, by a page: its script keeps the token of who may act,
// and browsers send no strict cookie along when an answer sends on who came from elsewhere,
// such as from the file that hop serve --open opens.
func (d *Door) entered(w http.ResponseWriter, r *http.Request) bool {
	q := r.URL.Query()
	page := r.Header.Get("Sec-Fetch-Dest")
	if !q.Has("token") || changes(r) || isAPI(r) || page != "" && page != "document" {
		return false
	}
	role := d.knows(q.Get("token"))
	if role == Nobody {
		refuse(w, r, &refusal{code: http.StatusUnauthorized, says: wrongToken})
		return true
	}
	http.SetCookie(w, &http.Cookie{Name: d.cookie(), Value: d.pass(role), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil, MaxAge: 30 * 24 * 3600})
	q.Del("token")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = onward.Execute(w, struct {
		To  string
		Act bool
	}{onThisServer(r.URL, q), role == Act})
	return true
}

const (
	wrongToken = "That is not this server's token. Open the address that hop serve printed when it was started."
	noToken    = "This needs the server's token. Open the address that hop serve printed when it was started."
	noControl  = "Nothing can be changed, started or stopped here: hop serve was started without --control."
	looksOnly  = "Your token lets you look. To change, start or stop something, open the address for that, which hop serve printed too."
	noKey      = "This browser may look, and does not hold the token to change something: open the address that hop serve printed anew. " +
		"Programs send it in a header, Authorization: Bearer TOKEN."
)

// known refuses whoever does not show the token that a request needs. A seat in a game is
// no change: nothing is written, and it is given up by itself.
func (d *Door) known(r *http.Request) *refusal {
	if strings.HasPrefix(r.URL.Path, "/static/") && !changes(r) {
		return nil
	}
	below := func(path string) bool { return r.URL.Path == path || strings.HasPrefix(r.URL.Path, path+"/") }
	acts := below(controlPath) || changes(r) && !below(joinPath)
	switch role := d.Role(r); {
	case role == Nobody:
		return &refusal{code: http.StatusUnauthorized, says: noToken}
	case acts && !d.c.Control:
		return &refusal{code: http.StatusForbidden, says: noControl}
	case acts && role != Act:
		return &refusal{code: http.StatusForbidden, says: looksOnly}
	case acts && changes(r) && d.bearer(r) != Act:
		return &refusal{code: http.StatusForbidden, says: noKey}
	}
	return nil
}

// enter counts a client's stream, unless there are too many.
func (d *Door) enter(r *http.Request) (who string, ok bool) {
	who, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		who = r.RemoteAddr
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open >= maxStreams || d.streams[who] >= maxEach {
		return who, false
	}
	d.open++
	d.streams[who]++
	return who, true
}

func (d *Door) leave(who string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open--
	if d.streams[who]--; d.streams[who] == 0 {
		delete(d.streams, who)
	}
}

// caught turns a handler's panic into an answer, if none has begun, and a line in the log.
func (d *Door) caught(w *watched, r *http.Request) {
	what := recover()
	if what == nil {
		return
	}
	if err, ok := what.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(what)
	}
	d.c.Log("serve: answering %s panicked: %v\n%s", r.URL.Path, what, debug.Stack())
	if w.begun {
		panic(http.ErrAbortHandler) // half an answer must not look whole
	}
	refuse(w, r, &refusal{code: http.StatusInternalServerError,
		says: "Answering this failed, by a fault of the server; its log says where. Everything else goes on."})
}

// watched knows whether an answer has begun, and gives each write of a stream its time.
type watched struct {
	http.ResponseWriter
	begun bool
	each  time.Duration
}

// Unwrap is for http.ResponseController.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *watched) WriteHeader(code int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(code)
}

func (w *watched) Write(b []byte) (int, error) {
	w.begun = true
	if w.each > 0 {
		_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.each))
	}
	return w.ResponseWriter.Write(b)
}

// FlushError sends what was written; a client that does not take it in time is dropped.
func (w *watched) FlushError() error {
	rc := http.NewResponseController(w.ResponseWriter)
	if w.each > 0 {
		_ = rc.SetWriteDeadline(time.Now().Add(w.each))
	}
	return rc.Flush()
}

// closed is the page of who is not let in. It can be given the token.
var closed = template.Must(template.New("closed").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>hop</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="/static/icon.svg">
<link rel="stylesheet" href="/static/style.css"><link rel="stylesheet" href="/static/serve.css"></head>
<body><main><h1>hop</h1><p role="alert">{{.Says}}</p>
{{if .On}}<p><a href="{{.On}}">Go on to {{.On}}</a></p>{{end}}
{{if .Token}}<p lang="zh">请打开 hop serve 启动时打印的地址，或在此输入令牌。</p>
<form method="get" action="/"><label>Token <input name="token" type="password" autocomplete="off" required></label>
<button>OK</button></form>{{end}}
</main></body></html>
`))

// onward is the page that sends on who came in from elsewhere.
var onward = template.Must(template.New("onward").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>hop</title>
<script src="/static/enter.js" data-to="{{.To}}" data-act="{{.Act}}"></script>
<noscript><meta http-equiv="refresh" content="0; url={{.To}}"></noscript></head>
<body><p><a href="{{.To}}">hop</a></p></body></html>
`))

// refuse answers in a sentence: JSON to scripts, a page to people.
func refuse(w http.ResponseWriter, r *http.Request, no *refusal) {
	w.Header().Set("Cache-Control", "no-store")
	if isAPI(r) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(no.code)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": no.says})
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(no.code)
	_ = closed.Execute(w, struct {
		Says, On string
		Token    bool
	}{no.says, no.on, no.code == http.StatusUnauthorized})
}
