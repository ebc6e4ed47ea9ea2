package report

import (
	"os"
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
	if err := os.WriteFile(filepath.Join(dir, "seed-2", "findings.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	html, md := rendered(t, dir, Options{})
	for name, page := range map[string]string{"report.html": strings.ReplaceAll(html, "&lt;", "<"), "report.md": md} {
		for _, want := range []string{"entropy collapse", "seed 2, agent 3, env step 21,000", "the policy has <one", "raise ppo.entropy"} {
			if !strings.Contains(page, want) {
				t.Errorf("%s does not say %q", name, want)
			}
		}
		if strings.Contains(page, "seed 1, agent") {
			t.Errorf("%s names a seed in which nothing was found", name)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "seed-1", "findings.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if html, _ := rendered(t, dir, Options{}); !strings.Contains(html, "unreadable findings") {
		t.Error("damaged findings are passed over in silence")
	}
}
