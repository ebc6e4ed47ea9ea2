// Command house draws the groups of the house and what each imports, from go list, as the
// picture of docs/architecture.md:
//
//	go run ./internal/deps/house > docs/house.svg
//
// A group stands below those that it imports. How thick a line is says how many packages
// of the one import how many of the other; only what no longer way implies is drawn.
package main

import (
	"fmt"
	"os"

	"github.com/hop-marl/hop/internal/deps"
)

func main() {
	picture, err := deps.Draw(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Print(picture)
}
