package spec

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/train/prepare"
)

// Kind is some agents that learn by another mind than the rest of the spec says, or with
// other settings: an entry of the block minds. Of its spec the mind with its blocks, the
// actor and ppo count; game, training and the rest are the run's.
type Kind struct {
	Name   string
	Agents []int
	spec   Spec
	line   int
}

// kindName is what a kind may be called: metrics and fields are called after it.
var kindName = regexp.MustCompile(`^[a-z][a-z0-9+_-]{0,31}$`)

// ofKind are the blocks that a kind has, beside those of its mind.
var ofKind = []string{"actor", "ppo"}

// Learns returns the spec as it is for the agents of a kind, by its number in s.Kinds, or
// with -1 for all others: one whose learners are all of that kind.
func (s *Spec) Learns(kind int) *Spec {
	own := *s
	own.Kinds = nil
	if kind >= 0 {
		k := &s.Kinds[kind].spec
		own.Mind, own.Actor, own.PPO, own.lines, own.framed = k.Mind, k.Actor, k.PPO, k.lines, k.framed
	}
	if len(s.Kinds) > 0 && len(s.Train.Brains) > 0 && s.apart(kind) {
		own.Train.Brains = nil
	}
	return &own
}

// LearnsAs is Learns for an agent.
func (s *Spec) LearnsAs(a agent.ID) *Spec { return s.Learns(s.kindOf(int(a))) }

// apart reports whether each agent of a kind has a brain of its own.
func (s *Spec) apart(kind int) bool {
	if len(s.Train.Brains) == 1 {
		return false
	}
	for a, brain := range s.Train.Brains {
		for b, other := range s.Train.Brains {
			if a != b && brain == other && s.kindOf(a) == kind {
				return false
			}
		}
	}
	return true
}

// kindOf returns the number of an agent's kind, -1 if it learns as the spec's own mind does.
func (s *Spec) kindOf(a int) int {
	return slices.IndexFunc(s.Kinds, func(k Kind) bool { return slices.Contains(k.Agents, a) })
}

// KindNames returns what each agent is as a learner: its kind, or the spec's own mind. It
// is nil if all learn alike.
func (s *Spec) KindNames(seats int) []string {
	if len(s.Kinds) == 0 {
		return nil
	}
	names := make([]string, seats)
	for a := range names {
		names[a] = s.Mind.Name
		if k := s.kindOf(a); k >= 0 {
			names[a] = s.Kinds[k].Name
		}
	}
	return names
}

// decodeKinds reads the block minds. A kind of a name that a base has is written over it;
// a new one starts as its own base, or as the spec's own agents are written so far.
func (s *Spec) decodeKinds(n *yaml.Node, under []string) error {
	bad := func(path string, v any, want string, line int) error {
		return &config.Fault{Path: path, Value: fmt.Sprint(v), Want: want, Line: line}
	}
	if n.Kind != yaml.MappingNode {
		return bad("minds", n.Value, "a name for each kind, such as minds: {slow: {agents: [3], ppo: {lr: 0.0001}}}", n.Line)
	}
	var errs []error
	seen := map[string]bool{}
	s.Kinds = slices.Clone(s.Kinds)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], n.Content[i+1]
		path := "minds." + key.Value
		switch {
		case seen[key.Value]:
			errs = append(errs, bad(path, "given twice", "one value", key.Line))
			continue
		case v.Kind != yaml.MappingNode:
			errs = append(errs, bad(path, v.Value, "a block such as {agents: [3], base: ppo-4x4} or {agents: [3], ppo: {lr: 0.0001}}", key.Line))
			continue
		}
		seen[key.Value] = true
		at := s.addKind(key.Value)
		s.Kinds[at].line = key.Line
		errs = append(errs, config.At(s.Kinds[at].decode(v, under), path, nil))
	}
	return errors.Join(errs...)
}

// addKind returns the number of the kind of that name, which is made if there is none.
func (s *Spec) addKind(name string) int {
	if i := slices.IndexFunc(s.Kinds, func(k Kind) bool { return k.Name == name }); i >= 0 {
		return i
	}
	own := s.Learns(-1)
	own.Mind, own.Actor.Hidden = own.Mind.clone(), slices.Clone(own.Actor.Hidden)
	s.Kinds = append(s.Kinds, Kind{Name: name, spec: *own})
	return len(s.Kinds) - 1
}

