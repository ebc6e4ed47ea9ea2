package audit

import (
	checks "hop/audit/check"
	"hop/audit/probe"
	"hop/check"
	"hop/mind"
	"hop/mind/hop"
	"hop/rollout"
	"hop/safetensors"
)

// before takes the mind as it is before it first acts.
func (p *tap) before(v *rollout.View) {
	if p.study == nil || !p.study.Watches() || p.broke != nil {
		return
	}
	if !p.begunPath {
		f, err := probe.Saved(p.Mind)
		if err == nil {
			err = p.study.Before(f, v.Envs)
		}
		p.begunPath, p.broke = true, err
	}
}

// acted records what a player holds about its co-players.
func (p *tap) acted(player rollout.Player, v *rollout.View, envs []int32) {
	if _, ok := player.(mind.Believing); !ok {
		p.blind = true
	}
	if b, ok := player.(mind.Believing); ok && p.study != nil && p.study.Watches() && p.broke == nil {
		p.study.Acted(b, v, envs)
	}
}

// examine holds what the agent made of its co-players in a window against the reference:
// start is the mind that played it. It lets the mind learn once and puts it back.
func (p *tap) examine(w *mind.Window, start *safetensors.File) error {
	if p.study == nil || p.broke != nil {
		return p.broke
	}
	if err := p.study.Played(w, start); err != nil {
		return err
	}
	h, ok := mind.As[probe.Labeller](p.Mind)
	if !ok || p.study.Learnt || p.u.window < probeAt || !p.src.Sound() {
		return nil
	}
	saver, _ := mind.As[mind.Saver](p.Mind)
	labels, err := p.labels(h, w, start)
	if err != nil {
		return err
	}
	stats, err := p.Mind.Learn(w)
	if err != nil {
		return err
	}
	after, err := probe.Saved(p.Mind)
	if err != nil {
		return err
	}
	if err := saver.Load(start, ""); err != nil {
		return err
	}
	return p.study.Update(w, start, after, labels, stats)
}

// labels asks a mind for its labels of a window and puts it back.
func (p *tap) labels(h probe.Labeller, w *mind.Window, start *safetensors.File) ([]hop.Label, error) {
	list := h.Labels(w)
	saver, _ := mind.As[mind.Saver](p.Mind)
	return list, saver.Load(start, "")
}

// inHindsight returns the goals that the own network reads when it learns w from a
// search: its labels, taken as they are, in place of beliefs; nil where it reads
// none. start is the mind before it learns.
func (p *tap) inHindsight(w *mind.Window, start *safetensors.File) ([]float32, error) {
	h, ok := mind.As[probe.Labeller](p.Mind)
	if !ok || p.study == nil || w.GoalLen == 0 || p.hop.Own != "search" {
		return nil, nil
	}
	labels, err := p.labels(h, w, start)
	if err != nil {
		return nil, err
	}
	return p.study.Hindsight(w, start, labels)
}

// studied is what the reference says about goals, models of others and beliefs.
func (u *session) studied() []check.Finding {
	var list []*checks.Study
	for _, t := range u.taps {
		if t.study != nil && !t.blind {
			list = append(list, t.study)
		}
	}
	return checks.OthersFindings(list)
}
