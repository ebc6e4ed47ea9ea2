// Package script is a small language of co-players: what somebody goes for, when, how it
// errs, and what it remembers of episodes, as a text such as noisy(nh,.3),
// if(waits(stag),go(stag),nh) or wsls(ns,nh).
//
// A text is a word, with what it is about in brackets behind it. Every word has a kind:
// who plays, a thing, which of several things, a condition, a share or a count; a word in
// the wrong place is a Fault that says where and what was wanted. Games say which things
// they have and how one comes by them (Field); everything else is the same in all of them.
//
// What a co-player does in a state depends on the state alone, the last actions and the
// clock in it included, and on what it remembers of earlier episodes. So its probabilities
// can be said by anybody who knows its text and its memory, and best responses to it can be
// computed.
package script

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/config"
)

// Kind is what a word, or an argument of one, stands for.
type Kind uint8

// The kinds.
const (
	Who   Kind = iota // somebody who plays
	Thing             // what one can go for
	Which             // which of several of them
	When              // a condition
	Share             // a number from 0 to 1
	Count             // a whole number from 1
)

func (k Kind) String() string {
	return [...]string{"a co-player", "a thing", "which one", "a condition", "a share from 0 to 1", "a whole number from 1 to 1000"}[k]
}

// Group says what a word is about; splits of strangers hold out whole words.
type Group string

// The groups.
const (
	Base      Group = "base"      // the game's own bots and the plain way to go for a thing
	Target    Group = "target"    // what it goes for
	Condition Group = "condition" // when
	Error     Group = "error"     // how it errs
	Memory    Group = "memory"    // what it remembers of episodes
	Table     Group = "table"     // what it does after each outcome of a round
)

// Word is one word of a language.
type Word struct {
	Name  string
	Kind  Kind
	Group Group
	Doc   string
	args  []argument
	make  func(m *maker, v []value) any
}

// argument is what a word takes; without a word there, the rest is used.
type argument struct {
	kind Kind
	rest string // the text that is used where none is given; "": one must be
}

// value is an argument as it was understood.
type value struct {
	who    policy
	thing  int
	which  which
	when   condition
	number float64
}

// Language is the words of one game.
type Language struct {
	Game    string
	Seats   int
	Actions int
	Things  []string // what Field calls 0, 1, ...
	Bots    []game.BotInfo
	Words   []Word // all languages of a kind may share them: to be read
	// Pair is who cooperates and who does not: what words about two ways stand for when they
	// are said without.
	Pair [2]string
	// Shown says that the last state of an episode tells everything that is remembered of it.
	Shown bool
	// Seated says that things are seats: they stand where they are themselves, and are taken from beside.
	Seated bool
	// Taking is the first of the actions that take something.
	Taking int
	// Assess says how an episode went, for those who remember.
	Assess func(t *Tally, st game.State, s game.Seat) Outcome
	// Slot says in which column of a Tally a goal is counted; nil: its own.
	Slot func(goal int) int
}

// The words are made once, not for every co-player that is described: nobody changes them.
var (
	boardWords    = sync.OnceValue(func() []Word { return slices.Concat(board(), choices(), common()) })
	repeatedWords = sync.OnceValue(func() []Word { return slices.Concat(tables(), common()) })
)

// Board returns the language with the words of games on a board.
func Board(l *Language) *Language {
	return l.say(boardWords())
}

// Repeated returns the language with the words of games of rounds.
func Repeated(l *Language) *Language {
	return l.say(repeatedWords())
}

// say gives the language its words, but for those that can never be said: a name alone is a bot's first.
func (l *Language) say(words []Word) *Language {
	hidden := func(w Word) bool {
		return w.Kind == Who && len(w.args) == 0 && slices.ContainsFunc(l.Bots, func(b game.BotInfo) bool { return b.Name == w.Name })
	}
	if slices.ContainsFunc(words, hidden) {
		words = slices.DeleteFunc(slices.Clone(words), hidden)
	}
	l.Words = slices.Clip(words)
	return l
}

// Signature returns the word with its arguments, as one would look it up.
func (w *Word) Signature() string {
	if len(w.args) == 0 {
		return w.Name
	}
	names := map[Kind]string{Who: "who", Thing: "thing", Which: "which", When: "when", Share: "share", Count: "n"}
	var parts []string
	for _, a := range w.args {
		p := names[a.kind]
		if a.rest != "" {
			p += "=" + a.rest
		}
		parts = append(parts, p)
	}
	return w.Name + "(" + strings.Join(parts, ",") + ")"
}

