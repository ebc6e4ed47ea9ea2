package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/hop-marl/hop/train/registry"
)

// Whatever is stopped says so once, with one way to go on where there is one, and
// exits with 1.
func TestAStopIsSaidOnce(t *testing.T) {
	stagesHere(t, stagedSpec)
	for _, c := range []struct{ command, next string }{
		{"train ppo-4x4 --seeds 1-2", "hop train --resume "},
		{"train s.yaml", "hop train --resume "},
		{"train --resume runs/s-001", "hop train --resume "},
		{"compare ppo-4x4 ppo-shared-4x4 --seeds 1-2", "the same command again"},
		{"zoo train --who selfish", "same command"},
		{"ladder hop-4x4", "hop train --resume "},
		{"adapt ns --vs ns,nh,nh", ""},
		{"crossplay ns nh", ""},
		{"eval --team ns", ""},
		{"oracle --vs ns,nh,nh", ""},
		{"audit ppo-4x4", ""},
		{"audit s.yaml", ""},
		{"collect --mix ns,nh --out data", "same command"},
		{"pretrain response --out response", "same command"},
	} {
		ctx, stop := context.WithCancel(context.Background())
		stop()
		var out, errs bytes.Buffer
		code := run(&app{ctx, registry.New(), strings.NewReader(""), &out, &errs}, strings.Fields(c.command))
		said := errs.String()
		once := strings.Count(said, "stopped") == 1 && strings.Contains(said, "hop: stopped") && !strings.Contains(said, "canceled")
		if code != 1 || !once || !strings.Contains(said, c.next) || c.next == "" && !strings.HasSuffix(said, "hop: stopped\n") {
			t.Errorf("hop %s: exit %d, want 1, and said once that it stopped, %q:\n%s", c.command, code, c.next, said)
		}
	}
}
