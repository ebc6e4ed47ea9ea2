// Package jobs starts trainings, audits and ladders as processes of their own, which
// outlive whoever started them, and finds them again.
//
// A job is a command line of this program, run in a session of its own, so that neither a
// terminal's Ctrl-C nor the end of the server reaches it. What is known of it lies in a
// folder of the served one, never in a run: job.json says what was started, output.txt
// is what it says as it goes, result.json the object that it prints at its end. The
// process holds the folder's lock as long as it lives, so a server that was started anew
// knows its jobs by lock and folder; nothing is kept in memory. To stop a job is to
// interrupt it, as Ctrl-C would: it saves and ends.
package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hop-marl/hop/num/disk"
)

// Where jobs are kept, below a served folder, and their files.
const (
	jobsDir    = ".hop-serve/jobs"
	jobFile    = "job.json"
	outputFile = "output.txt"
	resultFile = "result.json"
)

// Bounds.
const (
	most      = 8       // jobs at once
	listed    = 60      // of each folder, the newest
	maxResult = 8 << 20 // bytes of what a job prints
)

// The kinds of jobs.
const (
	Train  = "train"
	Resume = "resume"
	Audit  = "audit"
	Ladder = "ladder"
)

// The states of a job.
const (
	Running = "running"
	Done    = "done"    // it printed its result
	Stopped = "stopped" // it was asked to, and did
	Failed  = "failed"
)

// Job is a process that was started, as its folder tells.
type Job struct {
	ID      string    `json:"job"` // folder's number and name, such as 0:train-001
	Kind    string    `json:"kind"`
	Words   []string  `json:"-"`
	Command string    `json:"command"` // as one would type it
	Run     string    `json:"run"`     // folder of the run; "" if not known yet
	Started time.Time `json:"started"`
	PID     int       `json:"pid,omitempty"` // while it runs
	State   string    `json:"state"`
	Asked   bool      `json:"asked,omitempty"` // to stop
	Why     string    `json:"why,omitempty"`   // of one that failed or stopped: what it said last
	Bytes   int64     `json:"bytes"`           // of output so far
	Page    string    `json:"page,omitempty"`  // file that it wrote
	Verdict string    `json:"verdict,omitempty"`
	Says    string    `json:"says,omitempty"`
}

// kept is job.json.
type kept struct {
	Kind    string    `json:"kind"`
	Words   []string  `json:"words"`
	Run     string    `json:"run,omitempty"`
	Started time.Time `json:"started"`
	PID     int       `json:"pid"`
	Asked   bool      `json:"asked_to_stop,omitempty"`
}

// Control starts, finds and stops jobs.
type Control struct {
	folders []string // absolute
	program []string // what runs this program, with words before the command
	mu      sync.Mutex
}

// New returns a control over jobs in folders, which are served in that order.
func New(folders []string) (*Control, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("control: finding this program: %w", err)
	}
	return &Control{folders: folders, program: []string{exe}}, nil
}

// ErrNone is what errors are that say that there is no such job.
var ErrNone = errors.New("there is no such job")

var jobName = regexp.MustCompile(`^(train|resume|audit|ladder)-[0-9]{3,9}$`)

// dir returns the folder of a job.
func (c *Control) dir(id string) (string, error) {
	number, name, _ := strings.Cut(id, ":")
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n >= len(c.folders) || strconv.Itoa(n) != number || !jobName.MatchString(name) {
		return "", fmt.Errorf("%w: %.80q", ErrNone, id)
	}
	dir, err := disk.Below(c.folders[n], jobsDir+"/"+name)
	if err != nil {
		return "", fmt.Errorf("%w: %.80q", ErrNone, id)
	}
	return dir, nil
}

// Start runs a command of this program, such as train ppo-4x4, in a process of its own.
// run is the folder that it works on, if there is one already.
func (c *Control) Start(folder int, kind, run string, words []string) (Job, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if folder < 0 || folder >= len(c.folders) {
		return Job{}, fmt.Errorf("there is no folder %d", folder)
	}
	busy := 0
	for _, j := range c.list() {
		if j.State != Running {
			continue
		}
		if busy++; run != "" && j.Run == run && (kind == j.Kind || kind == Resume) {
			return Job{}, fmt.Errorf("that is being done already: %s", j.Command)
		}
	}
	if busy >= most {
		return Job{}, fmt.Errorf("%d jobs are running, and no more than that may; wait, or stop one", busy)
	}
	dir, name, err := c.place(folder, kind)
	if err != nil {
		return Job{}, err
	}
	k := kept{Kind: kind, Words: words, Run: run, Started: time.Now().UTC().Truncate(time.Second)}
	if k.PID, err = begin(dir, append(slices.Clone(c.program), words...)); err == nil {
		err = disk.WriteJSON(filepath.Join(dir, jobFile), k)
	} else {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	if err != nil {
		return Job{}, fmt.Errorf("starting %s: %w", kind, err)
	}
	return c.read(strconv.Itoa(folder)+":"+name, dir)
}

// withoutToken is an environment without the server's token: what a job starts, such as an
// environment in Python, has no use for it.
func withoutToken(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(s string) bool { return strings.HasPrefix(s, "HOP_TOKEN=") })
}

