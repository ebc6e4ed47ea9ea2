package audit

import (
	"fmt"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
)

const module = "github.com/hop-marl/hop/"

// function is one of this program's: in a package, of a type or of none, and where it begins.
type function struct {
	pkg, of string
	file    string
	line    int
}

// functions are all of this program's by their own names, read off its code: a built program knows where each began.
var functions = sync.OnceValue(func() map[string][]function {
	pc := reflect.ValueOf(in).Pointer()
	for f := runtime.FuncForPC(pc); f != nil; f = runtime.FuncForPC(pc) {
		pc = f.Entry() - 1
	}
	begin, lines, seen := map[string]string{}, map[string]int{}, map[string]int{}
	for pc = (pc/16 + 1) * 16; ; pc += 16 { // functions begin at multiples of it
		f := runtime.FuncForPC(pc)
		if f == nil {
			break
		}
		name, ours := strings.CutPrefix(f.Name(), module)
		if seen[name]++; !ours || seen[name] > 4 && f.Entry() != pc {
			continue // of what was never compiled apart, the first of some lines
		}
		file, line := f.FileLine(pc)
		if last, ok := lines[name]; line > 0 && (!ok || line < last) {
			begin[name], lines[name] = file, line
		}
	}
	out := map[string][]function{}
	for name, file := range begin {
		pkg, rest := packageOf(name)
		if parts := strings.Split(generic.ReplaceAllString(rest, ""), "."); len(parts) <= 2 {
			x := function{pkg: pkg, file: file[max(0, strings.LastIndex(file, pkg+"/")):], line: lines[name]}
			if len(parts) == 2 {
				x.of = strings.Trim(parts[0], "(*)")
			}
			out[parts[len(parts)-1]] = append(out[parts[len(parts)-1]], x)
		}
	}
	return out
})

var (
	generic = regexp.MustCompile(`\[[^]]*\]`)
	aside   = regexp.MustCompile(`\([^()]*\)`)
	token   = regexp.MustCompile(`[A-Za-z][A-Za-z0-9_/.]*:?`)
	// words that stand between the names of functions, and are none.
	words = strings.Fields("a and as at be by for from in is it its must of or rows that the them to what which who with")
)

// located adds to where to look the file and line of every function that is named there: "agent/ppo: Brain.gather, Advantages".
func located(next string) string {
	var pkg string
	var found []string
	next, mend, mends := strings.Cut(next, "; mend: ")
	if mends {
		mend = "; mend: " + mend
	}
	for _, tok := range token.FindAllString(aside.ReplaceAllString(next, ""), -1) {
		tok, names := strings.CutSuffix(tok, ":")
		tok = strings.Trim(tok, ".")
		base := strings.LastIndex(tok, "/") + 1
		parts := strings.Split(tok[base:], ".")
		if p := tok[:base] + parts[0]; names || base > 0 || len(parts) > 1 && packaged(p) {
			pkg, parts = p, parts[1:]
		}
		if pkg == "" || len(parts) == 0 || slices.Contains(words, parts[0]) {
			continue
		}
		for _, f := range functions()[parts[len(parts)-1]] {
			at := fmt.Sprintf("%s:%d", f.file, f.line)
			if in(f.pkg, pkg) && (len(parts) == 1 || f.of == parts[0]) && !slices.Contains(found, at) {
				found = append(found, at)
			}
		}
	}
	if len(found) == 0 || len(found) > 6 {
		return next + mend
	}
	return next + " [" + strings.Join(found, ", ") + "]" + mend
}

// packageOf takes a function's name apart: its package, and what it is called there.
func packageOf(name string) (pkg, rest string) {
	dir := name[:strings.LastIndex(name, "/")+1]
	pkg, rest, _ = strings.Cut(name[len(dir):], ".")
	return dir + pkg, rest
}

// in reports whether a package is called so: by its path, or its end.
func in(pkg, called string) bool { return pkg == called || strings.HasSuffix(pkg, "/"+called) }

// packaged reports whether there is a package of that name.
func packaged(name string) bool {
	for _, list := range functions() {
		if slices.ContainsFunc(list, func(f function) bool { return in(f.pkg, name) }) {
			return true
		}
	}
	return false
}

// locate says of every accusation where its functions are.
func (r *Result) locate() {
	for i := range r.Findings {
		if f := &r.Findings[i]; len(r.Wrong()) > 0 && f.Next != "" {
			f.Next = located(f.Next)
		}
	}
	r.Conclude()
}
