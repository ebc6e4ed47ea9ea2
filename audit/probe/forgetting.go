package probe

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/runlog"
)

// How a fall is told from noise.
const (
	blocks  = 10  // parts of a run that are compared, after the warm-up
	deep    = 0.2 // of what was gained that must be lost
	much    = 0.2 // of the largest of the returns that must be lost, too: a fall from 2.91 to 2.89 is none
	sure    = 4   // standard errors that the loss must be beyond
	factor  = 1.2 // by which a learner's number must have changed to be named
	fewRows = 3   // of a block
)

// named are the learners' numbers that may tell why, the most telling first, and what to do.
var named = []struct {
	name, words string
	tells       bool // if it grows it is a cause; the others also grow with what selfish learners come to
	next        string
}{
	{"ppo/lr", "the learning rate", true, "let ppo.lr_end be below ppo.lr"},
	{"ppo/entropy", "the policy's entropy (nats)", true, "ppo.entropy and ppo.entropy_end: play that gets random, or has one action left"},
	{"ppo/kl", "how far the policy moves a window (nats)", true, "lower ppo.lr, ppo.epochs or ppo.clip, or set ppo.target_kl"},
	{"ppo/value_loss", "the loss of the values", false, "ppo.reward_scale and ppo.lr: values that do not fit the returns"},
	{"search/entropy", "the entropy of the search's policy (nats)", true, "search.act and search.beta: how agents act on what they search"},
	{"search/value_loss", "the loss of the values", false, "leaf.kind, and what the leaves are worth: hop ladder"},
	{"moa/ce", "the cross-entropy of the models of others (nats)", true, "moa.lr and moa.passes: a model that lags behind who it models"},
}

// run is one seed's mean return, by part of the run.
type run struct {
	seed              uint64
	first, peak, last stats.Acc
	at                int // the part of the peak
	fell              bool
}

// Asked takes in seeds' metrics and says whether their returns fell.
type Forgetting struct {
	runs []run
	by   map[string][][2]float64 // of runs that fell: at the peak, at the end
}

// Take takes in one seed; warm is the last env step at which bots played.
func (q *Forgetting) Take(seed uint64, rows []runlog.Row, warm int64) {
	of := map[string][]runlog.Row{}
	for _, r := range rows {
		if r.Step > warm {
			of[r.Name] = append(of[r.Name], r)
		}
	}
	list := of["return/mean"]
	if len(list) < blocks*fewRows {
		return
	}
	end := list[len(list)-1].Step - warm
	part := func(rows []runlog.Row, i int) (acc stats.Acc) {
		for _, r := range rows {
			if at := int((r.Step - warm - 1) * blocks / end); at == i {
				acc.Add(r.Value)
			}
		}
		return acc
	}
	x := run{seed: seed, first: part(list, 0), last: part(list, blocks-1)}
	for i := range blocks - 1 {
		if acc := part(list, i); acc.N() >= fewRows && (x.peak.N() == 0 || acc.Mean() > x.peak.Mean()) {
			x.peak, x.at = acc, i
		}
	}
	gained, lost := x.peak.Mean()-x.first.Mean(), x.peak.Mean()-x.last.Mean()
	noise := math.Hypot(x.peak.SE(), x.last.SE())
	span := max(math.Abs(x.first.Mean()), math.Abs(x.peak.Mean()), math.Abs(x.last.Mean()))
	x.fell = lost > much*span && gained > sure*math.Hypot(x.peak.SE(), x.first.SE()) && lost > deep*gained && lost > sure*noise
	q.runs = append(q.runs, x)
	if !x.fell {
		return
	}
	if q.by == nil {
		q.by = map[string][][2]float64{}
	}
	for _, n := range named {
		peak, last := part(of[n.name], x.at), part(of[n.name], blocks-1)
		if peak.N() > 0 && last.N() > 0 {
			q.by[n.name] = append(q.by[n.name], [2]float64{peak.Mean(), last.Mean()})
		}
	}
}

