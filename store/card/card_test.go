package card

import (
	"bytes"
	"encoding/json"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/npz"
	"github.com/hop-marl/hop/num/plot"
)

func answer(name string, s check.Status, why, fix string) check.Finding {
	return check.Finding{Check: name, Status: s, Says: why, Next: fix}
}

func TestVerdictIsTheWorstCheck(t *testing.T) {
	good := answer("a", check.Pass, "fine", "")
	weak := answer("b", check.Suspect, "0.7 of 0.8", "train longer")
	broken := answer("c", check.Fault, "stands still", "give it an optimiser")
	for _, tc := range []struct {
		name   string
		checks []check.Finding
		status check.Status
		want   string
	}{
		{"none", nil, check.Pass, "not scored: the card has no checks"},
		{"good", []check.Finding{good, good}, check.Pass, "good: all 2 checks pass"},
		{"weak", []check.Finding{good, weak}, check.Suspect, "weak: b: 0.7 of 0.8; train longer"},
		{"broken after weak", []check.Finding{weak, broken, good}, check.Fault, "broken: c: stands still; give it an optimiser (and 1 more)"},
		{"first of equals", []check.Finding{broken, answer("d", check.Fault, "x", "")}, check.Fault,
			"broken: c: stands still; give it an optimiser (and 1 more)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := Card{Checks: tc.checks}
			if got := c.Verdict(); got != tc.want || c.Status() != tc.status {
				t.Errorf("Verdict %q, status %s, want %q, %s", got, c.Status(), tc.want, tc.status)
			}
		})
	}
}

func TestCheckKeepsTheFixOnlyWhereNeeded(t *testing.T) {
	var c Card
	c.Check("a", true, true, "why", "fix")
	c.Check("b", false, true, "why", "fix")
	c.Check("c", false, false, "why", "fix")
	for i, want := range []check.Finding{answer("a", check.Pass, "why", ""), answer("b", check.Suspect, "why", "fix"),
		answer("c", check.Fault, "why", "fix")} {
		if !reflect.DeepEqual(c.Checks[i], want) {
			t.Errorf("check %d is %v, want %v", i, c.Checks[i], want)
		}
	}
}

func classes() *Classes {
	c := NewClasses([]string{"up", "down", "stay", "hunt"})
	c.Add(0, []float32{.7, .1, .1, .1})
	c.Add(0, []float32{.2, .6, .1, .1})
	c.Add(1, []float32{0, 1, 0, 0})
	c.Add(2, []float32{.4, .3, .1, .2})
	return c
}

// The figures of four rows, worked out by hand.
func TestClassesCountAsDefined(t *testing.T) {
	c := classes()
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	near("top-1", c.Accuracy(), 0.5)
	near("top-3", c.Accuracy3(), 0.75)
	near("cross-entropy", c.CE(), -(math.Log(.7)+math.Log(.2)+math.Log(.1))/4)
	near("calibration error", c.ECE(), (.3+.6+0+.4)/4)
	near("Brier", c.Brier, (.09+.03)+(.64+.36+.02)+0+(.16+.09+.81+.04))
	up := c.Class(0)
	near("count", float64(up.Count), 2)
	near("ratio", up.Ratio, .5)
	near("precision", up.Precision, .5)
	near("recall", up.Recall, .5)
	near("f1", up.F1, .5)
	near("recall of the class never predicted", c.Class(2).Recall, 0)
	near("precision of down", c.Class(1).Precision, .5)
	if r := c.Class(3); r != (Row{}) {
		t.Errorf("a class without rows gives %+v, want zeros", r)
	}
}

func TestEquallyLikelyClassesShareTheCredit(t *testing.T) {
	c := NewClasses([]string{"a", "b", "c"})
	c.Add(2, []float32{0, .5, .5})
	c.Add(0, []float32{0, .5, .5})
	c.Add(1, []float32{.25, .5, .25})
	if got := c.Accuracy(); math.Abs(got-.5) > 1e-9 {
		t.Errorf("top-1 of a half, a miss and a hit is %v, want 0.5", got)
	}
}

