package registry

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/hop-marl/hop/agent/hop"
	"github.com/hop-marl/hop/agent/hop/pretrained"
	"github.com/hop-marl/hop/agent/influence"
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/agent/lola"
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/agent/rl2"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/model/cvae"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/model/sequence"
	"github.com/hop-marl/hop/model/vae"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/search/truth"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/pretrain"
	"github.com/hop-marl/hop/train/spec"
)

func minds() map[string]spec.MindEntry {
	return map[string]spec.MindEntry{
		"ppo": spec.AddMind("proximal policy optimisation, nothing else", func() struct{} { return struct{}{} }, makePPO).
			Audited(plain).Titled(title("PPO")).Plain().Imagining(),
		"hop": spec.AddMind("infers what the others want, searches against it, learns from the search (HOP and HOP+)",
			hop.Default, makeHOP).Check(checkHOP).Audited(fromSearch).Titled(spec.By(hop.Config.Title)),
		"lola": spec.AddMind("PPO that reckons with the others' next learning step (LOLA)", lola.Default, makeLOLA).Check(Alone).
			Audited(spec.Audit{Weights: true, Update: updated(lola.Reference)}).Titled(title("LOLA")).
			Bred("opponent-learning awareness (Foerster et al. 2018)", false),
		"rl2": spec.AddMind("recurrent PPO that learns over trials, several episodes among the same co-players (RL^2)",
			rl2.Default, makeRL2).Check(checkRL2).Titled(title("RL^2")),
		"influence": spec.AddMind("PPO that is paid for changing what the others do", influence.Default, makeInfluence).
			Check(checkInfluence).Audited(spec.Audit{Update: updated(influence.Reference), Amplify: loud}).Titled(title("PPO paid for influence")).
			Bred("paid for social influence (Jaques et al. 2019)", true),
	}
}

// title is what all agents of a kind of minds are called.
func title(text string) func(any) string { return func(any) string { return text } }

// plain is PPO and nothing else.
var plain = spec.Audit{Update: func(any, *reference.Own, reference.Adding) error { return nil }}

// fromSearch learns from a search's policy, with goals as they are known in hindsight.
var fromSearch = spec.Audit{Windows: 6, Envs: 8, Update: func(params any, o *reference.Own, in reference.Adding) error {
	o.Search, o.Goal = params.(*hop.Config).Own == "search", in.Hindsight
	return nil
}, Amplify: brief}

// brief makes lifetimes short in an audit, so that some are over while it watches. It leaves
// rewards as they are: what a tree earns is held against what the rules pay.
func brief(params any) {
	c := params.(*hop.Config)
	c.Rank = 0
	c.Goals.Life = min(c.Goals.Life, 2)
}

// updated is a definition by the settings of its kind of minds.
func updated[C any](of func(c C, o *reference.Own, in reference.Adding) error) func(any, *reference.Own, reference.Adding) error {
	return func(params any, o *reference.Own, in reference.Adding) error { return of(*params.(*C), o, in) }
}

// loud makes influence count in an audit: at the usual weight it is far below the game's
// rewards, and a slip in it would drown.
func loud(params any) {
	c := params.(*influence.Config)
	c.Influence.Weight = max(c.Influence.Weight, 20)
}

// brains makes a PPO learner for each mind.
func brains(m spec.Making) ([]*ppo.Brain, error) { return reading(m, 0) }

// reading makes a PPO learner for each mind that reads so many numbers beside observations.
func reading(m spec.Making, extra int) ([]*ppo.Brain, error) {
	var list []*ppo.Brain
	for i := range m.Agents {
		b, err := m.Brain(i, extra)
		if err != nil {
			return nil, err
		}
		list = append(list, b)
	}
	return list, nil
}

func makePPO(_ struct{}, m spec.Making) ([]learner.Mind, error) {
	shown := 0
	if m.Shown {
		shown = 1
	}
	list, err := reading(m, shown)
	var minds []learner.Mind
	for _, b := range list {
		minds = append(minds, b)
	}
	return minds, err
}

func makeRL2(c rl2.Config, m spec.Making) ([]learner.Mind, error) {
	list, err := reading(m, c.GoalNumbers(m.Game.Spec()))
	if err != nil {
		return nil, err
	}
	return rl2.New(c, list)
}

