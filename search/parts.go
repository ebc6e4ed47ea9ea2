package search

import (
	"time"

	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/rng"
)

// large is how many simulations a search must have to be worth cutting into parts: half a
// millisecond of one core or more, so that waking another does not matter.
const large = 2000

// padding keeps what parts write all the time in different lines of the processor's cache.
const padding = 16

// Parts returns into how many parts a search of so many decisions is cut if that many
// workers can share it: 1 where it is small, has a single tree, draws what co-players are
// after while it runs (Hashed), or where a Journal is written. Further parts need an Asked
// of their own, whose Dynamics has room for Part.
func (f *Forest) Parts(workers, decisions int) int {
	trees := min(decisions*f.Trees, f.group)
	parts := min(workers, trees)
	if parts <= 1 || f.Hashed || f.Journal != nil || decisions*f.Trees*f.Sims < large {
		return 1
	}
	if f.parts == nil {
		f.split(min(workers, f.group))
	}
	return min(parts, len(f.parts))
}

// Part returns the largest part, for Dynamics to be fitted to, once Parts was above 1.
func (f *Forest) Part() *Forest { return f.parts[0] }

// split makes parts. Of nodes and all else that is long they are given views, so that they
// take no memory to speak of.
func (f *Forest) split(parts int) {
	f.job = &cores.Job{}
	f.search = func(part int) { f.parts[part].run() }
	for range parts {
		p := new(Forest)
		*p = *f
		p.parts, p.group = nil, (f.group+parts-1)/parts
		p.buffers, p.rs = p.newBuffers(padding), make([]rng.Rand, f.Envs*f.Trees+padding)
		f.parts = append(f.parts, p)
	}
}

// together searches the trees lo to hi in parts. All begin before any is searched: Dynamics
// may read one game's state, and beliefs may count what they draw.
func (f *Forest) together(pool *cores.Pool, asked []Asked, rs []rng.Rand, lo, hi int) {
	n := hi - lo
	for i, a := range asked {
		from, to := i*n/len(asked), (i+1)*n/len(asked)
		p := f.parts[i]
		p.view(f, from, to)
		copy(p.rs[lo+from:lo+to], rs[lo+from:lo+to])
		p.begin(a, p.rs, lo+from, lo+to)
	}
	pool.Do(f.job, len(asked), f.search)
	for i := range asked {
		from, to := i*n/len(asked), (i+1)*n/len(asked)
		p := f.parts[i]
		copy(rs[lo+from:lo+to], p.rs[lo+from:lo+to])
		copy(f.lane[from:to], p.lane)
		f.Count.add(p.Count)
		f.Spent.add(p.Spent, len(asked))
	}
	if f.Clock != nil {
		f.mark = f.Clock()
	}
}

// view makes a part of lanes from to before to.
func (p *Forest) view(f *Forest, from, to int) {
	p.Config, p.Clock, p.Count, p.Spent = f.Config, f.Clock, Count{}, Spent{}
	lo, hi := from*f.stride, to*f.stride
	p.nodes, p.edges = f.nodes[lo:hi], f.edges[lo*f.row:hi*f.row]
	p.first, p.path = f.first[from*f.row:to*f.row], f.path[from*f.deep:to*f.deep]
	if f.kept != nil {
		p.kept = f.kept[lo*f.Others : hi*f.Others]
	}
	if f.joint != nil {
		p.joint = f.joint[lo*f.Others : hi*f.Others]
	}
}

// add adds what another search has cost.
func (c *Count) add(o Count) {
	c.Sims += o.Sims
	c.Leaves += o.Leaves
	c.Steps += o.Steps
	c.Rounds += o.Rounds
}

// add adds a part's share of where the time went: parts run side by side.
func (s *Spent) add(o Spent, parts int) {
	n := time.Duration(parts)
	s.Select += o.Select / n
	s.Others += o.Others / n
	s.Dynamics += o.Dynamics / n
	s.Leaf += o.Leaf / n
	s.Backup += o.Backup / n
}
