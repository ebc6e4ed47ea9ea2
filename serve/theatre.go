package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hop-marl/hop/lab/play"
	"github.com/hop-marl/hop/serve/replay"
	"github.com/hop-marl/hop/serve/runs"
	"github.com/hop-marl/hop/train/spec"
)

// asked reads what an address asks to be played.
func (s *Server) asked(q url.Values) (replay.Ask, error) {
	a, err := replay.Read(q, s.shelf.Seeds)
	return a, s.refused(err)
}

// refused gives errors of the theatre their status, and takes paths of the machine out of
// them.
func (s *Server) refused(err error) error {
	var older replay.Older
	code, says := http.StatusUnprocessableEntity, ""
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*spec.Untrusted)):
		return s.untrusted(err)
	case errors.As(err, &older):
		code = http.StatusConflict
		says = strings.ReplaceAll(err.Error(), "use the older one with --accept-older",
			fmt.Sprintf("play the older one by its step, %d", older.Run.Step))
	case errors.As(err, new(replay.Busy)):
		code = http.StatusTooManyRequests
	case errors.As(err, new(replay.Gone)):
		code = http.StatusGone
	case errors.As(err, new(replay.Unreadable)):
		code = http.StatusBadRequest
	case errors.Is(err, runs.ErrName):
		code = http.StatusNotFound
	}
	return refusal{code, errors.New(s.shelf.Plain(cmp.Or(says, err.Error())))}
}

// untrusted refuses what would run a program that a folder names. It says what, and what to
// type: a page cannot allow it.
func (s *Server) untrusted(err error) error {
	return refuse(http.StatusForbidden, "%s. That is typed where hop serve runs; no page can allow it", s.asTyped(err.Error()))
}

// allowed refuses runs that would run such a program.
func (s *Server) allowed(dir string) error {
	sp, err := s.c.Lab.RunSpec(dir)
	if err == nil && errors.As(sp.Allowed(), new(*spec.Untrusted)) {
		return s.untrusted(sp.Allowed())
	}
	return nil // whoever reads it says what else is wrong
}

// runChoice is a run that can be chosen.
type runChoice struct {
	Name, Title, Game string
	Chosen            bool
}

// seatChoice is a seat of the form, and who may sit there.
type seatChoice struct {
	Number int
	Now    string
	Text   string // Now, if it is a text of the game's language
	Groups []group
}

// group is some of those who may sit on a seat.
type group struct {
	Title string
	List  []option
}

type option struct{ Value, Text, Doc string }

// theatreView is what the form of both pages is made from.
type theatreView struct {
	Runs      []runChoice
	Games     []string
	Game      string // chosen, without a run
	Run       string // chosen
	At        string // chosen checkpoint
	Steps     []int64
	Seats     []seatChoice
	Seed      string
	Before    string
	Human     int
	Example   string // a text of the game's language; "": it has none
	Session   string
	Records   bool   // what people play is recorded,
	Person    string // under this name
	Fault     string
	Older     template.URL // the address of the newest checkpoint that is whole, if the newest is not
	OlderStep int64
	Title     string
	Query     template.URL // what is asked for, without what is the page's own
	Ready     bool         // there is something to be shown
	Text      []string
}

// mostRuns is how many runs a form offers; others are reached by their own links.
const mostRuns = 300