// checkRL2 holds RL^2's settings against the rest of a spec.
func checkRL2(_ any, s *spec.Spec, _ game.Game) error {
	switch {
	case s.Actor.LSTM == 0:
		return config.Bad("actor.lstm", s.Actor.LSTM, "above 0, such as 64, because mind is rl2 and adapts by what it remembers")
	case s.PPO.Align > 0:
		return config.Bad("ppo.align", s.PPO.Align, "0, because mind is rl2, whose advantages run through whole trials")
	}
	return nil
}

func makeLOLA(c lola.Config, m spec.Making) ([]learner.Mind, error) {
	if len(m.Agents) < 2 {
		return nil, fmt.Errorf("agents %v are the only ones of mind lola, want two or more: each reckons with "+
			"the learning of the others of its kind", m.Agents[0])
	}
	list, err := brains(m)
	if err != nil {
		return nil, err
	}
	return lola.New(c, m.PPO, list)
}

// checkInfluence refuses games that hide co-players: influence on who is not seen cannot be told.
func checkInfluence(params any, s *spec.Spec, g game.Game) error {
	if g != nil && g.Spec().View > 0 {
		return config.Bad("game.view", g.Spec().View, "0, because mind is influence, which is paid for what "+
			"co-players do that may be out of view")
	}
	return Alone(params, s, g)
}

func makeInfluence(c influence.Config, m spec.Making) ([]learner.Mind, error) {
	list, err := brains(m)
	if err != nil {
		return nil, err
	}
	var minds []learner.Mind
	for i, b := range list {
		sp := m.Game.Spec()
		x, err := influence.New(c, m.Actor, spec.Input(sp), sp.Seats, b, m.Stream(i))
		if err != nil {
			return nil, fmt.Errorf("mind %d: %w", i, err)
		}
		minds = append(minds, x)
	}
	return minds, nil
}

// Alone is what minds need that read each other: a network each, without an LSTM. It is a check
// for spec.MindEntry.
func Alone(_ any, s *spec.Spec, g game.Game) error {
	switch {
	case s.Actor.LSTM > 0:
		return config.Bad("actor.lstm", s.Actor.LSTM, "0, because mind is "+s.Mind.Name)
	case len(s.Train.Brains) > 0:
		return config.Bad("train.brains", s.Train.Brains, "nothing, because mind is "+s.Mind.Name+" and each agent needs a network of its own")
	case g != nil && g.Spec().Seats < 2:
		return config.Bad("game.name", s.Game.Name, "a game of at least two, because mind is "+s.Mind.Name)
	}
	return nil
}

func makeHOP(c hop.Config, m spec.Making) ([]learner.Mind, error) {
	var models pretrained.Models
	var err error
	if m.Saved != nil {
		if models, err = pretrained.Of(m.Saved); err == nil {
			saved := "the checkpoint's"
			err = fit(models, m.Game.Spec(), hop.Folders{VAE: saved, CVAE: saved, World: saved, Sequence: saved, Response: saved})
		}
	} else {
		models, err = load(m.Runs, c, m.Game.Spec())
	}
	if err != nil {
		return nil, err
	}
	var minds []learner.Mind
	for i := range m.Agents {
		b, err := m.Brain(i, c.GoalLen(m.Game.Spec(), models))
		if err != nil {
			return nil, err
		}
		var x learner.Mind
		if len(b.Agents()) > 1 {
			x, err = hop.NewShared(c, m.Game, models, b, m.PPO.RewardScale, m.Stream(i))
		} else {
			x, err = hop.New(c, m.Game, models, b, m.PPO.RewardScale, m.Stream(i))
		}
		if err != nil {
			return nil, fmt.Errorf("mind %d: %w", i, err)
		}
		minds = append(minds, x)
	}
	return minds, nil
}

