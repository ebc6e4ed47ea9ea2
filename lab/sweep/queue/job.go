package queue

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind says what a job is there for.
type Kind string

// The kinds of jobs.
const (
	Stage    Kind = "stage" // of a spec, before its training
	Training Kind = "train"
	Follow   Kind = "follow" // what the spec says follows a training
	Then     Kind = "then"   // a command over a run
	After    Kind = "after"  // a command over all of them
	Score    Kind = "score"  // an agent among a stranger
)

// Job is work for one process of hop that writes into one folder. It says what is to be done, and no command line:
// that is the worker's own, made of these fields (worker.Words), so that a job can name nothing else.
type Job struct {
	ID   string `json:"id"`   // the same for the same work, and for no other
	Name string `json:"name"` // what people call it, and its folder
	Kind Kind   `json:"kind"`

	Spec  string `json:"spec,omitempty"`  // of Stage, Training and Follow: resolved, as YAML
	Stage string `json:"stage,omitempty"` // of Stage: which
	Seed  uint64 `json:"seed,omitempty"`  // of Training
	Until int    `json:"until,omitempty"` // of Training: the env step at which it stops; 0: its end
	Do    Line   `json:"do,omitempty"`    // of Then and After
	Specs Texts  `json:"specs,omitempty"` // of After: files that it reads, by name

	Score *Scoring `json:"score,omitempty"` // of Score

	// Begin is the job whose folder this one goes on from, if there is one.
	Begin string `json:"begin,omitempty"`
	// Needs are the jobs whose folders this one reads; they are no part of its result.
	Needs []Need `json:"needs,omitempty"`
	Ask   Ask    `json:"ask"`
	// Limit and Quiet are how long it may take and say nothing; then it has failed. 0: for ever.
	Limit time.Duration `json:"limit_ns,omitempty"`
	Quiet time.Duration `json:"quiet_ns,omitempty"`
}

// Texts are files by name.
type Texts map[string]string

// Line is a command of hop with its arguments: one of a fixed list, with flags of a fixed list, that reads nothing
// outside the job's folder.
type Line []string

// Commands are the commands of hop that can be jobs of their own, with the flags that they may have: those that have a
// folder, and what only concerns the runs in it.
var Commands = map[string][]string{
	"adapt": {"vs", "trios", "seeds", "then", "at-episode", "zoo", "learn", "every", "steps", "last", "lives", "agent", "starts",
		"game", "set"},
	"audit":     {"set", "seeds", "updates", "episodes"},
	"compare":   {"seeds", "set", "reuse", "threshold"},
	"crossplay": {"game", "set", "episodes", "seed", "greedy", "split", "runs", "planner"},
	"train":     {"set", "seeds", "steps"},
}

// Validate returns what is wrong with a command.
func (l Line) Validate() error {
	if len(l) == 0 {
		return errors.New("there is no command")
	}
	flags, known := Commands[l[0]]
	if !known {
		return fmt.Errorf("hop %.50q cannot be a job, want a command that has a folder: one of %s", l[0],
			strings.Join(slices.Sorted(maps.Keys(Commands)), ", "))
	}
	set := false // the next word is a setting
	for _, word := range l[1:] {
		flag, value, both := strings.Cut(word, "=")
		name, isFlag := strings.CutPrefix(flag, "--")
		switch {
		case !isFlag:
			value = word
		case !slices.Contains(flags, name):
			return fmt.Errorf("hop %s has %.50q in a job, which may have --%s; what a run plays and reads belongs into the spec", l[0], flag,
				strings.Join(flags, ", --"))
		}
		if isFlag && !both {
			set = name == "set" || name == "planner"
			continue
		}
		if set || isFlag && (name == "set" || name == "planner") {
			if err := setting(value); err != nil {
				return err
			}
		}
		set = false
		if err := inside(value); err != nil {
			return err
		}
	}
	return nil
}

// settingPath is what a field of a spec is called that holds one value.
var settingPath = regexp.MustCompile(`^[a-z0-9_]+(\.[a-z0-9_]+)+$`)

