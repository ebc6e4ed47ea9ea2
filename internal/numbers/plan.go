package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/runlog"
)

// kept is where measurements are kept.
const kept = "docs/results/numbers"

// plan is docs/numbers.yaml: groups of commands that pages quote, by name.
type plan map[string]*group

// group is a list of commands that are run one after the other in one folder.
type group struct {
	Seeds   []string `yaml:"seeds"`   // each replaces $SEED; none: once
	Kernels []string `yaml:"kernels"` // it is measured with each of these; none: with the machine's own
	Steps   []step   `yaml:"steps"`
	Page    string   `yaml:"page"` // of numbers that are read off a page in place of run
}

// step is a command, and what of its output is wanted.
type step struct {
	Name  string            `yaml:"name"`
	Run   string            `yaml:"run"`   // a shell command
	Cheap bool              `yaml:"cheap"` // a test runs it; it begins with hop
	Keep  string            `yaml:"keep"`  // lines that are kept, a regular expression; else all
	Files map[string]string `yaml:"files"` // pictures that it makes, and where in the repository they are kept
	Find  map[string]string `yaml:"find"`  // numbers: expressions with one bracket, matches joined by commas
}

// measured is what a group's commands printed.
type measured struct {
	By    runlog.Build      `json:"by"`
	Date  string            `json:"date"`
	Steps map[string]*found `json:"steps"`

	pictures map[string][]byte // by where they are kept
}

type found struct {
	Text    string            `json:"text"`
	Numbers map[string]string `json:"numbers,omitempty"`
}

func readPlan(root string) (p plan, err error) {
	text, err := os.ReadFile(filepath.Join(root, "docs/numbers.yaml"))
	if err != nil {
		return nil, err
	}
	dec := yaml.NewDecoder(strings.NewReader(string(text)))
	dec.KnownFields(true)
	return p, dec.Decode(&p)
}

// variants are the seeds or kernel sets with which a group is measured; of a page there is nothing to measure.
func (g *group) variants() []string {
	switch {
	case g.Page != "":
		return nil
	case len(g.Seeds) > 0:
		return g.Seeds
	case len(g.Kernels) > 0:
		return g.Kernels
	}
	return []string{""}
}

// file is where one variant is kept.
func (g *group) file(name, variant string) string {
	if variant == "" {
		return name + ".json"
	}
	return name + "-" + variant + ".json"
}

// take keeps of a command's output what is wanted.
func (s step) take(out string) (*found, error) {
	f := &found{Text: out}
	if s.Keep != "" {
		keep, err := regexp.Compile(s.Keep)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		var lines []string
		for line := range strings.Lines(out) {
			if line = strings.TrimRight(line, " \n"); keep.MatchString(line) {
				lines = append(lines, line)
			}
		}
		f.Text = strings.Join(lines, "\n")
	}
	f.Text = strings.Trim(f.Text, "\n")
	for name, expr := range s.Find {
		e, err := regexp.Compile("(?m)" + expr)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", s.Name, name, err)
		}
		var list []string
		for _, m := range e.FindAllStringSubmatch(out, -1) {
			list = append(list, m[1])
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("%s.%s: nothing like %s in\n%.2000s", s.Name, name, expr, out)
		}
		if f.Numbers == nil {
			f.Numbers = map[string]string{}
		}
		f.Numbers[name] = strings.Join(list, ", ")
	}
	return f, nil
}

func readMeasured(root, file string) (m *measured, err error) {
	text, err := os.ReadFile(filepath.Join(root, kept, file))
	if err != nil {
		return nil, err
	}
	return m, json.Unmarshal(text, &m)
}

// said is all that pages can quote, by its name.
func (p plan) said(root string) (map[string]string, error) {
	said := map[string]string{}
	for name, g := range p {
		if g.Page != "" {
			if err := g.readPage(root, name, said); err != nil {
				return nil, err
			}
			continue
		}
		var all []*measured
		for _, v := range g.variants() {
			m, err := readMeasured(root, g.file(name, v))
			if errors.Is(err, fs.ErrNotExist) {
				break // not measured yet: whoever quotes it is told
			}
			if err != nil {
				return nil, err
			}
			all = append(all, m)
		}
		if len(all) == len(g.variants()) {
			g.say(name, all, said)
		}
	}
	return said, nil
}

// readPage reads numbers off a page that another command writes.
func (g *group) readPage(root, name string, said map[string]string) error {
	text, err := os.ReadFile(filepath.Join(root, g.Page))
	if err != nil {
		return err
	}
	for _, s := range g.Steps {
		f, err := s.take(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", g.Page, err)
		}
		for number, value := range f.Numbers {
			said[name+"."+s.Name+"."+number] = value
		}
	}
	return nil
}

// say adds what a group's measurements say.
func (g *group) say(name string, all []*measured, said map[string]string) {
	first := all[0]
	commit := first.By.Commit
	said[name+".stamp"] = fmt.Sprintf("%s kernels, commit %s, %s", first.By.Kernels, commit[:min(8, len(commit))], first.Date)
	for _, s := range g.Steps {
		said[name+"."+s.Name] = first.Steps[s.Name].Text
		for number, value := range first.Steps[s.Name].Numbers {
			key := name + "." + s.Name + "." + number
			var list []string
			for _, m := range all {
				list = append(list, m.Steps[s.Name].Numbers[number])
			}
			mean, spread := over(list)
			if said[key], said[key+" spread"] = value, spread; len(g.Seeds) > 0 {
				said[key], said[key+" each"] = mean, strings.Join(list, " ")
			}
		}
	}
}

// over returns the mean of numbers, and the lowest and the highest, with as many decimals as the first. Of lists it is
// the mean of each entry.
func over(texts []string) (mean, spread string) {
	width := strings.Count(texts[0], ", ") + 1
	var means, spreads []string
	for i := range width {
		var sum stats.Acc
		low, high, decimals := "", "", 0
		for _, text := range texts {
			entry := strings.Split(text, ", ")
			if len(entry) != width {
				return "", ""
			}
			x := number(entry[i])
			_, after, _ := strings.Cut(entry[i], ".")
			decimals = len(after)
			sum.Add(x)
			if low == "" || x < number(low) {
				low = entry[i]
			}
			if high == "" || x > number(high) {
				high = entry[i]
			}
		}
		means = append(means, fmt.Sprintf("%.*f", decimals, sum.Mean()))
		if low != high {
			low += " to " + high
		}
		spreads = append(spreads, low)
	}
	return strings.Join(means, ", "), strings.Join(spreads, ", ")
}

func number(text string) (x float64) {
	fmt.Sscan(text, &x)
	return x
}
