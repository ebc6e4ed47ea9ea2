package dataset_test

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/dataset"
)

// byBots plays a team of bots as if they were agents that have learnt.
func byBots(g game.Game, team []string) dataset.Players {
	return func(workers, lanes int) ([][]rollout.Player, error) {
		players := make([][]rollout.Player, workers)
		for _, name := range team {
			bots, err := rollout.NewBots(g, name, lanes)
			if err != nil {
				return nil, err
			}
			for w := range players {
				players[w] = append(players[w], bots)
			}
		}
		return players, nil
	}
}

func recorded(t *testing.T, cfg dataset.Config, bots []string) dataset.Config {
	t.Helper()
	cfg.Mix, cfg.Team = nil, nil
	for a := range bots {
		cfg.Team = append(cfg.Team, "run#"+string(rune('0'+a)))
	}
	cfg.Players = byBots(cfg.Game, bots)
	return cfg
}

// Every episode that players played is, column by column, the next one of some
// lane, played by hand from the lane's streams; windows end within episodes.
func TestRecordedRowsAreThoseOfPlayByHand(t *testing.T) {
	const lanes = 32
	for name, c := range map[string]struct {
		cfg  dataset.Config
		bots []string
	}{
		"staghunt": {hunts(t), []string{"ns", "random", "nh", "ns"}},
		"toy":      {toys(t), []string{"random", "random", "random"}},
	} {
		cfg := recorded(t, c.cfg, c.bots)
		cfg.Rows, cfg.Workers = 6000, 3
		m := collect(t, cfg)
		d := open(t, cfg.Dir)
		n, key := cfg.Game.Spec().Seats, rng.New(cfg.Seed).Child("record")
		rules, deal, act := make([]rng.Rand, lanes), make([]rng.Rand, lanes), make([][]rng.Rand, lanes)
		next := make([][]row, lanes)
		play := func(lane int) {
			seat := make([]int, n)
			for a := range seat {
				seat[a] = a
			}
			deal[lane].Perm(seat)
			next[lane] = fromStreams(t, cfg.Game, 0, c.bots, seat, &rules[lane], act[lane])
		}
		for lane := range lanes {
			rules[lane], deal[lane] = key.Child("rules", lane).Rand(), key.Child("deal", lane).Rand()
			for a := range n {
				act[lane] = append(act[lane], key.Child("act", a).Child("env", lane).Rand())
			}
			play(lane)
		}
		i := 0
		for e := range m.Episodes {
			var got []row
			for ; i < d.Len() && int(d.Episode[i]) == e; i++ {
				r := read(d, i)
				r.Episode, r.Bot = 0, c.bots[r.Agent]
				got = append(got, r)
			}
			lane := slices.IndexFunc(next, func(want []row) bool { return reflect.DeepEqual(got, want) })
			if lane < 0 {
				t.Fatalf("%s: episode %d, %d rows, is no lane's next one", name, e, len(got))
			}
			play(lane)
		}
		if i != d.Len() || m.Rows < cfg.Rows {
			t.Errorf("%s: %d of %d rows checked, %d wanted", name, i, d.Len(), cfg.Rows)
		}
		if want := cfg.Team; !slices.Equal(m.Bots, want) {
			t.Errorf("%s: rows are said to be of %v, want %v", name, m.Bots, want)
		}
	}
}

func TestRecordingDoesNotDependOnWorkers(t *testing.T) {
	one := recorded(t, hunts(t), []string{"ns", "random", "nh", "ns"})
	one.Rows, one.Workers = 2000, 1
	collect(t, one)
	many := one
	many.Dir, many.Workers = t.TempDir(), 5
	collect(t, many)
	sameFiles(t, "5 workers", files(t, many.Dir), files(t, one.Dir))
}

func TestInterruptedRecordingBeginsAnew(t *testing.T) {
	whole := recorded(t, hunts(t), []string{"ns", "random", "nh", "ns"})
	whole.Rows, whole.ShardRows = 6000, 1000
	collect(t, whole)
	cfg := whole
	cfg.Dir = t.TempDir()
	ctx, stop := context.WithCancel(context.Background())
	cfg.Progress = func(rows, _ int) {
		if rows > 2500 {
			stop()
		}
	}
	if _, err := dataset.Collect(ctx, cfg); err == nil {
		t.Fatal("it was not stopped")
	}
	collect(t, cfg)
	sameFiles(t, "interrupted", files(t, cfg.Dir), files(t, whole.Dir))
	cfg.Mix, cfg.Team = []string{"ns", "nh"}, nil
	_, err := dataset.Collect(context.Background(), cfg)
	wantError(t, "players and a mix", err, "a mix is of bots")
}

// dealt plays a population in which who plays is dealt anew with every episode of a
// lane: the first of it waits, the second scores.
type dealt struct {
	kinds [][][]int8 // [lanes][episodes][A]
}

func (d *dealt) players(workers, lanes int) ([][]rollout.Player, error) {
	d.kinds = make([][][]int8, lanes)
	var players [][]rollout.Player
	for range workers {
		var team []rollout.Player
		for a := range toySeats {
			team = append(team, &dealtPlayer{d, a})
		}
		players = append(players, team)
	}
	return players, nil
}

type dealtPlayer struct {
	d *dealt
	a int
}

func (p *dealtPlayer) Act(v *rollout.View, envs []int32) {
	for _, n := range envs {
		list := &p.d.kinds[n]
		if p.a == 0 && v.Start[v.Moment(v.T, int(n))] {
			e := len(*list) + int(n)
			*list = append(*list, []int8{int8(e % 2), int8(e / 2 % 2), int8(e / 4 % 2)})
		}
		v.Action[v.StepOf(int(n))] = 2 * int32((*list)[len(*list)-1][p.a])
	}
}

func (p *dealtPlayer) Evaluate(*rollout.View, []int32) {}

// A row of a population has the kind of whoever played it, in every episode of every
// lane, those among them that two windows share.
func TestRowsOfAPopulationHaveTheirKind(t *testing.T) {
	cfg := toys(t)
	var d dealt
	cfg.Team, cfg.Population, cfg.Players, cfg.Rows, cfg.Workers = nil, []string{"waits", "scores"}, d.players, 3000, 3
	cfg.Kinds = func(lane, episode int) []int8 { return d.kinds[lane][episode] }
	m := collect(t, cfg)
	if !slices.Equal(m.Bots, cfg.Population) || !slices.Equal(m.Population, cfg.Population) {
		t.Errorf("rows are said to be of %v, want %v", m.Bots, cfg.Population)
	}
	data, seen, wrong := open(t, cfg.Dir), map[int8]int{}, 0
	for i := range data.Len() {
		if data.Action[i] != 2*data.Bot[i] {
			wrong++
		}
		seen[data.Bot[i]]++
	}
	if wrong > 0 || seen[0] < 500 || seen[1] < 500 {
		t.Errorf("%d of %d rows have another kind than who played them; %v of each", wrong, data.Len(), seen)
	}
	again := cfg
	again.Dir, again.Workers = t.TempDir(), 1
	collect(t, again)
	sameFiles(t, "1 worker", files(t, again.Dir), files(t, cfg.Dir))
	again.Population = []string{"waits", "hides"}
	_, err := dataset.Collect(context.Background(), again)
	wantError(t, "another population", err, "population")
}
