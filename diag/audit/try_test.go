package audit_test

import (
	"os"
	"testing"
	"time"

	"hop/diag"
	"hop/diag/audit"
	"hop/exp"
)

func TestTry(t *testing.T) {
	s, err := exp.Load(os.Getenv("PRESET"), nil)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	r, err := audit.Spec(t.Context(), s, audit.Options{Say: func(w string) { t.Log(time.Since(at), w) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(time.Since(at), r.Verdict, r.Module, r.Says)
	for _, f := range r.Findings {
		if f.Verdict != diag.Pass || testing.Verbose() {
			t.Log(f.Step, f.Verdict, f.Module, "|", f.Check, "|", f.Says, f.Effect, f.Rows, f.Evidence)
		}
	}
	t.Log(r.Learns, r.Updates, r.Rows, r.Returns)
}