// place makes a job's folder.
func (c *Control) place(folder int, kind string) (dir, name string, err error) {
	jobs := filepath.Join(c.folders[folder], filepath.FromSlash(jobsDir))
	if err := disk.Make(jobs); err != nil {
		return "", "", err
	}
	if _, err := disk.Below(c.folders[folder], jobsDir); err != nil {
		return "", "", err // a link that leads elsewhere
	}
	for i := 1; ; i++ {
		name = fmt.Sprintf("%s-%03d", kind, i)
		dir = filepath.Join(jobs, name)
		if err := disk.MakeNew(dir); err == nil {
			return dir, name, nil
		} else if !errors.Is(err, os.ErrExist) {
			return "", "", err
		}
	}
}

// Stop interrupts a job as Ctrl-C would: what it does is saved, and it ends. A second time
// ends it at once.
func (c *Control) Stop(id string) (Job, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	dir, err := c.dir(id)
	if err != nil {
		return Job{}, err
	}
	j, err := c.read(id, dir)
	if err != nil {
		return j, err
	}
	if j.State != Running {
		return j, fmt.Errorf("it is not running: %s", j.State)
	}
	k, err := readKept(dir)
	if err != nil {
		return j, err
	}
	k.Asked = true
	if err := disk.WriteJSON(filepath.Join(dir, jobFile), k); err != nil {
		return j, err
	}
	if err := interrupt(c.program, j.PID); err != nil {
		return j, fmt.Errorf("stopping process %d: %w", j.PID, err)
	}
	return c.read(id, dir)
}

// Jobs returns all jobs, newest first.
func (c *Control) Jobs() []Job {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.list()
}

func (c *Control) list() []Job {
	list := []Job{}
	for n, folder := range c.folders {
		jobs, err := disk.Below(folder, jobsDir)
		if err != nil {
			continue
		}
		entries, err := os.ReadDir(jobs)
		if err != nil {
			continue
		}
		var here []Job
		for _, e := range entries {
			if !e.IsDir() || !jobName.MatchString(e.Name()) {
				continue
			}
			if j, err := c.read(strconv.Itoa(n)+":"+e.Name(), filepath.Join(jobs, e.Name())); err == nil {
				here = append(here, j)
			}
		}
		slices.SortFunc(here, func(a, b Job) int { return b.Started.Compare(a.Started) })
		list = append(list, here[:min(len(here), listed)]...)
	}
	slices.SortStableFunc(list, func(a, b Job) int { return b.Started.Compare(a.Started) })
	return list
}

// Job returns one.
func (c *Control) Job(id string) (Job, error) {
	dir, err := c.dir(id)
	if err != nil {
		return Job{}, err
	}
	return c.read(id, dir)
}

func readKept(dir string) (kept, error) {
	var k kept
	b, err := disk.Read(filepath.Join(dir, jobFile), 1<<20)
	if err == nil {
		err = json.Unmarshal(b, &k)
	}
	return k, err
}

// read returns a job as it stands.
func (c *Control) read(id, dir string) (Job, error) {
	k, err := readKept(dir)
	if err != nil {
		return Job{}, fmt.Errorf("%w that can be read: %.80q: %w", ErrNone, id, err)
	}
	j := Job{ID: id, Kind: k.Kind, Words: k.Words, Command: Line(k.Words), Run: k.Run, Started: k.Started, Asked: k.Asked}
	if alive(dir, k.PID) {
		j.State, j.PID = Running, k.PID
	}
	head, tail, n := ends(filepath.Join(dir, outputFile))
	if j.Bytes = n; j.Run == "" {
		j.Run = folderIn(head)
	}
	if j.State == Running {
		return j, nil
	}
	j.State = Failed
	if k.Asked {
		j.State = Stopped
	}
	var r struct{ Run, Page, Report, Verdict, Says string }
	b, err := disk.Read(filepath.Join(dir, resultFile), maxResult)
	if err == nil && json.Unmarshal(b, &r) == nil {
		j.State, j.Verdict, j.Says = Done, r.Verdict, r.Says
		if j.Page = r.Page; j.Page == "" {
			j.Page = r.Report
		}
		if j.Run == "" {
			j.Run = r.Run
		}
		return j, nil
	}
	j.Why = last(tail)
	return j, nil
}

