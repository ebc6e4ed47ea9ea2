package audit

import (
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/spec"
)

// Of a panic it is said where it came from: who called what panics, too.
func TestWhereAPanicCameFrom(t *testing.T) {
	calls := func(f func()) (where string) {
		defer func() {
			recover()
			where = panicked().String()
		}()
		f()
		return ""
	}
	if got := calls(func() { var list []int; list[len(t.Name())]++ }); !strings.HasPrefix(got, "audit.TestWhereAPanicCameFrom.func") ||
		!strings.Contains(got, ", called by audit.TestWhereAPanicCameFrom") {
		t.Errorf("of an index out of range: %q", got)
	}
}

// What bots got in the warm-up is not compared between agents.
func TestRecordsAreReadWithoutTheWarmUp(t *testing.T) {
	var rows []runlog.Row
	for w := range 10 {
		for a := range 2 {
			rows = append(rows, runlog.Row{Step: int64(10 * (w + 1)), Name: "return", Agent: a, Value: float64(w + 10*a), N: 1})
		}
	}
	rec := &recorded{}
	rec.take(rows, 90)
	if len(rec.curves[0][1]) != 1 || !slices.Equal(rec.returns[0], []float64{9, 19}) {
		t.Errorf("returns %v of curves %v, want those of the last window, 9 and 19", rec.returns, rec.curves)
	}
	rows = append(rows, runlog.Row{Step: 100, Name: "count/updates", Agent: 1, Value: 3})
	if rec.take(rows, 100); rec.returns[1] != nil || len(rec.counts) != 2 {
		t.Errorf("a seed that is still in its warm-up has returns %v", rec.returns)
	}
	rec.seeds = []uint64{1, 2}
	if f := rec.counted()[0]; f.Rows != 1 {
		t.Errorf("its counters were not read: %+v", f)
	}
	r := &Result{Agents: []string{"agent 0", "agent 1"}, Returns: rec.returns, Curves: rec.curves}
	b, err := r.Page("hop audit")
	if err != nil || !strings.Contains(string(b), "Returns by agent: –. In 1 seed of 2 no episode ended.") {
		t.Errorf("the page does not say that no episode ended, %v", err)
	}
	if f := order(rec.returns[1:]); !strings.HasPrefix(f.Says, "No episode ended") {
		t.Errorf("without an episode: %s", f.Says)
	}
}

// What guards said of several agents and seeds for one cause is one line; what is worth knowing and no fault accuses nobody.
func TestNotesOfOneCauseAreOne(t *testing.T) {
	note := func(who int, name string, bad check.Status) check.Finding {
		return check.Finding{Check: name, Status: bad, Module: "moa", Who: []int{who}, Says: "agent so and so forgets"}
	}
	r := &Result{}
	r.Add(gathered([]check.Finding{
		note(1, "forgets", check.Note), note(0, "forgets", check.Note), note(1, "forgets", check.Note), note(2, "stands still", check.Note),
	})...)
	if len(r.Findings) != 2 || r.Findings[0].Says != "agent so and so forgets; 2 more like it, of agents 0 and 1" ||
		r.Findings[0].Effect != 3 {
		t.Errorf("%+v", r.Findings)
	}
	if text := r.Text(false); r.Verdict != check.Pass || len(r.Wrong()) > 0 || strings.Count(text, "  note    moa") != 2 {
		t.Errorf("%v, %v:\n%s", r.Verdict, r.Wrong(), text)
	}
	if r.Add(gathered([]check.Finding{note(0, "x", check.Note), note(1, "x", check.Suspect)})...); r.Verdict != check.Suspect {
		t.Errorf("one of them is suspect, and the verdict is %v", r.Verdict)
	}
}

// What too few seeds cannot tell is no pass on the page: neither green nor counted.
func TestTooFewSeedsAreNotGreen(t *testing.T) {
	r := &Result{Agents: []string{"agent 0", "agent 1"}, Returns: [][]float64{{1, 2}}}
	r.Add(check.Order(r.Returns), check.Finding{Step: 1, Check: "rules", Module: "game", Says: "They hold."})
	b, err := r.Page("hop audit")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<span class="mark not asked">`, "Too few seeds to tell", "1 checks found nothing wrong; 1 could not be asked.",
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if len(r.Wrong()) > 0 {
		t.Errorf("it is said to be wrong: %+v", r.Wrong())
	}
}

// The rows that a learner reports are those of its own agents; what is inferred about the
// others has other rows.
func TestRowsOfAnInferenceAreNotThoseOfTheLearner(t *testing.T) {
	for _, c := range []struct {
		stats []agent.Stat
		wrong int
	}{
		{[]agent.Stat{{Name: "goal/explained", N: 30}, {Name: "search/explained", N: 10}}, 0},
		{[]agent.Stat{{Name: "search/explained", N: 30}}, 1},
		{[]agent.Stat{{Name: "goal/explained", N: 10}}, 1},
	} {
		var s statCheck
		if s.take(&tap{}, c.stats, 10); s.wrongN != c.wrong {
			t.Errorf("%v of 10 own rows: %d windows are wrong, want %d", c.stats, s.wrongN, c.wrong)
		}
	}
}

// A preset's audit is its whole run in small: fades are over and memories full before its last windows; a short run stays as it is.
func TestAnAuditIsAWholeRunInSmall(t *testing.T) {
	s := spec.Spec{Train: train.Config{Envs: 8, Window: 10, Steps: 80_000}}
	s.Train.GoalWeight = []train.Weight{{Goal: "hare", Over: 40_000}}
	s.Train.Standins.Over, s.Imagine.Rows = 8000, 5000
	w := whole(s, 20)
	got := []int{w.Train.Steps, w.Train.GoalWeight[0].Over, w.Train.Standins.Over, w.Imagine.Rows}
	if !slices.Equal(got, []int{1600, 800, 160, 533}) {
		t.Errorf("steps, fades and memory of %v", got)
	}
	if rows := whole(s, 5).Imagine.Rows; rows != leastRows {
		t.Errorf("a memory of %d rows, want %d, the least that a spec may have", rows, leastRows)
	}
	if s.Train.GoalWeight[0].Over != 40_000 || whole(s, 1000).Train.Steps != 80_000 {
		t.Error("the spec itself was changed, or a run became longer")
	}
}
