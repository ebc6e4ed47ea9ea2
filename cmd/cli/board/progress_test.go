package board

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestProgressSaysRateAndTimeLeft(t *testing.T) {
	at := time.Unix(1000, 0)
	for _, c := range []struct {
		name        string
		done, total int
		last, now   time.Duration
		want        string
	}{
		{"nothing is known yet", 0, 0, 0, 3 * time.Second, "meetings: 3s so far"},
		{"the first part takes long", 0, 6, 0, 40 * time.Second, "0 of 6 meetings, 40s so far"},
		{"slow parts", 2, 6, 60 * time.Second, 70 * time.Second, "2 of 6 meetings, 30s each, 1m50s left"},
		{"a part that takes longer than the others", 4, 6, 40 * time.Second, 90 * time.Second, "4 of 6 meetings, 10s each, 10s left"},
		{"the end", 6, 6, 60 * time.Second, 60 * time.Second, "6 of 6 meetings, 10s each, 0s left"},
		{"fast parts", 4000, 16000, 2 * time.Second, 2 * time.Second, "4,000 of 16,000 meetings, 2 k a second, 6s left"},
	} {
		p := &Progress{what: "meetings", start: at, last: at.Add(c.last), done: c.done, total: c.total}
		now := at.Add(c.now)
		if got := p.line(now, 80); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if got := p.line(now, 30); c.done > 0 && (len(got) > 30 || !strings.HasSuffix(got, " left")) {
			t.Errorf("%s in 30 columns: %q", c.name, got)
		}
	}
}

// Work whose parts take long is seen to go on, and after its end nothing is
// written any more.
func TestProgressKeepsTimeItself(t *testing.T) {
	var out bytes.Buffer
	p := Begin(&out, "meetings")
	p.Update(0, 6)
	p.show(p.start.Add(20 * time.Second))
	p.End()
	if got := out.String(); got != "0 of 6 meetings, 20s so far\n" {
		t.Errorf("got %q", got)
	}
}
