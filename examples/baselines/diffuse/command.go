package diffuse

import (
	"context"
	"encoding/json"
	"flag"
	"os"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/cpu"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/train/eval"
)

// Command learns a denoiser of joint plans from recorded play of bots and says what agents earn
// who plan by it, in the stag hunt on 4x4 with two stags.
func Command(args []string) error {
	f := flag.NewFlagSet("diffuse", flag.ExitOnError)
	seed := f.Uint64("seed", 1, "of everything")
	record := f.Int("record", 4000, "episodes to learn from")
	steps := f.Int("steps", 6000, "gradient steps")
	episodes := f.Int("episodes", 200, "to score each team with")
	f.Parse(args)
	return run(rng.New(*seed), *record, *steps, *episodes)
}

// result is what a way to plan earned.
type result struct {
	Rounds int                `json:"rounds"` // 1: no diffusion
	Return map[string]float64 `json:"return"` // of the first of the team
	All    map[string]float64 `json:"all"`    // mean of the team
	Micros float64            `json:"microseconds_a_decision"`
}

func run(key rng.Key, record, steps, episodes int) error {
	c := staghunt.Default()
	c.Stags = 2
	g, err := staghunt.New(c)
	if err != nil {
		return err
	}
	data, err := Record(g, []string{"ns", "ns", "nh", "random"}, record, key.Child("record"))
	if err != nil {
		return err
	}
	spec, watch := g.Spec(), cpu.Start()
	m := New(spec.Obs.Len(), spec.Seats, len(spec.Actions), []int{256, 256}, 128, key.Child("model"))
	r := key.Child("learn").Rand()
	loss, err := m.Learn(data, steps, &r)
	if err != nil {
		return err
	}
	learnt, _ := watch.Spent()
	var list []result
	for _, rounds := range []int{1, 4, 8} {
		one, err := score(g, m, rounds, episodes, key)
		if err != nil {
			return err
		}
		list = append(list, one)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(map[string]any{"rows": len(data), "loss": loss, "learning_cpu_s": learnt, "cpu_s": cpu.Time().Seconds(), "scores": list})
}

// score plays teams with one or four who plan in so many rounds.
func score(g game.Game, m *Model, rounds, episodes int, key rng.Key) (result, error) {
	var all []*Bot
	joined := game.With(g, game.Joined{{Name: "diffuse", New: func() game.Bot {
		all = append(all, NewBot(m, g, "diffuse", 16, rounds))
		return all[len(all)-1]
	}}})
	res := result{Rounds: rounds, Return: map[string]float64{}, All: map[string]float64{}}
	for name, others := range map[string][]string{
		"itself": {"diffuse", "diffuse", "diffuse"}, "3 ns": {"ns", "ns", "ns"}, "3 nh": {"nh", "nh", "nh"},
		"ns+2nh": {"ns", "nh", "nh"}, "3 random": {"random", "random", "random"},
	} {
		team := []eval.Member{eval.Bot(joined, "diffuse")}
		for _, o := range others {
			team = append(team, eval.Bot(joined, o))
		}
		got, err := eval.Run(context.Background(), eval.Config{Game: joined, Team: team, Episodes: episodes, Key: key.Child("score"), Workers: 1})
		if err != nil {
			return res, err
		}
		res.Return[name], res.All[name] = got.Return[0].Mean(), got.Mean.Mean()
	}
	decisions, took := 0, 0.
	for _, b := range all {
		decisions, took = decisions+b.Decisions, took+b.Took
	}
	res.Micros = took * 1e6 / float64(max(1, decisions))
	return res, nil
}
