// Command baselines is hop with two more learners, baselines of HOP's paper: A3C and PR2; with
// hunters who share the prey out; and with commands of its own, allies, diffuse and target. All of it
// uses nothing that is not open to everybody.
package main

import (
	"embed"
	"fmt"
	"io/fs"
	"os"

	"github.com/hop-marl/hop/cmd/cli"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"

	"example.org/baselines/a3c"
	"example.org/baselines/allies"
	"example.org/baselines/assign"
	"example.org/baselines/diffuse"
	"example.org/baselines/pr2"
	"example.org/baselines/target"
)

//go:embed presets/*.yaml
var presets embed.FS

// commands are those that hop does not have.
var commands = map[string]func(args []string) error{
	"allies": allies.Command, "diffuse": diffuse.Command, "target": target.Command,
}

func main() {
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		cli.Main(newRegistry())
		return
	}
	if err := commands[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// title is what reports call agents of any settings.
func title(text string) func(any) string { return func(any) string { return text } }

// newRegistry returns what hop comes with, the two learners and their presets.
func newRegistry() *spec.Registry {
	reg := registry.New()
	reg.Minds["a3c"] = spec.AddMind("advantage actor-critic with returns of n steps, its workers in turn (A3C)",
		a3c.Default, a3c.New).Check(a3c.Check).Titled(title("A3C"))
	reg.Minds["pr2"] = spec.AddMind("actor-critic that reckons with the others' answers to each of its actions (PR2)",
		pr2.Default, pr2.New).Check(registry.Alone).Titled(title("PR2"))
	reg.Games["staghunt"] = reg.Games["staghunt"].Join(assign.Bots)
	files, err := fs.Sub(presets, "presets")
	if err != nil {
		panic("baselines: the presets are not embedded")
	}
	reg.AddPresets(files)
	return reg
}
