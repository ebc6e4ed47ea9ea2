// Package check is the one vocabulary in which guards, report cards, audits and
// reports say what they found, and the tests behind what they say.
//
// A Finding answers one question: pass, suspect or fault, or that it could not
// be asked; with the effect and its interval, the rows it rests on, a sentence
// and what to do next. A Report holds the findings about one subject; its
// verdict names the first module at fault in the order in which one module's
// output is the next one's input, not the loudest.
//
// Each test is one function, used by all who ask its question. Tests have their
// own small arithmetic in float64 and share no code with what they test.
// Everything follows from the arguments: no clock, and random numbers only where
// a test draws arrangements, from a stream of its own.
package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hop-marl/hop/num/stats"
)

// Status is what a question came to.
type Status int

// From unknown to certain.
const (
	NotAsked Status = iota - 1 // it could not be asked; the sentence says why
	Pass                       // nothing wrong was seen, by a test that would have seen it
	Note                       // worth knowing, and no fault: what a healthy run may come to
	Suspect                    // unlikely by chance, or a sign of a fault that has other causes too; of a model: weak
	Fault                      // cannot be so in a correct run; of a model: broken
)

var (
	words  = []string{"not asked", "pass", "note", "suspect", "fault"}
	grades = []string{"not asked", "good", "good", "weak", "broken"}
)

// String returns the word that audits use.
func (s Status) String() string { return words[s+1] }

// Grade returns the word that report cards use: good, weak or broken.
func (s Status) Grade() string { return grades[s+1] }

// MarshalText writes what String returns.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *Status) UnmarshalText(b []byte) error {
	i := slices.Index(words, string(b))
	if i < 0 {
		return fmt.Errorf("check: status %q, want one of %q", b, words)
	}
	*s = Status(i - 1)
	return nil
}

// Row is a line of evidence: what was seen and what a correct run shows.
type Row struct {
	Label  string
	Value  float64 // NaN: there was none
	Wanted float64
}

type rowJSON struct {
	Label  string       `json:"label"`
	Value  stats.Number `json:"value"`
	Wanted stats.Number `json:"wanted"`
}

