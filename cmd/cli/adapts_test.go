package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/stats"
)

// adapts is docs/results/adapts.json: what else was measured of hop+ among others.
type adapts struct {
	By   string `json:"by"`
	Rows []struct {
		What, Wanted, By, Note string
		Seeds                  []float64
	} `json:"rows"`
	Then []struct { // co-players who are exchanged in the eleventh episode
		VS    string `json:"vs"`
		Then  string `json:"then"`
		After int    `json:"after"` // episodes until it is back at 90 %; -1: not in that life
	} `json:"then"`
}

// page is docs/results/adapts.md.
func (a adapts) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Tables: `hop+` among others\n\nWhat they mean: [HOP agents](../hop.md#results), [among others](../adaptation.md). "+
		"Among strangers: [strangers](strangers.md). %s\n\n| | by seed | mean (95 %%) | wanted | command |\n|---|---|---|---|---|\n", a.By)
	for _, r := range a.Rows {
		var all []string
		var acc stats.Acc
		for _, x := range r.Seeds {
			all = append(all, dec(x))
			acc.Add(x)
		}
		mean := sure(stats.Number(acc.Mean()), acc.CI(.95))
		if r.Note != "" {
			mean += "; " + r.Note
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | `%s` |\n", r.What, strings.Join(all, " "), mean, r.Wanted, r.By)
	}
	in5 := 0
	for _, t := range a.Then {
		if t.After >= 0 && t.After <= 5 {
			in5++
		}
	}
	fmt.Fprintf(&b, "\n## Co-players who change within a life\n\n`hop adapt hop+ --vs A,A,A --then B,B,B --at-episode 10 --lives 2 "+
		"--seeds 1-5 --steps 1500 --last 400 --set game.stags=2`, neighbours in the alphabet of fifteen strangers of the test split: episodes "+
		"until the mean of three in a row is at least 90 %% of the best response's. Wanted: at most 5. So it is in %d of %d.\n\n"+
		"| first | then | episodes |\n|---|---|---|\n", in5, len(a.Then))
	for _, t := range a.Then {
		after := fmt.Sprint(t.After)
		if t.After < 0 {
			after = "not in that life"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", t.VS, t.Then, after)
	}
	return b.String()
}

// The page says what was measured; -tables writes it.
func TestThePageOfAdaptingIsOfWhatWasMeasured(t *testing.T) {
	text, err := os.ReadFile(results + "adapts.json")
	var a adapts
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		t.Fatal(err)
	}
	if *anew {
		if err := os.WriteFile(results+"adapts.md", []byte(a.page()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(results + "adapts.md"); err != nil || string(got) != a.page() {
		t.Errorf("docs/results/adapts.md is not made of what was measured: %v", err)
	}
}
