package dataset

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/store/runlog"
)

// Format is the version of the files. A change that old readers would misread
// raises it.
const Format = 1

const (
	manifestFile = "manifest.json"
	partialFile  = "partial.json" // the manifest of a collection that is not finished
	maxJSON      = 64 << 20       // bytes; more is no manifest
	maxShard     = 4 << 30        // bytes; more is no shard
)

// Manifest says what a dataset holds and how it was made. It is manifest.json.
type Manifest struct {
	Format  int             `json:"format"`
	Version string          `json:"hop"`              // of the program that made it
	Builds  []runlog.Build  `json:"builds,omitempty"` // of it, and of others that went on, the last one last
	Game    json.RawMessage `json:"game"`             // name and resolved parameters
	Seed    uint64          `json:"seed"`             //
	Mix     []string        `json:"mix,omitempty"`    // teams of 0..n of the first bot, the rest the second, in turn
	Among   []string        `json:"among,omitempty"`  // or teams of any of these bots
	Team    []string        `json:"team,omitempty"`   // or always the same team
	Life    int             `json:"life,omitempty"`   // episodes that a team stays together: those of a number e / life; 0: one
	// Or teams of these kinds, drawn anew each episode.
	Population []string `json:"population,omitempty"`
	Wanted     int      `json:"wanted_rows"` // collecting stopped at the first whole episode that reached it
	ShardRows  int      `json:"shard_rows"`  // the most rows a file may have
	Bots       []string `json:"bots"`        // what the column bot indexes
	Layout     Layout   `json:"layout"`

	Rows         int     `json:"rows"`
	Episodes     int     `json:"episodes"`
	ActionCounts []int   `json:"action_counts"`
	Shards       []Shard `json:"shards"`
	SHA256       string  `json:"sha256"`   // of the shards' hashes, each as hex and a newline
	Checksum     string  `json:"checksum"` // SHA-256 of this object as JSON without spaces, checksum empty
}

// Layout is what one needs to know of the game to read the columns.
type Layout struct {
	Seats    int      `json:"seats"`
	Actions  []string `json:"actions"`
	Goals    []string `json:"goals"`
	Horizon  int      `json:"horizon"`
	Height   int      `json:"height"`
	Width    int      `json:"width"`
	Planes   []string `json:"planes"`
	Owned    int      `json:"owned,omitempty"` // planes after the agents' that are one for each seat too
	Features int      `json:"features"`
	Legal    int      `json:"legal"` // as in the game's observation: the mask's length or 0,
	Time     int      `json:"time"`  // 1 if the time is observed,
	Last     int      `json:"last"`  // seats in the last joint action or 0
	Pooled   bool     `json:"pooled,omitempty"`
	View     int      `json:"view,omitempty"` // how far seats saw; rows show the whole board all the same
}

// Shard is one file of a dataset. It holds whole episodes.
type Shard struct {
	File         string `json:"file"`
	Rows         int    `json:"rows"`
	FirstEpisode int    `json:"first_episode"`
	Episodes     int    `json:"episodes"`
	ActionCounts []int  `json:"action_counts"`
	SHA256       string `json:"sha256"`
}

func layoutOf(s game.Spec) Layout {
	return Layout{
		Seats: s.Seats, Actions: orEmpty(s.Actions), Goals: orEmpty(s.Goals), Horizon: s.Horizon,
		Height: s.Obs.Height, Width: s.Obs.Width, Planes: orEmpty(s.Obs.Planes), Owned: s.Obs.Owned, Features: s.Obs.Features,
		Legal: s.Obs.Legal, Time: s.Obs.Time, Last: s.Obs.Last, View: s.View, Pooled: s.Obs.Pooled,
	}
}

// orEmpty keeps null out of the files.
func orEmpty(xs []string) []string { return append([]string{}, xs...) }

