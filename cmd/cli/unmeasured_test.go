package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// Settings that leave things unmeasured: one episode, one seed, no episode that ends, no
// row of an action, co-players whose best answer nobody knows. What there is comes as
// JSON, what there is not is null or absent, and nothing fails at its end.
func TestWhatWasNotMeasuredIsSaidAndHarmsNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	oracle := "oracle --vs ns,nh,nh --set game.size=4 --set game.horizon=8 --episodes 1"
	tiny := "--set train.steps=10 --set train.envs=1 --set train.window=4 --set train.save=4 --set eval.episodes=1 --set game.horizon=8"
	for _, c := range []struct{ command, want string }{
		{"eval --team ns,ns,nh,random --episodes 1", `"se": null`},
		{oracle, `"se": null`},
		{"train ppo-4x4 " + tiny, `"se": null`},
		{"train ppo-coin " + tiny, `"env_steps"`},
		{"audit ppo-coin --set train.envs=1 --set train.window=4 --updates 3 --episodes 20 --out audited", `"returns": [
    null`},
		{"zoo list --out none", `"members": null`},
		{"crossplay runs/ppo-4x4-001 ns --episodes 1", "null"},
		{"compare ppo-4x4 " + tiny + " --seeds 1 --out compared", `"steps_to"`},
		{"adapt runs/ppo-4x4-001 --vs ns,nh,nh --lives 1 --steps 4 --last 1 --out met", "null"},
		{"collect --agents runs/ppo-4x4-001/seed-1 --rows 700 --out data", `"action_counts"`},
		{"pretrain moa --data data --out moa --epochs 1 --set model.hidden=[8,8]", `"limit_top1": null`},
		{"pretrain response --set game.size=4 --set game.horizon=8 --set steps=100 --set net.hidden=[8] --episodes 1 --out response",
			`"was_se": null`},
	} {
		code, out, errs := hop(t, append(strings.Fields(c.command), "--json")...)
		if code != 0 || !json.Valid([]byte(out)) || !strings.Contains(out, c.want) {
			t.Errorf("hop %s: exit %d, want %s in\n%s%s", c.command, code, c.want, out, errs)
		}
	}
	for _, command := range []string{"eval --team ns,ns,nh,random --episodes 1", oracle, "crossplay ns nh --episodes 1"} {
		if _, out, errs := hop(t, strings.Fields(command)...); !strings.Contains(out, "± –") || strings.Contains(out+errs, "Inf") {
			t.Errorf("hop %s:\n%s%s", command, out, errs)
		}
	}
	for _, file := range []string{"moa/card.json", "response/card.json", "met/adapt.json", "runs/ppo-coin-001/seed-1/result.json"} {
		if b, err := os.ReadFile(file); err != nil || !json.Valid(b) {
			t.Errorf("%s: %v\n%s", file, err, b)
		}
	}
	refused(t, "pretrain world --data data --out world --probe 0", "--probe 0")
	refused(t, "pretrain world --data data --out world --plays 0", "--plays 0")
}

// A stage in the words of a command, as specs of before had it, is refused with how stages are written.
func TestStagesInWordsAreRefused(t *testing.T) {
	for _, run := range []string{"collect {game} --mix ns,nh", "train s.yaml", "eval --team ns"} {
		stagesHere(t, "train: {steps: 10}\nprepare:\n  - {name: a, run: \""+run+"\"}\n")
		refused(t, "train s.yaml", "prepare.a.run is "+run+", want a stage of today, {name: NAME, COMMAND: {FIELD: VALUE}}, such as "+
			"{name: data, collect: {mix: [ns, nh], rows: 20000}}")
	}
}