// decode writes a kind's block over it.
func (k *Kind) decode(n *yaml.Node, under []string) error {
	var errs []error
	k.spec.Mind = k.spec.Mind.clone()
	if base := value(n, "base"); base != nil {
		fresh := k.spec.reg.Default()
		fresh.held = k.spec.held
		errs = append(errs, fresh.overlayBase(base, append(slices.Clone(under), "minds."+k.Name)))
		k.spec = *fresh.Learns(-1)
	}
	rest := &yaml.Node{Kind: yaml.MappingNode, Line: n.Line}
	mind := k.spec.Mind
	if m := value(n, "mind"); m != nil {
		if other, err := k.spec.reg.NewMind(m.Value); err == nil {
			mind = other
		}
	}
	may := append(slices.Clone(ofKind), mind.blocks()...)
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch key, v := n.Content[i], n.Content[i+1]; {
		case key.Value == "base":
		case key.Value == "agents":
			if err := v.Decode(&k.Agents); err != nil {
				errs = append(errs, &config.Fault{Path: "agents", Value: v.Value, Want: "a list of agents, such as [2, 3]", Line: v.Line})
			}
		case key.Value == "mind" || slices.Contains(may, key.Value):
			rest.Content = append(rest.Content, key, v)
		default:
			errs = append(errs, &config.Fault{Path: key.Value, Value: "nothing that a kind of learners has", Line: key.Line,
				Want: "agents, base, mind, " + strings.Join(may, ", ") + "; the rest is the run's" + config.Suggest(key.Value, may, "")})
		}
	}
	return errors.Join(append(errs, k.spec.decode(rest, nil, false))...)
}

// setKind writes a field of a kind, NAME.FIELD, from text. A name that is new becomes a
// kind that starts as the spec's own agents are.
func (s *Spec) setKind(path, value string) error {
	name, rest, _ := strings.Cut(path, ".")
	block, _, _ := strings.Cut(rest, ".")
	s.Kinds = slices.Clone(s.Kinds)
	k := &s.Kinds[s.addKind(name)]
	may := append(slices.Clone(ofKind), k.spec.Mind.blocks()...)
	switch {
	case rest == "agents":
		own := struct {
			Agents []int `yaml:"agents" doc:"which agents"`
		}{}
		if err := config.Set(&own, rest, value); err != nil {
			return config.At(err, "minds."+name, nil)
		}
		k.Agents = own.Agents
		return nil
	case rest == "mind" || slices.Contains(may, block):
		return config.At(k.spec.Set(rest+"="+value), "minds."+name, nil)
	}
	return fmt.Errorf("minds.%s is no field, want minds.NAME.FIELD with agents, mind, or a field of %s, such as minds.slow.ppo.lr",
		path, strings.Join(may, ", "))
}

// validateKinds returns everything that is wrong with the kinds; g is nil if the game is.
func (s *Spec) validateKinds(g game.Game) []error {
	var errs []error
	for i := range s.Kinds {
		k := &s.Kinds[i]
		at := "minds." + k.Name
		bad := func(path string, v any, want string) {
			errs = append(errs, config.At(config.Bad(path, v, want), at, config.Lines{at + "." + path: k.line}))
		}
		if !kindName.MatchString(k.Name) || k.Name == s.Mind.Name || k.Name == "learn" {
			bad("name", k.Name, "at most 32 of a-z, 0-9, +, - and _, a letter first, neither learn nor "+s.Mind.Name+
				", which is what the others are called")
		}
		if len(k.Agents) == 0 {
			bad("agents", k.Agents, "at least one agent, such as [3]")
		}
		for _, a := range k.Agents {
			switch {
			case a < 0 || g != nil && a >= g.Spec().Seats:
				bad("agents", k.Agents, fmt.Sprintf("agents from 0 to %d", seatsOf(g)-1))
			case s.kindOf(a) != i:
				bad("agents", k.Agents, fmt.Sprintf("agents of no other kind; %d is of %s", a, s.Kinds[s.kindOf(a)].Name))
			case !s.EverLearns(a):
				bad("agents", k.Agents, fmt.Sprintf("agents that learn; %d is played by %s", a, s.Train.Team[a]))
			}
		}
		own := s.Learns(i)
		for _, err := range append(own.settings(g), errors.Join(own.Mind.validate(own, g)...)) {
			errs = append(errs, config.At(err, at, nil))
		}
		for _, f := range k.spec.folders() {
			if name := prepare.Folder(*f).Stage(); name != "" && s.Prepare.Find(name) == nil {
				bad("models", *f, "the folder of a stage that prepare names: stages are the run's, so let the agents with prepared "+
					"models be the spec's own, and name the others in minds")
			}
		}
	}
	errs = append(errs, s.kindsTogether())
	return errs
}

