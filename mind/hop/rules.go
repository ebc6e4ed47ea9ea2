package hop

import (
	"hop/mind"
	"hop/plan/learned"
	"hop/plan/truth"
)

// makeRules makes what a search plays on: the learnt world model, or the true
// rules, with scripted rollouts if leaves are evaluated by them.
func (m *Mind) makeRules(envs, trees int) (mind.Rules, mind.Scripts, error) {
	if m.cfg.Search.Dynamics == "world" {
		w, err := learned.New(m.models.World, m.models.Steps, learned.Config{Envs: envs, Trees: trees, Log: m.cacheLog})
		return w, nil, err
	}
	if !m.cfg.Leaf.scripted() {
		w, err := truth.NewWorld(m.game, nil, nil, envs, trees)
		return w, nil, err
	}
	return m.trueRules(m.who, envs, trees)
}

// trueRules are the real rules with bots as models.
func (m *Mind) trueRules(bots []string, envs, trees int) (mind.Rules, mind.Scripts, error) {
	w, err := truth.NewWorld(m.game, bots, m.cfg.Leaf.Scripts, envs, trees)
	if err != nil || !m.cfg.Leaf.scripted() {
		return w, nil, err
	}
	scripts := truth.NewScripts(truth.NewBots(w, nil, envs), m.search.Discount, m.cacheLog)
	scripts.Repeat = m.cfg.Leaf.Repeat
	return w, scripts, nil
}
