package runlog

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func FuzzMetrics(f *testing.F) {
	f.Add(header + "\n1,return,0,0.5,12\n2,mean,,NaN,1\n")
	f.Add(header + "\r\n1,a,,+Inf,1\r\n")
	f.Add(header + "\n1,a,,1e-320,1\n3,cut of")
	f.Add("")
	for _, hostile := range []string{
		"1,a,0,1e999,1", "1,a,0,-1e999,1", "99999999999999999999,a,0,1,1", "-1,a,-9,nan,-1", "1,../../../etc/passwd,0,1,1",
		"1,<script>,0,1,1", `1,"a,0,1,1`, "1,a,0,0x1p-1074,9223372036854775807",
		"1," + strings.Repeat("a", 1<<16) + ",0,1,1", strings.Repeat(",", 1<<12),
	} {
		f.Add(header + "\n" + hostile + "\n")
	}
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := parseMetrics(strings.NewReader(text))
		if err != nil {
			return
		}
		again := []byte(header + "\n")
		for _, r := range rows {
			again = r.append(again)
		}
		got, err := parseMetrics(bytes.NewReader(again))
		if err != nil {
			t.Fatalf("what was read from %q is written as %q, which cannot be read: %v", text, again, err)
		}
		if len(got) != len(rows) {
			t.Fatalf("%d rows of %q come back as %d", len(rows), text, len(got))
		}
		for i := range rows {
			a, b := rows[i], got[i]
			if math.Float64bits(a.Value) == math.Float64bits(b.Value) || math.IsNaN(a.Value) && math.IsNaN(b.Value) {
				a.Value, b.Value = 0, 0
			}
			if a != b {
				t.Fatalf("row %d of %q: %v comes back as %v", i, text, rows[i], got[i])
			}
		}
	})
}

func FuzzSeal(f *testing.F) {
	s := seal{Step: 7, Number: 1, Score: -2.5, SHA256: strings.Repeat("0f", 32), Bytes: 10, Metrics: 20, Events: 30, Keep: Keep{3, 0}}
	b, err := json.Marshal(s)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, int64(7))
	f.Add(b[:20], int64(7))
	f.Add(bytes.Replace(b, []byte("20"), []byte("-2"), 1), int64(7))
	f.Add([]byte("null"), int64(0))
	for _, hostile := range []string{
		`{"step":7,"bytes":9223372036854775807,"metrics":-1,"events":1e999}`, `{"step":7,"score":NaN}`, strings.Repeat(`{"keep":`, 20_000),
		strings.Repeat("[", 20_000), `{"step":7,"spec":"game: {name: python, env: 'os:system', kwargs: '{\"command\": \"true\"}'}"}`,
		`{"step":7,"preset":"../../../etc/passwd"}`, `{"step":7,"step":8,"check":"\u0000"}`,
	} {
		f.Add([]byte(hostile), int64(7))
	}
	f.Fuzz(func(t *testing.T, b []byte, step int64) {
		s, err := parseSeal(b, step)
		if err != nil {
			if s != (seal{}) {
				t.Fatalf("a damaged seal is used: %+v, %v", s, err)
			}
			return
		}
		if s.Step != step || s.Number < 1 || s.Bytes < 0 || s.Metrics < 0 || s.Events < 0 || math.IsNaN(s.Score) {
			t.Fatalf("%q is taken as %+v", b, s)
		}
	})
}

func FuzzStepOf(f *testing.F) {
	for _, name := range []string{"step-000000000030.json", "step-000000000030.safetensors.tmp", "step-30.json", "step--00000000001.json",
		"notes", "", "step-9223372036854775808.json", "step-000000000030.json/x",
		"step-000000000030/../../../../etc/passwd.json", `step-000000000030\..\x.json`, "step-000000000030.json\x00", "step-+00000000030.json"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		step, kind, ours := stepOf(name)
		if ours && (step < 0 || !strings.HasPrefix(name, "step-") || !strings.HasSuffix(name, kind)) {
			t.Fatalf("%q is taken for step %d, kind %q", name, step, kind)
		}
	})
}
