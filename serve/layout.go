package serve

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/serve/words"
)

//go:embed pages
var templates embed.FS

// pages are the templates: the layout with each page's "main" in it.
type pages map[string]*template.Template

// names of the pages, in the order of the navigation, and where they are.
var places = []struct{ Name, Path string }{
	{"runs", "/"},
	{"sweeps", "/sweeps"},
	{"curves", "/curves"},
	{"compare", "/compare"},
	{"theatre", "/theatre"},
	{"join", "/join"},
	{"diagnose", "/diagnose"},
	{"start", "/start"},
}

func parsePages() (pages, error) {
	funcs := template.FuncMap{
		"pair": func(v view, d any) any { return struct{ View, Form any }{v, d} }, "mod8": func(n int) int { return n % 8 },
		"sweep":  func(v view, st any) any { return struct{ View, Sweep any }{v, st} },
		"number": plot.Number, "short": func(n int64) string { return plot.Short(float64(n)) }, "seconds": plot.Seconds,
		"thousands": plot.Thousands, "percent": plot.Percent, "interval": func(ci *stats.Interval) string { return plot.Range(*ci) },
		"ends": func(ci stats.Interval) string { return plot.Range(ci) }, "colour": func(i int) int { return i % 8 },
		"json": func(v any) (string, error) {
			b, err := json.Marshal(v)
			return string(b), err
		},
	}
	all := pages{}
	for _, p := range append(places, struct{ Name, Path string }{"error", ""}) {
		t, err := template.New(p.Name).Funcs(funcs).ParseFS(templates, "pages/layout.html", "pages/askform.html", "pages/"+p.Name+".html")
		if err != nil {
			return nil, fmt.Errorf("serve: reading the page %s: %w", p.Name, err)
		}
		all[p.Name] = t
	}
	return all, nil
}

// view is what a page's template is given.
type view struct {
	Name    string // of the page
	Lang    string // en or zh
	Base    string // where scripts and styles are
	Control bool
	Acts    bool // who reads it may change something
	Data    any
	here    *url.URL
	code    int // of the answer; 0: that it is well
}

// T returns a word or sentence in the reader's language; with arguments, those are put
// into it as fmt does.
func (v view) T(key string, args ...any) string { return say(v.Lang, key, args...) }

// Title is what the browser's tab says.
func (v view) Title() string { return v.T("page."+v.Name) + " · hop" }

// Places are the pages that can be gone to.
func (v view) Places() any { return places }

// Other returns this address in the other language.
func (v view) Other() string {
	q := v.here.Query()
	q.Set("lang", map[string]string{"en": "zh", "zh": "en"}[v.Lang])
	return v.here.Path + "?" + q.Encode()
}

// page answers with a page, whose data the function gathers. What it is named by is in
// the address: refused in a sentence where there is no such thing.
func (s *Server) page(gather func(r *http.Request, v *view) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := view{Lang: language(w, r), Base: s.files.base(), Control: s.c.Control, Acts: s.door.Allowed(r), here: r.URL}
		for _, p := range places {
			if p.Path == r.URL.Path {
				v.Name = p.Name
			}
		}
		data, err := gather(r, &v)
		code := cmp.Or(v.code, http.StatusOK)
		if err != nil {
			code, v.Name, data = status(err), "error", err.Error()
		}
		v.Data = data
		var b bytes.Buffer
		if err := s.pages[v.Name].ExecuteTemplate(&b, "layout", v); err != nil {
			s.c.Log("serve: making the page %s: %v", v.Name, err)
			http.Error(w, "This page could not be made: "+err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		send(w, r, code, b.Bytes())
	}
}

// written is an answer that is JSON already, in as few bytes as it can be.
type written []byte

func marshal(v any) ([]byte, error) {
	if b, ok := v.(written); ok {
		return b, nil
	}
	return json.Marshal(v)
}

// api answers with JSON. An error is an object with the sentence under "error".
func (s *Server) api(answer func(r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		code := http.StatusOK
		v, err := answer(r)
		if err != nil {
			code, v = status(err), map[string]string{"error": err.Error()}
		}
		b, err := marshal(v)
		if err != nil {
			s.c.Log("serve: answering %s: %v", r.URL.Path, err)
			code, b = http.StatusInternalServerError, []byte(`{"error":"the answer could not be written"}`)
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		send(w, r, code, b)
	}
}

// refusal is an error with its HTTP status.
type refusal struct {
	code int
	error
}

func (r refusal) Unwrap() error { return r.error }

// refuse says that a request cannot be answered, and why.
func refuse(code int, format string, args ...any) error {
	return refusal{code, fmt.Errorf(format, args...)}
}

func status(err error) int {
	var r refusal
	if errors.As(err, &r) {
		return r.code
	}
	return http.StatusInternalServerError
}

// zippers are kept because each has a megabyte of its own.
var zippers = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	return z
}}

// send writes an answer that may change at any time, packed where that saves much.
func send(w http.ResponseWriter, r *http.Request, code int, b []byte) {
	h := w.Header()
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	if len(b) > 2048 && acceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		h.Set("Vary", "Accept-Encoding")
		w.WriteHeader(code)
		z := zippers.Get().(*gzip.Writer)
		z.Reset(w)
		_, _ = z.Write(b)
		_ = z.Close()
		zippers.Put(z)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(code)
	if r.Method != http.MethodHead {
		_, _ = w.Write(b)
	}
}

// posted is an answer to a request whose body is JSON, of at most so many bytes.
func posted[T any](most int64, answer func(*http.Request, T) (any, error)) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		var in T
		if err := body(r, most, &in); err != nil {
			return nil, err
		}
		return answer(r, in)
	}
}

// body reads a request's JSON, of at most so many bytes.
func body(r *http.Request, most int64, v any) error {
	d := json.NewDecoder(io.LimitReader(r.Body, most))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return refuse(http.StatusBadRequest, "the request is not the JSON that was expected, of at most %d bytes: %w", most, err)
	}
	return nil
}

// say returns a word in a language.
func say(lang, key string, args ...any) string { return words.Say(lang, key, args...) }

// language is the reader's; w may be nil.
func language(w http.ResponseWriter, r *http.Request) string { return words.Language(w, r) }

// wordsAPI returns all words of the reader's language.
func (s *Server) wordsAPI(r *http.Request) (any, error) { return words.All(language(nil, r)), nil }
