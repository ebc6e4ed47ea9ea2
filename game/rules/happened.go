package rules

import (
	"strconv"

	"github.com/hop-marl/hop/game"
)

// Begin looks at the start of an episode.
func (f *board) Begin(now *Seen) {
	for s := range f.last {
		f.last[s], f.acted[s] = game.NoAction, false
	}
	sc := &f.now
	f.broken = !f.read(now.Whole, 0, sc)
	sc.t, sc.over, f.chance = 0, false, false
	if f.broken {
		return
	}
	if now.Over {
		f.b.Contradict("end", "an episode is over before its first step")
		f.broken = true
		return
	}
	for s, c := range sc.at {
		if c == gone || f.blocked(sc, c) {
			f.b.Contradict("start", "seat %d starts at %s, which is no free cell", s, f.place(c))
			f.broken = true
			return
		}
	}
	f.game.start(sc)
	f.saw(now, sc)
}

// Step looks at what came of a joint action.
func (f *board) Step(now *Seen, acts []int32, rewards []float32) {
	if f.broken {
		return
	}
	was, sc, out := &f.now, &f.next, &f.out
	viewer := -1
	for s := range acts {
		f.acted[s] = was.at[s] != gone
		if f.acted[s] && (viewer < 0 || now.Alive[s] && !now.Alive[viewer]) {
			viewer = s
		}
		f.last[s] = acts[s]
	}
	if viewer < 0 || !f.read(now.Whole, viewer, sc) {
		f.broken = true
		return
	}
	sc.t, sc.over = was.t+1, now.Over
	f.moved(was, sc, acts)
	f.game.play(was, acts, out)
	if f.stop > 0 && sc.t >= f.least && sc.t < f.horizon && sc.t%endsEvery == 0 {
		f.stopped.Saw(now.Over, f.stop)
		f.chance = now.Over || f.stop == 1
	}
	out.over = out.over || f.chance || sc.t >= f.horizon
	for s := range acts {
		if !near(float64(rewards[s]), out.pays[s]) {
			f.b.Contradict("pay", "seat %d, who %s, is paid %s; the rules say %s", s, f.game.why(was, acts, s), amount(float64(rewards[s])),
				amount(out.pays[s]))
		}
	}
	f.game.arrives(was, sc, out)
	for s, a := range acts {
		switch got, want := sc.at[s], out.at[s]; {
		case got == want || out.drawn[s]:
		case got == gone:
			f.b.Contradict("leaving", "seat %d, who %s, leaves; the rules say that it stays on the board", s, f.game.why(was, acts, s))
		case want == gone:
			f.b.Contradict("leaving", "seat %d, who %s, stays on the board; the rules say that it leaves", s, f.game.why(was, acts, s))
		default:
			f.b.Contradict("moves", "seat %d at %s plays %s and is at %s then; the rules say at %s", s, f.place(was.at[s]), f.called(a),
				f.place(got), f.place(want))
		}
		if len(now.Goal) > 0 && now.Goal[s] != out.goal[s] {
			f.b.Contradict("goal", "seat %d, who %s, has reached %s; the rules say %s", s, f.game.why(was, acts, s), f.goal(now.Goal[s]),
				f.goal(out.goal[s]))
		}
	}
	for k, thing := range f.things {
		if f.egoThings && k < f.n {
			thing = "coin of seat " + strconv.Itoa(k)
		}
		for c, there := range sc.on[k] {
			if there != out.on[k][c] {
				f.b.Contradict(thing, "after a step in which %s, there is %s at %s; the rules say %s", f.deeds(was, acts, c), some(there, thing),
					f.place(c), some(out.on[k][c], thing))
				break
			}
		}
	}
	for k, x := range sc.items {
		if !near(x, out.item(was, k)) {
			f.b.Contradict("features", "feature %d of what there is on the board is %s after a step; the rules say %s", k, amount(x),
				amount(out.item(was, k)))
		}
	}
	if f.traits {
		for s, x := range sc.traits {
			if x != was.traits[s] {
				f.b.Contradict("features", "the feature of seat %d changes from %s to %s; it belongs to the episode", s,
					amount(was.traits[s]), amount(x))
			}
		}
	}
	if now.Over != out.over {
		f.b.Contradict("end", "the episode %s after %d steps; the rules say that it %s", ends(now.Over), sc.t, ends(out.over))
	}
	f.saw(now, sc)
	f.now, f.next = f.next, f.now
}

// item returns a feature of the board after a step: it is 0 once its plane is empty.
func (o *outcome) item(was *scene, k int) float64 {
	for _, there := range o.on[k] {
		if there {
			return was.items[k]
		}
	}
	return 0
}

// moved writes what moves alone make of a scene; who goes first where two want one cell is taken
// over from what is seen.
func (f *board) moved(was, sc *scene, acts []int32) {
	out := &f.out
	out.over = false
	for s, a := range acts {
		out.at[s], out.drawn[s], out.pays[s], out.goal[s] = was.at[s], false, 0, game.NoGoal
		if a >= up && a <= right && was.at[s] != gone {
			if to := f.to(was, was.at[s], int(a)); to != gone && (!f.solid || f.gives(was, sc, s, to)) {
				out.at[s] = to
			}
		}
	}
	for k := range out.on {
		copy(out.on[k], was.on[k])
	}
}

// gives reports whether a seat gets the cell that it moves to: surely if nobody was or is there,
// never by trading places, else if it is seen there and alone.
func (f *board) gives(was, sc *scene, s, to int) bool {
	for o := range was.at {
		switch {
		case o == s:
		case was.at[o] == to && sc.at[o] == was.at[s]:
			return false
		case was.at[o] == to:
			return sc.at[s] == to && sc.at[o] != to
		case sc.at[o] == to:
			f.firstOf.Saw(s < o, 0.5) // from the one who did not get it
			return false
		}
	}
	return true
}

// called names an action.
func (f *board) called(a int32) string {
	if a < 0 || int(a) >= len(f.actions) {
		return "nothing"
	}
	return f.actions[a]
}

// deeds tells what was played on a cell.
func (f *board) deeds(was *scene, acts []int32, c int) string {
	says := ""
	for s, a := range acts {
		if was.at[s] == c {
			if says != "" {
				says += " and "
			}
			says += "seat " + strconv.Itoa(s) + " played " + f.called(a) + " there"
		}
	}
	if says == "" {
		return "nobody was there"
	}
	return says
}

func (f *board) goal(k int) string {
	if k < 0 || k >= len(f.b.spec.Goals) {
		return "no goal"
	}
	return "the goal " + f.b.spec.Goals[k]
}

func some(there bool, thing string) string {
	if there {
		return thing
	}
	return "no " + thing
}

func ends(over bool) string {
	if over {
		return "ends"
	}
	return "goes on"
}
