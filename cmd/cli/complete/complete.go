// Package complete says what the word that is being typed may become: a command, a
// flag, a field, a preset, a game, a bot or the folder of a run. It reads kong's model
// of the command line, so a new flag is completed by itself; what its value may be
// is said by its placeholder. A shell's script asks for it at every Tab.
package complete

import (
	"embed"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/train/spec"
)

//go:embed scripts
var scripts embed.FS

// Script returns what a shell must read: bash, zsh, fish or powershell.
func Script(shell string) (string, error) {
	b, err := scripts.ReadFile("scripts/" + shell)
	return string(b), err
}

// choice is something that a word may become, and what it means.
type choice struct{ name, doc string }

// Word prints what the word that is being typed may become, one a line, with a
// tab and what it means behind it. A shell's script asks for it: args are that word
// behind an equals sign, so that no shell drops an empty one, and the words before it.
// planners can be named where bots can.
func Word(out io.Writer, node *kong.Node, reg *spec.Registry, planners, args []string) {
	var words []string
	before := "" // what stands before the last word: --flag=
	for _, w := range append(args[1:], strings.TrimPrefix(args[0], "=")) {
		before = ""
		if name, value, has := strings.Cut(w, "="); has && strings.HasPrefix(w, "--") {
			words, before, w = append(words, name), name+"=", value
		}
		words = append(words, w)
	}
	last := len(words) - 1
	word, place, gameName := words[last], 0, reg.UsualGame()
	var flag *kong.Flag // the one whose value comes next
	for _, w := range words[:last] {
		child := slices.IndexFunc(node.Children, func(c *kong.Node) bool { return c.Name == w })
		switch {
		case flag != nil:
			if flag.Name == "game" {
				gameName = w
			}
			flag = nil
		case strings.HasPrefix(w, "-"):
			if flag = flagOf(node, w); flag != nil && flag.IsBool() {
				flag = nil
			}
		case child >= 0:
			node = node.Children[child]
		default:
			place++
		}
	}
	var list []choice
	var v *kong.Value
	switch {
	case flag != nil:
		v = flag.Value
	case strings.HasPrefix(word, "-"):
		for _, f := range slices.Concat(node.AllFlags(true)...) {
			list = append(list, choice{"--" + f.Name, f.Help})
		}
	case len(node.Children) > 0:
		for _, c := range node.Children {
			list = append(list, choice{c.Name, c.Help})
		}
	case len(node.Positional) > 0:
		v = node.Positional[min(place, len(node.Positional)-1)]
	}
	if v != nil {
		list = values(node, v, reg, planners, gameName)
		if comma := strings.LastIndex(word, ",") + 1; v.IsSlice() { // a list: the word is its last member
			before, word = before+word[:comma], word[comma:]
		}
	}
	for _, c := range list {
		if strings.HasPrefix(c.name, word) {
			fmt.Fprintf(out, "%s%s\t%s\n", before, c.name, c.doc)
		}
	}
}

func flagOf(n *kong.Node, name string) *kong.Flag {
	for _, f := range slices.Concat(n.AllFlags(true)...) {
		if "--"+f.Name == name {
			return f
		}
	}
	return nil
}

// values lists what a flag or an argument of a command may be: its placeholder says
// which kinds of things. For files and numbers it is nothing; shells then offer files.
func values(node *kong.Node, v *kong.Value, reg *spec.Registry, planners []string, gameName string) (list []choice) {
	has := func(kind string) bool { return strings.Contains(v.Tag.PlaceHolder, kind) }
	add := func(name, doc string) { list = append(list, choice{name, doc}) }
	if v.Enum != "" {
		for _, name := range v.EnumSlice() {
			add(name, "")
		}
	}
	if has("PRESET") {
		for _, p := range reg.PresetList() {
			add(p.Name, p.Doc)
		}
	}
	if has("RUN") {
		seeds, _ := disk.Match("runs", "*/seed-*")
		for i, dir := range seeds {
			if i == 0 || filepath.Dir(dir) != filepath.Dir(seeds[i-1]) {
				add(filepath.ToSlash(filepath.Dir(dir)), "a run")
			}
		}
	}
	if v.Name == "game" {
		for _, name := range reg.GameNames() {
			add(name, reg.GameDoc(name))
		}
	}
	if has("BOT") || has("WHO") {
		for _, b := range bots(reg, gameName) {
			add(b.Name, b.Doc)
		}
	}
	if has("WHO") {
		for _, name := range planners {
			add(name, "thinks, without training")
		}
	}
	if sp := reg.Default(); v.Name == "set" && sp.Set("game.name="+gameName) == nil {
		own := flagOf(node, "--game") == nil && node.Parent.Name != "pretrain" // a spec's fields, not only a game's
		for _, f := range sp.AllFields() {
			if strings.HasPrefix(f.Path, "prepare.") || strings.HasPrefix(f.Path, "follow.") {
				continue // it is set by the name of a stage
			}
			if own || strings.HasPrefix(f.Path, "game.") && flagOf(node, "--game") != nil {
				add(f.Path+"=", f.Doc)
			}
		}
	}
	return list
}

// bots returns those of a game at its defaults; none of a game that there is not.
func bots(reg *spec.Registry, name string) []game.BotInfo {
	block, err := reg.NewGame(name)
	if err != nil {
		return nil
	}
	g, err := block.Peek()
	if err != nil || g == nil {
		return nil
	}
	return game.AllBots(g)
}
