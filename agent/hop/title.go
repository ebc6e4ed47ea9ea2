package hop

import "fmt"

// Title names agents with these settings, for reports.
func (c Config) Title() string {
	kind := map[string]string{"none": "direct-OM", "hand": "HOP", "latent": "HOP+ with types", "classes": "HOP+ with discrete goals",
		"context": "HOP+ that reads whole lives"}[c.Goals.Kind]
	rules := "the true rules"
	if c.Search.Dynamics != "rules" {
		rules = "the learnt world model"
	}
	leaf := map[string]string{
		"net": "its network", "scripts": "scripted rollouts", "both": "network and scripted rollouts", "response": "the response network",
	}[c.Leaf.Kind]
	return fmt.Sprintf("%s, searching on %s (%d trees of %d simulations), leaves valued by %s",
		kind, rules, c.Search.Trees, c.Search.Sims, leaf)
}
