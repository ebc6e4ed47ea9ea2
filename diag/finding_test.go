package diag_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"hop/diag"
)

func TestTheFirstModuleInCausalOrderIsNamedNotTheLoudest(t *testing.T) {
	var r diag.Report
	r.Add(
		diag.Finding{Check: "a", Module: "logging", Verdict: diag.Fault, Says: "counts are wrong", Effect: 1000},
		diag.Finding{Check: "b", Module: "game", Verdict: diag.Suspect, Says: "seats may differ", Effect: 2},
		diag.Finding{Check: "c", Module: "buffers", Verdict: diag.Fault, Says: "rewards were swapped", Effect: 0.1},
		diag.Finding{Check: "d", Module: "buffers", Verdict: diag.Fault, Says: "later", Effect: 5},
		diag.Finding{Check: "e", Module: "rollout", Verdict: diag.Pass},
	)
	if r.Verdict != diag.Fault || r.Module != "buffers" || r.Says != "rewards were swapped" {
		t.Errorf("got %v in %q: %q; want the fault in buffers", r.Verdict, r.Module, r.Says)
	}
	r = diag.Report{}
	r.Add(diag.Finding{Module: "ppo"}, diag.Finding{Module: "game"})
	if r.Verdict != diag.Pass || r.Module != "" || !strings.HasPrefix(r.Says, "2 checks") {
		t.Errorf("got %v in %q: %q; want a pass of 2 checks", r.Verdict, r.Module, r.Says)
	}
}

func TestFindingsSurviveJSON(t *testing.T) {
	want := diag.Finding{
		Step: 2, Check: "own rows", Module: "ppo", Verdict: diag.Fault, Says: "x", Effect: 1, Lo: 0.5, Hi: 2, Unit: "share",
		Rows: 7, Evidence: []diag.Row{{"agent 1", 0, 1}}, Next: "look",
	}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{`"check":"own rows"`, `"status":"fault"`, `"module":"ppo"`, `"effect":1`, `"ci":[0.5,2]`} {
		if !strings.Contains(string(b), key) {
			t.Errorf("%s has no %s", b, key)
		}
	}
	var got diag.Finding
	if err := json.Unmarshal(b, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}
