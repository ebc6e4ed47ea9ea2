package report

import (
	"path/filepath"
	"strings"
	"testing"
)

// What the guards noticed stands at the top of both forms, with what to do.
func TestFindingsAreShown(t *testing.T) {
	dir := t.TempDir()
	for seed := 1; seed <= 2; seed++ {
		lay(t, filepath.Join(dir, []string{"", "seed-1", "seed-2"}[seed]), tiny{seed: seed, status: "done", windows: 10, mean: 2})
	}
	text := `[{"step": 21000, "check": "entropy collapse", "module": "ppo", "agent": 3,
 "says": "the policy has <one> action left", "next": "raise ppo.entropy"}]`
	put(t, filepath.Join(dir, "seed-2", "findings.json"), text)
	html, md := rendered(t, dir, Options{})
	for name, page := range map[string]string{"report.html": strings.ReplaceAll(html, "&lt;", "<"), "report.md": md} {
		says(t, name, page, "entropy collapse", "seed 2, agent 3, env step 21,000", "the policy has <one", "raise ppo.entropy")
		if strings.Contains(page, "seed 1, agent") {
			t.Errorf("%s names a seed in which nothing was found", name)
		}
	}
	put(t, filepath.Join(dir, "seed-1", "findings.json"), "{")
	html, _ = rendered(t, dir, Options{})
	says(t, "report.html", html, "unreadable findings")
}
