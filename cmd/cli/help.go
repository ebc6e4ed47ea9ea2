package cli

import (
	"cmp"
	"embed"
	"strings"

	"github.com/alecthomas/kong"
)

// help holds what --help says at length: COMMAND.txt below a command's flags, with
// examples, and flags.txt, a line for each flag whose help is long.
//
//go:embed help/*.txt
var help embed.FS

// text returns one of its files; "" if there is none.
func text(name string) string {
	b, err := help.ReadFile("help/" + name + ".txt")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// flagHelp is what @NAME stands for as a flag's help. Kong's own variables would be looked
// for in every text of every flag, which took longer than all else that a short command does.
func flagHelp() map[string]string {
	words := map[string]string{}
	for _, line := range strings.Split(text("flags"), "\n") {
		name, help, _ := strings.Cut(line, " ")
		words["@"+name] = help
	}
	return words
}

// describe adds the texts to the commands and flags.
func describe(k *kong.Kong) {
	long := flagHelp()
	for _, n := range k.Model.Leaves(false) {
		if t := text(strings.ReplaceAll(n.Path(), " ", "-")); t != "" {
			n.Detail = t
		}
		for _, f := range n.Flags {
			f.Help = cmp.Or(long[f.Help], f.Help)
		}
		for _, v := range n.Positional {
			v.Help = cmp.Or(long[v.Help], v.Help)
		}
	}
}
