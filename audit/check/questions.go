package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/num/check"
)

// question is one that recordings may answer.
type question struct {
	step          int
	check, module string
	needs         func(r *recorded) bool              // nil: nothing that a recording may lack
	missing       string                              // what is said without it
	all           func(s set, f *check.Finding)       // asks all recordings together
	each          func(r *recorded, f *check.Finding) // or every one: the worst answer counts
}

// What to record for questions that could not be asked.
const (
	needNets     = `Optimisers are not watched: call rec.learner("agent_0", module, optimizer) for every agent before the first update.`
	needRows     = `Rows that updates learn from are not recorded: call rec.batch("agent_0", obs=...) once an update, or rec.rows.`
	needSure     = `Rows of batches cannot be told apart by their observations: keep rec.here() in the buffer and hand in indices=.`
	needColumn   = `Batches hold no %s: hand it to rec.batch(..., %s=...).`
	needGae      = "Advantages cannot be computed again: hand %s to rec.batch."
	needPolicy   = `What actions are drawn from is not recorded: call rec.policy("agent_0", logits, dist) before env.step.`
	needMasks    = "Masks are not recorded: the environment gives none, in observations or in infos."
	needOthers   = `No model of others is recorded: call rec.predictions("moa", "agent_0", of="agent_1", probs=...) before env.step.`
	needWorld    = `No world model is recorded: call rec.predictions("world", "agent_0", next_obs=..., rewards=...), with rows= for many.`
	needAfter    = `What updates do is not recorded: call rec.learnt("agent_0", logprobs=..., values=...) after the update, of the same rows.`
	needMini     = `Minibatches are not recorded: call rec.minibatch("agent_0", indices) for each of them, by places in the batch.`
	needMiniCol  = `Minibatches hold no %s: hand them to rec.minibatch(..., %s=...), as the loss reads them.`
	needValues   = "The value loss cannot be computed again without %s."
	needLoss     = `The loss is not recorded: call rec.loss("agent_0", policy=..., value=..., entropy=..., total=...) after rec.minibatch.`
	needTerms    = "Of the loss not all is recorded: hand %s to rec.loss, too."
	needCopies   = "One environment is recorded: with several, rec.wrap each of them."
	needSeeds    = "No reset was given a seed, so that none can have been given twice."
	needOneAgent = "There is one learner: nothing to compare."
)

func has(columns ...string) func(r *recorded) bool {
	return func(r *recorded) bool {
		return slices.ContainsFunc(r.Batches, func(b record.Batch) bool {
			return !slices.ContainsFunc(columns, func(c string) bool { return b.Col[c] == nil })
		})
	}
}

// mini asks for minibatches with a column; "": for any.
func mini(column string) func(r *recorded) bool {
	return minis(func(m *record.Mini) bool { return column == "" || m.Col[column] != nil })
}

// lossOf asks for minibatches with those terms of the loss.
func lossOf(terms ...string) func(r *recorded) bool {
	return minis(func(m *record.Mini) bool {
		return !slices.ContainsFunc(terms, func(t string) bool { _, ok := m.Terms[t]; return !ok })
	})
}

func minis(ok func(m *record.Mini) bool) func(r *recorded) bool {
	return func(r *recorded) bool {
		return slices.ContainsFunc(r.Batches, func(b record.Batch) bool {
			return slices.ContainsFunc(b.Mini, func(m record.Mini) bool { return ok(&m) })
		})
	}
}

func miniColumn(name string) string { return fmt.Sprintf(needMiniCol, name, name) }

func column(name string) string { return fmt.Sprintf(needColumn, name, name) }

func anyNets(r *recorded) bool    { return len(r.Nets) > 0 }
func anyBatches(r *recorded) bool { return len(r.Batches) > 0 }
func anyProbs(r *recorded) bool   { return r.Probs.Width > 0 }

