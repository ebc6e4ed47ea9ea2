package check

import (
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/num/check"
)

// recorded is what was recorded of a run, to be asked.
type recorded struct{ *record.Learners }

// question is one that a recording may answer.
type recordedQuestion struct {
	step          int
	check, module string
	needs         func(r *recorded) bool
	missing       string // what to record for it
	ask           func(r *recorded, f *check.Finding)
}

// What to record for questions that could not be asked.
const (
	needNets     = `Optimisers are not watched: call rec.learner("agent_0", module, optimizer) for every agent before the first update.`
	needRows     = `Rows that updates learn from are not recorded: call rec.batch("agent_0", obs=...) once an update, or rec.rows.`
	needSure     = `Rows of batches cannot be told apart by their observations: keep rec.here() in the buffer and hand in indices=.`
	needColumn   = `Batches hold no %s: hand it to rec.batch(..., %s=...).`
	needGae      = "Advantages cannot be computed again: hand gamma, lam, values, rewards and advantages (or returns) to rec.batch."
	needPolicy   = `What actions are drawn from is not recorded: call rec.policy("agent_0", logits, dist) before env.step.`
	needMasks    = "Masks are not recorded: the environment gives none, in observations or in infos."
	needOthers   = `No model of others is recorded: call rec.predictions("moa", "agent_0", of="agent_1", probs=...) before env.step.`
	needWorld    = `No world model is recorded: call rec.predictions("world", "agent_0", next_obs=..., rewards=...), with rows= for many.`
	needAfter    = `What updates do is not recorded: call rec.learnt("agent_0", logprobs=..., values=...) after the update, of the same rows.`
	needCopies   = "One environment is recorded: with several, rec.wrap each of them."
	needOneAgent = "There is one learner: nothing to compare."
)

func has(columns ...string) func(r *recorded) bool {
	return func(r *recorded) bool {
		return slices.ContainsFunc(r.Batches, func(b record.Batch) bool {
			return !slices.ContainsFunc(columns, func(c string) bool { return b.Col[c] == nil })
		})
	}
}

func column(name string) string { return fmt.Sprintf(needColumn, name, name) }

func anyNets(r *recorded) bool    { return len(r.Nets) > 0 }
func anyBatches(r *recorded) bool { return len(r.Batches) > 0 }
func anyProbs(r *recorded) bool   { return r.Probs.Width > 0 }

// questions in the order of the audit's procedure; of several that name the same module
// the first one speaks for all, so what explains others comes before them.
var recordedQuestions = []recordedQuestion{
	{2, "networks of their own", "spec", anyNets, needNets, (*recorded).ownNetworks},
	{2, "networks start apart", "spec", anyNets, needNets, (*recorded).startApart},
	{2, "the optimiser holds every parameter", check.PPO, anyNets, needNets, (*recorded).held},
	{2, "every layer learns", check.PPO, anyNets, needNets, (*recorded).layers},
	{2, "rates and gradients", check.PPO, anyNets, needNets, (*recorded).rates},
	{2, "gradients are cleared", check.PPO, anyNets, needNets, (*recorded).cleared},
	{2, "updates by agent", check.PPO, anyNets, needNets, (*recorded).updatesByAgent},
	{2, "weights change by the own optimiser only", "spec", anyNets, needNets, (*recorded).outside},
	{3, "learnt actions", "buffers", has("actions"), column("actions"), (*recorded).learntActions},
	{2, "every agent learns from its own rows", "buffers", anyBatches, needRows, (*recorded).ownRows},
	{2, "learnt rows after exit", "buffers", anyBatches, needRows, (*recorded).afterExit},
	{2, "learnt rows were played", "buffers", anyBatches, needRows, (*recorded).wasPlayed},
	{2, "rows by agent", "buffers", anyBatches, needRows, (*recorded).rowsByAgent},
	{2, "rows are learnt from once", "buffers", has("logprobs"), column("logprobs"), (*recorded).once},
	{3, "copies start apart", "rollout", func(r *recorded) bool { return r.Env != nil && r.Obs != nil }, needCopies, (*recorded).copiesApart},
	{3, "learnt rewards", "buffers", has("rewards"), column("rewards"), (*recorded).learntRewards},
	{3, "learnt ends", "buffers", has("dones"), column("dones"), (*recorded).learntEnds},
	{4, "the policy is the network's", check.PPO, func(r *recorded) bool { return r.Logits.Width > 0 }, needPolicy, (*recorded).softmax},
	{4, "the policy keeps to masks", check.PPO, func(r *recorded) bool { return anyProbs(r) && r.Legal != nil }, needPolicy + " " + needMasks,
		(*recorded).keepsMasks},
	{4, "actions follow the policy", "rollout", anyProbs, needPolicy, (*recorded).draws},
	{4, "old log-probabilities", check.PPO, has("logprobs"), column("logprobs"), (*recorded).oldLogprobs},
	{4, "new log-probabilities", check.PPO, has("logprobs", "new_logprobs"), column("new_logprobs"), (*recorded).newLogprobs},
	{4, "values", check.PPO, has("values"), column("values"), (*recorded).valuesDiffer},
	{4, "advantages", check.PPO, (*recorded).anyGae, needGae, (*recorded).advantages},
	{4, "returns", check.PPO, has("returns", "values", "advantages"), column("returns"), (*recorded).returns},
	{4, "updates follow advantages", check.PPO, has("after_logprobs", "logprobs", "advantages"), needAfter, (*recorded).raised},
	{4, "values follow returns", check.PPO, has("after_values", "values", "returns"), needAfter, (*recorded).valued},
	{4, "predictions of others", "moa", func(r *recorded) bool { return r.MOA.Width > 0 }, needOthers, (*recorded).others},
	{4, "predictions of the world", "world", func(r *recorded) bool { return len(r.WorldRow) > 0 }, needWorld, (*recorded).world},
}

