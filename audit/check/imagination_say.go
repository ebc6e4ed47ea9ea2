package check

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hop-marl/hop/agent/imagine"
	"github.com/hop-marl/hop/num/check"
)

func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// finding is one about the module world.
func finding(name, unit, says string, rows int) check.Finding {
	return check.Finding{Step: 4, Check: name, Module: "world", Unit: unit, Says: says, Rows: rows}
}

func share(a, b int) float64 { return float64(a) / float64(max(b, 1)) }

// Findings says what the watch came to.
func (d *Imagination) Findings() []check.Finding {
	d.wait.Wait()
	var out []check.Finding
	if d.err != nil {
		f := finding("the world model can be read", "models", "", 1)
		f.Accuse(check.Fault, 1, fmt.Sprintf("The saved world model and its steps cannot be read by their names: %v.", d.err),
			"agent/imagine: rulesLearner.save and load")
		out = append(out, f)
	}
	if d.asked {
		out = append(out, d.sayRestored())
	}
	if d.rows.asked > 0 {
		out = append(out, d.rows.say())
	}
	if d.layers.asked > 0 {
		out = append(out, d.layers.Say("imagination asks", "model/world.Work.Step and what it reads (encode.go)"))
	}
	if len(d.held) > 0 {
		out = append(out, d.sayUpdates())
	}
	out = append(out, d.sayScores())
	if d.steps.windows == 0 || d.steps.alive == 0 {
		f := finding("imagined windows", "", "The world model was not trusted within the windows of the audit, so nothing was imagined.", 0)
		if d.steps.windows > 0 {
			f.Accuse(check.Fault, 1, "Imagined windows hold nobody: every copy is over from its first step on.",
				"agent/imagine: imagined.look and state.Reset")
		}
		return append(out, f)
	}
	return append(out, d.steps.say(d)...)
}

func (d *Imagination) sayRestored() check.Finding {
	f := check.Finding{
		Step: 4, Check: "saved imagination equals loaded", Module: "checkpoint", Unit: "tensors that do not come back", Rows: 1,
		Says: "The world model, its optimiser and its steps come back from a checkpoint, and learning goes on from them as before.",
	}
	if d.lost != "" {
		f.Accuse(check.Fault, 1, fmt.Sprintf("After saving, learning and loading again the world model is not what was saved (%s): a resumed "+
			"run imagines something else.", d.lost), "agent/imagine: rulesLearner.save and load")
	}
	return f
}

func (c *rowCheck) say() check.Finding {
	f := finding("the world model learns from what was played", "share of rows",
		"Every step that the model learns from is one that was played: what an agent saw, what all did and were paid, ego-first, and what came "+
			"of it.",
		c.asked)
	f.Step = 3
	const look = "agent/imagine: rulesLearner.write, eyes and learn"
	switch {
	case c.wrong > 0:
		wrong := share(c.wrong, c.asked)
		var what []string
		for _, name := range transitionFields {
			if n := c.fields[name]; n > 0 {
				f.Saw(float64(n), 0, "rows with another %s", name)
				what = append(what, name)
			}
		}
		says := fmt.Sprintf("%.3g %% of the steps that the world model learns from are not what was played; what differs: %s (first at step %d "+
			"of env %d, seen by agent %d).", 100*wrong, strings.Join(what, ", "), c.who.T, c.who.N, c.who.Agent)
		if c.slip != "" {
			says = fmt.Sprintf("%.3g %% of the steps that the world model learns from are not what was played: %s.", 100*wrong, c.slip)
		}
		f.Accuse(check.Fault, wrong, says, look)
	case c.count != [2]int{}:
		f.Accuse(check.Fault, 1, fmt.Sprintf("The world model takes in %d steps of a window in which %d were "+
			"played.", c.count[0], c.count[1]), look)
	case c.moved > 0:
		f.Accuse(check.Fault, share(c.moved, c.asked), fmt.Sprintf("%d older steps of the world model's memory changed while a window was put "+
			"into it.",
			c.moved), look)
	}
	return f
}

// Say says what the model was found to predict: who asked it, and where to look.
func (c *Layers) Say(who, look string) check.Finding {
	f := finding("the world model is what its layers come to", "share of steps",
		"Predicted boards, rewards, ends and masks, and their probabilities, are what the layers come to in float64.", c.asked)
	var worst string
	for _, what := range slices.Sorted(maps.Keys(c.wrong)) {
		f.Saw(share(c.wrong[what], c.asked), 0, "steps whose %s differ, by up to %.2g", what, c.off[what])
		if worst == "" || c.wrong[what] > c.wrong[worst] {
			worst = what
		}
	}
	if worst != "" {
		all := slices.Sorted(maps.Keys(c.wrong))
		f.Accuse(check.Fault, share(c.wrong[worst], c.asked), fmt.Sprintf("In %.0f %% of the steps that %s about, the world model's %s are not "+
			"what its layers come to (off by up to %.2g; what differs in all: %s).", 100*share(c.wrong[worst], c.asked), who, worst, c.off[worst],
			strings.Join(all, ", ")), look)
	}
	return f
}

