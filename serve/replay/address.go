package replay

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/script"
	"github.com/hop-marl/hop/lab/play"
)

// mostMoves is how many moves of a person an address may hold.
const mostMoves = 4096

// Unreadable is the error of an address that does not say what is asked for.
type Unreadable struct{ error }

func bad(format string, args ...any) error { return Unreadable{fmt.Errorf(format, args...)} }

// Finder returns the runs of a name: itself or its seeds, and their folders.
type Finder func(name string) (names, dirs []string, err error)

// mostBefore is how many episodes may be played before the one that is shown.
const mostBefore = 60

// Read reads what an address asks to be played: run and at, or game and set; team, seed, before, and
// seat with moves where a person plays. The rest is the page's own.
func Read(q url.Values, find Finder) (a Ask, err error) {
	a.Human = play.NoHuman
	if a.Run, err = find.checkpoint(q.Get("run"), q.Get("at")); err != nil {
		return a, err
	}
	if a.Game = q.Get("game"); a.Run.Dir != "" {
		a.Game = ""
	} else {
		a.Set = q["set"]
	}
	if len(a.Set) > 32 {
		return a, bad("%d parameters of the game; 32 are enough", len(a.Set))
	}
	if text := q.Get("seed"); text != "" {
		if a.Seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			return a, bad("the seed %.40q is not a whole number from 0 on", text)
		}
	} else {
		a.Seed = 1
	}
	if text := q.Get("before"); text != "" {
		if a.Before, err = strconv.Atoi(text); err != nil || a.Before < 0 || a.Before > mostBefore {
			return a, bad("%.40q episodes before: want a whole number from 0 to %d", text, mostBefore)
		}
	}
	if text := q.Get("seat"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > 1000 {
			return a, bad("the seat %.40q is not a number from 0 on", text)
		}
		a.Human = game.Seat(n)
		if a.Before > 0 {
			return a, bad("%d episodes before: a person plays from the first one on", a.Before)
		}
	}
	if text := q.Get("moves"); text != "" {
		parts := strings.Split(text, ".")
		if len(parts) > mostMoves {
			return a, bad("%d moves; %d are the most", len(parts), mostMoves)
		}
		for _, part := range parts {
			n, err := strconv.ParseInt(part, 10, 32)
			if err != nil {
				return a, bad("the move %.40q is not an action's number", part)
			}
			a.Moves = append(a.Moves, int32(n))
		}
	}
	names := Names(q["team"])
	if len(names) > 64 {
		return a, bad("a team of %d; 64 are the most", len(names))
	}
	if len(names) == 1 && names[0] == "" {
		names = nil
	}
	for _, name := range names {
		m, err := find.member(name)
		if err != nil {
			return a, err
		}
		a.Team = append(a.Team, m)
	}
	return a, nil
}

// Names returns the names of a team, of which an address says one at a time or all in one, with
// commas between them. Commas within the brackets of a text belong to it.
func Names(team []string) []string {
	if len(team) == 1 {
		return script.Split(team[0])
	}
	return slices.Clone(team)
}

// Team is Names the other way round: all in one where that can be read again.
func Team(names []string) []string {
	if slices.ContainsFunc(names, func(name string) bool { return strings.ContainsAny(name, ",(") }) {
		return names
	}
	return []string{strings.Join(names, ",")}
}

// Said returns an address in which texts that a form sent beside its choices, said0 for seat 0 and
// so on, are in their places of the team.
func Said(q url.Values) url.Values {
	names := Names(q["team"])
	out := maps.Clone(q)
	for s := range names {
		key := fmt.Sprintf("said%d", s)
		if text := strings.TrimSpace(q.Get(key)); text != "" {
			names[s] = text
		}
		out.Del(key)
	}
	if len(names) > 0 {
		out["team"] = Team(names)
	}
	return out
}

// checkpoint finds the run of a name, or the first seed of a training's, at a step; "": the
// newest.
func (find Finder) checkpoint(name, at string) (f Folder, err error) {
	if name == "" {
		return f, nil
	}
	names, dirs, err := find(name)
	if err != nil {
		return f, err
	}
	f = Folder{Dir: dirs[0], Name: names[0], Step: -1}
	if at == "" {
		return f, nil
	}
	if f.Step, err = strconv.ParseInt(at, 10, 64); err != nil || f.Step < 0 {
		return f, bad("the checkpoint %.40q is not an env step", at)
	}
	return f, nil
}

// member reads who sits on a seat: a bot, a text of the game's language, a planner, run, you, or
// RUN#AGENT@STEP.
func (find Finder) member(name string) (Member, error) {
	run, rest, ok := strings.Cut(name, "#")
	if !ok {
		if name == "" || len(name) > 200 {
			return Member{}, bad("a seat of the team has no name, or one that is too long")
		}
		return Member{Who: name}, nil
	}
	number, at, _ := strings.Cut(rest, "@")
	n, err := strconv.Atoi(number)
	if err != nil || run == "" {
		return Member{}, bad("%.200q names no agent of a run; want RUN#AGENT or RUN#AGENT@STEP, such as 0:ppo-4x4-001/seed-1#0", name)
	}
	f, err := find.checkpoint(run, at)
	return Member{Run: f, Agent: n}, err
}
