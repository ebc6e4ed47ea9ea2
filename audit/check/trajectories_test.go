package check

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/npz"
	"github.com/hop-marl/hop/num/rng"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// recordRun is a dump in the making, as foreign code would hold it.
type recordRun struct {
	steps                           int
	episode, actions, seats, labels []int64
	rewards, obs, next, goals       []float32
	dones, truncated, alive, legal  []bool
	joint                           []int64
	shape                           []int
	without                         []string // arrays to leave out
}

const agents = 4

// hunting records random play of the stag hunt on 4x4, agents dealt to seats
// anew each episode.
func hunting(t testing.TB, episodes int, seed uint64) *recordRun {
	t.Helper()
	g := gametest.New(t, staghunt.New, staghunt.Default())
	spec := g.Spec()
	k, planes := len(spec.Actions), spec.Obs.PlanesLen()
	r := rng.New(seed).Rand()
	bot, err := game.NewBot(g, "random")
	must(t, err)
	rec := &recordRun{shape: []int{spec.Obs.Height, spec.Obs.Width, len(spec.Obs.Planes)}}
	st, seat := g.New(), make([]int, agents)
	see, mask := make([]float32, spec.Obs.Len()), make([]bool, k)
	play, pay := make([]int32, agents), make([]float32, agents)
	for e := range episodes {
		st.Reset(&r)
		r.Perm(seat)
		last := []int64{-1, -1, -1, -1} // by seat
		for !st.Over() {
			was := make([]bool, agents)
			for a, s := range seat {
				was[a] = st.Alive(game.Seat(s))
				play[s] = game.NoAction
				st.Observe(game.Seat(s), see)
				st.Legal(game.Seat(s), mask)
				rec.obs, rec.legal = append(rec.obs, see[:planes]...), append(rec.legal, mask...)
				for j := range agents {
					rec.joint = append(rec.joint, last[(s+j)%agents])
				}
				if was[a] {
					play[s] = bot.Act(st, game.Seat(s), &r)
				}
			}
			st.Step(play, pay, &r)
			for a, s := range seat {
				rec.actions, rec.seats, rec.alive = append(rec.actions, int64(play[s])), append(rec.seats, int64(s)), append(rec.alive, was[a])
				rec.rewards = append(rec.rewards, pay[s])
				rec.dones = append(rec.dones, was[a] && !st.Alive(game.Seat(s)))
				rec.truncated = append(rec.truncated, false)
				st.Observe(game.Seat(s), see)
				rec.next = append(rec.next, see[:planes]...)
				label, goal := int64(-1), float32(0)
				if was[a] {
					label, goal = int64(r.IntN(2)), 1
				}
				rec.labels, rec.goals = append(rec.labels, label), append(rec.goals, goal, 0)
				last[s] = int64(play[s])
			}
			rec.episode = append(rec.episode, int64(e))
			rec.steps++
		}
	}
	return rec
}

// arrays returns the record as arrays.
func (r *recordRun) arrays() []npz.Array {
	ta := func(more ...int) []int { return append([]int{r.steps, agents}, more...) }
	all := []npz.Array{
		{Name: "rewards", Shape: ta(), Data: r.rewards}, {Name: "actions", Shape: ta(), Data: r.actions},
		{Name: "dones", Shape: ta(), Data: r.dones}, {Name: "truncated", Shape: ta(), Data: r.truncated},
		{Name: "alive", Shape: ta(), Data: r.alive},
		{Name: "episode", Shape: []int{r.steps}, Data: r.episode}, {Name: "seats", Shape: ta(), Data: r.seats},
		{Name: "obs", Shape: ta(r.shape...), Data: r.obs}, {Name: "next_obs", Shape: ta(r.shape...), Data: r.next},
		{Name: "channels_last", Data: []bool{true}},
		{Name: "legal", Shape: ta(7), Data: r.legal}, {Name: "labels", Shape: ta(), Data: r.labels}, {Name: "goals", Shape: ta(2), Data: r.goals},
		{Name: "joint", Shape: ta(agents), Data: r.joint}, {Name: "horizon", Data: []int64{35}},
		{Name: "names", Shape: []int{39}, Data: []uint8("player_1,player_2,player_3,player_4    ")},
	}
	kept := all[:0]
	for _, a := range all {
		if !strings.Contains(","+strings.Join(r.without, ",")+",", ","+a.Name+",") {
			kept = append(kept, a)
		}
	}
	return kept
}

