package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/config"
)

// What is shown is a whole spec: as a file it shows the same again.
func TestShowPrintsWhatASpecResolvesTo(t *testing.T) {
	t.Chdir(t.TempDir())
	text := ok(t, "show", "hop+nogoals", "--set", "search.trees=3")
	for _, want := range []string{"name: hop+nogoals\n", "\nmind: hop\n", "    trees: 3\n", "    read: false\n", "prepare:\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not shown:\n%s", want, text)
		}
	}
	if strings.Contains(text, "\nbase:") || strings.Contains(text, "cvae_passes") {
		t.Errorf("a base, or a field that the spec does not have, is shown:\n%s", text)
	}
	if err := os.WriteFile("it.yaml", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if again := ok(t, "show", "it.yaml"); again != text {
		t.Errorf("read back:\n%s\nwant\n%s", again, text)
	}
	var got struct {
		Spec struct {
			Name   string
			Mind   string
			Search struct{ Trees int }
		}
	}
	if into(t, &got, "show", "it.yaml"); got.Spec.Name != "hop+nogoals" || got.Spec.Mind != "hop" || got.Spec.Search.Trees != 3 {
		t.Errorf("as JSON: %+v", got)
	}
}

func TestShowListsWhatDiffers(t *testing.T) {
	want := `field          ppo-coin-prosocial  ppo-coin
name           ppo-coin-prosocial  ppo-coin
ppo.prosocial  1                   0
`
	if got := ok(t, "show", "ppo-coin-prosocial", "--diff", "ppo-coin"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := ok(t, "show", "ppo-coin", "--diff", "ppo-coin"); got != "ppo-coin and ppo-coin differ in no field\n" {
		t.Errorf("a spec differs from itself:\n%s", got)
	}
	if got := ok(t, "show", "ppo-4x4", "--diff", "hop-4x4"); !strings.Contains(got, "\nmind ") || !strings.Contains(got, "\nsearch.kind ") {
		t.Errorf("the mind and its fields are not listed:\n%s", got)
	}
	var got struct {
		A, B    string
		Changes []config.Change
	}
	into(t, &got, "show", "ppo-4x4", "--set", "mind=lola", "--set", "name=x", "--diff", "ppo-4x4")
	if len(got.Changes) != 3 || got.A != "ppo-4x4" || got.Changes[2] != (config.Change{Path: "lola.eta", A: "1", B: ""}) {
		t.Errorf("got %+v, want name, mind and lola.eta", got)
	}
}

// A run's folder is shown as it was run.
func TestShowReadsRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	ok(t, "train", "ppo-matrix", "--set", "train.steps=400", "--set", "train.envs=4", "--set", "eval.episodes=4", "--set", "ppo.lr=0.5")
	for _, dir := range []string{"runs/ppo-matrix-001", "runs/ppo-matrix-001/seed-1"} {
		got := ok(t, "show", dir, "--diff", "ppo-matrix", "--set", "eval.episodes=5")
		for _, want := range []string{"ppo.lr ", "train.steps ", "eval.episodes  5 "} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is missing:\n%s", dir, want, got)
			}
		}
		if n := strings.Count(got, "\n"); n != 5 {
			t.Errorf("%s: %d lines, want the head and 4 fields:\n%s", dir, n, got)
		}
	}
}

func TestListFieldsAndMinds(t *testing.T) {
	list := func(args ...string) map[string]config.Info {
		var got struct{ Fields []config.Info }
		into(t, &got, append([]string{"list", "fields"}, args...)...)
		by := map[string]config.Info{}
		for _, f := range got.Fields {
			if _, twice := by[f.Path]; twice || f.Doc == "" {
				t.Errorf("hop list fields %v: %s is listed twice or not explained", args, f.Path)
			}
			by[f.Path] = f
		}
		return by
	}
	all, plain, none := list(), list("ppo-4x4"), list("hop-4x4", "--set", "goals.kind=none")
	for _, path := range []string{"game.size", "mind", "ppo.lr", "search.trees", "goals.mix", "lola.eta", "influence.weight"} {
		if _, listed := all[path]; !listed {
			t.Errorf("%s is not among all fields", path)
		}
	}
	if f := all["goals.mix"]; f.When != "goals.kind latent" || !strings.Contains(f.Doc, "mind hop") {
		t.Errorf("goals.mix is listed as %+v, want its kinds and its mind", f)
	}
	if _, listed := plain["search.trees"]; listed || len(plain) < 30 {
		t.Errorf("ppo-4x4 has %d fields, search.trees %v", len(plain), listed)
	}
	if _, listed := none["goals.doubt"]; listed || none["goals.kind"].Default != "none" || none["name"].Default != "hop-4x4" {
		t.Errorf("hop-4x4 without goals has goals.doubt %v, goals.kind %s", listed, none["goals.kind"].Default)
	}
	if got := ok(t, "list", "fields"); !strings.Contains(got, "only for goals.kind latent") {
		t.Errorf("the table does not say which kinds have a field:\n%s", got)
	}
	if got := ok(t, "list", "fields", "--game", "snowdrift"); !strings.Contains(got, "game.drifts") {
		t.Errorf("the parameters of the game are missing:\n%s", got)
	}
	var minds struct{ Minds []struct{ Name, Doc string } }
	if into(t, &minds, "list", "minds"); len(minds.Minds) != 5 || minds.Minds[0].Name != "hop" || minds.Minds[0].Doc == "" {
		t.Errorf("minds are %+v", minds)
	}
}