// checkHOP holds the settings of planners against the rest of a spec.
func checkHOP(params any, s *spec.Spec, g game.Game) error {
	c := params.(*hop.Config)
	if err := Alone(nil, s, g); err != nil && len(s.Train.Brains) == 0 {
		return err
	}
	_, agents := s.Groups(g)
	for _, ids := range agents {
		if reads := c.Goals.Read && c.Goals.Kind != "none"; len(ids) > 1 && c.Watches() && (reads || c.Rank > 0) {
			return config.Bad("train.brains", s.Train.Brains, "one for each agent, because mind is hop and each agent learns from the "+
				"plans that it made from its own place; with own ppo, or goals.read false and rank 0, they can share a network")
		}
	}
	if t := s.Train.Standins; c.Goals.Kind == "context" && c.Goals.Life == 0 && t.Share+t.Teams+t.Alike > 0 {
		return config.Bad("goals.life", c.Goals.Life, "above 0, because goals.kind is context, which is read from a life among the same "+
			"co-players, and train.standins deals others")
	}
	if s.Train.Warm.Windows > 0 && !c.Watches() {
		return config.Bad("train.warm.windows", s.Train.Warm.Windows,
			"0, because own is ppo and only agents that learn from a search can learn by watching")
	}
	if n := s.Train.Recorded.Windows; n > 0 && c.Goals.Kind == "context" {
		return config.Bad("train.recorded.windows", n, "0, because goals.kind is context, which is read while playing and not from records")
	} else if c.MOA.Recorded > 0 && n == 0 {
		return config.Bad("moa.recorded", c.MOA.Recorded, "0, because train.recorded.windows is 0 and nothing is recorded")
	}
	if len(s.Train.Stages) > 0 && c.Search.Dynamics != "rules" {
		return config.Bad("train.stages", len(s.Train.Stages), "none, because search.dynamics is "+c.Search.Dynamics+" and the model knows "+
			"the rules of one game")
	}
	if g == nil {
		return nil
	}
	if g.Spec().Opaque && c.Search.Dynamics == "rules" {
		return config.Bad("search.dynamics", c.Search.Dynamics, "vectors, because another program plays "+s.Game.Name+" and its rules cannot be "+
			"searched (hop train hop+ --env); or, for boards, world, whose models hop train hop+types --env prepares")
	}
	if err := c.Fits(g); err != nil || c.Leaf.Kind == "net" {
		return err
	}
	for i, bot := range c.Leaf.Partners {
		if _, err := game.NewBot(g, bot); err != nil {
			return config.Bad(fmt.Sprintf("leaf.partners[%d]", i), bot, "a bot of "+s.Game.Name)
		}
	}
	if c.Goals.Kind != "hand" && c.Leaf.Kind == "response" && len(c.Leaf.Partners) == 0 {
		return nil // as the response network knows them
	}
	if want := c.Hypotheses(g.Spec().Goals); len(c.Leaf.Partners) == 0 || c.Goals.Kind != "none" && len(c.Leaf.Partners) != len(want) {
		return config.Bad("leaf.partners", c.Leaf.Partners, fmt.Sprintf("a bot for each of %v, because leaf.kind is %s", want, c.Leaf.Kind))
	}
	if c.Leaf.Kind == "response" {
		return nil
	}
	if whole, ok := game.WholeOf(g); ok {
		g = whole
	}
	if _, err := truth.NewWorld(g, c.Leaf.Partners, c.Leaf.Scripts, 1, 1); err != nil {
		return config.Bad("leaf.scripts", c.Leaf.Scripts, "other scripts or leaf.partners: "+err.Error())
	}
	return nil
}

// fit refuses models, which come from some folders, that read other observations than the game's.
func fit(m pretrained.Models, sp game.Spec, from hop.Folders) error {
	in, k := spec.Input(sp), len(sp.Actions)
	if m.VAE != nil {
		if want := (vae.Input{Input: in.Input, Agents: sp.Seats, Actions: k}); m.VAE.Input != want {
			return misfit("vae", from.VAE, m.VAE.Input, want)
		}
	}
	if m.CVAE != nil {
		if want := (cvae.Input{Input: in.Input, Seats: sp.Seats, Actions: k}); m.CVAE.Input != want {
			return misfit("cvae", from.CVAE, m.CVAE.Input, want)
		}
	}
	if m.Sequence != nil {
		want := sequenceInput(sp, m.Sequence.Kinds)
		if len(want.Goals) == 0 && len(m.Sequence.Goals) == 0 {
			want.Goals = m.Sequence.Goals // none is none, whether data call it an empty list or nothing
		}
		if !reflect.DeepEqual(m.Sequence.Input, want) {
			return misfit("sequence", from.Sequence, m.Sequence.Input, want)
		}
	}
	if m.World != nil {
		if want := worldInput(sp, m.World.Input); !reflect.DeepEqual(m.World.Input, want) {
			return misfit("world", from.World, m.World.Input, want)
		}
	}
	if m.Response != nil {
		in.Extra = (sp.Seats - 1) * len(m.Population)
		if want := sensed(in, m.Response.Sense, sp); m.Response.Input != want {
			return misfit("response", from.Response, m.Response.Input, want)
		}
	}
	return nil
}