// dumped writes and reads it.
func dumped(t testing.TB, arrays []npz.Array) (*record.Trajectories, error) {
	t.Helper()
	var b bytes.Buffer
	must(t, npz.Write(&b, arrays))
	return record.Read(bytes.NewReader(b.Bytes()), int64(b.Len()), "run.npz")
}

func audited(t testing.TB, recs ...*recordRun) *check.Report {
	t.Helper()
	var ds []*record.Trajectories
	for _, r := range recs {
		d, err := dumped(t, r.arrays())
		must(t, err)
		ds = append(ds, d)
	}
	r, err := Recorded("test", ds)
	must(t, err)
	n := 0
	for _, f := range r.Findings {
		n += len(strings.Split(f.Check, ", "))
	}
	if n != len(questions) {
		t.Errorf("findings answer %d questions, want %d in all", n, len(questions))
	}
	return r
}

// A faithful record is called healthy, whether it tells much or little.
func TestFaithfulRecordsPass(t *testing.T) {
	little := strings.Split("truncated,alive,seats,obs,next_obs,legal,labels,goals,joint,names", ",")
	for seed := range uint64(4) {
		for _, without := range [][]string{nil, little, {"dones", "truncated"}} {
			rec := hunting(t, 60, seed)
			rec.without = without
			r := audited(t, rec)
			for _, f := range r.Findings {
				if f.Status > check.Pass {
					t.Errorf("seed %d without %v: %s: %s %s", seed, without, f.Check, f.Status, f.Says)
				}
				if f.Says == "" {
					t.Errorf("%s says nothing", f.Check)
				}
			}
		}
	}
	if r := audited(t, hunting(t, 30, 1), hunting(t, 30, 2), hunting(t, 30, 3)); r.Verdict != check.Pass {
		t.Errorf("three runs: %s", r.Says)
	}
}

// rowwise changes a record row by row.
func rowwise(change func(r *recordRun, i int)) func(*recordRun) {
	return func(r *recordRun) {
		for i := range r.actions {
			change(r, i)
		}
	}
}

