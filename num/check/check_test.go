package check_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/check"
)

func TestTheFirstModuleInCausalOrderIsNamedNotTheLoudest(t *testing.T) {
	var r check.Report
	r.Add(
		check.Finding{Check: "a", Module: "logging", Status: check.Fault, Says: "counts are wrong", Effect: 1000},
		check.Finding{Check: "b", Module: "game", Status: check.Suspect, Says: "seats may differ", Effect: 2},
		check.Finding{Check: "c", Module: "buffers", Status: check.Fault, Says: "rewards were swapped", Effect: 0.1},
		check.Finding{Check: "d", Module: "buffers", Status: check.Fault, Says: "later", Effect: 5},
		check.Finding{Check: "e", Module: "rollout", Status: check.Pass},
	)
	if r.Verdict != check.Fault || r.Module != "buffers" || r.Says != "rewards were swapped" {
		t.Errorf("got %v in %q: %q; want the fault in buffers", r.Verdict, r.Module, r.Says)
	}
	r = check.Report{}
	r.Add(check.Finding{Module: "ppo"}, check.Finding{Module: "game"})
	if r.Verdict != check.Pass || r.Module != "" || !strings.HasPrefix(r.Says, "2 checks") {
		t.Errorf("got %v in %q: %q; want a pass of 2 checks", r.Verdict, r.Module, r.Says)
	}
}

func TestFindingsSurviveJSON(t *testing.T) {
	want := check.Finding{
		Step: 2, Check: "own rows", Module: "ppo", Status: check.Fault, Who: []int{2}, Says: "x", Effect: 1, Lo: 0.5, Hi: 2, Unit: "share",
		Rows: 7, Evidence: []check.Row{{"agent 1", 0, 1}}, Next: "look",
	}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{`"check":"own rows"`, `"status":"fault"`, `"module":"ppo"`, `"effect":1`, `"ci":[0.5,2]`, `"agent":2`} {
		if !strings.Contains(string(b), key) {
			t.Errorf("%s has no %s", b, key)
		}
	}
	var got check.Finding
	if err := json.Unmarshal(b, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}
