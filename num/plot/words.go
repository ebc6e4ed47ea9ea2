package plot

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Short writes a count such as 150 k.
func Short(x float64) string {
	switch {
	case x >= 1e6:
		return Trim(x/1e6) + " M"
	case x >= 1e4:
		return Trim(math.Round(x/1e3)) + " k"
	case x >= 1e3:
		return Trim(x/1e3) + " k"
	}
	return Trim(x)
}

// Trim writes at most two decimals.
func Trim(x float64) string {
	s := strconv.FormatFloat(x, 'f', 2, 64)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// Thousands writes 12,345.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Count writes how many there are of something.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Thousands(n) + " " + what + "s"
}

// Number writes a return so that three digits can be read.
func Number(x float64) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return "–"
	case math.Abs(x) >= 100:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case math.Abs(x) >= 10:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'f', 3, 64)
}

// Range writes an interval.
func Range(ends [2]float64) string { return Number(ends[0]) + " to " + Number(ends[1]) }

// Percent writes a share.
func Percent(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return strconv.FormatFloat(100*x, 'f', 0, 64) + " %"
}

// Seconds writes a time in the unit that suits it.
func Seconds(x float64) string {
	switch {
	case x >= 7200:
		return fmt.Sprintf("%.1f h", x/3600)
	case x >= 120:
		return fmt.Sprintf("%.1f min", x/60)
	case x >= 10:
		return fmt.Sprintf("%.0f s", x)
	}
	return fmt.Sprintf("%.2g s", x)
}

// Bytes writes an amount of memory, such as 1.5 GB.
func Bytes(n uint64) string {
	x, unit := float64(n), " B"
	for _, larger := range []string{" kB", " MB", " GB", " TB", " PB"} {
		if x < 1000 {
			break
		}
		x, unit = x/1000, larger
	}
	if x >= 100 {
		return fmt.Sprintf("%.0f%s", x, unit)
	}
	return fmt.Sprintf("%.3g%s", x, unit)
}

// axisNumber writes a tick without needless zeros.
func axisNumber(v float64) string {
	a := math.Abs(v)
	switch {
	case a >= 1e4:
		return Short(v)
	case a != 0 && a < 1e-4:
		return fmt.Sprintf("%.2g", v)
	}
	return strings.Replace(fmt.Sprintf("%.4g", v), "-", "−", 1)
}

// absolute finds paths from the root of a disk, at the start of a word.
var absolute = regexp.MustCompile(`(^|[\s='"\[(,])((?:[A-Za-z]:)?[/\\][^\s'"\](),]+)`)

// Paths names folders in a text, such as a command, as a reader elsewhere can
// understand them: from the working directory if they lie in it, else by their
// last name, a seed's with its run's. No page says where on a disk it was made.
func Paths(text string) string {
	return absolute.ReplaceAllStringFunc(text, func(s string) string {
		m := absolute.FindStringSubmatch(s)
		return m[1] + Folder(m[2])
	})
}

// Folder does so with one path.
func Folder(path string) string {
	if !filepath.IsAbs(path) {
		return filepath.ToSlash(path)
	}
	if here, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	name := filepath.Base(path)
	if strings.HasPrefix(name, "seed-") { // of some run
		name = filepath.Base(filepath.Dir(path)) + "/" + name
	}
	return name
}

// words are the functions of all templates.
var words = map[string]any{
	"number": Number, "ci": Range, "percent": Percent, "seconds": Seconds, "thousands": Thousands, "count": Count, "trim": Trim,
	"short": func(x int64) string { return Short(float64(x)) },
	"pct":   func(x float64) string { return fmt.Sprintf("%.1f", 100*x) },
	"tie":   func(s string) string { return strings.ReplaceAll(s, " %", "\u00a0%") },
	"pad":   func(n int) string { return strings.Repeat("  ", n) },
	"add":   func(a, b int) int { return a + b },
	"paths": Paths,
	"cell":  strings.NewReplacer("|", "\\|", "\n", " ").Replace,
}