// Every fault in a record is found, by the right check.
func TestFaultsInRecordsAreFound(t *testing.T) {
	for _, c := range []struct {
		name  string
		plant func(r *recordRun)
		check string
		want  check.Status
		says  string
	}{
		{"actions after exit", rowwise(func(r *recordRun, i int) {
			if !r.alive[i] && i%agents == 2 {
				r.actions[i] = 4
			}
		}), "rows after exit", check.Fault, "of player_3"},
		{"alive after done", rowwise(func(r *recordRun, i int) {
			if !r.alive[i] {
				r.alive[i], r.actions[i] = true, 4
			}
		}), "rows after exit", check.Fault, "all agents"},
		{"rewards after exit", rowwise(func(r *recordRun, i int) {
			if !r.alive[i] {
				r.rewards[i] = 1
			}
		}), "rewards after exit", check.Fault, "agents that have left"},
		{"a reward that is no number", func(r *recordRun) {
			zero := float32(0)
			r.rewards[9] = zero / zero
		}, "rewards after exit", check.Fault, "player_2 at step 2 of run.npz is NaN"},
		{"everybody gets player_1's rows", func(r *recordRun) {
			n := len(r.obs) / len(r.actions)
			for t := range r.steps {
				for a := 1; a < agents; a++ {
					i, j := t*agents+a, t*agents
					copy(r.obs[i*n:(i+1)*n], r.obs[j*n:(j+1)*n])
					copy(r.joint[i*agents:(i+1)*agents], r.joint[j*agents:(j+1)*agents])
					copy(r.legal[i*7:(i+1)*7], r.legal[j*7:(j+1)*7])
					r.actions[i], r.rewards[i], r.alive[i], r.dones[i], r.labels[i] = r.actions[j], r.rewards[j], r.alive[j], r.dones[j], r.labels[j]
				}
			}
		}, "rows are the agent's own", check.Fault, "player_2, player_3 and player_4 hold rows of another agent: 100 %"},
		{"the first seat is paid more", rowwise(func(r *recordRun, i int) {
			r.rewards[i] *= float32(2 - 0.6*float64(r.seats[i]))
		}), "earnings by place", check.Fault, "whoever sits there"},
		{"joint actions by number", func(r *recordRun) {
			for t := range r.steps {
				for a := range agents {
					s := int(r.seats[t*agents+a])
					at := (t*agents + a) * agents
					was := append([]int64{}, r.joint[at:at+agents]...)
					for j := range agents {
						r.joint[at+(s+j)%agents] = was[j]
					}
				}
			}
		}, "ego order", check.Fault, "Planes are in ego-first order, joint actions in global order"},
		{"joint actions of the wrong step", func(r *recordRun) {
			for i := range r.joint {
				r.joint[i] = int64(i*7919%5) % 7
			}
		}, "ego order", check.Suspect, "joint actions are neither"},
		{"masks of another step", func(r *recordRun) { r.legal = append(r.legal[28:], r.legal[:28]...) }, "legal actions",
			check.Fault, "the mask forbids"},
		{"last observation overwritten", func(r *recordRun) {
			n := len(r.obs) / len(r.actions)
			for t := range r.steps - 1 {
				if r.episode[t] != r.episode[t+1] {
					copy(r.next[t*agents*n:(t+1)*agents*n], r.obs[(t+1)*agents*n:])
				}
			}
		}, "last observation", check.Fault, "first of the next"},
		{"ends without a reason", func(r *recordRun) { clear(r.dones) }, "ends of episodes", check.Fault, "neither left nor were cut off"},
		{"exits and cuts as one", func(r *recordRun) { copy(r.truncated, r.dones) }, "ends of episodes", check.Suspect, "both"},
		{"a time limit as death", func(r *recordRun) { r.without = []string{"horizon"} }, "ends of episodes",
			check.Suspect, "after exactly 35 steps"},
		{"alive without action", rowwise(func(r *recordRun, i int) {
			if i%5 == 0 {
				r.actions[i] = -1
			}
		}), "actions", check.Fault, "agents that are alive"},
		{"one agent only stays", func(r *recordRun) {
			for i := range r.actions {
				if i%agents == 1 && r.alive[i] {
					r.actions[i] = 4
				}
			}
			r.without = []string{"legal", "joint"}
		}, "actions", check.Suspect, "player_2 plays one action only"},
		{"goals of one agent lost", func(r *recordRun) {
			for i := range r.goals {
				if i/2%agents == 3 {
					r.goals[i] = 0
				}
			}
		}, "goal series", check.Fault, "player_4"},
		{"a few goals lost", func(r *recordRun) {
			for i := range r.goals {
				if i/2%97 == 0 {
					r.goals[i] = 0
				}
			}
		}, "goal series", check.Suspect, "missing"},
		{"labels after exit", rowwise(func(r *recordRun, i int) {
			r.labels[i] = 1
		}), "labels", check.Fault, "Labels are recorded"},
		{"one agent's labels are all alike", rowwise(func(r *recordRun, i int) {
			if i%agents == 0 && r.labels[i] >= 0 {
				r.labels[i] = 0
			}
		}), "labels", check.Suspect, "player_1 has fewer kinds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := hunting(t, 80, 3)
			c.plant(rec)
			r := audited(t, rec)
			for _, f := range r.Findings {
				if f.Check == c.check {
					if f.Status != c.want || !strings.Contains(f.Says, c.says) {
						t.Errorf("%s: got %s, %q, want %s with %q", c.check, f.Status, f.Says, c.want, c.says)
					}
					if f.Next == "" {
						t.Error("it does not say where to look next")
					}
				}
			}
			if r.Verdict == check.Pass {
				t.Error("the report says that all is well")
			}
			if _, err := r.Findings[0].MarshalJSON(); err != nil {
				t.Error(err)
			}
		})
	}
}

