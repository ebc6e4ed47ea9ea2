package runs

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Choice says which trainings of the list are meant, in the words of the pages' addresses. The
// page of runs chooses in the browser by the same rules (static/fields.js).
type Choice struct {
	Search   string
	States   []string
	Tags     []string // all of them
	Stages   bool     // models that learn before a training, in place of trainings
	Archived bool     // those that were put away, in place of the others
	Not      []string
}

// ChoiceOf reads a choice from an address.
func ChoiceOf(v url.Values) Choice {
	return Choice{v.Get("q"), v["state"], v["tag"], v.Get("kind") == "stages", v.Get("archived") == "1", v["not"]}
}

// Choose returns the trainings that are meant.
func (l *Look) Choose(c Choice) (list []Row) {
	words := strings.Fields(strings.ToLower(c.Search))
	for _, r := range l.Rows {
		if r.Stage == c.Stages && r.Archived == c.Archived && (len(c.States) == 0 || slices.Contains(c.States, r.State)) &&
			!slices.ContainsFunc(c.Tags, func(t string) bool { return !slices.Contains(r.Tags, t) }) &&
			!slices.Contains(c.Not, r.Name) && r.says(words) {
			list = append(list, r)
		}
	}
	return list
}

// says reports whether all words are in what the list says of a training, or true of it.
func (r Row) says(words []string) bool {
	if len(words) == 0 {
		return true
	}
	list := append([]string{r.Title, r.Preset, r.Game, r.Note, r.State, r.Host, r.Commit}, r.Tags...)
	for name, value := range r.Settings {
		list = append(list, name+"="+value)
	}
	text := strings.ToLower(strings.Join(list, " "))
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) && !r.holds(w) })
}

var condition = regexp.MustCompile(`^([\w.]+)(<=|>=|<|>|=)(.+)$`)

// holds reports whether a word such as lr<0.01 is true of a setting, the score or the seconds
// that a training has taken.
func (r Row) holds(word string) bool {
	m := condition.FindStringSubmatch(word)
	if m == nil {
		return false
	}
	var values []string
	switch m[1] {
	case "score":
		if r.Mean != nil {
			values = append(values, strconv.FormatFloat(*r.Mean, 'g', -1, 64))
		}
	case "duration":
		values = append(values, strconv.FormatFloat(r.Wall, 'g', -1, 64))
	}
	for name, value := range r.Settings {
		if strings.HasSuffix("."+strings.ToLower(name), "."+m[1]) {
			values = append(values, value)
		}
	}
	return slices.ContainsFunc(values, func(v string) bool { return compared(v, m[2], m[3]) })
}

func compared(value, sign, text string) bool {
	x, err := strconv.ParseFloat(value, 64)
	y, err2 := strconv.ParseFloat(text, 64)
	if err != nil || err2 != nil {
		return sign == "=" && strings.ToLower(value) == text
	}
	switch sign {
	case "<":
		return x < y
	case ">":
		return x > y
	case "<=":
		return x <= y
	case ">=":
		return x >= y
	}
	return x == y
}

// Field returns what a field of the list says of a training, by which it can be grouped: a
// setting by its path, or one of the others by its name. "" where it says nothing.
func (r Row) Field(name string) string {
	switch name {
	case "preset":
		return r.Preset
	case "game":
		return r.Game
	case "state":
		return r.State
	case "host":
		return r.Host
	case "commit":
		return r.Commit
	case "tags":
		return strings.Join(r.Tags, ", ")
	case "folder":
		return path.Dir(r.Title)
	}
	return r.Settings[name]
}
