package matrix

import (
	"math/big"

	"github.com/hop-marl/hop/game"
)

// Stage is a symmetric two-player game in normal form.
type Stage struct {
	Name    string    // as in the config
	Doc     string    // in words
	Kind    game.Kind //
	Actions []string  // in the games of cooperation, 0 cooperates and 1 defects
	Pays    [][]int   // [own action][other's action] what a seat gets
}

// Stages lists the stage games.
func Stages() []Stage {
	return []Stage{
		{
			Name: "pd", Doc: "prisoner's dilemma, with Axelrod's payoffs", Kind: game.GeneralSum,
			Actions: []string{"cooperate", "defect"},
			Pays:    [][]int{{3, 0}, {5, 1}},
		},
		{
			Name: "staghunt", Doc: "stag hunt: the stag pays best, the hare is safe", Kind: game.GeneralSum,
			Actions: []string{"stag", "hare"},
			Pays:    [][]int{{4, 0}, {3, 2}},
		},
		{
			Name: "chicken", Doc: "chicken, also called hawk-dove or snowdrift", Kind: game.GeneralSum,
			Actions: []string{"swerve", "straight"},
			Pays:    [][]int{{3, 1}, {4, 0}},
		},
		{
			Name: "rps", Doc: "rock-paper-scissors", Kind: game.ZeroSum,
			Actions: []string{"rock", "paper", "scissors"},
			Pays:    [][]int{{0, -1, 1}, {1, 0, -1}, {-1, 1, 0}},
		},
	}
}

// Equilibrium is a Nash equilibrium: a strategy for each seat from which neither
// gains by deviating alone.
type Equilibrium struct {
	Strategy [2][]*big.Rat // [seat][action] probabilities
	Value    [2]*big.Rat   // what each seat expects
}

// Pure reports whether both seats play one action for sure.
func (e Equilibrium) Pure() bool {
	for _, strategy := range e.Strategy {
		for _, p := range strategy {
			if !p.IsInt() {
				return false
			}
		}
	}
	return true
}

// Equilibria returns all Nash equilibria of the stage game, in exact numbers.
// None of the four has more than a finite number of them. Playing any one of
// them in every round is an equilibrium of the repeated game as well; for the
// prisoner's dilemma it is the only outcome that an equilibrium has.
func (s Stage) Equilibria() []Equilibrium {
	zero, one := frac(0, 1), frac(1, 1)
	first, second := []*big.Rat{one, zero}, []*big.Rat{zero, one}
	switch s.Name {
	case "pd":
		return []Equilibrium{
			{[2][]*big.Rat{second, second}, [2]*big.Rat{one, one}},
		}
	case "staghunt":
		mixed := []*big.Rat{frac(2, 3), frac(1, 3)}
		return []Equilibrium{
			{[2][]*big.Rat{first, first}, [2]*big.Rat{frac(4, 1), frac(4, 1)}},
			{[2][]*big.Rat{second, second}, [2]*big.Rat{frac(2, 1), frac(2, 1)}},
			{[2][]*big.Rat{mixed, mixed}, [2]*big.Rat{frac(8, 3), frac(8, 3)}},
		}
	case "chicken":
		mixed := []*big.Rat{frac(1, 2), frac(1, 2)}
		return []Equilibrium{
			{[2][]*big.Rat{first, second}, [2]*big.Rat{one, frac(4, 1)}},
			{[2][]*big.Rat{second, first}, [2]*big.Rat{frac(4, 1), one}},
			{[2][]*big.Rat{mixed, mixed}, [2]*big.Rat{frac(2, 1), frac(2, 1)}},
		}
	case "rps":
		third := []*big.Rat{frac(1, 3), frac(1, 3), frac(1, 3)}
		return []Equilibrium{
			{[2][]*big.Rat{third, third}, [2]*big.Rat{zero, zero}},
		}
	}
	return nil
}

func frac(num, den int64) *big.Rat { return big.NewRat(num, den) }
