package play_test

import (
	"bytes"
	"fmt"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/lab/play"
	"github.com/hop-marl/hop/num/rng"
)

// Any player's episode can be recorded; here the rules are stepped by hand.
func ExampleRecorder() {
	g, err := staghunt.New(staghunt.Default())
	if err != nil {
		fmt.Println(err)
		return
	}
	key := rng.New(7)
	rules, act := key.Child("rules").Rand(), key.Child("act").Rand()
	bot, _ := game.NewBot(g, "nh")
	st := g.New()
	st.Reset(&rules)
	rec := play.NewRecorder(g, g.Label())
	rec.Start(st, "an example", []string{"nh", "nh", "nh", "nh"}, play.Info{})
	actions, rewards := make([]int32, 4), make([]float32, 4)
	for !st.Over() {
		for s := range actions {
			actions[s] = game.NoAction
			if st.Alive(game.Seat(s)) {
				actions[s] = bot.Act(st, game.Seat(s), &act)
			}
		}
		st.Step(actions, rewards, &rules)
		rec.Add(st, play.Info{Actions: actions, Rewards: rewards})
	}
	var file bytes.Buffer
	if err := play.GIF(&file, rec.Frames()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", file.Bytes()[:6])
	// Output: GIF89a
}