// headName is a head in a user's words.
var headName = map[string]string{
	"things": "of things", "move": "of moves and exits", "reward": "of rewards", "over": "of the episode's end", "legal": "of masks",
	"dense": "of planes",
}

func (d *Imagination) sayUpdates() check.Finding {
	f := finding("an update of the world model is what the definition gives", "cosine of the two changes, less 1", "", 0)
	least := 1.
	var odd *held
	for i := range d.held {
		h := d.held[i]
		f.Rows += h.rows
		least = min(least, h.change.Cosine)
		f.Saw(h.change.Cosine, 1, "window %d: cosine of the change with its definition", h.window)
		f.Saw(h.change.Length, 1, "window %d: length of the change over that", h.window)
		if odd == nil && !h.change.Same() && !h.unsteady {
			odd = h
		}
	}
	f.Effect = least - 1
	f.Says = fmt.Sprintf("%d updates, computed again in float64 from the same steps and weights, agree in direction and length, head by head.",
		len(d.held))
	if odd == nil {
		return f
	}
	c := odd.change
	var off, still []string
	for _, name := range heads {
		h, ok := odd.heads[name]
		if !ok {
			continue
		}
		f.Saw(h.Cosine, 1, "window %d, the head %s: cosine", odd.window, headName[name])
		f.Saw(h.Length, 1, "window %d, the head %s: length", odd.window, headName[name])
		switch {
		case h.Length < 1e-3:
			still = append(still, headName[name])
		case h.Cosine < 0.97 || math.Abs(h.Length-1) > 0.1:
			off = append(off, headName[name])
		}
	}
	says := fmt.Sprintf("The world model's update is not what its losses give: cosine %.3f of 1, length %.3g of what it should "+
		"be", c.Cosine, c.Length)
	next := "model/world.Work.Learn (the losses), agent/imagine: rulesLearner.learn (rows, rate and steps)"
	switch {
	case odd.slip != nil:
		says = fmt.Sprintf("The world model's update is what %s would give, not what its losses do (cosine %.3f, length %.3g "+
			"of what it should be)",
			odd.slip.Name, c.Cosine, c.Length)
		next = odd.slip.look
	case len(still) > 0 && len(still)+len(off) < len(odd.heads):
		says = fmt.Sprintf("The world model's head %s does not learn: its weights stay where they are", strings.Join(still, " and "))
	case len(off) > 0 && len(off) < len(odd.heads):
		says = fmt.Sprintf("The world model's head %s learns something else than its loss gives; the other heads agree better",
			strings.Join(off, " and "))
	case c.Cosine < -0.9:
		says = fmt.Sprintf("The world model's update goes the opposite way of its losses (cosine %.3f)", c.Cosine)
	case c.Cosine >= 0.999 && c.Part == "":
		says = fmt.Sprintf("The world model's update has the right direction but %.3g times the length that its rate gives", c.Length)
		next = "agent/imagine: rulesLearner.learn (the rate), nn.Adam"
	case c.Part != "":
		says += fmt.Sprintf("; %s differs most", headWords(c.Part))
	}
	f.Accuse(check.Fault, least-1, says+".", next)
	return f
}

// sayScores is about how much of a window the model foresaw, and what follows.
func (d *Imagination) sayScores() check.Finding {
	f := finding("a world model is used as far as it can be trusted", "windows", "", len(d.scored))
	asked := 0
	const look = "agent/imagine: rulesLearner.score, Imagination.Learn"
	for _, s := range d.scored {
		if s.computed {
			asked++
			got := s.got * float64(s.n)
			f.Saw(s.got, share(s.right, s.asked), "window %d: share of steps foreseen exactly", s.window)
			if s.n != s.asked || got < float64(s.right)-0.5 || got > float64(s.right+s.close)+0.5 {
				if f.Status == check.Pass {
					f.Accuse(check.Fault, 1, fmt.Sprintf("The world model is said to have foreseen %.1f %% of %d steps of window %d exactly; it foresaw "+
						"%.1f %% of %d.", 100*s.got, s.n, s.window, 100*share(s.right, s.asked), s.asked), look)
				}
			}
		}
		if s.rounds != s.wanted && f.Status == check.Pass {
			why := fmt.Sprintf("foresaw %.1f %% of window %d, trust is %.1f %%", 100*s.got, s.window, 100*d.run.Imagine.Trust)
			if s.anew {
				why = fmt.Sprintf("was made anew in window %d", s.window)
			}
			f.Accuse(check.Fault, 1, fmt.Sprintf("Minds are to learn from %d rounds of imagination after a world model that %s: it should be %d.",
				s.rounds, why, s.wanted), look)
		}
	}
	if f.Status == check.Fault && !slices.ContainsFunc(d.scored, func(s score) bool { return !s.harmless(&d.run.Imagine) }) {
		f.Module = "logging"
	}
	f.Says = f.Else(fmt.Sprintf("What the model is said to foresee is what it does (%d windows computed again), and it is used only when "+
		"that is enough.",
		asked))
	return f
}

