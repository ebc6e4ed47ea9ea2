package serve

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/hop-marl/hop/num/plot"
)

//go:embed static
var static embed.FS

// files are what the browser fetches once: scripts, style sheets, uPlot. They are asked
// for below a folder named by the sum of all of them, so they may be kept for ever, and
// scripts name each other without knowing it.
type files struct {
	sum    string
	byName map[string]*file
}

type file struct {
	kind        string
	plain, gzip []byte // gzip is nil where it would save little
	tag         string
}

// kinds are told here, because what a machine says of a file's ending differs.
var kinds = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	".LICENSE": "text/plain; charset=utf-8",
}

func embedded() (files, error) {
	f := files{byName: map[string]*file{}}
	all := sha256.New()
	add := func(name string, b []byte) error {
		kind := kinds[path.Ext(name)]
		if kind == "" {
			kind = mime.TypeByExtension(path.Ext(name))
		}
		sum := sha256.Sum256(b)
		x := &file{kind: kind, plain: b, tag: `"` + hex.EncodeToString(sum[:8]) + `"`}
		var z bytes.Buffer
		w, err := gzip.NewWriterLevel(&z, gzip.BestCompression)
		if err == nil {
			_, err = w.Write(b)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			return err
		}
		if z.Len() < len(b)*9/10 {
			x.gzip = z.Bytes()
		}
		f.byName[name] = x
		fmt.Fprintf(all, "%s %x\n", name, sum)
		return nil
	}
	err := add("style.css", []byte(plot.Style()))
	if err == nil {
		err = fs.WalkDir(static, "static", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := static.ReadFile(name)
			if err != nil {
				return err
			}
			return add(strings.TrimPrefix(name, "static/"), b)
		})
	}
	if err != nil {
		return files{}, fmt.Errorf("serve: reading embedded files: %w", err)
	}
	f.sum = hex.EncodeToString(all.Sum(nil)[:8])
	return f, nil
}

// base is the folder under which they are asked for.
func (f *files) base() string { return "/static/" + f.sum }

func (f *files) serve(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/static/")
	keep := "no-cache"
	if rest, ok := strings.CutPrefix(name, f.sum+"/"); ok {
		name, keep = rest, "public, max-age=31536000, immutable"
	}
	x := f.byName[name]
	if x == nil {
		http.Error(w, "There is no such file.", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", keep)
	h.Set("Content-Type", x.kind)
	h.Set("ETag", x.tag)
	if r.Header.Get("If-None-Match") == x.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	b := x.plain
	if x.gzip != nil {
		h.Set("Vary", "Accept-Encoding")
		if acceptsGzip(r) {
			h.Set("Content-Encoding", "gzip")
			b = x.gzip
		}
	}
	h.Set("Content-Length", fmt.Sprint(len(b)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(b)
	}
}

func acceptsGzip(r *http.Request) bool {
	for _, part := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		if name, q, _ := strings.Cut(strings.TrimSpace(part), ";"); name == "gzip" {
			return strings.TrimSpace(q) != "q=0"
		}
	}
	return false
}
