package cli

import (
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

// flagHelp is what ${NAME} stands for in a flag's help.
func flagHelp() kong.Vars {
	vars := kong.Vars{}
	for _, line := range strings.Split(text("flags"), "\n") {
		name, words, _ := strings.Cut(line, " ")
		vars[name] = words
	}
	return vars
}

// describe adds the texts to the commands.
func describe(k *kong.Kong) {
	for _, n := range k.Model.Leaves(false) {
		if t := text(strings.ReplaceAll(n.Path(), " ", "-")); t != "" {
			n.Detail = t
		}
	}
}
