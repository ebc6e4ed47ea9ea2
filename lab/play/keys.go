package play

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// keyMap says which keys play which actions, made from the actions' names.
type keyMap struct {
	names []string
	First []string         // by action, the key that is shown
	Plays map[string]int32 // by key
}

// moves are the keys of the actions whose name ends in such a word; the first is
// shown.
var moves = map[string][]string{
	"up":    {"w", "up", "k"},
	"down":  {"s", "down", "j"},
	"left":  {"a", "left", "h"},
	"right": {"d", "right", "l"},
	"stay":  {".", "space"},
}

// letters are for the other actions, in order; none means anything else here.
var letters = []string{"e", "f", "g", "c", "v", "x", "z", "b", "t", "y", "u", "i", "o", "m",
	"E", "F", "G", "C", "V", "X", "Z", "B", "T", "Y", "U", "I", "O"}

// bindKeys gives moves their usual keys and every other action a letter and a digit.
func bindKeys(actions []string) keyMap {
	k := keyMap{names: actions, First: make([]string, len(actions)), Plays: map[string]int32{}}
	other := 0
	for a, name := range actions {
		word := name[strings.LastIndexByte(name, ' ')+1:]
		keys := moves[strings.ToLower(word)]
		if len(keys) == 0 || k.Taken(keys[0]) {
			keys = nil
			if other < len(letters) {
				keys = append(keys, letters[other])
			}
			other++
			if other <= 9 {
				keys = append(keys, strconv.Itoa(other))
			}
		}
		for _, key := range keys {
			if !k.Taken(key) {
				k.Plays[key] = int32(a)
			}
		}
		if len(keys) > 0 {
			k.First[a] = keys[0]
		}
	}
	return k
}

// Taken reports whether a key plays an action.
func (k keyMap) Taken(key string) bool {
	_, ok := k.Plays[key]
	return ok
}

// Read returns the action that a line of text means: a name or a key.
func (k keyMap) Read(line string) (int32, bool) {
	word := strings.ToLower(strings.TrimSpace(line))
	for a, name := range k.names {
		if strings.ToLower(name) == word {
			return int32(a), true
		}
	}
	a, ok := k.Plays[strings.TrimSpace(line)]
	if !ok {
		a, ok = k.Plays[word]
	}
	return a, ok
}

// Prompt lists the legal actions with their keys.
func (k keyMap) Prompt(legal []bool) string {
	var words []string
	for a, name := range k.names {
		if legal[a] {
			words = append(words, k.First[a]+" "+name)
		}
	}
	return strings.Join(words, ", ")
}

// Keys returns, for each action, the keys that play it, the one that is shown first.
func Keys(actions []string) [][]string {
	k := bindKeys(actions)
	list := make([][]string, len(actions))
	for a, key := range k.First {
		if key != "" {
			list[a] = append(list[a], key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(k.Plays)) {
		if a := k.Plays[key]; key != k.First[a] {
			list[a] = append(list[a], key)
		}
	}
	return list
}