// maker builds a co-player from a phrase.
type maker struct {
	l    *Language
	text string
	used map[string]bool // the words
	bots game.Reads      // what bots read

	remember []*memory
}

// Parse returns the co-player of a text: a *Player, or a *Rememberer if it remembers
// episodes. Texts that differ only in blanks, or in what arguments would be anyway, are
// called the same.
func (l *Language) Parse(text string) (game.Policy, error) {
	p, err := read(text)
	if err != nil {
		return nil, err
	}
	m := &maker{l: l, text: text, used: map[string]bool{}}
	v, name, err := m.build(p, Who)
	if err != nil {
		return nil, err
	}
	words := make([]string, 0, len(m.used))
	for w := range m.used {
		words = append(words, w)
	}
	slices.Sort(words)
	made := Player{name: name, words: words, lang: l, root: v.who, bots: m.bots, mem: make([]uint16, len(m.remember))}
	if len(m.remember) == 0 {
		return &made, nil
	}
	return &Rememberer{Player: made, tally: newTally(l.Seats), none: newTally(l.Seats), remember: m.remember}, nil
}

func (m *maker) fault(p phrase, format string, args ...any) error {
	return &Fault{m.text, p.at + 1, fmt.Sprintf("want "+format, args...)}
}

// build understands a phrase as something of that kind, and returns its text, too.
func (m *maker) build(p phrase, want Kind) (v value, text string, err error) {
	switch want {
	case Share, Count:
		return m.numeral(p, want)
	case Thing:
		v.thing = slices.Index(m.l.Things, p.word)
		if v.thing < 0 || len(p.args) > 0 {
			return v, "", m.fault(p, "%s", unknown("a thing", p.word, m.l.Things))
		}
		return v, p.word, nil
	case Which:
		if v.which, err = whichNamed(p.word); err != nil || len(p.args) > 0 {
			return v, "", m.fault(p, "%s", unknown("which one", p.word, whiches))
		}
		if p.word != whiches[nearest] {
			m.used[p.word] = true
		}
		return v, p.word, nil
	}
	if want == Who && len(p.args) == 0 {
		for _, b := range m.l.Bots {
			if b.Name == p.word {
				return m.bot(b, p)
			}
		}
	}
	for i := range m.l.Words {
		if w := &m.l.Words[i]; w.Name == p.word && w.Kind == want {
			return m.word(w, p)
		}
	}
	return v, "", m.fault(p, "%s", unknown(want.String(), p.word, m.l.names(want)))
}

func (m *maker) numeral(p phrase, want Kind) (v value, text string, err error) {
	v.number = p.number
	ok := p.isNum && p.number >= 0 && p.number <= 1
	if want == Count {
		ok = p.isNum && p.number >= 1 && p.number <= 1000 && p.number == float64(int(p.number))
	}
	if !ok {
		return v, "", m.fault(p, "%s, not %q", want, p.word)
	}
	text = strconv.FormatFloat(p.number, 'g', -1, 64)
	if strings.HasPrefix(text, "0.") {
		text = text[1:]
	}
	return v, text, nil
}

// bot plays one of the game's own.
func (m *maker) bot(b game.BotInfo, p phrase) (v value, text string, err error) {
	made := b.New()
	pol, ok := made.(game.Policy)
	if _, remembers := made.(game.Watcher); !ok || remembers {
		return v, "", m.fault(p, "a bot that says its probabilities and remembers nothing; %s is none", b.Name)
	}
	if r, ok := made.(game.Reader); ok {
		m.bots |= r.Reads()
	} else {
		m.bots |= game.ReadsLast | game.ReadsDone | game.ReadsClock
	}
	v.who = scripted{pol}
	return v, b.Name, nil
}

