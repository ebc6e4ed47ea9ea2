package play

import (
	"strconv"
	"strings"
)

// keymap says which keys play which actions, made from the actions' names.
type keymap struct {
	names []string
	first []string         // by action, the key that is shown
	plays map[string]int32 // by key
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

// bind gives moves their usual keys and every other action a letter and a digit.
func bind(actions []string) keymap {
	k := keymap{names: actions, first: make([]string, len(actions)), plays: map[string]int32{}}
	other := 0
	for a, name := range actions {
		word := name[strings.LastIndexByte(name, ' ')+1:]
		keys := moves[strings.ToLower(word)]
		if len(keys) == 0 || k.taken(keys[0]) {
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
			if !k.taken(key) {
				k.plays[key] = int32(a)
			}
		}
		if len(keys) > 0 {
			k.first[a] = keys[0]
		}
	}
	return k
}

func (k keymap) taken(key string) bool {
	_, ok := k.plays[key]
	return ok
}

// read returns the action that a line of text means: a name or a key.
func (k keymap) read(line string) (int32, bool) {
	word := strings.ToLower(strings.TrimSpace(line))
	for a, name := range k.names {
		if strings.ToLower(name) == word {
			return int32(a), true
		}
	}
	a, ok := k.plays[strings.TrimSpace(line)]
	if !ok {
		a, ok = k.plays[word]
	}
	return a, ok
}

// prompt lists the legal actions with their keys.
func (k keymap) prompt(legal []bool) string {
	var words []string
	for a, name := range k.names {
		if legal[a] {
			words = append(words, k.first[a]+" "+name)
		}
	}
	return strings.Join(words, ", ")
}