// kindsTogether says which kinds cannot be in one run.
func (s *Spec) kindsTogether() error {
	for a, brain := range s.Train.Brains {
		for b := range a {
			if s.Train.Brains[b] == brain && s.kindOf(a) != s.kindOf(b) {
				return config.Bad("train.brains", s.Train.Brains,
					fmt.Sprintf("other brains for agents %d and %d, who are of different kinds (minds)", b, a))
			}
		}
	}
	if len(s.Train.Brains) == 1 && len(s.Kinds) > 0 {
		return config.Bad("train.brains", s.Train.Brains, "a number for each agent, because they are of different kinds (minds)")
	}
	names := s.KindNames(seatsOf(nil))
	for i := -1; i < len(s.Kinds) && s.Train.Warm.Windows > 0 && len(s.Kinds) > 0; i++ {
		m := s.Learns(i).Mind
		if _, ok := m.params.(interface{ Watches() bool }); !ok {
			return config.Bad("train.warm.windows", s.Train.Warm.Windows, "0, because some of the agents are of mind "+m.Name+
				", and only planners learn by watching")
		}
	}
	of := map[string]*Spec{}
	for a, name := range names {
		of[name] = s.LearnsAs(agent.ID(a))
	}
	first, was := "", ""
	for _, name := range slices.Compact(names) {
		own := of[name]
		if _, plans := own.Mind.params.(interface{ FolderFields() []*string }); !plans {
			continue
		}
		var has []string
		for _, f := range own.folders()[1:] { // without imagination's
			has = append(has, *f)
		}
		if text := strings.Join(has, "\n"); first == "" {
			first, was = name, text
		} else if text != was {
			return config.Bad("minds."+name+".models", strings.Join(has, ", "), "the models of "+first+
				", because the planners of one run share those that were trained before")
		}
	}
	return nil
}

// seatsOf returns how many agents there may be.
func seatsOf(g game.Game) int {
	if g == nil {
		return 64
	}
	return g.Spec().Seats
}

// EverLearns reports whether an agent's own mind plays it at some time.
func (s *Spec) EverLearns(a int) bool {
	if a >= len(s.Train.Team) || s.Train.Team[a] == "learn" {
		return true
	}
	for _, sw := range s.Train.Switch {
		if sw.Agent == a && sw.To == "learn" {
			return true
		}
	}
	return false
}

// kindFields describes the fields of all kinds.
func (s *Spec) kindFields() (list []config.Info) {
	for i := range s.Kinds {
		k := &s.Kinds[i]
		at := "minds." + k.Name
		list = append(list, config.Info{
			Path: at + ".agents", Type: "list", Default: strings.ReplaceAll(fmt.Sprint(k.Agents), " ", ", "), Doc: "which agents are of the kind",
		}, config.Info{Path: at + ".mind", Type: "text", Default: k.spec.Mind.Name, Doc: "what learns for them"})
		list = append(list, config.Under(at, config.List(k.blocks()))...)
		list = append(list, config.Under(at, config.List(k.spec.Mind.params))...)
	}
	return list
}

// kindBlocks are the blocks of a kind that are not its mind's.
type kindBlocks struct {
	Actor actor.Config `yaml:"actor"`
	PPO   ppo.Config   `yaml:"ppo"`
}

func (k *Kind) blocks() kindBlocks { return kindBlocks{k.spec.Actor, k.spec.PPO} }