// harmless reports whether a window was imagined from as what the model foresaw of it demands, so that what is said of that can be
// wrong for the log alone.
func (s *score) harmless(c *imagine.Config) bool {
	if !s.computed {
		return s.rounds == s.wanted
	}
	for right := s.right; right <= s.right+s.close; right++ {
		wanted := 0
		if s.usable && share(right, s.asked) >= c.Trust {
			wanted = c.Refresh
		}
		if s.rounds == wanted {
			return s.n == s.asked
		}
	}
	return false
}

// say is about imagined windows.
func (c *stepCheck) say(d *Imagination) []check.Finding {
	ends := finding("imagined ends", "share of rows", "Imagined agents leave when the model says so, and who has left stays gone.", c.alive)
	if bad := share(c.going+c.undead, c.alive); bad > 0 {
		ends.Accuse(check.Fault, bad, fmt.Sprintf("In %.1f %% of imagined rows an agent goes on after its end or ends without leaving.", 100*bad),
			"the imagined windows' ends: agent/imagine state.take, and who changes the window later")
	}
	shares := finding("imagination is handed over as the spec says", "windows", "Share, length and round of imagined windows are the spec's.",
		d.shares.windows)
	if d.shares.wrong > 0 {
		shares.Accuse(check.Fault, float64(d.shares.wrong), "Imagination is not handed over as the spec says: "+d.shares.first+".",
			"agent/imagine.New and Imagine, train.SelfPlay.learn")
	}
	if c.compared == 0 {
		return []check.Finding{ends, shares}
	}
	if n := c.wrong["end"]; n > 0 {
		im, want := share(c.exits[0], c.rows), share(c.exits[1], c.rows)
		ends.Saw(im, want, "exits a row, imagined and as the model predicts")
		ends.Accuse(check.Fault, share(n, c.rows), fmt.Sprintf("Imagined agents leave in %.3g %% of their rows; the model predicts %.3g %% "+
			"there, and in %.3g %% of the rows the two differ (%s).", 100*im, 100*want, 100*share(n, c.rows), c.sample["end"]),
			"agent/imagine: state.take (End), model/world: predictOver and Step")
	}
	rewards := finding("imagined rewards", "share of rows", "Imagined rewards are those that the model predicts, one step's each.", c.rows)
	if n := c.wrong["reward"]; n > 0 {
		more := ""
		if c.more*10 > n*9 {
			more = " Nearly all are larger: returns or values were put where rewards belong."
		}
		rewards.Accuse(check.Fault, share(n, c.rows), fmt.Sprintf("In %.3g %% of imagined rows the reward is not what the model predicts (%s).%s",
			100*share(n, c.rows), c.sample["reward"], more), "agent/imagine: state.take (Reward), and who changes the window later")
	}
	masks := finding("imagined masks", "share of rows", "Imagined masks are those that the model predicts for the imagined board.", c.rows)
	if n := c.wrong["mask"]; n > 0 {
		ones := ""
		if c.ones*10 > n*9 {
			ones = " They call every action legal."
		}
		masks.Accuse(check.Fault, share(n, c.masks), fmt.Sprintf("In %.3g %% of imagined rows the mask is not what the model predicts for the "+
			"imagined board (%s).%s", 100*share(n, c.masks), c.sample["mask"], ones), "agent/imagine: state.take (Legal), model/world: masks")
	}
	boards := finding("imagined observations", "share of rows", "What agents see in imagination is what the model predicts, each from its "+
		"own place.",
		c.rows)
	if c.views > 0 {
		boards.Accuse(check.Fault, share(c.views, c.episodes), fmt.Sprintf("In %.3g %% of the real states that imagination starts from, things "+
			"do not look the same to all agents, but from the first imagined step on all are shown one agent's view of them.",
			100*share(min(c.views, c.episodes), c.episodes)), "model/world.Input.View and write: planes of things that are ego-first in this game")
	}
	switch o := c.others; {
	case o[0] == 0 || c.views > 0:
	case o[1] == o[0]:
		boards.Accuse(check.Fault, share(c.wrong["board"], c.rows), "Imagined agents are shown another seat's view of the board, from the first "+
			"imagined step on.", "agent/imagine: state.take (Obs by real seat), model/world: write")
	case o[2] == o[0]:
		boards.Accuse(check.Fault, share(c.wrong["board"], c.rows), "Imagined boards follow from joint actions in the order of agents, where "+
			"the model reads them in the order of real seats.", "agent/imagine: imagined.StepAll")
	}
	for _, what := range []string{"board", "mask, time or last actions that it observes"} {
		if n := c.wrong[what]; n > 0 && boards.Status == check.Pass {
			boards.Accuse(check.Fault, share(n, c.rows), fmt.Sprintf("In %.3g %% of imagined rows the next %s is not what the model predicts from "+
				"the joint action played (%s).", 100*share(n, c.rows), what, c.sample[what]),
				"agent/imagine: imagined.StepAll (joint actions by seat) and state.take (Obs), model/world: write")
		}
	}
	if d.Broken() {
		return []check.Finding{ends, c.sayStarts(), boards, rewards, masks, c.sayPlayers(), shares}
	}
	return []check.Finding{c.sayStarts(), boards, ends, rewards, masks, c.sayPlayers(), shares}
}