// questions in the order of the audit's procedure, of what was played first, then of what was
// learnt from it; of several that name the same module the first one speaks for all, so what
// explains others comes before them.
var questions = []question{
	{0, "earnings by agent", "", nil, "", set.order, nil},
	{1, "earnings by place", "game", func(r *recorded) bool { return r.Seat != nil },
		"Seats are not recorded (seats, [T][A]), so name and place cannot be told apart.", set.place, nil},
	{3, "rows are the agent's own", "buffers", func(r *recorded) bool { return r.Obs != nil },
		"Observations are not recorded (obs, [T][A]...), so copied rows cannot be found.", set.identity, nil},
	{3, "rows after exit", "buffers", nil, "", set.afterExit, nil},
	{3, "rewards after exit", "buffers", nil, "", set.rewards, nil},
	{3, "actions", "rollout", nil, "", set.actions, nil},
	{3, "legal actions", "rollout", func(r *recorded) bool { return r.Legal != nil },
		"Masks are not recorded (legal, [T][A][K]).", set.legal, nil},
	{3, "ends of episodes", "buffers", func(r *recorded) bool { return r.Done != nil },
		"Exits are not recorded (dones, [T][A]), so cuts and exits cannot be told apart.", set.cuts, nil},
	{3, "last observation", "rollout", func(r *recorded) bool { return r.Obs != nil && r.Next != nil },
		"Next observations are not recorded (obs and next_obs), so last ones cannot be compared.", set.lastObs, nil},
	{3, "ego order", "rollout", func(r *recorded) bool { return r.Joint != nil && r.Obs != nil && len(r.Shape) == 3 },
		"Planes (obs, [T][A][P][H][W]) and joint actions (joint, [T][A][A]) are not both recorded.", set.ego, nil},
	{3, "labels", "buffers", func(r *recorded) bool { return r.Label != nil },
		"Labels are not recorded (labels, [T][A]).", set.labels, nil},
	{3, "goal series", "buffers", func(r *recorded) bool { return r.Goal != nil },
		"Goals are not recorded (goals, [T][A][D]).", set.goals, nil},

	{2, "networks of their own", "spec", anyNets, needNets, nil, (*recorded).ownNetworks},
	{2, "networks start apart", "spec", anyNets, needNets, nil, (*recorded).startApart},
	{2, "the optimiser holds every parameter", check.PPO, anyNets, needNets, nil, (*recorded).held},
	{2, "every layer learns", check.PPO, anyNets, needNets, nil, (*recorded).layers},
	{2, "rates and gradients", check.PPO, anyNets, needNets, nil, (*recorded).rates},
	{2, "gradients are cleared", check.PPO, anyNets, needNets, nil, (*recorded).cleared},
	{2, "updates by agent", check.PPO, anyNets, needNets, nil, (*recorded).updatesByAgent},
	{2, "weights change by the own optimiser only", "spec", anyNets, needNets, nil, (*recorded).outside},
	{2, "rows of a batch differ", "buffers", anyBatches, needRows, nil, (*recorded).differ},
	{3, "learnt actions", "buffers", has("actions"), column("actions"), nil, (*recorded).learntActions},
	{2, "every agent learns from its own rows", "buffers", anyBatches, needRows, nil, (*recorded).ownRows},
	{2, "learnt rows after exit", "buffers", anyBatches, needRows, nil, (*recorded).afterExit},
	{2, "learnt rows were played", "buffers", anyBatches, needRows, nil, (*recorded).wasPlayed},
	{2, "rows by agent", "buffers", anyBatches, needRows, nil, (*recorded).rowsByAgent},
	{2, "rows are learnt from once", "buffers", has("logprobs"), column("logprobs"), nil, (*recorded).once},
	{3, "copies start apart", "rollout", func(r *recorded) bool { return r.Env != nil && r.Obs != nil }, needCopies, nil,
		(*recorded).copiesApart},
	{3, "seeds of episodes", "rollout", func(r *recorded) bool { return r.Seed != nil && r.Env != nil && r.Obs != nil }, needSeeds, nil,
		(*recorded).seeds},
	{3, "learnt rewards", "buffers", has("rewards"), column("rewards"), nil, (*recorded).learntRewards},
	{3, "learnt ends", "buffers", has("dones"), column("dones"), nil, (*recorded).learntEnds},
	{4, "the policy is the network's", check.PPO, func(r *recorded) bool { return r.Logits.Width > 0 }, needPolicy, nil, (*recorded).softmax},
	{4, "the policy keeps to masks", check.PPO, func(r *recorded) bool { return anyProbs(r) && r.Legal != nil }, needPolicy + " " + needMasks,
		nil, (*recorded).keepsMasks},
	{4, "actions follow the policy", "rollout", anyProbs, needPolicy, nil, (*recorded).draws},
	{4, "old log-probabilities", check.PPO, has("logprobs"), column("logprobs"), nil, (*recorded).oldLogprobs},
	{4, "new log-probabilities", check.PPO, has("logprobs", "new_logprobs"), column("new_logprobs"), nil, (*recorded).newLogprobs},
	{4, "values", check.PPO, has("values"), column("values"), nil, (*recorded).valuesDiffer},
	{4, "advantages", check.PPO, (*recorded).anyGae, needGae, nil, (*recorded).advantages},
	{4, "returns", check.PPO, has("returns", "values", "advantages"), column("returns"), nil, (*recorded).returns},
	{4, "updates follow advantages", check.PPO, has("after_logprobs", "logprobs", "advantages"), needAfter, nil, (*recorded).raised},
	{4, "updates move the policy", check.PPO, has("after_logprobs", "logprobs"), needAfter, nil, (*recorded).moved},
	{4, "values follow returns", check.PPO, has("after_values", "values", "returns"), needAfter, nil, (*recorded).valued},
	{4, "every row is learnt from", check.PPO, mini(""), needMini, nil, (*recorded).everyRow},
	{4, "advantages are normalised over what is learnt from", check.PPO, mini("advantages"), miniColumn("advantages"), nil,
		(*recorded).normalised},
	{4, "ratios", check.PPO, mini("ratios"), miniColumn("ratios"), nil, (*recorded).ratios},
	{4, "the value loss", check.PPO, func(r *recorded) bool { return mini("values")(r) && lossOf("value")(r) && has("returns")(r) },
		needValues, nil, (*recorded).valueLoss},
	{4, "the terms of the loss", check.PPO, lossOf("total", "policy", "entropy"), needLoss, nil, (*recorded).lossTerms},
	{4, "predictions of others", "moa", func(r *recorded) bool { return r.MOA.Width > 0 }, needOthers, nil, (*recorded).others},
	{4, "predictions of the world", "world", func(r *recorded) bool { return len(r.WorldRow) > 0 }, needWorld, nil, (*recorded).world},
}

