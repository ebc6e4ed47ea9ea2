package runs

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/store/runlog"
)

// A view's address chooses trainings by words, conditions, states and kinds; models that learn before
// a training are told apart by their spec, with their own unit.
func TestAnAddressChoosesRuns(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"a": spec, "b": strings.Replace(spec, "1000", "2000", 1) + "ppo:\n    lr: 0.001\n", "c": spec + "ppo:\n    lr: 0.01\n",
		"m": "moa:\n    epochs: 7\n    learning:\n        steps: 5\nseed: 1\n",
	} {
		preset := "ppo"
		if name == "m" {
			preset = "moa"
		}
		r, err := runlog.Create(filepath.Join(root, name, "seed-1"), []byte(text), runlog.Info{Preset: preset, Seed: 1})
		must(t, err)
		finish(t, r, Done, 1)
	}
	s := open(t, root)
	must(t, s.Label("0:a", []string{"Good"}, "a note"))
	for query, want := range map[string]string{
		"": "a b c", "q=lr<0.005": "b", "q=lr<=0.01+steps=1000": "c", "q=ppo.lr>0": "b c", "q=note": "a", "q=LR=0.01": "c", "q=score>=1": "a b c",
		"q=score<1": "", "q=duration<1": "a b c", "tag=Good": "a", "tag=Good&tag=bad": "", "state=done": "a b c", "state=failed": "",
		"kind=stages": "m", "not=0:a": "b c", "archived=1": "", "q=r<1": "",
	} {
		v, err := url.ParseQuery(query)
		must(t, err)
		got := map[string]bool{}
		for _, r := range s.Now().Choose(ChoiceOf(v)) {
			got[r.Title] = true
		}
		list := strings.Fields(want)
		ok := len(got) == len(list)
		for _, name := range list {
			ok = ok && got[name]
		}
		if !ok {
			t.Errorf("%q chooses %v, want %s", query, got, want)
		}
	}
	m, a := rowOf(t, s.Now(), "0:m"), rowOf(t, s.Now(), "0:a")
	if !m.Stage || m.Unit != "epochs" || m.Steps != 7 || a.Stage || a.Unit != "" || a.Rules == "" || m.Rules != "" || a.Host == "" {
		t.Errorf("a model: %+v\na training: %+v", m.Training, a.Training)
	}
}
