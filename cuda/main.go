// Command hop-cuda is hop with a graphics card: hop-cuda train ppo-8x8 --device cuda.
package main

import (
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/cmd/cli"
	"github.com/hop-marl/hop/cuda/card"
	"github.com/hop-marl/hop/cuda/driver"
	"github.com/hop-marl/hop/train/registry"
)

func main() {
	reg := registry.New()
	reg.Devices = map[string]func() (ppo.Device, error){
		"cuda": func() (ppo.Device, error) { return card.Open(driver.Library) },
	}
	cli.Main(reg)
}
