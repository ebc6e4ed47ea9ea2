package audit

import (
	"runtime"
	"strings"

	"github.com/hop-marl/hop/num/check"
)

// running is one of our functions that was running when something panicked: its package, and what it is called there.
type running struct{ pkg, name string }

// stack are those that were running, the innermost first.
type stack []running

// panicked returns, from within recovering, where a panic came from. What was raised again is where it was raised first.
func panicked() (at stack) {
	var pcs [256]uintptr
	frames, more := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])]), true
	for raised := false; more; {
		var f runtime.Frame
		if f, more = frames.Next(); f.Function == "runtime.gopanic" {
			raised, at = true, nil
		}
		if name, ours := strings.CutPrefix(f.Function, module); raised && ours {
			pkg, rest := packageOf(name)
			at = append(at, running{pkg, rest})
		}
	}
	return at
}

// String names the innermost few.
func (s stack) String() string {
	const few = 4
	var names []string
	for _, f := range s[:min(few, len(s))] {
		names = append(names, f.pkg+"."+f.name)
	}
	return strings.Join(names, ", called by ")
}

// owners say whose a package is, and all below it: the first that fits. Those of no module serve any.
var owners = []struct{ pkg, module string }{
	{"search/belief", "beliefs"}, {"search", "planner"}, {"agent/hop", "planner"}, {"agent/imagine", "world"}, {"agent/ppo", check.PPO},
	{"agent/lola", check.PPO}, {"agent/influence", check.PPO}, {"agent/rl2", check.PPO}, {"model/actor", check.PPO}, {"model/moa", "moa"},
	{"model/world", "world"}, {"model", "goals"}, {"train/pretrain", "goals"}, {"train/eval", "rollout"}, {"game/rollout", "rollout"},
}

// module is that of the innermost function that is of one; "": none is.
func (s stack) module() string {
	for _, f := range s {
		for _, x := range owners {
			if f.pkg == x.pkg || strings.HasPrefix(f.pkg, x.pkg+"/") {
				return x.module
			}
		}
	}
	return ""
}