func (c *stepCheck) sayStarts() check.Finding {
	f := finding("imagined episodes start from real states", "share of episodes",
		"Every imagined episode starts from a state of the last window, drawn evenly.", c.episodes)
	const look = "agent/imagine: imagined.look and state.Reset"
	switch {
	case c.strange > 0:
		f.Accuse(check.Fault, share(c.strange, c.episodes), fmt.Sprintf("%.3g %% of imagined episodes start from something that no state of "+
			"the last window shows, or not from an episode's start.", 100*share(c.strange, c.episodes)), look)
	case c.undrawn > 0:
		f.Accuse(check.Fault, share(c.undrawn, c.episodes), fmt.Sprintf("%.3g %% of imagined episodes start from another real state than the "+
			"one that the round's stream draws evenly from the window.", 100*share(c.undrawn, c.episodes)), look+", Imagine (the round's key)")
	}
	return f
}

func (c *stepCheck) sayPlayers() check.Finding {
	f := finding("imagination is played by the agents of now", "share of rows",
		"Imagined choices and values are those of every agent's network as it is now.", c.chosen)
	const look = "agent/imagine: New (players) and Imagine, ppo.Player"
	who := check.Agents(slices.Sorted(maps.Keys(c.whose)))
	switch z := c.likeliest.Off(); {
	case c.unlike > 0 && c.policy != "":
		f.Accuse(check.Fault, share(c.unlike, c.chosen), fmt.Sprintf("Imagination is not played by the networks of now (%s): what is recorded "+
			"is what %s says.", who, c.policy), look)
	case c.unlike > 0:
		f.Accuse(check.Fault, share(c.unlike, c.chosen), fmt.Sprintf("In %.3g %% of imagined rows the recorded probability or value is not "+
			"what the agent's network says there now (%s; off by up to %.2g).", 100*share(c.unlike, c.chosen), who, c.far), look)
	case c.foreign > 0:
		f.Accuse(check.Fault, share(c.foreign, c.chosen), fmt.Sprintf("%.3g %% of imagined rows are not marked as the agent's own: nobody "+
			"learns from them.",
			100*share(c.foreign, c.chosen)), look)
	case c.claimed > 0:
		f.Accuse(check.Fault, share(c.claimed, c.chosen), fmt.Sprintf("%d rows of agents in what another agent imagines for itself, where "+
			"its model of others acts for them, are marked as their own: they would learn from them.", c.claimed), "agent/imagine: imaginer.act")
	case math.Abs(z) > 6:
		f.Accuse(check.Fault, z, fmt.Sprintf("In imagination the likeliest action is not taken as often as the network says (%.1f standard "+
			"deviations).",
			z), look)
		f.Unit, f.Lo, f.Hi = "standard deviations", z-2, z+2
	}
	return f
}

// headWords returns the head that a part of the network belongs to, in a user's words.
func headWords(part string) string {
	name, _, _ := strings.Cut(part, "/")
	switch name {
	case "things":
		return "things (what becomes of prey and blocks)"
	case "move":
		if strings.HasPrefix(part, "move/head") {
			return "moves (where agents go, and who leaves)"
		}
		return "agents (the layers below moves and rewards)"
	case "reward":
		return "rewards"
	case "over":
		return "the end of the episode"
	case "legal":
		return "masks of legal actions"
	}
	return "the planes' regression"
}