// setting refuses settings that name what is executed: a game's program, and the commands around a training.
func setting(text string) error {
	path, _, ok := strings.Cut(text, "=")
	block, field, _ := strings.Cut(path, ".")
	switch {
	case !ok || !settingPath.MatchString(path):
		return fmt.Errorf("%.100q is no setting of one value, want PATH=VALUE such as ppo.lr=0.001", text)
	case block == "prepare" || block == "follow" || block == "game" && slices.Contains([]string{"name", "env", "python", "kwargs"}, field):
		return fmt.Errorf("%.50q names what is executed, which a job may not; put it into the spec", path)
	}
	return nil
}

// inside refuses words that lead out of the job's folder, also where several stand together as in a,b or RUN#0.
func inside(word string) error {
	if strings.HasPrefix(word, "-") {
		if _, err := strconv.ParseFloat(word, 64); err != nil {
			return fmt.Errorf("%.100q is no flag that a job may have", word)
		}
	}
	for _, part := range strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(",;=:#@ \t\n[]{}\"'", r) }) {
		plain := strings.TrimPrefix(strings.TrimSuffix(part, "/"), "./")
		if strings.HasPrefix(part, "~") || strings.ContainsAny(part, "\\\x00") || !fs.ValidPath(plain) {
			return fmt.Errorf("%.100q leads out of the job's folder", word)
		}
	}
	return nil
}

// idText is what jobs are called to each other, and stageName what stages are.
var (
	idText    = regexp.MustCompile(`^[A-Za-z0-9]{1,64}$`)
	stageName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}$`)
	specFile  = regexp.MustCompile(`^[^-./\\\x00][^/\\\x00]{0,250}\.yaml$`)
)

// Most of what a job may be: none is near it.
const (
	mostCores = 1 << 16
	mostNeeds = 1 << 17
)

// Validate returns what is wrong with a job. A worker does none that it does not pass.
func (j *Job) Validate() error {
	if err := j.kind(); err != nil {
		return fmt.Errorf("sweep: job %.100q: %w", j.Name, err)
	}
	bad := ""
	switch a := j.Ask; {
	case !idText.MatchString(j.ID):
		bad = "its id is no word"
	case j.Begin != "" && !idText.MatchString(j.Begin):
		bad = "what it goes on from is no job"
	case a.Cores < 0 || a.Cores > mostCores || a.Memory < 0 || j.Limit < 0 || j.Quiet < 0 || j.Until < 0 || len(j.Needs) > mostNeeds:
		bad = "one of its numbers cannot be"
	}
	for _, n := range j.Needs {
		below := strings.HasPrefix(n.At, "in/") || strings.HasPrefix(n.At, "out/")
		if !idText.MatchString(n.ID) || !below || !local(n.At) || n.Sub != "" && !local(n.Sub) {
			bad = fmt.Sprintf("it reads %.50q of %.50q at %.50q, which is not below its folder", n.Sub, n.ID, n.At)
		}
	}
	for name := range j.Specs {
		if !specFile.MatchString(name) {
			bad = fmt.Sprintf("a file is called %.50q", name)
		}
	}
	if bad != "" {
		return fmt.Errorf("sweep: job %.100q: %s", j.Name, bad)
	}
	return nil
}

// local says whether a path stays below its folder.
func local(path string) bool {
	return fs.ValidPath(path) && path != "." && !strings.ContainsAny(path, "\\\x00")
}

// kind says what of the job does not go with its kind.
func (j *Job) kind() error {
	if j.Kind == Score {
		return j.scoring()
	}
	if j.Score != nil {
		return fmt.Errorf("its fields are not those of a job of kind %s", j.Kind)
	}
	spec := j.Spec != "" && len(j.Do) == 0 && len(j.Specs) == 0
	switch j.Kind {
	case Stage:
		if spec && stageName.MatchString(j.Stage) && j.Seed == 0 && j.Until == 0 {
			return nil
		}
	case Training:
		if spec && j.Stage == "" {
			return nil
		}
	case Follow:
		if spec && j.Stage == "" && j.Seed == 0 && j.Until == 0 {
			return nil
		}
	case Then, After:
		if j.Spec == "" && j.Stage == "" && j.Seed == 0 && j.Until == 0 && (j.Kind == After || len(j.Specs) == 0) {
			return j.Do.Validate()
		}
	default:
		return fmt.Errorf("there is no kind %.50q", j.Kind)
	}
	return fmt.Errorf("its fields are not those of a job of kind %s", j.Kind)
}