// form gathers what can be chosen. joins says that a person is to sit somewhere.
func (s *Server) form(r *http.Request, v *view, joins bool) (*theatreView, replay.Ask, error) {
	q := replay.Said(r.URL.Query())
	d := &theatreView{Games: s.c.Lab.Reg.PlainGames(), At: q.Get("at"), Seed: q.Get("seed"), Before: cmp.Or(q.Get("before"), "0"), Human: -1}
	rows := s.shelf.Now().Rows
	for _, row := range rows {
		for _, seed := range row.Seeds {
			if _, title, _ := strings.Cut(seed.Name, ":"); len(d.Runs) < mostRuns && seed.State != "damaged" {
				d.Runs = append(d.Runs, runChoice{Name: seed.Name, Title: title, Game: row.Game})
			}
		}
	}
	a, err := s.asked(q)
	if err != nil {
		return nil, a, err
	}
	if d.Seed == "" {
		d.Seed = "1"
	}
	switch {
	case a.Run.Dir != "":
		d.Run = a.Run.Name
	case a.Game != "":
		d.Game = a.Game
	case len(d.Runs) > 0:
		d.Run = d.Runs[0].Name
	default:
		d.Game = s.c.Lab.Reg.UsualGame()
	}
	if d.Run != "" && a.Run.Dir == "" {
		newest := maps.Clone(q)
		newest.Set("run", d.Run)
		if a, err = s.asked(newest); err != nil {
			return nil, a, err
		}
	}
	if d.Run == "" {
		a.Game = d.Game
	}
	if !slices.ContainsFunc(d.Runs, func(c runChoice) bool { return c.Name == d.Run }) && d.Run != "" {
		d.Runs = append(d.Runs, runChoice{Name: d.Run, Title: d.Run})
	}
	for i := range d.Runs {
		d.Runs[i].Chosen = d.Runs[i].Name == d.Run
	}
	c, err := s.stage.Choices(a)
	if err == nil && q.Get("run") != "" {
		err = s.stage.Playable(a)
	}
	var older replay.Older
	if errors.As(err, &older) && older.Main {
		asks := plainQuery(q)
		asks.Set("at", strconv.FormatInt(older.Run.Step, 10))
		d.Older, d.OlderStep = template.URL(asks.Encode()), older.Run.Step
	}
	if err != nil {
		err = s.refused(err)
		d.Fault, v.code = err.Error(), status(err)
		return d, a, nil
	}
	d.Title, d.Steps, d.Ready = c.Title, c.Steps, q.Has("run") || q.Has("game")
	slices.Reverse(d.Steps)
	if a.Human > play.NoHuman && int(a.Human) < c.Seats {
		d.Human = int(a.Human)
	} else if joins {
		d.Human = 0
	}
	d.Example = c.Text
	names := replay.Names(q["team"])
	for seat := range c.Seats {
		x := seatChoice{Number: seat}
		switch {
		case seat < len(names) && names[seat] != "":
			x.Now = names[seat]
		case c.Own != nil:
			x.Now = replay.Own
		case len(c.Planners) > 1 && seat == 0 && !joins || joins && seat == 1 && len(c.Planners) > 1:
			x.Now = "plan-infer"
		default:
			x.Now = c.Bots[min(1+seat%2, len(c.Bots)-1)].Name
		}
		x.Groups = s.whoSits(v, c, d, seat)
		if !slices.ContainsFunc(x.Groups, func(g group) bool {
			return slices.ContainsFunc(g.List, func(o option) bool { return o.Value == x.Now })
		}) && x.Now != "you" {
			if c.Text != "" && !strings.Contains(x.Now, "#") {
				x.Text = x.Now
			}
			x.Groups = append(x.Groups, group{v.T("theatre.group.asked"), []option{{x.Now, x.Now, ""}}})
		}
		d.Seats = append(d.Seats, x)
	}
	asks := plainQuery(q)
	if len(a.Team) == 0 { // what the form says is what is played
		var team []string
		for _, x := range d.Seats {
			team = append(team, x.Now)
			a.Team = append(a.Team, replay.Member{Who: x.Now})
		}
		asks["team"] = replay.Team(team)
	}
	d.Query = template.URL(asks.Encode())
	return d, a, nil
}

// plainQuery is an address without what is the page's own.
func plainQuery(q url.Values) url.Values {
	out := url.Values{}
	for _, key := range []string{"run", "at", "game", "set", "team", "seed", "before", "seat", "moves"} {
		if v := q[key]; len(v) > 0 && v[0] != "" {
			out[key] = v
		}
	}
	return out
}

// whoSits lists who may sit on a seat.
func (s *Server) whoSits(v *view, c *replay.Choices, d *theatreView, seat int) (list []group) {
	if c.Own != nil {
		own := group{Title: v.T("theatre.group.run")}
		own.List = append(own.List, option{replay.Own, c.Own[seat], ""})
		for _, step := range d.Steps[:min(len(d.Steps), 24)] {
			name := fmt.Sprintf("%s#%d@%d", d.Run, seat, step)
			own.List = append(own.List, option{name, v.T("theatre.age", seat, step), ""})
		}
		list = append(list, own)
	}
	titled := func(name string) group { return group{Title: v.T("theatre.group." + name)} }
	bots, plans, others := titled("bots"), titled("planners"), titled("runs")
	for _, b := range c.Bots {
		bots.List = append(bots.List, option{b.Name, b.Name, b.Doc})
	}
	for _, p := range c.Planners {
		plans.List = append(plans.List, option{p.Name, p.Name, p.Doc})
	}
	for _, r := range d.Runs {
		if r.Game == c.Game && r.Name != d.Run && len(others.List) < 40 {
			others.List = append(others.List, option{fmt.Sprintf("%s#%d", r.Name, seat), fmt.Sprintf("%s #%d", r.Title, seat), ""})
		}
	}
	for _, g := range []group{bots, plans, others} {
		if len(g.List) > 0 {
			list = append(list, g)
		}
	}
	return list
}

