// Package stranger is a yardstick of co-players that nobody was raised with: lists of them for
// every game that has a language (package script), split by construction.
//
// Words of the language belong to one of three splits: what agents may learn among, what one
// may look at while building them, and what they are scored with. A co-player of a split uses
// words of that split alone, besides the base that all have: the game's bots, going for the
// nearest thing, "if" and "not". So no target, condition, kind of error or kind of memory of the
// test split occurs in the others, and a stranger differs from what was met by more than a number.
//
// A list is a file and a version that never changes: its sum is held by a test, and other
// co-players are another version. No two of a list act alike.
package stranger

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/script"
	"github.com/hop-marl/hop/num/config"
)

// Split is one of the three.
type Split string

// The splits.
const (
	Train      Split = "train"
	Validation Split = "validation"
	Test       Split = "test"
)

// Splits lists them.
var Splits = []Split{Train, Validation, Test}

// Version is that of the lists.
const Version = 1

// Speaker is a game that may have a language; nil: it has none.
type Speaker interface {
	game.Game
	Language() *script.Language
}

// Language returns a game's language, or an error if it has none.
func Language(g game.Game) (*script.Language, error) {
	if s, ok := game.As[Speaker](g); ok {
		if l := s.Language(); l != nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("stranger: there is no language of co-players for %s", game.Label(g))
}

//go:embed lists/*.txt
var lists embed.FS

// List returns the co-players of a split in a game, as texts in their one form, and what they
// are called together, such as staghunt/test@1.
func List(g game.Game, split Split) (name string, list []string, err error) {
	l, err := Language(g)
	if err != nil {
		return "", nil, err
	}
	file := fmt.Sprintf("lists/%s-%s-%d.txt", l.Game, split, Version)
	text, err := lists.ReadFile(file)
	if err != nil {
		return "", nil, fmt.Errorf("stranger: there is no list of strangers for %s, split %q; the splits are train, validation and test",
			game.Label(g), split)
	}
	return fmt.Sprintf("%s/%s@%d", l.Game, split, Version), strings.Fields(string(text)), nil
}

// Without returns those of a list who are made with none of some words, whether of the language,
// bots or things. It is an error if one of the words occurs in no list of the game.
func Without(g game.Game, list, words []string) (left []string, err error) {
	uses := func(text, word string) bool {
		return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("(),", r) }), word)
	}
	for _, word := range words {
		known := false
		for _, split := range Splits {
			_, all, err := List(g, split)
			if err != nil {
				return nil, err
			}
			known = known || slices.ContainsFunc(all, func(text string) bool { return uses(text, word) })
		}
		if !known {
			return nil, fmt.Errorf("stranger: no stranger of %s is made with %q; hop strangers words lists what they are made with",
				game.Label(g), word)
		}
	}
	for _, text := range list {
		if !slices.ContainsFunc(words, func(w string) bool { return uses(text, w) }) {
			left = append(left, text)
		}
	}
	return left, nil
}

// Parse reads the name of a split, with or without its version.
func Parse(text string) (Split, error) {
	name, version, versioned := strings.Cut(text, "@")
	if versioned && version != fmt.Sprint(Version) {
		return "",
			fmt.Errorf("stranger: %s: this hop has version %d of the strangers; use %s@%[2]d, or the hop that has the other", text,
				Version, name)
	}
	if !slices.Contains(Splits, Split(name)) {
		return "", config.Bad("strangers", text, "train, validation or test, such as test@1")
	}
	return Split(name), nil
}

// Of says in which split's co-players a word of a game's language may occur: "all" if it is of
// the base, "none" if it is in no list of this version.
func Of(g game.Game, word string) (string, error) {
	l, err := Language(g)
	if err != nil {
		return "", err
	}
	for _, w := range l.Words {
		if w.Name == word && w.Group == script.Base {
			return "all", nil
		}
	}
	for _, split := range Splits {
		_, list, err := List(g, split)
		if err != nil {
			return "", err
		}
		for _, text := range list {
			p, err := l.Parse(text)
			if err != nil {
				return "", err
			}
			w, ok := p.(interface{ Words() []string })
			if !ok || !slices.Contains(w.Words(), word) {
				continue
			}
			return string(split), nil
		}
	}
	return "none", nil
}

// Most is how many of a split a population has at most: datasets count types in bytes.
const Most = 120

// Population returns names with those of a split in place of its name and version, such as train@1:
// of the co-players Most, evenly spread over the list, and the game's bots.
func Population(g game.Game, names []string) (list []string, err error) {
	add := func(name string) {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	for _, name := range names {
		if !strings.Contains(name, "@") || strings.Contains(name, "#") {
			add(name)
			continue
		}
		split, err := Parse(name)
		if err != nil {
			return nil, err
		}
		_, texts, err := List(g, split)
		if err != nil {
			return nil, err
		}
		for i, n := 0, min(len(texts), Most-len(g.Bots())); i < n; i++ {
			add(texts[i*len(texts)/n])
		}
		for _, b := range g.Bots() {
			add(b.Name)
		}
	}
	return list, nil
}

// Sum returns what a list's version stands for.
func Sum(list []string) string {
	h := sha256.Sum256([]byte(strings.Join(list, "\n")))
	return hex.EncodeToString(h[:8])
}
