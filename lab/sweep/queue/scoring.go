package queue

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hop-marl/hop/game/pybot"
	"github.com/hop-marl/hop/num/disk"
)

// Scoring is what a job of kind Score says: one agent among as many of one stranger as there are other seats. Names are
// texts of the game's language, or of bots and thinkers; none is a path.
type Scoring struct {
	Who      string          `json:"who,omitempty"` // empty: the agents that the job reads at AgentAt
	Sum      string          `json:"sum,omitempty"` // of that folder
	Stranger string          `json:"stranger"`
	Game     json.RawMessage `json:"game"`          // with all its parameters
	Set      []string        `json:"set,omitempty"` // changes to the run's game, and to how its agents think
	Seeds    []uint64        `json:"seeds"`         // of the lives
	Known    []string        `json:"known,omitempty"`
	Terms
}

// Terms say how agents and strangers meet, in all jobs of a sweep alike.
type Terms struct {
	Split    string   `json:"split"` // whose co-players the observer knows
	LeaveOut []string `json:"leave_out,omitempty"`
	Learn    string   `json:"learn"`
	Every    int      `json:"every"`
	Steps    int      `json:"steps"`
	Last     int      `json:"last"`
	Lives    int      `json:"lives"`
	Agent    int      `json:"agent"`
	Starts   int      `json:"starts"`
}

// AgentAt is where a job finds the agents' folder.
const AgentAt = "in/agent"

// Most of what a job of kind Score may be.
const (
	MostScoring = 1 << 20 // bytes
	mostLives   = 1 << 16
	mostSteps   = 1 << 30
	mostSeeds   = 10_000
	mostTexts   = 10_000
)

// playerText is how a co-player, a bot or a thinker may be called: nothing in it leads to a file.
var (
	playerText = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.,()=+*<>!-]{0,999}$`)
	folderSum  = regexp.MustCompile(`^[0-9a-f]{64}$`)
	splitText  = regexp.MustCompile(`^[a-z]{1,20}(@[0-9]{1,6})?$`)
	word       = regexp.MustCompile(`^[a-z_]{1,20}$`)
)

// Player returns what is wrong with a name that a job may say.
func Player(name string) error {
	if !playerText.MatchString(name) || pybot.Is(name) {
		return fmt.Errorf("%.100q is no bot, no thinker and no text of a game's language", name)
	}
	return nil
}

// Validate returns what is wrong with it.
func (s *Scoring) Validate() error {
	errs := []error{Player(s.Stranger), s.Terms.validate()}
	for _, name := range slices.Concat(s.Known, s.LeaveOut) {
		errs = append(errs, Player(name))
	}
	for _, set := range s.Set {
		errs = append(errs, setting(set), inside(set))
	}
	switch {
	case s.Who != "":
		errs = append(errs, Player(s.Who))
		if s.Sum != "" {
			errs = append(errs, errors.New("it names both somebody and a folder"))
		}
	case !folderSum.MatchString(s.Sum):
		errs = append(errs, fmt.Errorf("the sum of its agents' folder is %.70q", s.Sum))
	}
	if n := len(s.Seeds); n == 0 || n > mostSeeds || len(s.Known)+len(s.LeaveOut) > mostTexts || len(s.Set) > mostTexts {
		errs = append(errs, fmt.Errorf("it has %d seeds, %d names and %d settings, want 1 to %d, and at most %d", n,
			len(s.Known)+len(s.LeaveOut), len(s.Set), mostSeeds, mostTexts))
	}
	for i, seed := range s.Seeds {
		if seed >= 1<<63 || slices.Contains(s.Seeds[:i], seed) {
			errs = append(errs, fmt.Errorf("seed %d is too large, or stands there twice", seed))
		}
	}
	var game map[string]any
	if json.Unmarshal(s.Game, &game) != nil || game["name"] == nil {
		errs = append(errs, errors.New("its game is none"))
	}
	if b, err := json.Marshal(s); err != nil || len(b) > MostScoring {
		errs = append(errs, fmt.Errorf("it has %d bytes, want at most %d", len(b), MostScoring))
	}
	return errors.Join(errs...)
}

func (t *Terms) validate() error {
	switch {
	case !splitText.MatchString(t.Split):
		return fmt.Errorf("there is no split %.50q", t.Split)
	case !word.MatchString(t.Learn):
		return fmt.Errorf("what goes on learning is %.50q", t.Learn)
	case t.Lives < 1 || t.Lives > mostLives || t.Steps < 1 || t.Steps > mostSteps || t.Last < 1 || t.Last > t.Steps || t.Every < 0 ||
		t.Every > mostSteps || t.Starts < 0 || t.Starts > mostSteps || t.Agent < 0 || t.Agent > 1<<10:
		return fmt.Errorf("%d lives of %d steps, of which the last %d count, are out of bounds, or one of its other numbers is", t.Lives,
			t.Steps, t.Last)
	}
	return nil
}

// ID is the sum of what is asked for, by which what is handed in is known.
func (s *Scoring) ID() string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // it was validated
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// ReadScoring reads what a worker has written into a job's folder.
func ReadScoring(name string) (*Scoring, error) {
	s := &Scoring{}
	b, err := disk.Read(name, 2*MostScoring)
	if err == nil {
		err = strict(b, s)
	}
	if err == nil {
		err = s.Validate()
	}
	return s, err
}

// reads says whether a job of kind Score reads its agents, and nothing else.
func (s *Scoring) reads(needs []Need) bool {
	if s.Who != "" {
		return len(needs) == 0
	}
	return len(needs) == 1 && needs[0].At == AgentAt && needs[0].Sub == ""
}

// scoring says what of a job of kind Score does not go with it.
func (j *Job) scoring() error {
	switch {
	case j.Score == nil || j.Spec != "" || j.Stage != "" || j.Seed != 0 || j.Until != 0 || len(j.Do) > 0 || len(j.Specs) > 0 || j.Begin != "":
		return fmt.Errorf("its fields are not those of a job of kind %s", j.Kind)
	case !j.Score.reads(j.Needs):
		return fmt.Errorf("it reads something else than its agents at %s", AgentAt)
	}
	if err := j.Score.Validate(); err != nil {
		return fmt.Errorf("it is refused: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return nil
}