// What a healthy run may come to as well is worth a note and no more: an order of agents in one run, masks that forbid
// nothing, episodes that start alike. What three runs agree on is no chance.
func TestWhatMayBeHealthyIsNoted(t *testing.T) {
	first := rowwise(func(r *recordRun, i int) { r.rewards[i] *= float32(2 - 0.6*float64(i%agents)) })
	for _, c := range []struct {
		name, check string
		runs        int
		plant       func(r *recordRun)
		want        check.Status
		says        string
	}{
		{"the first agent is paid more in one run", "earnings by agent", 1, first, check.Note, "by chance of learning"},
		{"the first agent is paid more in three runs", "earnings by agent", 3, first, check.Suspect, "built alike differ"},
		{"masks of ones", "legal actions", 1, func(r *recordRun) {
			for i := range r.legal {
				r.legal[i] = true
			}
		}, check.Note, "allows everything"},
		{"the same start", "last observation", 1, func(r *recordRun) {
			n := agents * len(r.obs) / len(r.actions)
			for t := 1; t < r.steps; t++ {
				if r.episode[t] != r.episode[t-1] {
					copy(r.obs[t*n:(t+1)*n], r.obs[:n])
				}
			}
		}, check.Note, "All of 80 episodes start alike"},
	} {
		var recs []*recordRun
		for seed := range c.runs {
			rec := hunting(t, 80, uint64(seed+3))
			c.plant(rec)
			recs = append(recs, rec)
		}
		for _, f := range audited(t, recs...).Findings {
			if f.Check == c.check && (f.Status != c.want || !strings.Contains(f.Says, c.says) || f.Next == "") {
				t.Errorf("%s: got %s, %q, want %s with %q", c.name, f.Status, f.Says, c.want, c.says)
			}
		}
	}
}

// Who has another role earns otherwise by right.
func TestAgentsOfOtherRolesAreNotCompared(t *testing.T) {
	rec := hunting(t, 100, 3)
	for i := range rec.rewards {
		if i%agents == 0 && rec.alive[i] {
			rec.rewards[i]++
		}
	}
	for _, c := range []struct {
		roles []int64
		want  check.Status
	}{{[]int64{0, 0, 0, 0}, check.Note}, {[]int64{1, 0, 0, 0}, check.Pass}, {[]int64{3, 2, 1, 0}, check.NotAsked}} {
		d, err := dumped(t, append(rec.arrays(), npz.Array{Name: "roles", Shape: []int{agents}, Data: c.roles}))
		must(t, err)
		r, err := Recorded("roles", []*record.Trajectories{d})
		must(t, err)
		if f := r.Findings[0]; f.Status != c.want {
			t.Errorf("roles %v: got %s, %q, want %s", c.roles, f.Status, f.Says, c.want)
		}
	}
	if _, err := dumped(t, append(rec.arrays(), npz.Array{Name: "roles", Shape: []int{1}, Data: []int64{0}})); err == nil ||
		!strings.Contains(err.Error(), "roles has shape [1]") {
		t.Errorf("one role for all: got %v", err)
	}
}

