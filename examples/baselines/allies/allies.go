// Package allies counts who takes stags with whom in recorded play of the stag hunt with one stag, by
// seat: seats may differ in strength, which splits the stag.
package allies

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/store/dataset"
)

// Counts are of episodes, by seat.
type Counts struct {
	Episodes int         `json:"episodes"`
	Stags    int         `json:"stags"`    // taken
	Crews    map[int]int `json:"crews"`    // by how many hunters took part
	Together [][]int     `json:"together"` // [seats][seats] took it together; on the diagonal, took part
	Earned   []float64   `json:"earned"`   // a mean episode
}

// Command is baselines allies DATA.
func Command(args []string) error {
	f := flag.NewFlagSet("allies", flag.ExitOnError)
	f.Parse(args)
	if f.NArg() != 1 {
		return fmt.Errorf("allies: %d folders are named, want one of hop collect", f.NArg())
	}
	d, err := dataset.Open(f.Arg(0))
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(Count(d))
}

// Count counts the crews of a dataset. Every hunter of a crew has a row, the one of the lowest seat
// counts it.
func Count(d *dataset.Data) Counts {
	n := d.Layout.Seats
	c := Counts{Crews: map[int]int{}, Together: make([][]int, n), Earned: make([]float64, n)}
	for s := range c.Together {
		c.Together[s] = make([]int, n)
	}
	seen := map[int32]bool{}
	for row, own := range d.Seat {
		if !seen[d.Columns.Episode[row]] {
			seen[d.Columns.Episode[row]] = true
			c.Episodes++
		}
		c.Earned[own] += float64(d.Reward[row])
		crew, lowest := crewOf(d, row, n)
		if len(crew) == 0 || lowest != int(own) {
			continue
		}
		c.Stags++
		c.Crews[len(crew)]++
		for _, a := range crew {
			for _, b := range crew {
				c.Together[a][b]++
			}
		}
	}
	for s := range c.Earned {
		c.Earned[s] /= float64(max(1, c.Episodes))
	}
	return c
}

// crewOf returns the seats that take the stag in the step of a row, if its agent does, and the
// lowest of them.
func crewOf(d *dataset.Data, row, n int) (crew []int, lowest int) {
	if d.Columns.Action[row] != staghunt.HuntStag || d.Reward[row] == 0 {
		return nil, 0
	}
	lowest = n
	for place := range n {
		if d.Joint[row*n+place] == staghunt.HuntStag && d.Rewards[row*n+place] > 0 {
			seat := (int(d.Seat[row]) + place) % n
			crew, lowest = append(crew, seat), min(lowest, seat)
		}
	}
	return crew, lowest
}