// ends returns the beginning and the end of a file that may be long, and how long it is.
func ends(name string) (head, tail string, size int64) {
	f, err := disk.Open(name)
	if err != nil {
		return "", "", 0
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", "", 0
	}
	size = info.Size()
	read := func(at int64) string {
		b, _ := io.ReadAll(io.NewSectionReader(f, at, 4096))
		return string(b)
	}
	return read(0), read(max(0, size-4096)), size
}

// folderIn finds the run's folder in what a training says first: "training NAME, 2 seeds,
// in FOLDER".
func folderIn(output string) string {
	for _, line := range strings.Split(output, "\n") {
		if strings.HasPrefix(line, "training ") {
			if _, dir, ok := strings.Cut(line, ", in "); ok {
				return strings.TrimSpace(dir)
			}
		}
	}
	return ""
}

// last returns the last sentence of an output: from "hop: " on, where there is one.
func last(output string) string {
	if i := strings.LastIndex("\n"+output, "\nhop: "); i >= 0 {
		output = output[i:]
	} else if lines := strings.Split(strings.TrimSpace(output), "\n"); len(lines) > 0 {
		output = lines[len(lines)-1]
	}
	output = strings.TrimSpace(strings.TrimPrefix(output, "hop: "))
	if len(output) > 2000 {
		output = output[:2000]
	}
	return strings.ToValidUTF8(output, "")
}

// Output returns what a job has said from a byte on, whole lines, and where they end. Once
// it has ended that is everything.
func (c *Control) Output(id string, at int64, ended bool) (text string, next int64, err error) {
	dir, err := c.dir(id)
	if err != nil {
		return "", at, err
	}
	f, err := disk.Open(filepath.Join(dir, outputFile))
	if err != nil {
		return "", at, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, max(0, at), 1<<18))
	if err != nil {
		return "", at, err
	}
	if !ended || len(b) == 1<<18 {
		b = b[:strings.LastIndexByte(string(b), '\n')+1]
	}
	return strings.ToValidUTF8(string(b), "?"), max(0, at) + int64(len(b)), nil
}

// Line writes a command as one would type it, quoted for a shell where needed.
func Line(words []string) string {
	line := []string{"hop"}
	for _, w := range words {
		if w == "" || strings.ContainsFunc(w, func(r rune) bool {
			return !strings.ContainsRune("-_./=,:+@%", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		}) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		line = append(line, w)
	}
	return strings.Join(line, " ")
}

// Where it is written down who did what: in a file of the served folder that only grows,
// and one before it.
const (
	logFile  = ".hop-serve/log.jsonl"
	oldLog   = ".hop-serve/log.1.jsonl"
	maxLog   = 1 << 20 // bytes, from which on it is the one before
	maxEntry = 16 << 10
)

// Entry is a line of the log: something that somebody asked for.
type Entry struct {
	At   time.Time `json:"at"`
	Role string    `json:"role"`
	From string    `json:"from"` // address
	Did  string    `json:"did"`  // start, stop, label
	What string    `json:"what"` // the command line, or what was changed
}

// Note writes an entry into the log of a folder. What cannot be written down must not be
// done: it is called before.
func (c *Control) Note(folder int, e Entry) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.At = time.Now().UTC().Truncate(time.Second)
	if len(e.What) > maxEntry/2 {
		e.What = strings.ToValidUTF8(e.What[:maxEntry/2], "") + "..."
	}
	b, err := json.Marshal(e)
	if err == nil {
		err = c.appendLog(c.folders[folder], append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("nothing was done, because %s, in which it is written down who did what, cannot be written: %w", logFile, err)
	}
	return nil
}

func (c *Control) appendLog(root string, line []byte) error {
	name := filepath.Join(root, filepath.FromSlash(logFile))
	if err := disk.Make(filepath.Dir(name)); err != nil {
		return err
	}
	if _, err := disk.Below(root, filepath.Dir(logFile)); err != nil {
		return err // a link that leads elsewhere
	}
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return errors.New("it is no file")
	} else if err == nil && info.Size()+int64(len(line)) > maxLog {
		if err := os.Rename(name, filepath.Join(root, filepath.FromSlash(oldLog))); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Close())
}

// Log returns the last entries of all folders, newest first.
func (c *Control) Log(most int) []Entry {
	var list []Entry
	for _, root := range c.folders {
		for _, name := range []string{oldLog, logFile} {
			path, err := disk.Below(root, name)
			if err != nil {
				continue
			}
			b, err := disk.Read(path, 2*maxLog)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				list = append(list, Entry{Did: "?", What: fmt.Sprintf("%s cannot be read", name)})
			}
			for line := range bytes.Lines(b) {
				var e Entry
				if json.Unmarshal(line, &e) == nil { // the last one may be half, after a crash
					list = append(list, e)
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Entry) int { return b.At.Compare(a.At) })
	return list[:min(len(list), most)]
}