// check refuses layouts that no game has and that would break a reader.
func (l *Layout) check() error {
	k := len(l.Actions)
	bad := func(field string, value any, want string) error {
		return fmt.Errorf("layout.%s is %v, want %s", field, value, want)
	}
	switch {
	case l.Seats < 1 || l.Seats > 127:
		return bad("seats", l.Seats, "1 to 127")
	case k < 1 || k > game.MaxActions:
		return bad("actions", l.Actions, fmt.Sprintf("1 to %d names", game.MaxActions))
	case len(l.Goals) > 127:
		return bad("goals", len(l.Goals), "at most 127 names")
	case l.Horizon < 1 || l.Horizon > 1<<15-1:
		return bad("horizon", l.Horizon, "1 to 32767 steps: the column t has 16 bits")
	case l.Height < 0 || l.Height > 1<<10 || l.Width < 0 || l.Width > 1<<10 || len(l.Planes) > 1<<10:
		return bad("height, width and planes", []int{l.Height, l.Width, len(l.Planes)}, "0 to 1024 each")
	case l.Owned != 0 && (l.Owned != l.Seats || len(l.Planes) < 2*l.Seats):
		return bad("owned", l.Owned, "0, or the number of seats with a plane for each agent and as many after them")
	case l.Pooled:
		return bad("pooled", true, "false: models of others are learnt from a plane for each")
	case l.Features < 0 || l.Features > 1<<20:
		return bad("features", l.Features, "0 to 1048576")
	case l.Legal != 0 && l.Legal != k:
		return bad("legal", l.Legal, "0 or the number of actions")
	case l.Time != 0 && l.Time != 1:
		return bad("time", l.Time, "0 or 1")
	case l.View < 0 || l.View > 0 && len(l.Planes) == 0:
		return bad("view", l.View, "0, or above 0 on a board")
	case l.Last != 0 && (l.Last != l.Seats || l.Legal == 0):
		return bad("last", l.Last, "0, or the number of seats with the mask observed too")
	}
	return nil
}

func shardName(i int) string { return fmt.Sprintf("shard-%05d.npz", i) }

// sum adds up the shards.
func (m *Manifest) sum() {
	m.Rows, m.Episodes, m.ActionCounts = 0, 0, make([]int, len(m.Layout.Actions))
	h := sha256.New()
	for _, s := range m.Shards {
		m.Rows += s.Rows
		m.Episodes += s.Episodes
		for k, c := range s.ActionCounts {
			m.ActionCounts[k] += c
		}
		fmt.Fprintln(h, s.SHA256)
	}
	m.SHA256 = hex.EncodeToString(h.Sum(nil))
}

func (m Manifest) checksum() string {
	m.Checksum = ""
	b, err := json.Marshal(m)
	if err != nil {
		return "not JSON" // no checksum: refused
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

func (m Manifest) save(path string) error {
	m.Checksum = m.checksum()
	b, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return fmt.Errorf("dataset: writing %s: %w", path, err)
	}
	if err := disk.Write(path, append(b, '\n')); err != nil {
		return fmt.Errorf("dataset: writing %s: %w", path, err)
	}
	return nil
}

// load reads and checks a manifest. It returns an error that wraps
// os.ErrNotExist if there is none.
func load(path string) (*Manifest, error) {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("dataset: reading %s: "+format, append([]any{path}, a...)...)
	}
	b, err := disk.Read(path, maxJSON)
	if err != nil {
		return nil, bad("%w", err)
	}
	var m Manifest
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	err = dec.Decode(&m)
	if _, more := dec.Token(); err == nil && more != io.EOF {
		err = errors.New("there is more after its end")
	}
	if err != nil {
		var v struct {
			Format int `json:"format"`
		}
		if json.Unmarshal(b, &v) == nil && v.Format > Format {
			return nil, bad("its format is %d, this hop reads up to %d; use a newer hop", v.Format, Format)
		}
		return nil, bad("%w; it was altered or cut short: %s", err, anew)
	}
	if m.Format != Format {
		return nil, bad("its format is %d, this hop reads %d; %s", m.Format, Format, anew)
	}
	compact := new(bytes.Buffer)
	if json.Compact(compact, m.Game) == nil {
		m.Game = compact.Bytes()
	}
	if got := m.checksum(); got != m.Checksum {
		return nil, bad("its checksum is %.64q but its content has %s; it was altered or cut short: %s", m.Checksum, got, anew)
	}
	if err := m.check(); err != nil {
		return nil, bad("%w; %s", err, anew)
	}
	return &m, nil
}

