// Package diag answers one question at a time about a run: is the game even,
// does every agent learn from its own rows, is every reward the one that was
// earned?
//
// A check returns a Finding: pass, suspect or fault, the effect it saw with an
// interval, the rows it saw it in, and where to look next. A Report holds the
// findings of one subject; its verdict names the first module at fault in the
// order in which one module's output is the next one's input, not the loudest.
//
// Checks share no code with what they check: they have their own small
// arithmetic in float64, and they replay what was recorded on the rules. They
// change nothing they are shown. Everything follows from the arguments: no
// clock, no random numbers but those of a given key.
package diag

import (
	"encoding/json"
	"fmt"
	"slices"

	"hop/stats"
)

// Verdict is what a check came to.
type Verdict int

// From harmless to certain.
const (
	Pass    Verdict = iota // nothing wrong was seen, by a check that would have seen it
	Suspect                // unlikely by chance, or a sign of a fault that has other causes too
	Fault                  // cannot be so in a correct run
)

func (v Verdict) String() string { return [...]string{"pass", "suspect", "fault"}[v] }

// MarshalText writes pass, suspect or fault.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (v *Verdict) UnmarshalText(b []byte) error {
	for w := Pass; w <= Fault; w++ {
		if w.String() == string(b) {
			*v = w
			return nil
		}
	}
	return fmt.Errorf("diag: verdict %q, want pass, suspect or fault", b)
}

// Row is a line of evidence: what was seen and what a correct run shows.
type Row struct {
	Label  string  `json:"label"`
	Value  float64 `json:"value"`
	Wanted float64 `json:"wanted"`
}

// Finding is what one check found.
type Finding struct {
	Step     int     // of the procedure, 0 to 5: is it real, game, pipeline, data, learners, shared brains
	Check    string  // short name, such as "own rows"
	Module   string  // one of Modules; "" for a symptom that names none
	Verdict  Verdict //
	Says     string  // one sentence
	Effect   float64 // how much is wrong, in Unit; 0: nothing
	Lo, Hi   float64 // interval of Effect; both 0: it was counted, not estimated, and a Report sets them to it
	Unit     string  //
	Rows     int     // how many rows, episodes or probes it rests on
	Evidence []Row   // a small table
	Next     string  // the command to run, or the place to look
}

// Accuse gives the finding another verdict, how much is wrong, what is to be said
// and where to look.
func (f *Finding) Accuse(v Verdict, effect float64, says, next string) {
	f.Verdict, f.Effect, f.Says, f.Next = v, effect, says, next
}

// Saw adds a line of evidence.
func (f *Finding) Saw(value, wanted float64, label string, args ...any) {
	f.Evidence = append(f.Evidence, Row{fmt.Sprintf(label, args...), value, wanted})
}

// Modules in causal order: the output of each is the input of later ones. Only
// names from this list are used.
var Modules = []string{"game", "spec", "rollout", "buffers", "ppo", "moa", "world", "planner", "checkpoint", "logging", "guards"}

// findingJSON is a Finding's form in --json.
type findingJSON struct {
	Step     int            `json:"step"`
	Check    string         `json:"check"`
	Status   Verdict        `json:"status"`
	Module   string         `json:"module"`
	Says     string         `json:"says"`
	Effect   float64        `json:"effect"`
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
	ci := stats.Interval{f.Lo, f.Hi}
	return json.Marshal(findingJSON{f.Step, f.Check, f.Verdict, f.Module, f.Says, f.Effect, ci, f.Unit, f.Rows, f.Evidence, f.Next})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Finding) UnmarshalJSON(b []byte) error {
	var j findingJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return fmt.Errorf("diag: reading a finding: %w", err)
	}
	*f = Finding{j.Step, j.Check, j.Module, j.Status, j.Says, j.Effect, j.CI[0], j.CI[1], j.Unit, j.Rows, j.Evidence, j.Next}
	return nil
}

// Report is everything that was found about one subject.
type Report struct {
	Subject  string    `json:"subject"` // a preset, a spec's file, a run's folder, a dump
	Verdict  Verdict   `json:"verdict"`
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

// Conclude sets the verdict: that of the worst finding, and of those the module
// that comes first in causal order, because what comes later inherits its
// fault. Among findings of one module the one found first speaks.
func (r *Report) Conclude() {
	r.Verdict, r.Module, r.Next = Pass, "", ""
	r.Says = fmt.Sprintf("%d checks found nothing wrong.", len(r.Findings))
	if len(r.Findings) == 0 {
		r.Says = "Nothing was checked."
	}
	first := -1
	for i, f := range r.Findings {
		switch {
		case f.Verdict == Pass:
		case first < 0 || f.Verdict > r.Findings[first].Verdict:
			first = i
		case f.Verdict == r.Findings[first].Verdict && place(f.Module) < place(r.Findings[first].Module):
			first = i
		}
	}
	if first >= 0 {
		f := r.Findings[first]
		r.Verdict, r.Module, r.Says, r.Next = f.Verdict, f.Module, f.Says, f.Next
	}
}

// place returns where a module comes in causal order; symptoms, which name
// none, come last.
func place(module string) int {
	if module == "" {
		return len(Modules)
	}
	i := slices.Index(Modules, module)
	if i < 0 {
		panic("diag: a finding names a module that is not in Modules")
	}
	return i
}
