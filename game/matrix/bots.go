package matrix

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
)

// The actions of the 2x2 games: in each of them 0 cooperates and 1 defects.
const (
	cooperate = iota
	defect
)

// Bots lists the scripted policies: for the 2x2 games allc, alld, tft and grim;
// for rock-paper-scissors one that always plays the same for each action, and
// one that beats the other's last.
func (g *Game) Bots() []game.BotInfo {
	bots := []game.BotInfo{game.RandomBot(len(g.stage.Actions))}
	add := func(name, doc string, choose func(st *State, s game.Seat) int32) {
		b := bot{name, choose}
		bots = append(bots, game.BotInfo{Name: name, Doc: doc, New: func() game.Bot { return b }})
	}
	if g.stage.Kind == game.ZeroSum {
		for k, name := range g.stage.Actions {
			add(name, "always "+name, func(*State, game.Seat) int32 { return int32(k) })
		}
		add("beatlast", "what beats the other's last action; starts with rock", beatLast)
		return bots
	}
	c, d := g.stage.Actions[cooperate], g.stage.Actions[defect]
	add("allc", "always "+c, func(*State, game.Seat) int32 { return cooperate })
	add("alld", "always "+d, func(*State, game.Seat) int32 { return defect })
	add("tft", "tit for tat: the other's last action; starts with "+c, titForTat)
	add("grim", c+" until the other's first "+d+", then always "+d, grim)
	return bots
}

func titForTat(st *State, s game.Seat) int32 {
	return int32(max(st.last[1-s], cooperate))
}

func grim(st *State, s game.Seat) int32 {
	if st.played[1-s][defect] > 0 {
		return defect
	}
	return cooperate
}

// beatLast relies on the order rock, paper, scissors: each is beaten by the next.
func beatLast(st *State, s game.Seat) int32 {
	if st.last[1-s] < 0 {
		return 0
	}
	return int32(st.last[1-s]+1) % maxActions
}

// bot plays one action for sure, a function of the state.
type bot struct {
	name   string
	choose func(st *State, s game.Seat) int32
}

func (b bot) Name() string { return b.name }

func (b bot) Act(st game.State, s game.Seat, _ *rng.Rand) int32 { return b.choose(st.(*State), s) }

func (b bot) Probs(st game.State, s game.Seat, dst []float32) {
	clear(dst)
	dst[b.choose(st.(*State), s)] = 1
}

// Pursues returns what it will play: the goals of a matrix game are its actions.
func (b bot) Pursues(st game.State, s game.Seat) int { return int(b.choose(st.(*State), s)) }

var (
	_ game.Policy  = bot{}
	_ game.Pursuer = bot{}
)
