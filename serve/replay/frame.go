package replay

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/lab/play"
)

func agentOf(s int) agent.ID { return agent.ID(s) }

// number is one in JSON: null where it is none, and with no more digits than can be looked at.
type number float64

// MarshalJSON writes six digits.
func (x number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(x), 'g', 6, 64), nil
}

func numbers[T float32 | float64](xs []T) []number {
	if xs == nil {
		return nil
	}
	out := make([]number, len(xs))
	for i, x := range xs {
		out[i] = number(x)
	}
	return out
}

// head is the first event of an episode: what does not change.
type head struct {
	Title   string     `json:"title"`
	Episode string     `json:"episode"`
	Game    string     `json:"game"`
	Actions []string   `json:"actions"`
	Keys    [][]string `json:"keys"`
	Goals   []string   `json:"goals"`
	Horizon int        `json:"horizon"`
	Height  int        `json:"height"` // 0: there is no board
	Width   int        `json:"width"`
	View    int        `json:"view"` // how far a seat sees; 0: everything
	Seats   []seat     `json:"seats"`
	Human   int        `json:"human"`
	Run     string     `json:"run,omitempty"`
	Step    int64      `json:"checkpoint"`
	Seed    string     `json:"seed"`
}

// seat is who sits there, and what can be known of it.
type seat struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`             // bot, planner, agent or you
	World  bool   `json:"world"`            // it has a world model, whose imagination is shown
	Regret string `json:"regret,omitempty"` // why its regret is not known; "": it is
}

// step is a frame and what was in everybody's mind.
type step struct {
	Step     int                     `json:"step"`
	Over     bool                    `json:"over"`
	Cells    []cell                  `json:"cells,omitempty"`
	Words    string                  `json:"words,omitempty"`
	Players  []player                `json:"players"`
	Text     string                  `json:"text"`
	Pictures map[string]play.Picture `json:"pictures,omitempty"` // of things that were not seen before
	Minds    []*mindView             `json:"minds,omitempty"`    // [Seats]
	Imagined []*imagined             `json:"imagined,omitempty"` // [Seats] what each had imagined that this step would be
}

// cell is a cell on which something stands.
type cell struct {
	At     int         `json:"at"`
	Seats  []game.Seat `json:"seats,omitempty"`
	Things []string    `json:"things,omitempty"`
}

// player is a seat's part of a step.
type player struct {
	Action string `json:"action,omitempty"`
	Reward number `json:"reward"`
	Return number `json:"return"`
	Alive  bool   `json:"alive"`
	Left   int    `json:"left,omitempty"`
	With   string `json:"with,omitempty"`
	At     int    `json:"at"`
	From   int    `json:"from"`
}

// mindView is what a seat has in mind before it acts.
type mindView struct {
	Does     int32    `json:"does"`
	Searched bool     `json:"searched"`
	Others   []other  `json:"others,omitempty"`
	Visits   []int32  `json:"visits,omitempty"`
	Q        []number `json:"q,omitempty"`
	Prior    []number `json:"prior,omitempty"`
	Policy   []number `json:"policy,omitempty"`
	Value    *number  `json:"value,omitempty"`
	Line     []move   `json:"line,omitempty"`
	Made     bool     `json:"made,omitempty"`
	Script   string   `json:"script,omitempty"`
}

// move is one step of the line that a search expects.
type move struct {
	Action int32   `json:"action"`
	Others []int32 `json:"others,omitempty"` // in the order of mindView.Others; -1: has left
	Visits int32   `json:"visits"`
	Over   bool    `json:"over,omitempty"`
}

// other is what is held of one co-player.
type other struct {
	Seat     int      `json:"seat"`
	Left     bool     `json:"left,omitempty"`
	Names    []string `json:"names"`
	Probs    []number `json:"probs"`
	Expected []number `json:"expected,omitempty"` // by action
}

// viewOf copies a frame. seen are the things whose pictures were sent.
func viewOf(f *play.Frame, scales []float32, seen map[string]bool) step {
	text := *f // thoughts are shown beside it
	text.Mind = nil
	v := step{Step: f.Step, Over: f.Over, Words: f.Words, Text: text.Text(), Players: make([]player, len(f.Players))}
	for i, c := range f.Cells {
		if len(c.Seats)+len(c.Things) > 0 {
			v.Cells = append(v.Cells, cell{i, c.Seats, c.Things})
		}
		for _, name := range c.Things {
			v.picture(name, seen)
		}
	}
	for s, p := range f.Players {
		v.Players[s] = player{p.Action, number(p.Reward), number(p.Return), p.Alive, p.Left, p.With, p.At, p.From}
	}
	for s, m := range f.Minds {
		v.Minds = append(v.Minds, mindOf(m, scales[s]))
	}
	return v
}

// picture sends how a thing is drawn, once.
func (v *step) picture(name string, seen map[string]bool) {
	if seen[name] {
		return
	}
	seen[name] = true
	if v.Pictures == nil {
		v.Pictures = map[string]play.Picture{}
	}
	v.Pictures[name] = play.PictureOf(name)
}

// mindOf copies thoughts. scale is of the rewards that a network's values are in.
func mindOf(m *play.Mind, scale float32) *mindView {
	if m == nil {
		return nil
	}
	v := &mindView{
		Does: m.Does, Searched: m.Searched, Visits: m.Visits, Q: numbers(m.Q), Prior: numbers(m.Prior), Policy: numbers(m.Policy),
		Made: m.Made, Script: m.Script,
	}
	for _, x := range m.Line {
		v.Line = append(v.Line, move(x))
	}
	if m.Searched {
		scale = 1 // a search counts rewards as they are
	}
	if m.Policy != nil && scale != 0 {
		value := number(m.Value / scale)
		v.Value = &value
	}
	for _, p := range m.Posteriors {
		v.Others = append(v.Others, other{p.Seat, p.Left, p.Names, numbers(p.Probs), numbers(p.Expected)})
	}
	return v
}

// emitter takes events.
type emitter func(name string, data []byte) error

// send writes a value as an event.
func (e emitter) send(name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return e(name, b)
}
