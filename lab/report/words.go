package report

import (
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/train/spec"
)

func pText(p float64) string {
	switch {
	case math.IsNaN(p):
		return "unknown"
	case p < 0.001:
		return fmt.Sprintf("%.1g", p)
	case p < 0.1:
		return fmt.Sprintf("%.2g", p)
	}
	return fmt.Sprintf("%.2f", p)
}

// small writes small whole numbers as words that begin a sentence.
func small(n int) string {
	words := []string{"No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight"}
	if n < len(words) {
		return words[n]
	}
	return strconv.Itoa(n)
}

// command writes a command as it can be typed again, where folders are named as on
// any page.
func command(args []string) string {
	if len(args) == 0 {
		return ""
	}
	out := []string{strings.TrimSuffix(filepath.Base(filepath.ToSlash(args[0])), ".exe")}
	for _, a := range args[1:] {
		out = append(out, quote(plot.Paths(a)))
	}
	return strings.Join(out, " ")
}

func quote(a string) string {
	if a != "" && !strings.ContainsAny(a, " \t\n'\"\\$`&|;<>()[]{}*?!#") && a[0] != '~' {
		return a
	}
	return "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
}

// Headline says in one sentence what was trained and what came of it.
func (g *group) Headline() string {
	n := 0
	var others []string
	for a := range g.Agents {
		if g.learns(a) {
			n++
		} else {
			others = append(others, path.Base(filepath.ToSlash(g.team[a])))
		}
	}
	who, what := small(n)+" agents", g.Label
	if n == 1 {
		who = "One agent"
	}
	if len(others) > 0 {
		what += " with " + strings.Join(others, ", ")
	}
	f := g.Final()
	if f.N == 0 {
		return fmt.Sprintf("%s learn %s; no run has been scored yet.", who, what)
	}
	text := fmt.Sprintf("%s learnt %s: mean return %s", who, what, plot.Number(f.Mean))
	var about []string
	switch {
	case f.N > 1:
		about = append(about, fmt.Sprintf("95 %% interval %s over %s", plot.Range(f.CI), plot.Count(f.N, "seed")))
	case f.Known():
		about = append(about, fmt.Sprintf("95 %% interval %s over the %s of one seed", plot.Range(f.CI),
			plot.Count(g.Spec.Eval.Episodes, "episode")))
	default:
		about = append(about, "one seed")
	}
	for _, r := range g.refs {
		if r.Name == "optimum" {
			about = append(about, "optimum "+plot.Trim(r.Value))
		}
	}
	return text + " (" + strings.Join(about, "; ") + ")."
}

// Scoring says what the headline's number is.
func (g *group) Scoring() string {
	f := g.Final()
	if f.N == 0 {
		return "The curves below show how far training has come; final agents are scored when a run ends."
	}
	fresh := "fresh episodes"
	if g.Spec != nil {
		fresh = plot.Thousands(g.Spec.Eval.Episodes) + " fresh episodes"
	}
	over := "agents"
	if g.mixed() {
		over = "those that learnt"
	}
	text := fmt.Sprintf("The final agents of each seed play %s of the true game, their actions drawn from their policies; "+
		"the number is the mean over %s, episodes and seeds.", fresh, over)
	if f.N == 1 {
		text += " One seed says nothing about how other seeds end."
	}
	return text
}

// Setting names what chooses the outcome at least as much as the learner does.
func (g *group) Setting() string {
	if g.Spec == nil {
		return ""
	}
	s := g.Spec.Title() + fmt.Sprintf(", frame %s, discount %s, hidden %v, learning rate %s",
		g.Spec.Actor.Frame, trim3(g.Spec.PPO.Gamma), g.Spec.Actor.Hidden, trim3(g.Spec.PPO.LR))
	if g.Spec.Actor.LSTM > 0 {
		s += fmt.Sprintf(", LSTM %d", g.Spec.Actor.LSTM)
	}
	if g.Spec.PPO.Prosocial != 0 {
		s += fmt.Sprintf(", prosocial share %s", trim3(g.Spec.PPO.Prosocial))
	}
	if len(g.Spec.Train.Brains) > 0 {
		s += fmt.Sprintf(", brains %v", g.Spec.Train.Brains)
	} else if g.Agents > 1 {
		s += ", every agent a brain of its own"
	}
	return s + fmt.Sprintf(", %s env steps a seed.", plot.Short(float64(g.Spec.Train.Steps)))
}

func trim3(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

// kindRow is what the agents of one kind got, where a run has several.
type kindRow struct {
	Name   string
	Agents []int
	What   string // how they learn
	Mean   float64
	CI     stats.Interval
	Seeds  []float64 // [scored seed]
}

// Kinds returns what each kind of agent got in the end, in the agents' order; nil if all
// who learn are alike.
func (g *group) Kinds() []kindRow {
	if g.Spec == nil || len(g.Spec.Kinds) == 0 {
		return nil
	}
	var list []kindRow
	for a, name := range g.Spec.FinalKinds(g.Agents) {
		i := slices.IndexFunc(list, func(k kindRow) bool { return k.Name == name })
		if i < 0 {
			i = len(list)
			list = append(list, kindRow{Name: name, What: "does not learn"})
			if g.learns(a) {
				list[i].What = learning(g.Spec.LearnsAs(agent.ID(a)))
			}
		}
		list[i].Agents = append(list[i].Agents, a)
	}
	for i := range list {
		var acc stats.Acc
		for _, r := range g.Scored() {
			list[i].Seeds = append(list[i].Seeds, g.Spec.ByKind(r.Result.Agents)[list[i].Name])
			acc.Add(list[i].Seeds[len(list[i].Seeds)-1])
		}
		list[i].Mean, list[i].CI = acc.Mean(), g.possible(acc.CI(0.95))
	}
	return list
}

// Listed writes the seeds' means.
func (k kindRow) Listed() string {
	var list []string
	for _, x := range k.Seeds {
		list = append(list, plot.Number(x))
	}
	return strings.Join(list, ", ")
}

// learning says how agents of a spec learn, in a few words.
func learning(s *spec.Spec) string {
	text := s.Title() + ", learning rate " + trim3(s.PPO.LR)
	if s.PPO.Prosocial != 0 {
		text += ", prosocial share " + trim3(s.PPO.Prosocial)
	}
	return text
}
