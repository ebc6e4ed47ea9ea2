package audit

import "testing"

// A panic is the module's whose function is the innermost of one, and what was raised again is where it was raised first.
func TestPanicsAreTheirModules(t *testing.T) {
	for _, c := range []struct {
		at   stack
		want string
	}{
		{stack{{"agent/hop", "(*player).choose"}, {"game/rollout", "(*Envs).work"}}, "planner"},
		{stack{{"num/nn", "(*Params).Add"}, {"agent/ppo", "(*Brain).Update"}, {"train", "(*SelfPlay).learn"}}, "ppo"},
		{stack{{"search/belief", "(*Beliefs).Draw"}, {"search", "(*Forest).Search"}}, "beliefs"},
		{stack{{"game/staghunt", "(*State).Step"}, {"game/rollout", "(*Envs).work"}}, "rollout"},
		{stack{{"searches", "find"}}, ""},
	} {
		if got := c.at.module(); got != c.want {
			t.Errorf("%v is of module %q, want %q", c.at, got, c.want)
		}
	}
	var at stack
	func() {
		defer func() {
			recover()
			at = panicked()
		}()
		raise(t)
	}()
	if len(at) == 0 || at[0] != (running{"audit", "raise"}) {
		t.Errorf("it came from %v", at)
	}
}

func raise(t *testing.T) {
	defer func() { panic(recover()) }()
	panic(t.Name())
}