// Finding says what the seeds show of agents that learn by c.
func (q *Forgetting) Finding(c ppo.Config) check.Finding {
	f := check.Finding{
		Step: 0, Check: "what was learnt is kept", Module: "ppo", Unit: "share of seeds that fell", Rows: len(q.runs),
		Says: "No seed's mean return rises and then falls.",
	}
	if len(q.runs) == 0 {
		f.Status, f.Says = check.NotAsked, "Too few windows were played to tell whether returns fell."
		return f
	}
	var seeds []string
	var first, peak, last stats.Acc
	for _, x := range q.runs {
		f.Saw(x.last.Mean(), x.peak.Mean(), "seed %d: mean return in the last tenth, and in its best", x.seed)
		if x.fell {
			seeds = append(seeds, fmt.Sprint(x.seed))
			first.Add(x.first.Mean())
			peak.Add(x.peak.Mean())
			last.Add(x.last.Mean())
		}
	}
	if 2*len(seeds) < len(q.runs) || len(seeds) == 0 {
		return f
	}
	why, next, worse := q.why(2*(peak.Mean()-last.Mean()) > peak.Mean()-first.Mean())
	if says, what := grows(c); says != "" {
		why, next, worse = why+"; "+says, what, true
	}
	status := check.Note // selfish learners may well learn what is worse for all
	if worse {
		status = check.Suspect
	}
	f.Accuse(status, float64(len(seeds))/float64(len(q.runs)), fmt.Sprintf("The mean return rises and then falls, from %.2f to %.2f "+
		"(seeds %s)%s.", peak.Mean(), last.Mean(), strings.Join(seeds, ", "), why), next)
	return f
}

// grows says which of the settings that commonly fade grows over the run instead.
func grows(c ppo.Config) (says, next string) {
	switch {
	case c.LREnd > c.LR:
		return fmt.Sprintf("the spec lets the learning rate grow, from %.2g to %.2g", c.LR, c.LREnd), "let ppo.lr_end be below ppo.lr"
	case c.EntropyEnd > c.Entropy:
		return fmt.Sprintf("the spec lets the bonus for entropy grow, from %.2g to %.2g", c.Entropy, c.EntropyEnd),
			"let ppo.entropy_end be below ppo.entropy"
	}
	return "", ""
}

// why names what moved between the peak and the end, what to do about the first of it, and whether anything grew: these numbers
// fade in a run that converges. That of a learner who goes up and down, and loses less than half of what it gained, may grow a
// little; its rate may not.
func (q *Forgetting) why(most bool) (says, next string, worse bool) {
	var list []string
	grew := false
	for _, n := range named {
		var change, was, is stats.Acc
		for _, x := range q.by[n.name] {
			was.Add(x[0])
			is.Add(x[1])
			change.Add(math.Log(max(x[1], 1e-9) / max(x[0], 1e-9)))
		}
		if change.N() == 0 || math.Abs(change.Mean()) <= math.Log(factor) {
			continue
		}
		grew = grew || change.Mean() > 0
		if worse = worse || change.Mean() > 0 && (n.name == "ppo/lr" || most && n.tells); len(list) < 3 {
			list = append(list, fmt.Sprintf("%s went from %.2g to %.2g", n.words, was.Mean(), is.Mean()))
			next = cmp.Or(next, n.next+"; the checkpoint of the peak is kept as the best")
		}
	}
	if !grew {
		says = "; no number of a learner grew by a fifth meanwhile, so look at what is learnt from and how it is acted on, or at what " +
			"selfish learners come to in this game"
		next = "hop report on the run: what turns when the return does; the checkpoint of the peak is kept as the best"
	}
	if len(list) > 0 {
		says = "; meanwhile " + strings.Join(list, ", and ") + says
	}
	return says, next, worse
}

// LastFifth returns the mean of the last fifth of each curve, nil if one is empty: no
// episode ended.
func LastFifth(curves [][]float64) []float64 {
	var out []float64
	for a, c := range curves {
		if len(c) == 0 {
			return nil
		}
		tail := c[len(c)-(len(c)+4)/5:]
		out = append(out, 0)
		for _, v := range tail {
			out[a] += v / float64(len(tail))
		}
	}
	return out
}
