package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hop/eval"
	"hop/exp"
	"hop/game"
	"hop/oracle"
	"hop/rng"
	"hop/rollout"
	"hop/stats"
)

type adaptCmd struct {
	Run_    string   `arg:"" name:"run" help:"A run's folder, or a folder of seeds: all of them then." type:"path"`
	VS      []string `name:"vs" help:"The co-players, one bot for each." required:"" placeholder:"BOT,..."`
	Steps   int      `help:"Env steps of a life." default:"2400"`
	Last    int      `help:"The last steps, which are judged." default:"600"`
	Lives   int      `help:"How often to live it, with other starts." default:"16"`
	Agent   int      `help:"Which agent of the run." default:"0"`
	Set     []string `help:"Change the game it is tried on, such as game.stags=2." sep:"none" placeholder:"game.FIELD=VALUE"`
	Seed    uint64   `help:"Names all random streams." default:"1"`
	Workers int      `help:"Cores to use; 0: all." default:"0"`
	JSON    bool     `help:"Print one JSON object."`
}

func (adaptCmd) Help() string {
	return `Examples:

  hop adapt runs/hop-4x4-001 --vs ns,ns,ns
  hop adapt runs/hop-4x4-001/seed-1 --vs ns,nh,nh --set game.stags=2 --json

One agent of the run meets co-players it never trained with for --steps env steps; its score is the mean return over the last of them. Beliefs move, weights do not. The best response (exact, where it can be computed) and a random player live the same lives: normalised = (score - random) / (best response - random).`
}

type adaptJSON struct {
	Run          string         `json:"run"`
	VS           []string       `json:"vs"`
	Score        float64        `json:"score"`
	SE           float64        `json:"se"`
	CI           stats.Interval `json:"ci"`
	First        float64        `json:"first_episode"`
	BestResponse float64        `json:"best_response"`
	BestName     string         `json:"best_response_by"` // exact, or the scripted player that did best
	Random       float64        `json:"random"`
	Normalised   float64        `json:"normalised"`
	Regret       float64        `json:"regret"`
	Seeds        []float64      `json:"seeds"`    // score of each run
	Episodes     []float64      `json:"episodes"` // mean return by episode
}

func (c adaptCmd) Run(a *app) error {
	dirs := []string{c.Run_}
	if _, err := os.Stat(filepath.Join(c.Run_, "spec.yaml")); err != nil {
		if dirs, err = filepath.Glob(filepath.Join(c.Run_, "seed-*")); err != nil || len(dirs) == 0 {
			return usage("%s holds no run: neither spec.yaml nor folders seed-*", c.Run_)
		}
	}
	out := adaptJSON{Run: c.Run_, VS: c.VS}
	var score, first stats.Acc
	var curve []stats.Acc
	var g game.Game
	for _, dir := range dirs {
		agents, err := exp.LoadAgentsFor(dir, c.Set)
		if err != nil {
			return err
		}
		if c.Agent < 0 || c.Agent >= len(agents.Members) {
			return usage("--agent %d: the run has agents 0 to %d", c.Agent, len(agents.Members)-1)
		}
		g = agents.Game
		res, err := c.live(a, g, agents.Members[c.Agent])
		if err != nil {
			return err
		}
		out.Seeds = append(out.Seeds, res.Score.Mean())
		score.Merge(res.Score)
		first.Merge(res.First)
		for i, x := range res.Curve {
			if i == len(curve) {
				curve = append(curve, stats.Acc{})
			}
			curve[i].Merge(x)
		}
	}
	if err := c.references(a, g, &out); err != nil {
		return err
	}
	out.Score, out.SE, out.CI, out.First = score.Mean(), score.SE(), score.CI(0.95), first.Mean()
	if len(out.Seeds) > 1 {
		_, out.CI = stats.MeanCI(out.Seeds, 0.95)
	}
	out.Regret = out.BestResponse - out.Score
	out.Normalised = (out.Score - out.Random) / (out.BestResponse - out.Random)
	for _, x := range curve {
		if x.N() >= score.N()/2 {
			out.Episodes = append(out.Episodes, x.Mean())
		}
	}
	if c.JSON {
		return a.emit(out)
	}
	fmt.Fprintf(a.out, "%s against %s: %.3f over the last %d of %d steps (95 %% %.3f to %.3f)\n", c.Run_, strings.Join(c.VS, ","), out.Score, c.Last, c.Steps, out.CI[0], out.CI[1])
	fmt.Fprintf(a.out, "  first episode  %.3f\n  best response  %.3f (%s)\n  random         %.3f\n  normalised     %.3f\n", out.First, out.BestResponse, out.BestName, out.Random, out.Normalised)
	return nil
}

// live lets a member live among the co-players.
func (c adaptCmd) live(a *app, g game.Game, focal eval.Member) (*eval.Adapted, error) {
	if n := g.Spec().Seats - 1; len(c.VS) != n {
		return nil, usage("--vs names %d co-players, the game has room for %d", len(c.VS), n)
	}
	team := []eval.Member{focal}
	for _, name := range c.VS {
		if _, err := game.NewBot(g, name); err != nil {
			return nil, usageError{err}
		}
		team = append(team, eval.Bot(g, name))
	}
	return eval.Adaptation{
		Game: g, Team: team, Lives: c.Lives, Steps: c.Steps, Last: c.Last, Key: rng.New(c.Seed).Child("adapt"), Workers: c.Workers,
	}.Run(a.ctx)
}

// references measures the best response and random play in the same lives.
func (c adaptCmd) references(a *app, g game.Game, out *adaptJSON) error {
	random, err := c.live(a, g, eval.Bot(g, "random"))
	if err != nil {
		return err
	}
	out.Random = random.Score.Mean()
	if !slices.Contains(c.VS, "random") && oracle.Solvable(g, c.VS) == nil {
		names := append([]string{""}, c.VS...)
		best, err := c.live(a, g, eval.Member{Name: "br", Players: func(workers, lanes int) ([]rollout.Player, error) {
			list := make([]rollout.Player, workers)
			for w := range list {
				p, err := oracle.NewPlayer(g, names, 1, lanes)
				if err != nil {
					return nil, err
				}
				list[w] = p
			}
			return list, nil
		}})
		if err != nil {
			return err
		}
		out.BestResponse, out.BestName = best.Score.Mean(), "exact"
		return nil
	}
	for _, b := range g.Bots() {
		res, err := c.live(a, g, eval.Bot(g, b.Name))
		if err != nil {
			return err
		}
		if out.BestName == "" || res.Score.Mean() > out.BestResponse {
			out.BestResponse, out.BestName = res.Score.Mean(), "best script, "+b.Name
		}
	}
	return nil
}