const anew = "restore the folder from a copy, or remove it and collect again"

// check refuses a manifest that contradicts itself.
func (m *Manifest) check() error {
	if err := m.Layout.check(); err != nil {
		return err
	}
	if m.Life < 0 || m.Life > 1<<20 {
		return fmt.Errorf("a life is of %d episodes, want 1 to %d", m.Life, 1<<20)
	}
	if len(m.Bots) == 0 || len(m.Bots) > 127 {
		return fmt.Errorf("%d bots, want 1 to 127", len(m.Bots))
	}
	if _, err := flatten(m.Game); err != nil {
		return fmt.Errorf("game: %w", err)
	}
	episode := 0
	for i, s := range m.Shards {
		if s.File != shardName(i) {
			return fmt.Errorf("shard %d is called %q, want %q", i, s.File, shardName(i))
		}
		if s.Rows < 1 || s.Rows > 1<<31-1 || s.Episodes < 1 || s.Episodes > s.Rows || s.FirstEpisode != episode ||
			len(s.ActionCounts) != len(m.Layout.Actions) {
			return fmt.Errorf("%s has %d rows of %d episodes from %d and %d action counts, which cannot be", s.File, s.Rows, s.Episodes,
				s.FirstEpisode, len(s.ActionCounts))
		}
		episode += s.Episodes
	}
	if episode > 1<<31-1 {
		return fmt.Errorf("%d episodes, the column episode has 32 bits", episode)
	}
	sum := *m
	sum.sum()
	if sum.Rows != m.Rows || sum.Episodes != m.Episodes || sum.SHA256 != m.SHA256 || !slices.Equal(sum.ActionCounts, m.ActionCounts) {
		return errors.New("its totals are not the sums of its shards")
	}
	return nil
}

// flatten returns the fields of a JSON object by path, values as JSON.
func flatten(b []byte) (map[string]string, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("not a JSON object")
	}
	out := map[string]string{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		if o, ok := v.(map[string]any); ok && len(o) > 0 {
			for k, v := range o {
				walk(path+"."+k, v)
			}
			return
		}
		b, _ := json.Marshal(v) // what was decoded can be encoded
		out[path] = string(b)
	}
	for k, v := range object {
		walk(k, v)
	}
	return out, nil
}

// differ lists the fields in which two flat objects differ, as "field is X, want Y".
func differ(prefix string, is, want map[string]string) []string {
	keys := maps.Clone(is)
	maps.Copy(keys, want)
	var out []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		a, b := is[k], want[k]
		if a == "" {
			a = "not set"
		}
		if b == "" {
			b = "not set"
		}
		if a != b {
			out = append(out, fmt.Sprintf("%s%s is %.200s, want %.200s", prefix, k, a, b))
		}
	}
	return out
}

// takeOver lets another build go on with a dataset, if it is the same or accepted, and
// keeps the list of those that made it.
func (m *Manifest) takeOver(by *Manifest, accept bool) error {
	if len(m.Builds) == 0 {
		m.Builds = []runlog.Build{{Version: m.Version, Commit: "unknown"}} // it was made before they were noted
	}
	last, this := m.Builds[len(m.Builds)-1], by.Builds[0]
	if err := last.Same(this); err == nil {
		by.Builds = m.Builds
		return nil
	} else if !accept {
		return err
	}
	by.Builds = append(m.Builds, this)
	return nil
}

// sameMaking returns what differs in how two datasets are made.
func (m *Manifest) sameMaking(want *Manifest) []string {
	making := func(m *Manifest) map[string]string {
		bare := Manifest{
			Format: m.Format, Game: m.Game, Seed: m.Seed, Mix: m.Mix, Among: m.Among, Team: m.Team, Life: m.Life, Population: m.Population,
			Wanted: m.Wanted, ShardRows: m.ShardRows, Bots: m.Bots, Layout: m.Layout,
		}
		b, _ := json.Marshal(bare)
		flat, _ := flatten(b)
		return flat
	}
	return differ("", making(m), making(want))
}
