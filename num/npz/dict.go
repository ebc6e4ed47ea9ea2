package npz

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// dict is the three entries of an .npy header.
type dict struct {
	descr   string
	fortran bool
	shape   []int
}

var errDict = errors.New("its header is not numpy's; the file is damaged")

// parseDict reads the Python literal of an .npy header: exactly the keys descr,
// fortran_order and shape, in any order. Structured types are an error.
func parseDict(text string) (dict, error) {
	var d dict
	p := scanner(text)
	seen := map[string]bool{}
	if !p.take("{") {
		return d, errDict
	}
	for !p.take("}") {
		key, ok := p.quoted()
		if !ok || seen[key] || !p.take(":") {
			return d, errDict
		}
		seen[key] = true
		switch key {
		case "descr":
			if p.take("[") {
				return d, errors.New("it is a structured array; save each field as an array of its own")
			}
			d.descr, ok = p.quoted()
		case "fortran_order":
			d.fortran = p.take("True")
			ok = d.fortran || p.take("False")
		case "shape":
			d.shape, ok = p.ints()
		default:
			return d, fmt.Errorf("unknown header entry %.40q; the file is damaged", key)
		}
		if !ok {
			return d, errDict
		}
		if !p.take(",") {
			if !p.take("}") {
				return d, errDict
			}
			break
		}
	}
	if p.space(); p != "" || len(seen) != 3 {
		return d, errDict
	}
	return d, nil
}

// scanner is the part of a header that is not read yet.
type scanner string

func (p *scanner) space() { *p = scanner(strings.TrimLeft(string(*p), " \t\r\n")) }

// take skips space and reports whether token follows, and skips that too.
func (p *scanner) take(token string) bool {
	p.space()
	rest, ok := strings.CutPrefix(string(*p), token)
	*p = scanner(rest)
	return ok
}

// quoted reads a string in single or double quotes, without escapes.
func (p *scanner) quoted() (string, bool) {
	quote := "'"
	if !p.take(quote) {
		if quote = `"`; !p.take(quote) {
			return "", false
		}
	}
	s, rest, ok := strings.Cut(string(*p), quote)
	*p = scanner(rest)
	return s, ok && !strings.Contains(s, `\`)
}

// ints reads a tuple of non-negative numbers.
func (p *scanner) ints() ([]int, bool) {
	xs := []int{}
	if !p.take("(") {
		return nil, false
	}
	for !p.take(")") {
		p.space()
		rest := strings.TrimLeft(string(*p), "0123456789")
		k, err := strconv.Atoi(string(*p)[:len(*p)-len(rest)])
		if err != nil {
			return nil, false
		}
		xs = append(xs, k)
		*p = scanner(rest)
		if !p.take(",") {
			return xs, len(xs) != 1 && p.take(")") // (3) is a number in Python, (3,) a tuple
		}
	}
	return xs, true
}