func TestClassFilesHoldTheTable(t *testing.T) {
	base := filepath.Join(t.TempDir(), "moa_eval_epoch0")
	if err := classes().Write(base); err != nil {
		t.Fatal(err)
	}
	csv, err := os.ReadFile(base + ".csv")
	if err != nil {
		t.Fatal(err)
	}
	want := "action,count,ratio,precision,recall,f1\n0,2,0.5,0.5,0.5,0.5\n1,1,0.25,0.5,1,0.666667\n2,1,0.25,0,0,0\n3,0,0,0,0,0\n"
	if string(csv) != want {
		t.Errorf("csv is\n%swant\n%s", csv, want)
	}
	b, err := os.ReadFile(base + ".npz")
	if err != nil {
		t.Fatal(err)
	}
	f, err := npz.Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	conf, shape, err := npz.Get[int64](f, "confusion", 2)
	if err != nil || shape[0] != 4 || conf[0] != 1 || conf[1] != 1 || conf[5] != 1 || conf[8] != 1 {
		t.Errorf("confusion is %v %v, %v", conf, shape, err)
	}
	for _, name := range []string{"ratio", "precision", "recall", "f1"} {
		if v, _, err := npz.Get[float64](f, name, 1); err != nil || len(v) != 4 {
			t.Errorf("%s is %v, %v", name, v, err)
		}
	}
}

func full(t *testing.T) *Card {
	t.Helper()
	c := &Card{Title: "Model of others", About: "a <b> lead"}
	c.Add(Number{Name: "top-1", Value: .85, N: 100, Baselines: []Ref{{Name: "majority", Value: .35}}, Limit: &Ref{Name: "Bayes", Value: .86}})
	c.Add(Number{Name: "loss", Value: math.NaN(), Lower: true})
	c.Check("reach", false, true, "98 | of 100", "longer")
	picture, err := classes().Figures("")[0].PNG()
	if err != nil {
		t.Fatal(err)
	}
	c.Figures = append(classes().Figures("moa_"),
		plot.Lines("loss", "Loss", "", plot.Axes{X: "epoch"}, plot.Line{Name: "ce", Y: []float64{2, math.NaN(), 1, .5}}),
		&plot.Figure{Name: "worst", Title: "A ready picture", Image: picture})
	return c
}