// Audit asks all that the dumps allow, package record's questions and those of this
// package. Of several dumps each question has the worst answer.
func Recorded(subject string, ds []*record.Trajectories) (*check.Report, error) {
	var list []*recorded
	for _, d := range ds {
		r, err := record.ReadLearners(d)
		if err != nil {
			return nil, err
		}
		list = append(list, &recorded{r})
	}
	report := Trajectories(subject, ds)
	said := map[string]int{} // where in the report a sentence about what is missing stands
	for _, q := range recordedQuestions {
		f := q.of(list)
		if at, known := said[f.Says]; known && f.Status == check.NotAsked {
			report.Findings[at].Check += ", " + f.Check
			continue
		}
		if f.Status == check.NotAsked {
			said[f.Says] = len(report.Findings)
		}
		report.Add(f)
	}
	return report, nil
}

// of asks the question of every recording and returns the worst answer.
func (q recordedQuestion) of(list []*recorded) check.Finding {
	worst := check.Finding{Step: q.step, Check: q.check, Module: q.module, Status: check.NotAsked, Says: q.missing}
	for _, r := range list {
		if !q.needs(r) {
			continue
		}
		f := check.Finding{Step: q.step, Check: q.check, Module: q.module}
		q.ask(r, &f)
		if f.Rows == 0 && f.Status == check.Pass {
			f.Status = check.NotAsked
		}
		if f.Status > check.Pass && len(list) > 1 {
			f.Says = r.Name + ": " + f.Says
		}
		if f.Status > worst.Status || f.Status == worst.Status && worst.Rows == 0 {
			worst = f
		}
	}
	return worst
}

// rowCount counts rows by agent, and those of them that are wrong.
type rowCount struct {
	names     []string // of the agents
	bad, rows []int
}

func countRows(names []string) *rowCount {
	return &rowCount{names, make([]int, len(names)), make([]int, len(names))}
}

// add counts a row of an agent.
func (c *rowCount) add(a int, bad bool) {
	c.rows[a]++
	c.bad[a] += one(bad)
}

// counted writes into a finding how many rows were asked, what is to be said of so many if
// nothing is wrong, and as evidence whose rows are, under a label. It returns how many and
// their share.
func (c *rowCount) counted(f *check.Finding, good, label string) (bad int, share float64) {
	for a, n := range c.bad {
		f.Rows += c.rows[a]
		if bad += n; n > 0 {
			f.Who = append(f.Who, a)
			f.Saw(float64(n), 0, "%s: %s", c.names[a], label)
		}
	}
	f.Unit, f.Says = "share of rows", fmt.Sprintf(good, f.Rows)
	return bad, float64(bad) / float64(max(f.Rows, 1))
}

// indices lists where counts are above 0.
func indices(counts []int) (list []int) {
	for i, n := range counts {
		if n > 0 {
			list = append(list, i)
		}
	}
	return list
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func sum(x []int) (n int) {
	for _, v := range x {
		n += v
	}
	return n
}

// places returns 0 to n-1.
func places(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// few names those whom a finding is about, with a verb in their number.
func (r *recorded) few(f *check.Finding, singular, plural string) string {
	return check.Few(r.titles(f.Who)) + " " + check.Verb(len(f.Who), singular, plural)
}

func (r *recorded) titles(who []int) []string {
	var out []string
	for _, a := range who {
		out = append(out, r.Agents[a])
	}
	return out
}

func unique(x []int) []int {
	slices.Sort(x)
	return slices.Compact(x)
}

// also says that one sentence stands for several agents.
func also(agents int) string {
	if agents < 2 {
		return ""
	}
	return fmt.Sprintf(" The same is so of %d agents.", agents)
}

// argmax returns the place of the largest, the first of equals; what is no number is none.
func argmax[F float32 | float64](x []F) (best int) {
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return best
}

// Likeliest counts how often the likeliest action was taken, against how often it should be.
type Likeliest struct{ sum, variance float64 }

// Add counts a choice.
func (l *Likeliest) Add(probs []float64, action int32) {
	best := argmax(probs)
	l.sum += float64(one(int(action) == best)) - probs[best]
	l.variance += probs[best] * (1 - probs[best])
}

// Off returns how many standard deviations the count is off; 0: there is too little to tell.
func (l *Likeliest) Off() float64 {
	if l.variance <= 1 {
		return 0
	}
	return l.sum / math.Sqrt(l.variance)
}
