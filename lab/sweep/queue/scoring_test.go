package queue

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// meetingJob is a job as an evaluation has them.
func meetingJob() Job {
	return Job{ID: "a", Name: "run among ns", Kind: Score, Ask: plainAsk, Needs: []Need{{ID: "b", At: AgentAt}}, Score: &Scoring{
		Sum: strings.Repeat("0", 64), Stranger: "if(waits(stag),go(stag),noisy(nh,.3))", Game: json.RawMessage(`{"name":"staghunt","size":8}`),
		Set: []string{"game.stags=2"}, Seeds: []uint64{1, 2}, Known: []string{"ns"},
		Terms: Terms{Split: "test@1", LeaveOut: []string{"nh"}, Learn: "beliefs", Every: 200, Steps: 2400, Last: 600, Lives: 4, Starts: 128},
	}}
}

// A meeting that leads anywhere, is larger than any, or says two things at once is refused, by whoever puts it and by
// whoever is to do it.
func TestAMeetingsJobIsHeldToItsBounds(t *testing.T) {
	if j := meetingJob(); j.Validate() != nil {
		t.Fatal(j.Validate())
	}
	who := meetingJob()
	who.Score.Who, who.Score.Sum, who.Needs = "plan-infer", "", nil
	if err := who.Validate(); err != nil {
		t.Fatal(err)
	}
	refused := func(name string, change func(*Job)) {
		j := meetingJob()
		own := *j.Score
		j.Score = &own
		if change(&j); j.Validate() == nil {
			t.Errorf("%s: it is not refused", name)
		}
	}
	for _, name := range []string{"", "../x", "/etc/passwd", "runs/x#0", "py:evil:act", "net.onnx", "played:people/anna", "~/x", `C:\x`, "a b",
		"-x", "--env=evil:make", "a\nb", strings.Repeat("x", 2000)} {
		refused("the stranger "+name, func(j *Job) { j.Score.Stranger = name })
		refused("it knows "+name, func(j *Job) { j.Score.Known = []string{name} })
		refused("it leaves out "+name, func(j *Job) { j.Score.LeaveOut = []string{name} })
		if name != "" {
			refused("who is "+name, func(j *Job) { j.Score.Who, j.Score.Sum, j.Needs = name, "", nil })
		}
	}
	for _, set := range []string{"game.env=evil:make", "game.python=/bin/sh", "game.name=python", "prepare.0=x", "x", "belief.x=../y",
		"leaf.x=/etc"} {
		refused("the setting "+set, func(j *Job) { j.Score.Set = []string{set} })
	}
	for i, change := range []func(*Job){
		func(j *Job) { j.Score = nil },
		func(j *Job) { j.Kind = Training },
		func(j *Job) { j.Spec = "{}" },
		func(j *Job) { j.Do = Line{"adapt", "in/agent"} },
		func(j *Job) { j.Seed = 1 },
		func(j *Job) { j.Begin = "b" },
		func(j *Job) { j.Needs = nil },
		func(j *Job) { j.Needs[0].At = "in/elsewhere" },
		func(j *Job) { j.Needs = append(j.Needs, Need{ID: "c", At: "in/c"}) },
		func(j *Job) { j.Score.Who = "ns" },
		func(j *Job) { j.Score.Sum = "../x" },
		func(j *Job) { j.Score.Seeds = nil },
		func(j *Job) { j.Score.Seeds = []uint64{3, 3} },
		func(j *Job) { j.Score.Seeds = []uint64{1 << 63} },
		func(j *Job) { j.Score.Seeds = make([]uint64, mostSeeds+1) },
		func(j *Job) { j.Score.Game = nil },
		func(j *Job) { j.Score.Game = json.RawMessage(`"staghunt"`) },
		func(j *Job) {
			j.Score.Game = json.RawMessage(`{"name":"x","y":"` + strings.Repeat("z", MostScoring) + `"}`)
		},
		func(j *Job) { j.Score.Split = "../lists" },
		func(j *Job) { j.Score.Learn = "rm -rf" },
		func(j *Job) { j.Score.Lives = 0 },
		func(j *Job) { j.Score.Lives = mostLives + 1 },
		func(j *Job) { j.Score.Steps = mostSteps + 1 },
		func(j *Job) { j.Score.Last = j.Score.Steps + 1 },
		func(j *Job) { j.Score.Agent = -1 },
	} {
		refused(fmt.Sprint("change ", i), change)
	}
	bad := Job{ID: "a", Kind: Score, Name: "x", Score: &Scoring{Stranger: "../x"}, Needs: []Need{{ID: "b", At: AgentAt}}}
	if err := bad.Validate(); err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), `"../x" is no bot`) {
		t.Errorf("it is not refused with a sentence: %v", err)
	}
}

// What is asked for has one sum, however its game is written, and no two meetings have the same.
func TestAMeetingHasASumOfItsOwn(t *testing.T) {
	a, b := meetingJob().Score, meetingJob().Score
	b.Game = json.RawMessage("{\n  \"name\": \"staghunt\",\n  \"size\": 8\n}")
	if a.ID() != b.ID() {
		t.Error("the same meeting has two sums")
	}
	b.Seeds = []uint64{1, 3}
	if a.ID() == b.ID() {
		t.Error("two meetings have one sum")
	}
}