// MarshalJSON writes the row; a number that there is not is null.
func (r Row) MarshalJSON() ([]byte, error) {
	return json.Marshal(rowJSON{r.Label, stats.Number(r.Value), stats.Number(r.Wanted)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Row) UnmarshalJSON(b []byte) error {
	var j rowJSON
	err := json.Unmarshal(b, &j)
	*r = Row{j.Label, float64(j.Value), float64(j.Wanted)}
	return err
}

// Finding is what one question came to.
type Finding struct {
	Step     int     // of a run: the env step; of an audit: the step of its procedure, 0 to 5
	Check    string  // short name, such as "own rows"
	Status   Status  //
	Module   string  // where the cause is to be looked for first, one of Modules; "" for a symptom that names none
	Who      []int   // the agents that it is about; nil: none in particular
	Says     string  // what was seen, in one sentence
	Effect   float64 // how much is wrong, in Unit; 0: nothing
	Lo, Hi   float64 // interval of Effect; both 0: it was counted, not estimated, and a Report sets them to it
	Unit     string  //
	Rows     int     // how many rows, episodes or probes it rests on
	Evidence []Row   // a small table
	Next     string  // what to do: the command to run, or the place to look
}

// Accuse gives the finding another status, how much is wrong, what is to be said
// and where to look.
func (f *Finding) Accuse(s Status, effect float64, says, next string) {
	f.Status, f.Effect, f.Says, f.Next = s, effect, says, next
}

// Saw adds a line of evidence.
func (f *Finding) Saw(value, wanted float64, label string, args ...any) {
	f.Evidence = append(f.Evidence, Row{fmt.Sprintf(label, args...), value, wanted})
}

// Else keeps an accusation, and says that all is well where there is none.
func (f *Finding) Else(says string) string {
	if f.Status != Pass {
		return f.Says
	}
	return says
}

// Agent returns the agent that it is about, -1 if that is not one alone.
func (f *Finding) Agent() int {
	if len(f.Who) != 1 {
		return -1
	}
	return f.Who[0]
}

// findingJSON is a Finding's form in audit.json, in findings.json and in --json.
type findingJSON struct {
	Step     int            `json:"step"`
	Check    string         `json:"check"`
	Status   Status         `json:"status"`
	Module   string         `json:"module"`
	Agent    int            `json:"agent"`
	Says     string         `json:"says"`
	Effect   stats.Number   `json:"effect"`
	CI       stats.Interval `json:"ci"`
	Unit     string         `json:"unit"`
	Rows     int            `json:"rows"`
	Evidence []Row          `json:"evidence"`
	Next     string         `json:"next"`
}

// MarshalJSON writes the finding with the keys that scripts rely on.
func (f Finding) MarshalJSON() ([]byte, error) {
	if f.Evidence == nil {
		f.Evidence = []Row{}
	}
	effect, ci := stats.Number(f.Effect), stats.Interval{f.Lo, f.Hi}
	return json.Marshal(findingJSON{f.Step, f.Check, f.Status, f.Module, f.Agent(), f.Says, effect, ci, f.Unit, f.Rows, f.Evidence, f.Next})
}

// UnmarshalJSON reads what MarshalJSON writes, and findings of runs that were
// written without a status.
func (f *Finding) UnmarshalJSON(b []byte) error {
	j := findingJSON{Status: Suspect, Agent: -1}
	if err := json.Unmarshal(b, &j); err != nil {
		return fmt.Errorf("check: reading a finding: %w", err)
	}
	*f = Finding{j.Step, j.Check, j.Status, j.Module, nil, j.Says, float64(j.Effect), j.CI[0], j.CI[1], j.Unit, j.Rows, j.Evidence, j.Next}
	if len(j.Evidence) == 0 {
		f.Evidence = nil
	}
	if j.Agent >= 0 {
		f.Who = []int{j.Agent}
	}
	return nil
}

// PPO is the module of what learns from rows, whichever learner it is.
const PPO = "ppo"

// Modules in causal order: the output of each is the input of later ones. Only
// names from this list are used.
var Modules = []string{"game", "spec", "rollout", "buffers", PPO, "goals", "moa", "beliefs", "world", "planner", "checkpoint",
	"logging", "guards"}

// place returns where a module comes in causal order; symptoms, which name
// none, come last.
func place(module string) int {
	if module == "" {
		return len(Modules)
	}
	i := slices.Index(Modules, module)
	if i < 0 {
		panic("check: a finding names a module that is not in Modules")
	}
	return i
}

// Worst returns the index of the finding that speaks for all: the worst one, of
// several the one whose module comes first in causal order, because what comes
// later inherits its fault, and of those the one found first. It returns -1 if
// none is suspect or a fault.
func Worst(list []Finding) int {
	first := -1
	for i, f := range list {
		switch {
		case f.Status < Suspect:
		case first < 0 || f.Status > list[first].Status:
			first = i
		case f.Status == list[first].Status && place(f.Module) < place(list[first].Module):
			first = i
		}
	}
	return first
}

// Report is everything that was found about one subject.
type Report struct {
	Subject  string    `json:"subject"` // a preset, a spec's file, a run's folder, a dump
	Verdict  Status    `json:"verdict"`
	Module   string    `json:"module"` // the first one at fault, "" if none
	Says     string    `json:"says"`   // the verdict in a sentence
	Next     string    `json:"next"`
	Findings []Finding `json:"findings"`
}

// Add appends findings and concludes anew.
func (r *Report) Add(fs ...Finding) {
	for _, f := range fs {
		if f.Lo == 0 && f.Hi == 0 {
			f.Lo, f.Hi = f.Effect, f.Effect
		}
		r.Findings = append(r.Findings, f)
	}
	r.Conclude()
}

// Asked counts the questions that could be asked.
func (r *Report) Asked() int {
	n := 0
	for _, f := range r.Findings {
		if f.Status != NotAsked {
			n++
		}
	}
	return n
}

// Conclude sets the verdict: that of the finding that speaks for all.
func (r *Report) Conclude() {
	r.Verdict, r.Module, r.Next = Pass, "", ""
	switch asked, all := r.Asked(), len(r.Findings); {
	case asked == 0:
		r.Says = "Nothing was checked."
	case asked == all:
		r.Says = fmt.Sprintf("%d checks found nothing wrong.", asked)
	default:
		r.Says = fmt.Sprintf("%d checks found nothing wrong; %d could not be asked.", asked, all-asked)
	}
	if i := Worst(r.Findings); i >= 0 {
		f := r.Findings[i]
		r.Verdict, r.Module, r.Says, r.Next = f.Status, f.Module, f.Says, f.Next
	}
}

// Measured leaves out the seeds in which no episode ended.
func Measured(returns [][]float64) [][]float64 {
	return slices.DeleteFunc(slices.Clone(returns), func(row []float64) bool { return len(row) == 0 })
}

// List names things: a, b and c.
func List(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

// Few names at most four things, and says how many more there are.
func Few(names []string) string {
	if len(names) > 4 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:4], ", "), len(names)-4)
	}
	return List(names)
}

// Agents names agents by their numbers: "agent 1" or "agents 1, 2 and 3".
func Agents[A ~int](list []A) string {
	var names []string
	for _, a := range list {
		names = append(names, fmt.Sprint(int(a)))
	}
	switch len(names) {
	case 0:
		return "no agent"
	case 1:
		return "agent " + names[0]
	}
	return "agents " + List(names)
}

// Verb is in the form for one, or for several.
func Verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Capital begins a sentence.
func Capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