// An exit that falls on the last step before a cut is none, and cuts at a limit are no
// deaths.
func TestExitsAtALimitAreNoFault(t *testing.T) {
	rec := hunting(t, 80, 3)
	rec.without = []string{"horizon"}
	n := 0
	for i := range rec.dones {
		if at := i / agents; at+1 < rec.steps && rec.episode[at] != rec.episode[at+1] && rec.alive[i] && rec.rewards[i] == 0 {
			rec.dones[i], rec.truncated[i] = n%5 == 0, true // one in five leaves just then
			n++
		}
	}
	for _, f := range audited(t, rec).Findings {
		if f.Check == "ends of episodes" && f.Status != check.Pass {
			t.Errorf("got %s, %q", f.Status, f.Says)
		}
	}
}

// What is wrong with a file is said all at once, by name.
func TestMalformedDumpsAreRefused(t *testing.T) {
	edit := func(name string, change func(a *npz.Array)) func([]npz.Array) []npz.Array {
		return func(list []npz.Array) []npz.Array {
			for i := range list {
				if list[i].Name == name {
					change(&list[i])
				}
			}
			return list
		}
	}
	drop := func(names ...string) func([]npz.Array) []npz.Array {
		return func(list []npz.Array) []npz.Array {
			kept := list[:0]
			for _, a := range list {
				if !strings.Contains(strings.Join(names, ","), a.Name) {
					kept = append(kept, a)
				}
			}
			return kept
		}
	}
	for _, c := range []struct {
		name   string
		change func([]npz.Array) []npz.Array
		want   []string
	}{
		{"nothing needed", drop("rewards"), []string{"rewards is missing"}},
		{"three missing", drop("actions", "episode", "alive", "dones"), []string{"actions is missing", "episode is missing",
			"alive and dones are both missing"}},
		{"an unknown array", func(l []npz.Array) []npz.Array {
			return append(l, npz.Array{Name: "reward", Shape: []int{1}, Data: []float32{1}})
		}, []string{`no array "reward"`}},
		{"agents first", edit("rewards", func(a *npz.Array) { a.Shape = []int{a.Shape[1], a.Shape[0]} }), []string{"is it [A][T]?"}},
		{"one-hot actions", edit("actions", func(a *npz.Array) { a.Shape = append(a.Shape, 1) }), []string{"save indices"}},
		{"fractions as actions", edit("actions", func(a *npz.Array) {
			x := make([]float64, len(a.Data.([]int64)))
			x[5] = 0.5
			a.Data = x
		}), []string{"actions[1][1] is 0.5"}},
		{"actions below -1", edit("actions", func(a *npz.Array) { a.Data.([]int64)[4] = -2 }), []string{"actions has -2 at step 1"}},
		{"more actions than masks", edit("actions", func(a *npz.Array) { a.Data.([]int64)[4] = 9 }), []string{"legal has room for 7"}},
		{"flags of two", edit("dones", func(a *npz.Array) {
			x := make([]int8, len(a.Data.([]bool)))
			x[0] = 2
			a.Data = x
		}), []string{"want 0 or 1"}},
		{"episodes mixed", edit("episode", func(a *npz.Array) { a.Data.([]int64)[10] = 1 }), []string{"one env after the other"}},
		{"a seat twice", edit("seats", func(a *npz.Array) { a.Data.([]int64)[0] = a.Data.([]int64)[1] }), []string{"want each of 0 to 3 once"}},
		{"too few names", edit("names", func(a *npz.Array) { a.Data, a.Shape = []uint8("a,b"), []int{3} }), []string{"2 names"}},
		{"names of numbers", edit("names", func(a *npz.Array) { a.Data, a.Shape = []int64{1}, []int{1} }), []string{"np.frombuffer"}},
		{"a short array", edit("labels", func(a *npz.Array) { a.Data, a.Shape = []int64{1, 2, 3, 4}, []int{1, 4} }),
			[]string{"labels has shape [1 4]"}},
		{"another observation", edit("next_obs", func(a *npz.Array) {
			a.Shape = []int{a.Shape[0], a.Shape[1], a.Shape[2] * a.Shape[3] * a.Shape[4]}
		}), []string{"next_obs has shape"}},
		{"a horizon of two", edit("horizon", func(a *npz.Array) { a.Data, a.Shape = []int64{1, 2}, []int{2} }), []string{"one whole number"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := dumped(t, c.change(hunting(t, 3, 1).arrays()))
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "run.npz") {
					t.Errorf("got %v, want an error with %q that names the file", err, want)
				}
			}
		})
	}
	if _, err := record.Read(strings.NewReader("no zip"), 6, "x.npz"); err == nil || !strings.Contains(err.Error(), "x.npz") {
		t.Errorf("a text file: got %v", err)
	}
	if _, err := record.OpenDir(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no .npz") {
		t.Errorf("an empty folder: got %v", err)
	}
}