func (m *maker) word(w *Word, p phrase) (v value, text string, err error) {
	if n := len(w.args); len(p.args) > n {
		return v, "", m.fault(p.args[n], "no more than %s", w.Signature())
	}
	m.used[w.Name] = true
	values := make([]value, 0, len(w.args))
	texts := make([]string, 0, len(w.args))
	for i, a := range w.args {
		arg := phrase{at: p.at + len(p.word)}
		switch {
		case i < len(p.args):
			arg = p.args[i]
		case a.rest == "":
			return v, "", m.fault(arg, "%s: %s is missing", w.Signature(), a.kind)
		default:
			if arg, err = read(m.l.rest(a.rest)); err != nil {
				return v, "", err
			}
			arg.at = p.at
		}
		x, t, err := m.build(arg, a.kind)
		if err != nil {
			return v, "", err
		}
		values, texts = append(values, x), append(texts, t)
	}
	switch made := w.make(m, values).(type) {
	case policy:
		v.who = made
	case condition:
		v.when = made
	}
	if text = w.Name; len(texts) > 0 {
		text += "(" + strings.Join(texts, ",") + ")"
	}
	return v, text, nil
}

// rest puts the language's pair in place of its names.
func (l *Language) rest(text string) string {
	switch text {
	case "together":
		return l.Pair[0]
	case "alone":
		return l.Pair[1]
	}
	return text
}

// names lists the words of a kind, bots first.
func (l *Language) names(k Kind) (list []string) {
	if k == Who {
		for _, b := range l.Bots {
			list = append(list, b.Name)
		}
	}
	for _, w := range l.Words {
		if w.Kind == k {
			list = append(list, w.Name)
		}
	}
	return list
}

// phrase is a text taken apart: a word with what stands in its brackets, or a number.
type phrase struct {
	word   string
	args   []phrase
	number float64
	isNum  bool
	at     int // where it begins in the text, from 1
}

// Fault is what is wrong with a text, and where.
type Fault struct {
	Text string
	At   int    // the character, from 1
	Want string // what should stand there
}

func (f *Fault) Error() string {
	return fmt.Sprintf("script: %q, character %d: %s", f.Text, f.At, f.Want)
}

// reader takes a text apart.
type reader struct {
	text string
	at   int // of the next byte
}

// read returns the phrase that a whole text is.
func read(text string) (phrase, error) {
	r := &reader{text: text}
	p, err := r.phrase(0)
	if err != nil {
		return p, err
	}
	if r.space(); r.at < len(text) {
		return p, r.fault(r.at, "nothing more, or a comma between arguments")
	}
	return p, nil
}

func (r *reader) fault(at int, format string, args ...any) error {
	return &Fault{r.text, at + 1, fmt.Sprintf(format, args...)}
}

func (r *reader) space() {
	for r.at < len(r.text) && r.text[r.at] == ' ' {
		r.at++
	}
}

// deepest is how many brackets may stand in each other.
const deepest = 8

func (r *reader) phrase(depth int) (phrase, error) {
	r.space()
	p := phrase{at: r.at}
	if depth > deepest {
		return p, r.fault(r.at, "at most %d brackets in each other", deepest)
	}
	end := r.at
	for end < len(r.text) && !strings.ContainsRune("(), ", rune(r.text[end])) {
		end++
	}
	p.word = r.text[r.at:end]
	if p.word == "" {
		return p, r.fault(r.at, "a word or a number")
	}
	if x, err := strconv.ParseFloat(p.word, 64); err == nil {
		p.number, p.isNum = x, true
	}
	r.at = end
	if r.space(); r.at >= len(r.text) || r.text[r.at] != '(' {
		return p, nil
	}
	if p.isNum {
		return p, r.fault(r.at, "no bracket after a number")
	}
	for {
		r.at++
		a, err := r.phrase(depth + 1)
		if err != nil {
			return p, err
		}
		p.args = append(p.args, a)
		switch r.space(); {
		case r.at >= len(r.text):
			return p, r.fault(r.at, "a closing bracket")
		case r.text[r.at] == ')':
			r.at++
			return p, nil
		case r.text[r.at] != ',':
			return p, r.fault(r.at, "a comma or a closing bracket")
		}
	}
}

// Split takes a list of co-players apart at its commas, but for those in brackets.
func Split(text string) (list []string) {
	depth, from := 0, 0
	for i, c := range text {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth <= 0:
			list = append(list, strings.TrimSpace(text[from:i]))
			from = i + 1
		}
	}
	return append(list, strings.TrimSpace(text[from:]))
}

// unknown says that a word is not known, and which may have been meant.
func unknown(what, word string, names []string) string {
	near := config.Closest(word, names)
	if near != "" {
		return fmt.Sprintf("%s, not %q; did you mean %s? There are %s", what, word, near, strings.Join(names, ", "))
	}
	return fmt.Sprintf("%s, not %q; there are %s", what, word, strings.Join(names, ", "))
}