// Recorded asks all that recordings allow: runs of the same agents, or one. What could not be
// asked, for want of an array, says so, in one sentence for all that want the same.
func Recorded(subject string, ds []*record.Trajectories) (*check.Report, error) {
	var list []*recorded
	for _, d := range ds {
		r, err := record.ReadLearners(d)
		if err != nil {
			return nil, err
		}
		list = append(list, &recorded{Learners: r})
	}
	report := &check.Report{Subject: subject}
	report.Conclude()
	said := map[string]int{} // where in the report a sentence about what is missing stands
	for _, q := range questions {
		f := q.answer(list)
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

// answer is what recordings say; those that lack something are not asked.
func (q question) answer(list []*recorded) check.Finding {
	worst := check.Finding{Step: q.step, Check: q.check, Module: q.module, Status: check.NotAsked}
	take := func(name string, ask func(f *check.Finding)) {
		f := check.Finding{Step: q.step, Check: q.check, Module: q.module}
		if ask(&f); f.Rows == 0 && f.Status == check.Pass {
			f.Status = check.NotAsked
			if why := nothing[q.check]; why != "" && (f.Says == "" || strings.Contains(f.Says, " 0 ")) {
				f.Says = why
			}
		}
		if f.Status > check.Pass && name != "" {
			f.Says = name + ": " + f.Says
		}
		if f.Status > worst.Status || f.Status == worst.Status && worst.Rows == 0 {
			worst = f
		}
	}
	var s set
	for _, r := range list {
		switch {
		case q.needs != nil && !q.needs(r):
			if worst.Says == "" {
				worst.Says = q.lacks(r)
			}
		case q.all != nil:
			s = append(s, r.Trajectories)
		case len(list) == 1:
			take("", func(f *check.Finding) { q.ask(r, f) })
		default:
			take(r.Name, func(f *check.Finding) { q.ask(r, f) })
		}
	}
	if q.all != nil && len(s) == len(list) {
		take("", func(f *check.Finding) { q.all(s, f) })
	}
	return worst
}

// ask asks one recording, and says of an accusation where it is seen first.
func (q question) ask(r *recorded, f *check.Finding) {
	r.first = ""
	if q.each(r, f); f.Status >= check.Suspect && r.first != "" {
		f.Next += "; first in " + r.first
	}
}

// nothing is what is said where nothing was left that could be asked.
var nothing = map[string]string{
	"rows are the agent's own":                           "No two agents are ever there at once: nothing to compare.",
	"rows after exit":                                    noExit,
	"rewards after exit":                                 noExit,
	"labels":                                             noExit,
	"ends of episodes":                                   "No episode came to its end while it was recorded.",
	"rates and gradients":                                "No step of an optimiser was watched.",
	"gradients are cleared":                              "No optimiser took two steps.",
	"weights change by the own optimiser only":           "No two steps of an optimiser were watched one after the other.",
	"learnt actions":                                     noOwn,
	"learnt rewards":                                     noOwn,
	"every agent learns from its own rows":               noOwn,
	"rows are learnt from once":                          noOwn,
	"actions follow the policy":                          "Nobody acted where the policy is recorded.",
	"advantages":                                         "Of no learnt row it is sure which one comes next.",
	"updates move the policy":                            "No update has enough rows with probabilities before and after it.",
	"every row is learnt from":                           "No update has two minibatches whose rows are recorded.",
	"advantages are normalised over what is learnt from": "No minibatch has eight rows whose advantages vary.",
	"ratios":         "No update takes a second step, and at the first one the ratio is 1.",
	"the value loss": "Values hardly go with returns, or losses are too few, so that a loss over pairs would not show.",
}

const (
	noExit = "Nobody leaves before the episode ends, so nothing can come after an exit."
	noOwn  = "Of no learnt row it is sure that it is one of the learner's own."
)

// rare is what only some runs have, and a recording of hop.Recorder therefore mostly not.
var rare = []struct{ check, what string }{
	{"earnings by place", "seats"}, {"ego order", "joint actions beside planes"}, {"labels", "labels"}, {"goal series", "goals"},
	{"predictions of others", "a model of others"}, {"predictions of the world", "a world model"},
}

// columns are what a batch must hold beside what the question's own sentence asks for.
var columns = map[string][]string{
	"returns": {"advantages", "values"}, "new log-probabilities": {"logprobs"},
	"updates follow advantages": {"advantages", "logprobs"}, "values follow returns": {"returns", "values"},
	"updates move the policy": {"after_logprobs", "logprobs"},
}

// lacks says what a recording lacks for the question, with its own agents' names.
func (q question) lacks(r *recorded) string {
	says := q.missing
	recorder := len(r.Recorded) > 0
	isRare := slices.ContainsFunc(rare, func(x struct{ check, what string }) bool { return x.check == q.check })
	switch {
	case isRare && recorder && !r.watches(q.module):
		says = r.rarely()
	case recorder && q.check == "legal actions", recorder && q.check == "the policy keeps to masks" && r.Legal == nil:
		says = needMasks
	case q.check == "the policy keeps to masks" && r.Legal != nil:
		says = needPolicy
	case says == needGae:
		number := func(of func(b *record.Batch) float64) bool {
			return slices.ContainsFunc(r.Batches, func(b record.Batch) bool { return !math.IsNaN(of(&b)) })
		}
		says = fmt.Sprintf(says, missing(part{"gamma", number(func(b *record.Batch) float64 { return b.Gamma })},
			part{"lam", number(func(b *record.Batch) float64 { return b.Lambda })}, part{"values", has("values")(r)},
			part{"rewards", has("rewards")(r)}, part{"advantages (or returns)", has("advantages")(r) || has("returns")(r)}))
	case says == needValues:
		says = fmt.Sprintf(says, missing(part{"rec.batch(..., returns=...)", has("returns")(r)},
			part{"rec.minibatch(..., values=...)", mini("values")(r)}, part{"rec.loss(..., value=...)", lossOf("value")(r)}))
	case says == needLoss && (lossOf("policy")(r) || lossOf("value")(r) || lossOf("entropy")(r) || lossOf("total")(r)):
		says = fmt.Sprintf(needTerms, missing(part{"policy", lossOf("policy")(r)}, part{"entropy", lossOf("entropy")(r)},
			part{"total", lossOf("total")(r)}))
	case anyBatches(r):
		for _, c := range columns[q.check] { // the last one that is missing says it
			if !has(c)(r) {
				says = column(c)
			}
		}
		if says != q.missing && q.missing == needAfter && !has("after_logprobs")(r) && !has("after_values")(r) {
			says = needAfter
		}
	}
	return strings.NewReplacer("agent_0", r.Agents[0], "agent_1", r.Agents[min(1, r.Count-1)]).Replace(says)
}

// part is something that a question needs, and whether it is there.
type part struct {
	name  string
	there bool
}

// missing lists the parts that are not there.
func missing(parts ...part) string {
	var out []string
	for _, p := range parts {
		if !p.there {
			out = append(out, p.name)
		}
	}
	return check.List(out)
}

// watches reports whether an optimiser of such a model is watched.
func (r *recorded) watches(module string) bool {
	return slices.ContainsFunc(r.Nets, func(n record.Network) bool { return n.Part == module && module != check.PPO })
}

// rarely lists what only some runs have and this one has not, in one sentence for all.
func (r *recorded) rarely() string {
	var out []string
	for _, x := range rare {
		k := slices.IndexFunc(questions, func(q question) bool { return q.check == x.check })
		if !questions[k].needs(r) && !r.watches(questions[k].module) {
			out = append(out, x.what)
		}
	}
	return fmt.Sprintf("What only some runs have is not recorded: %s. (A model is by rec.predictions(...), the rest by arrays of the file.)",
		check.List(out))
}