// sensed returns an input of which a network makes as much in this game as in its own.
func sensed(in actor.Input, s frame.Sense, spec game.Spec) actor.Input {
	in.Sense = s.Of(frame.Layout(spec.Obs), spec.Seats, spec.Horizon, spec.Actions)
	return in
}

// worldInput is what a world model reads of a game, with what it knows of rewards
// and features from its data.
func worldInput(spec game.Spec, seen world.Input) world.Input {
	l := spec.Obs
	return world.Input{
		Height: l.Height, Width: l.Width, Planes: len(l.Planes), Agents: spec.Seats, Actions: len(spec.Actions), Horizon: spec.Horizon,
		Legal: l.Legal, Time: l.Time, Last: l.Last, Rewards: seen.Rewards,
		Owned: l.Owned, Features: l.Features, Values: seen.Values, Zeroes: seen.Zeroes,
		Appear: seen.Appear, Still: seen.Still, Jumps: seen.Jumps,
	}
}

// sequenceInput is what a sequence model of agents of these kinds reads of a game.
func sequenceInput(spec game.Spec, kinds []string) sequence.Input {
	in := moa.NewInput(frame.Layout(spec.Obs), spec.Seats, spec.Actions, 0)
	return sequence.Input{Input: in, Goals: spec.Goals, Kinds: kinds}
}

// load reads the models that planners use. They must have been trained on
// observations like the game's.
func load(runs *runlog.Reader, c hop.Config, spec game.Spec) (m pretrained.Models, err error) {
	kind, dirs := c.Goals.Kind, c.Models
	read := func(name string, used bool, from func() error) {
		if err != nil || !used {
			return
		}
		if err = from(); err != nil {
			err = fmt.Errorf("models.%s: %w", name, err)
		}
	}
	read("vae", kind == "latent" || kind == "classes", func() (err error) { m.VAE, m.Codes, err = vae.Load(runs, dirs.VAE); return err })
	read("cvae", kind == "latent", func() (err error) { m.CVAE, m.Infer, err = cvae.Load(runs, dirs.CVAE); return err })
	read("sequence", kind == "context", func() (err error) { m.Sequence, m.Lifetimes, err = sequence.Load(runs, dirs.Sequence); return err })
	read("world", c.Search.Dynamics == "world", func() (err error) { m.World, m.Steps, err = world.Load(runs, dirs.World); return err })
	read("response", c.Leaf.Kind == "response", func() error {
		r, p, about, err := pretrain.LoadResponse(runs, dirs.Response)
		if err != nil {
			return err
		}
		m.Response, m.Answers, m.ResponseScale, m.Population, m.Met = r, p, about.Scale, about.Who, about.Met()
		if !slices.Equal(about.Who, c.Leaf.Partners) && (kind == "hand" || len(c.Leaf.Partners) > 0) {
			return fmt.Errorf("%s knows the bots %v, leaf.partners are %v; they must be the same, in the same order",
				dirs.Response, about.Who, c.Leaf.Partners)
		}
		return nil
	})
	if err == nil {
		err = fit(m, spec, dirs)
	}
	if err != nil || dirs.MOA == "" {
		return m, err
	}
	if err = hop.LoadMOA(runs, c, spec, &m); err != nil {
		err = fmt.Errorf("models.moa: loading %s: %w; train it with the spec's own net, such as hop pretrain moa "+
			"--condition goal --set model.hidden=[64,64] --set model.distances=false", dirs.MOA, err)
	}
	return m, err
}

func misfit(name, dir string, got, want any) error {
	return fmt.Errorf("models.%s: %s was trained on observations %+v, here they are %+v; train one on this game", name, dir, got, want)
}
