// Command hop trains, plays and examines agents in mixed-motive games.
package main

import (
	"github.com/hop-marl/hop/cmd/cli"
	"github.com/hop-marl/hop/train/registry"
)

func main() { cli.Main(registry.New()) }
