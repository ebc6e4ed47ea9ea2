package script

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hop-marl/hop/num/config"
)

// phrase is a text taken apart: a word with what stands in its brackets, or a number.
type phrase struct {
	word   string
	args   []phrase
	number float64
	isNum  bool
	at     int // where it begins in the text, from 1
}

// Fault is what is wrong with a text, and where.
type Fault struct {
	Text string
	At   int    // the character, from 1
	Want string // what should stand there
}

func (f *Fault) Error() string {
	return fmt.Sprintf("script: %q, character %d: %s", f.Text, f.At, f.Want)
}

// reader takes a text apart.
type reader struct {
	text string
	at   int // of the next byte
}

// read returns the phrase that a whole text is.
func read(text string) (phrase, error) {
	r := &reader{text: text}
	p, err := r.phrase(0)
	if err != nil {
		return p, err
	}
	if r.space(); r.at < len(text) {
		return p, r.fault(r.at, "nothing more, or a comma between arguments")
	}
	return p, nil
}

func (r *reader) fault(at int, format string, args ...any) error {
	return &Fault{r.text, at + 1, fmt.Sprintf(format, args...)}
}

func (r *reader) space() {
	for r.at < len(r.text) && r.text[r.at] == ' ' {
		r.at++
	}
}

// deepest is how many brackets may stand in each other.
const deepest = 8

func (r *reader) phrase(depth int) (phrase, error) {
	r.space()
	p := phrase{at: r.at}
	if depth > deepest {
		return p, r.fault(r.at, "at most %d brackets in each other", deepest)
	}
	end := r.at
	for end < len(r.text) && !strings.ContainsRune("(), ", rune(r.text[end])) {
		end++
	}
	p.word = r.text[r.at:end]
	if p.word == "" {
		return p, r.fault(r.at, "a word or a number")
	}
	if x, err := strconv.ParseFloat(p.word, 64); err == nil {
		p.number, p.isNum = x, true
	}
	r.at = end
	if r.space(); r.at >= len(r.text) || r.text[r.at] != '(' {
		return p, nil
	}
	if p.isNum {
		return p, r.fault(r.at, "no bracket after a number")
	}
	for {
		r.at++
		a, err := r.phrase(depth + 1)
		if err != nil {
			return p, err
		}
		p.args = append(p.args, a)
		switch r.space(); {
		case r.at >= len(r.text):
			return p, r.fault(r.at, "a closing bracket")
		case r.text[r.at] == ')':
			r.at++
			return p, nil
		case r.text[r.at] != ',':
			return p, r.fault(r.at, "a comma or a closing bracket")
		}
	}
}

// Split takes a list of co-players apart at its commas, but for those in brackets.
func Split(text string) (list []string) {
	depth, from := 0, 0
	for i, c := range text {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth <= 0:
			list = append(list, strings.TrimSpace(text[from:i]))
			from = i + 1
		}
	}
	return append(list, strings.TrimSpace(text[from:]))
}

// unknown says that a word is not known, and which may have been meant.
func unknown(what, word string, names []string) string {
	near := config.Closest(word, names)
	if near != "" {
		return fmt.Sprintf("%s, not %q; did you mean %s? There are %s", what, word, near, strings.Join(names, ", "))
	}
	return fmt.Sprintf("%s, not %q; there are %s", what, word, strings.Join(names, ", "))
}
