// Command hop trains, plays and examines agents in mixed-motive games.
package main

import (
	"hop/cli"
	"hop/registry"
)

func main() { cli.Main(registry.New()) }