// encodeKinds returns the block minds, every field that there is written out.
func (s *Spec) encodeKinds() (*yaml.Node, error) {
	all := &yaml.Node{Kind: yaml.MappingNode}
	text := func(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }
	for i := range s.Kinds {
		k := &s.Kinds[i]
		agents := &yaml.Node{}
		if err := agents.Encode(k.Agents); err != nil {
			return nil, err
		}
		agents.Style = yaml.FlowStyle
		body, err := config.Encode(k.blocks())
		if err != nil {
			return nil, err
		}
		s.unchosen(body, k.spec.framed)
		own, err := config.Encode(k.spec.Mind.params)
		if err != nil {
			return nil, err
		}
		body.Content = slices.Insert(body.Content, 0, text("agents"), agents, text("mind"), text(k.spec.Mind.Name))
		body.Content = append(body.Content, own.Content...)
		all.Content = append(all.Content, text(k.Name), body)
	}
	return all, nil
}

// makeMinds makes the minds of every kind. Streams, brains and shards follow from a mind's
// number in the run, so it is the same mind whatever the others are.
func (s *Spec) makeMinds(g game.Game, key rng.Key, saved *safetensors.File, agents [][]agent.ID) ([]learner.Mind, error) {
	minds := make([]learner.Mind, len(agents))
	for kind := -1; kind < len(s.Kinds); kind++ {
		own := s.Learns(kind)
		m := Making{Game: g, Actor: fitted(own.Actor, g.Spec()), PPO: own.PPO, Key: key, Saved: saved, Runs: s.reg.Runs,
			Shown: s.Train.Standins.Shown, all: len(agents)}
		for i, ids := range agents {
			if s.kindOf(int(ids[0])) == kind {
				m.Agents, m.number = append(m.Agents, ids), append(m.number, i)
			}
		}
		if len(m.Agents) == 0 {
			continue
		}
		made, err := own.Mind.build(m)
		if err == nil && len(made) != len(m.Agents) {
			err = fmt.Errorf("spec: mind %s made %d minds for %d groups of agents", own.Mind.Name, len(made), len(m.Agents))
		}
		if err != nil && kind >= 0 {
			err = fmt.Errorf("minds.%s: %w", s.Kinds[kind].Name, err)
		}
		if err != nil {
			return nil, err
		}
		for i, n := range m.number {
			minds[n] = made[i]
		}
	}
	return minds, nil
}

// FinalKinds returns what plays each agent at the end of a run: its kind of learner, or the bot
// or frozen agent in its place. It is nil if all who learn are alike.
func (s *Spec) FinalKinds(seats int) []string {
	names := s.KindNames(seats)
	for a := range names {
		if who := s.Train.Role(a, s.Train.Steps); who != "learn" {
			names[a] = who
		}
	}
	return names
}

// ByKind returns the mean of what the final agents got, by kind; nil if all are alike.
func (s *Spec) ByKind(agents []float64) map[string]float64 {
	if len(s.Kinds) == 0 {
		return nil
	}
	sum, n := map[string]float64{}, map[string]float64{}
	for a, name := range s.FinalKinds(len(agents)) {
		sum[name] += agents[a]
		n[name]++
	}
	for name := range sum {
		sum[name] /= n[name]
	}
	return sum
}

// Apart says in which settings the agents of one mind differ, where all learn by it; "" if
// nothing sets them apart, or they are of different minds and are not to be compared.
func (s *Spec) Apart() string {
	plain := s.Learns(-1)
	was := append(config.List(kindBlocks{plain.Actor, plain.PPO}), config.List(plain.Mind.params)...)
	var says []string
	for i := range s.Kinds {
		k := &s.Kinds[i]
		if k.spec.Mind.Name != s.Mind.Name {
			return ""
		}
		var list []string
		for _, c := range config.Diff(append(config.List(k.blocks()), config.List(k.spec.Mind.params)...), was) {
			list = append(list, fmt.Sprintf("%s %s, not %s", c.Path, c.A, c.B))
		}
		if len(list) > 3 {
			list = append(list[:3], fmt.Sprintf("%d more", len(list)-3))
		}
		if len(list) > 0 {
			says = append(says, fmt.Sprintf("minds.%s gives agents %v %s", k.Name, k.Agents, strings.Join(list, ", ")))
		}
	}
	return strings.Join(says, "; ")
}