func TestWriteGivesAllForms(t *testing.T) {
	dir := t.TempDir()
	c := full(t)
	if err := c.Write(dir); err != nil {
		t.Fatal(err)
	}
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var got struct {
		Verdict string
		Status  string
		Numbers []struct {
			Name  string
			Value *float64
			Limit struct{ Value float64 }
		}
	}
	if err := json.Unmarshal(read("card.json"), &got); err != nil {
		t.Fatal(err)
	}
	if got.Verdict != c.Verdict() || got.Status != "weak" || got.Numbers[0].Limit.Value != .86 || got.Numbers[1].Value != nil {
		t.Errorf("card.json holds %+v", got)
	}
	md := string(read("card.md"))
	for _, want := range []string{"| top-1 | 0.8500 | good | 100 | majority 0.3500 | Bayes 0.8600 |", "| loss ↓ | – |", `98 \| of 100`,
		"(moa_confusion_matrix.png)"} {
		if !strings.Contains(md, want) {
			t.Errorf("card.md has no %q:\n%s", want, md)
		}
	}
	html := string(read("card.html"))
	for _, want := range []string{"a &lt;b&gt; lead", `<p class="verdict weak">`, "data:image/png;base64,", "<svg", `<table class="heat">`,
		"prefers-color-scheme: dark"} {
		if !strings.Contains(html, want) {
			t.Errorf("card.html has no %q", want)
		}
	}
	for _, f := range c.Figures {
		if _, err := png.Decode(bytes.NewReader(read(f.Name + ".png"))); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

func TestSameCardGivesTheSameBytes(t *testing.T) {
	var forms [2]string
	for i := range forms {
		c := full(t)
		html, err := c.document().Page()
		if err != nil {
			t.Fatal(err)
		}
		forms[i] = string(html) + c.Markdown()
	}
	if forms[0] != forms[1] {
		t.Error("two equal cards differ")
	}
}

// An observer who cannot decide between two actions is as often right about one
// as about the other, whichever comes first in the list.
func TestTiesAreShared(t *testing.T) {
	c := NewClasses([]string{"first", "second"})
	for range 3 {
		c.Add(0, []float32{0.5, 0.5})
		c.Add(1, []float32{0.5, 0.5})
	}
	if a, b := c.Class(0).Recall, c.Class(1).Recall; a != 0.5 || b != 0.5 || c.Accuracy() != 0.5 {
		t.Errorf("recalls %v and %v, accuracy %v, want .5 each", a, b, c.Accuracy())
	}
	if s := c.Sure(); s != 0.5 {
		t.Errorf("mean probability of the likeliest class %v, want .5", s)
	}
}

// Where a number lies decides what it is called, whatever the checks say.
func TestNumbersAreScoredWhereTheyLie(t *testing.T) {
	between := func(v, base, limit float64, loose, lower bool) Number {
		return Number{Name: "x", Value: v, N: 10_000, Lower: lower,
			Baselines: []Ref{{Name: "idle", Value: base}, {Name: "unknown", Value: math.NaN()}},
			Limit:     &Ref{Name: "all", Value: limit, Loose: loose}}
	}
	for _, c := range []struct {
		name string
		n    Number
		want string // how the verdict begins
	}{
		{"near its limit", between(.77, .61, .78, false, false), "good: all 1 checks pass"},
		{"worse than no learning", between(.269, .47, .615, true, false), "weak: x: 0.2690 is no better than idle 0.4700"},
		{"worse, smaller is better", between(.3, .2, .1, false, true), "weak: x: 0.3000 is no better than idle 0.2000"},
		{"half of the way", between(.7, .6, .8, false, false), "weak: x: 0.7000 is 50 % of the way from idle 0.6000"},
		{"above its limit", between(.9, .61, .8, false, false), "weak: x: 0.9000 is better than all 0.8000, which is all that is possible"},
		{"above its limit by chance", between(.805, .61, .8, false, false), "good: all 1 checks pass"},
		{"above what can be passed", between(.9, .61, .8, true, false), "good: all 1 checks pass"},
		{"at a limit that needs no learning", between(1, 1, 1, false, false), "good: all 1 checks pass"},
		{"beside nothing", Number{Name: "x", Value: .1}, "good: all 1 checks pass"},
		{"far from a limit alone", Number{Name: "x", Value: 0, Limit: &Ref{Name: "all", Value: 1}}, "good: all 1 checks pass"},
		{"no number", between(math.NaN(), .1, .2, false, false), "good: all 1 checks pass"},
	} {
		k := &Card{}
		k.Check("a", true, true, "fine", "")
		k.Add(c.n)
		if got := k.Verdict(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: the verdict is %q, want %q", c.name, got, c.want)
		}
		if text := k.Markdown(); strings.HasPrefix(c.want, "weak") && !strings.Contains(text, "| weak | 10000 |") {
			t.Errorf("%s: the number is not marked:\n%s", c.name, text)
		}
	}
	if g := (Number{Value: 0, Limit: &Ref{Value: 1}}).Grade(); g != "" {
		t.Errorf("a number with nothing to be held against is called %q", g)
	}
}

func TestShortTrainingsAreNotCalledGood(t *testing.T) {
	k := &Card{Short: "1 of the usual 10 epochs"}
	k.Check("a", true, true, "fine", "")
	const want = "short: 1 of the usual 10 epochs; so far good: all 1 checks pass"
	if got := k.Verdict(); got != want || k.Status() != check.Suspect {
		t.Errorf("the verdict is %q (%s), want %q", got, k.Status(), want)
	}
}

// The last of four equally likely classes is among the three likeliest on three
// rows of four, not on none.
func TestTiesOfThreeAreShared(t *testing.T) {
	c := NewClasses([]string{"a", "b", "c", "d"})
	c.Add(3, []float32{.25, .25, .25, .25})
	if c.Accuracy3() != .75 || c.Given(3) != .25 {
		t.Errorf("top-3 is %v, want .75; it was given %v, want .25", c.Accuracy3(), c.Given(3))
	}
}