// The Python example is diagnosed as it should be, with and without its fault.
func TestPythonExampleIsDiagnosed(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil || exec.Command(python, "-c", "import numpy").Run() != nil {
		t.Skip("needs python3 with numpy")
	}
	script, err := filepath.Abs("../../docs/examples/dump.py")
	must(t, err)
	for _, faulty := range []bool{false, true} {
		dir := t.TempDir()
		args := []string{script}
		if faulty {
			args = append(args, "--rows-after-exit")
		}
		cmd := exec.Command(python, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		ds, err := record.OpenDir(dir)
		must(t, err)
		r, err := Recorded("example", ds)
		must(t, err)
		want, module := check.Pass, ""
		if faulty {
			want, module = check.Fault, "buffers"
		}
		if r.Verdict != want || r.Module != module {
			t.Errorf("rows after exit %v: got %s in %q (%s), want %s in %q", faulty, r.Verdict, r.Module, r.Says, want, module)
		}
	}
}

// Whatever a file holds, reading and checking it ends without a panic.
func FuzzDump(f *testing.F) {
	// A whole archive with one array replaced gets further than random bytes, with which
	// package npz is tried.
	rec := hunting(f, 1, 1)
	rec.without = []string{"obs", "next_obs"} // the largest
	f.Add("rewards", []byte{1, 2, 3}, uint8(3))
	f.Add("dones", make([]byte, 40), uint8(1))
	names := record.KnownArrays
	f.Fuzz(func(t *testing.T, name string, data []byte, rank uint8) {
		list := rec.arrays()
		i := int(rank) % len(list)
		x := make([]int8, len(data))
		for j, v := range data {
			x[j] = int8(v)
		}
		list[i].Data, list[i].Shape = x, []int{len(x)}
		if n := rec.steps * agents; len(data) >= n {
			list[i].Data, list[i].Shape = x[:n], []int{rec.steps, agents}
		}
		if name = names[len(name)%len(names)]; len(data)%3 == 0 {
			kept := list[:0]
			for _, a := range list {
				if a.Name != name {
					kept = append(kept, a)
				}
			}
			list = kept
		}
		if d, err := dumped(t, list); err == nil {
			r, err := Recorded("made", []*record.Trajectories{d})
			must(t, err)
			for _, f := range r.Findings {
				if _, err := f.MarshalJSON(); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// What a file makes the reader take is about the file's length: float32 numbers, as most
// are saved, are not copied.
func TestReadingTakesAboutTheLengthOfTheFile(t *testing.T) {
	rec := hunting(t, 40, 3)
	rec.without = []string{"labels", "goals", "joint", "legal", "truncated"}
	var b bytes.Buffer
	must(t, npz.Write(&b, rec.arrays()))
	size := uint64(b.Len())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := record.Read(bytes.NewReader(b.Bytes()), int64(size), "it")
	runtime.ReadMemStats(&after)
	must(t, err)
	if took := after.TotalAlloc - before.TotalAlloc; took > size+size/4 {
		t.Errorf("a file of %d bytes made it take %d", size, took)
	}
}