// asText is how long a page of text may be waited for.
const asText = 30 * time.Second

func (s *Server) theatrePage(r *http.Request, v *view) (any, error) {
	d, a, err := s.form(r, v, false)
	if err != nil || !r.URL.Query().Has("text") || !d.Ready {
		return d, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), asText)
	defer cancel()
	if d.Text, err = s.stage.Texts(ctx, a); err != nil {
		d.Fault = s.refused(err).Error()
	}
	return d, nil
}

// choicesAPI says who may sit where.
func (s *Server) choicesAPI(r *http.Request) (any, error) {
	a, err := s.asked(r.URL.Query())
	if err != nil {
		return nil, err
	}
	c, err := s.stage.Choices(a)
	return c, s.refused(err)
}

// theatreStream plays an episode, or shows one that was: head, step by step, sums, regrets, end.
// Whoever is lost on the way begins again, and is sent all of it.
func (s *Server) theatreStream(r *http.Request, st *stream) error {
	a, err := s.asked(r.URL.Query())
	if err != nil {
		return err
	}
	if err := st.send("begin", struct{}{}); err != nil {
		return err
	}
	v, err := s.stage.Open(a)
	if err != nil {
		return s.refused(err)
	}
	defer v.Close()
	return s.refused(st.pass(v.Next))
}

// pass sends events as they come, and a comment now and then while none do.
func (st *stream) pass(next func(ctx context.Context) ([]replay.Event, error)) error {
	for {
		ctx, cancel := context.WithTimeout(st.r.Context(), heartbeat)
		events, err := next(ctx)
		late := ctx.Err() != nil
		cancel()
		if late && err != nil {
			if !st.wait(0, nil) {
				return nil
			}
			continue
		}
		if err != nil || len(events) == 0 {
			return err
		}
		for _, e := range events {
			if err := st.write(fmt.Appendf(nil, "event: %s\ndata: %s\n\n", e.Name, e.Data)); err != nil {
				return nil
			}
		}
	}
}

func (s *Server) joinPage(r *http.Request, v *view) (any, error) {
	d, _, err := s.form(r, v, true)
	if err != nil {
		return nil, err
	}
	d.Session, d.Records, d.Person = r.URL.Query().Get("session"), s.c.Record != "", r.URL.Query().Get("person")
	return d, nil
}

// joinAPI seats a person: the address says where, as it does in the theatre.
func (s *Server) joinAPI(r *http.Request) (any, error) {
	a, err := s.asked(r.URL.Query())
	if err != nil {
		return nil, err
	}
	a.Person = r.URL.Query().Get("person")
	se, err := s.stage.Join(r.Context(), a)
	if err != nil {
		return nil, s.refused(err)
	}
	return map[string]string{"id": se.ID}, nil
}

// moveAPI makes a person's move.
func (s *Server) moveAPI(r *http.Request, in struct {
	ID     string
	At     int
	Action int32
}) (any, error) {
	se, err := s.stage.Session(in.ID)
	if err == nil {
		err = se.Act(in.At, in.Action)
	}
	return struct{}{}, s.refused(err)
}

// leaveAPI gives a seat up.
func (s *Server) leaveAPI(r *http.Request, in struct{ ID string }) (any, error) {
	se, err := s.stage.Session(in.ID)
	if err == nil {
		se.Leave()
	}
	return struct{}{}, s.refused(err)
}

// joinStream shows a person the episode, from its beginning or from an event on.
func (s *Server) joinStream(r *http.Request, st *stream) error {
	if err := st.send("begin", struct{}{}); err != nil {
		return err
	}
	se, err := s.stage.Session(r.URL.Query().Get("id"))
	if err != nil {
		return s.refused(err)
	}
	at, err := strconv.Atoi(r.URL.Query().Get("from"))
	if err != nil || at < 0 {
		at = 0
	}
	err = st.pass(func(ctx context.Context) ([]replay.Event, error) {
		events, err := se.Next(ctx, at)
		at += len(events)
		return events, err
	})
	if err == nil && st.r.Context().Err() == nil {
		err = st.send("end", struct{}{})
	}
	return s.refused(err)
}
