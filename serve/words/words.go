// Package words holds all words of the server's pages, in English and Chinese.
package words

import (
	_ "embed" // the words
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"
)

//go:embed words.yaml
var file []byte

// Table returns all words of the pages by key, in English and Chinese. Scripts get theirs from
// /api/words. What a program wrote (names, findings, refusals of package runlog) stays as
// it was written.
var Table = sync.OnceValue(func() (table map[string][2]string) {
	if err := yaml.Unmarshal(file, &table); err != nil {
		panic("words: " + err.Error())
	}
	return table
})

// Say returns a word in a language. A key that there is not is shown as it is: a test
// finds it.
func Say(lang, key string, args ...any) string {
	w, ok := Table()[key]
	if !ok {
		return key
	}
	text := w[0]
	if lang == "zh" {
		text = w[1]
	}
	if len(args) > 0 {
		return fmt.Sprintf(text, args...)
	}
	return strings.ReplaceAll(text, "%%", "%")
}

// Language is what the address says, or the cookie from when it last did, or what the
// browser prefers.
func Language(w http.ResponseWriter, r *http.Request) string {
	switch lang := r.URL.Query().Get("lang"); lang {
	case "en", "zh":
		if w != nil {
			http.SetCookie(w, &http.Cookie{
				Name: "hop-lang", Value: lang, Path: "/", SameSite: http.SameSiteStrictMode, MaxAge: int((365 * 24 * time.Hour).Seconds()),
			})
		}
		return lang
	}
	if c, err := r.Cookie("hop-lang"); err == nil && (c.Value == "en" || c.Value == "zh") {
		return c.Value
	}
	for _, part := range strings.Split(r.Header.Get("Accept-Language"), ",") {
		name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(part)), ";")
		name, _, _ = strings.Cut(name, "-")
		if name == "en" || name == "zh" {
			return name
		}
	}
	return "en"
}

// All returns all words of a language, and under "lang" which one it is.
func All(lang string) map[string]string {
	all := map[string]string{"lang": lang}
	for key := range Table() {
		all[key] = Say(lang, key)
	}
	return all
}
