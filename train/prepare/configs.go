package prepare

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/hop-marl/hop/game/script"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/train/pretrain"
)

// Collect says who plays for a dataset.
type Collect struct {
	Mix        []string `yaml:"mix" doc:"two bots: teams of 0..n of the first, the rest of the second, in turn" unit:"BOT"`
	Among      []string `yaml:"among" doc:"some bots, texts of the game's language, or a split of the strangers such as train@1: each agent is any of them, drawn anew for each life" unit:"BOT"`
	Team       []string `yaml:"team" doc:"one bot a seat, or one for all, in every episode" unit:"BOT"`
	Agents     Folder   `yaml:"agents" doc:"run whose final agents play, in its game" unit:"RUN"`
	Population Folder   `yaml:"population" doc:"response network (hop pretrain response) whose population plays: teams of those that it learnt among and of itself" unit:"RUN"`
	Life       int      `yaml:"life" doc:"episodes that a team stays together before the next is drawn" range:"1.."`
	Zoo        Folder   `yaml:"zoo" doc:"folder of hop zoo train, if the population has members of it" unit:"DIR"`
	Rows       int      `yaml:"rows" doc:"stop at the first whole episode that reaches so many rows" range:"1.."`
	Seed       uint64   `yaml:"seed" doc:"all random numbers follow from it"`
	Shard      int      `yaml:"shard" doc:"the most rows in one file; 0: 32768" range:"0.."`
	Workers    int      `yaml:"workers" doc:"cores to use; 0: all; the files are the same" range:"0.."`
}

// DefaultCollect returns the settings of docs/data.md; who plays is for its user to say.
func DefaultCollect() Collect { return Collect{Life: 1, Rows: 107_000, Seed: 1} }

// Validate returns everything that is wrong, joined.
func (c *Collect) Validate() error {
	errs := []error{config.Check(c)}
	if len(c.Mix) != 0 && len(c.Mix) != 2 {
		errs = append(errs, config.Bad("mix", c.Mix, "two bots"))
	}
	who := 0
	for _, given := range []bool{len(c.Mix) > 0, len(c.Among) > 0, len(c.Team) > 0, c.Agents != "", c.Population != ""} {
		if given {
			who++
		}
	}
	if who != 1 {
		errs = append(errs, &config.Fault{Path: "mix", Value: []string{"not said", "not all that is said"}[min(who, 1)],
			Want: "two bots, or some in among, a team, a run in agents, or a response network in population"})
	}
	return errors.Join(errs...)
}

// Met returns the bots that play.
func (c *Collect) Met() []string { return slices.Concat(c.Mix, c.Among, c.Team) }

// MOA says how a model of what others do next learns.
type MOA struct {
	Data               Folder `yaml:"data" doc:"folder of a dataset" unit:"DIR" need:"yes"`
	pretrain.MOAConfig `yaml:",inline"`
	CVAE               Folder `yaml:"cvae" doc:"folder of hop pretrain cvae, the inference of goals; for condition kind" unit:"RUN"`
	Beside             Folder `yaml:"beside" doc:"run whose agents' own models of each other are scored on the same rows" unit:"RUN"`
	Seed               uint64 `yaml:"seed" doc:"all random numbers follow from it; the same seed holds out the same episodes of a dataset"`
}

// DefaultMOA returns the settings of docs/opponents.md.
func DefaultMOA() MOA { return MOA{MOAConfig: pretrain.DefaultMOA(), Seed: 1} }

// Validate returns everything that is wrong, joined.
func (c *MOA) Validate() error { return sound(c, c.MOAConfig.Validate()) }

// plain returns the defaults: convolutions read the board as it is.
func (c *MOA) plain() Config {
	plain := DefaultMOA()
	if c.Model.Net == "conv" {
		plain.Model.Frame = "board"
	}
	return &plain
}

// Short adds flags.
func (c *MOA) Short() []config.Short {
	return []config.Short{{Name: "net", Path: "model.net"}, {Name: "history", Path: "model.history", Sets: "64"}}
}

// Sequence says how a model that reads whole lives learns.
type Sequence struct {
	Data                    Folder `yaml:"data" doc:"folder of a dataset of lives (hop collect --life)" unit:"DIR" need:"yes"`
	pretrain.SequenceConfig `yaml:",inline"`
	Beside                  []Folder `yaml:"beside" doc:"folder of another hop pretrain sequence, scored on the same lives" unit:"RUN"`
	Seed                    uint64   `yaml:"seed" doc:"all random numbers follow from it; the same seed holds out the same lives of a dataset"`
}

// DefaultSequence returns the settings of docs/opponents.md.
func DefaultSequence() Sequence { return Sequence{SequenceConfig: pretrain.DefaultSequence(), Seed: 1} }

// Validate returns everything that is wrong, joined.
func (c *Sequence) Validate() error {
	return sound(c, c.SequenceConfig.Validate())
}

// Short adds flags.
func (c *Sequence) Short() []config.Short {
	return []config.Short{{Name: "history", Path: "model.history"}, {Name: "forget", Path: "model.across", Sets: "false"}}
}

// VAE says how codes of states are learnt.
type VAE struct {
	Data               Folder `yaml:"data" doc:"folder of a dataset" unit:"DIR" need:"yes"`
	pretrain.VAEConfig `yaml:",inline"`
	Seed               uint64 `yaml:"seed" doc:"all random numbers follow from it; the same seed holds out the same episodes of a dataset"`
}

// DefaultVAE returns the settings of docs/opponents.md for a loss.
func DefaultVAE(loss string) VAE { return VAE{VAEConfig: pretrain.DefaultVAE(loss), Seed: 1} }

// Validate returns everything that is wrong, joined.
func (c *VAE) Validate() error { return sound(c, c.VAEConfig.Validate()) }

// plain returns the defaults, which follow from the loss.
func (c *VAE) plain() Config {
	plain := DefaultVAE(c.Model.Loss)
	plain.Model.Loss = "a"
	return &plain
}

// Short adds flags.
func (c *VAE) Short() []config.Short {
	return []config.Short{{Name: "loss", Path: "model.loss"}, {Name: "dim", Path: "model.dim"}, {Name: "discrete", Path: "model.discrete"}}
}

// CVAE says how the inference of subgoals from history is learnt.
type CVAE struct {
	Data                Folder `yaml:"data" doc:"folder of a dataset" unit:"DIR" need:"yes"`
	VAE                 Folder `yaml:"vae" doc:"run of hop pretrain vae whose codes are the subgoals" unit:"RUN" need:"yes"`
	pretrain.CVAEConfig `yaml:",inline"`
	Seed                uint64 `yaml:"seed" doc:"all random numbers follow from it; the same seed holds out the same episodes of a dataset"`
}

// DefaultCVAE returns the settings of docs/opponents.md.
func DefaultCVAE() CVAE { return CVAE{CVAEConfig: pretrain.DefaultCVAE(), Seed: 1} }

// Validate returns everything that is wrong, joined.
func (c *CVAE) Validate() error {
	return sound(c, c.CVAEConfig.Validate())
}

// World says how a model of the rules learns.
type World struct {
	Data                 []Folder `yaml:"data" doc:"folders of datasets, all of one game" unit:"DIR" need:"yes"`
	pretrain.WorldConfig `yaml:",inline"`
	Probe                int    `yaml:"probe" doc:"steps of new episodes, by teams of all bots, to look for illegal transitions in" range:"1.."`
	Plays                int    `yaml:"plays" doc:"random plays to follow on the model's own predictions, step after step" range:"1.."`
	Beside               Folder `yaml:"beside" doc:"folder of another world model, shown beside this one in one picture" unit:"RUN"`
	Fault                string `yaml:"fault" doc:"a mistake planted on purpose, to see which events it breaks (docs/world.md)" oneof:"none|seat_order|no_end|mean_pool"`
	Seed                 uint64 `yaml:"seed" doc:"all random numbers follow from it; the same seed holds out the same episodes of a dataset"`
}

// DefaultWorld returns the settings of docs/world.md.
func DefaultWorld() World {
	return World{WorldConfig: pretrain.DefaultWorld(), Probe: 100_000, Plays: 1000, Fault: world.NoFault, Seed: 1}
}

// Validate returns everything that is wrong, joined.
func (c *World) Validate() error {
	return sound(c, c.WorldConfig.Validate())
}

// Short adds flags.
func (c *World) Short() []config.Short {
	return []config.Short{{Name: "variant", Path: "model.variant"}}
}

// Response says how a response network learns.
type Response struct {
	pretrain.ResponseConfig `yaml:",inline"`
	Zoo                     Folder `yaml:"zoo" doc:"folder of a zoo (hop zoo train): the co-players are its members that are not held out, then random and copies of the network, unless who says otherwise" unit:"DIR"`
	Episodes                int    `yaml:"episodes" doc:"fresh episodes of every team to score it by" range:"1.."`
	Seed                    uint64 `yaml:"seed" doc:"all random numbers follow from it"`
	Workers                 int    `yaml:"workers" doc:"cores to use; 0: all; numbers do not depend on it" range:"0.."`
}

// DefaultResponse returns the settings of docs/planning.md.
func DefaultResponse() Response {
	return Response{ResponseConfig: pretrain.DefaultResponse(), Episodes: 500, Seed: 1}
}

// Validate returns everything that is wrong, joined.
func (c *Response) Validate() error {
	return sound(c, c.ResponseConfig.Validate())
}

// Met returns whom it learns to answer, as far as they are named.
func (c *Response) Met() []string { return c.Who }

// Zoo says which co-players are trained.
type Zoo struct {
	Who     []string `yaml:"who" doc:"members to train and to learn from, such as selfish-1, selfish-1-young or a kind alone; all: one of every kind; none: learners of several rewards, seeds and ages, and others held out" unit:"NAME"`
	Hold    []string `yaml:"hold" doc:"members that nobody may learn from, to be strangers later; as who" unit:"NAME"`
	Best    bool     `yaml:"best" doc:"also train, for each of them, a PPO best response to a team of it, hop adapt's reference"`
	Steps   int      `yaml:"steps" doc:"env steps of each; 0: 200,000, or as a preset that fades rewards in, at most two million" range:"0.."`
	Seed    uint64   `yaml:"seed" doc:"the first seed"`
	Workers int      `yaml:"workers" doc:"cores to use; 0: all; numbers do not depend on it" range:"0.."`
}

// DefaultZoo returns the settings of docs/zoo.md.
func DefaultZoo() Zoo { return Zoo{Seed: 1} }

// Validate returns everything that is wrong, joined.
func (c *Zoo) Validate() error { return config.Check(c) }

// Adapt says whom agents meet, and how.
type Adapt struct {
	VS        []string     `yaml:"vs" doc:"the co-players, one for each other seat or one for all: bots, texts of the game's language, members or kinds of the zoo, RUN#AGENT, played:FOLDER, or a policy in Python, py:MODULE:FUNCTION or FILE.onnx" unit:"WHO"`
	Trios     string       `yaml:"trios" doc:"several trios: six for the six of bots; or trios separated by spaces" unit:"six"`
	Strangers string       `yaml:"strangers" doc:"the co-players of a split in place of those: as many of each as there are other seats; train, validation or test" unit:"test"`
	LearnBest bool         `yaml:"learn_best" doc:"where a best response cannot be solved, also let a PPO learn against these very co-players, ten seconds of a core and more for each; kept in the user's cache"`
	LeaveOut  []string     `yaml:"leave_out" doc:"strangers that are made with one of these words, bots or things are not met" unit:"WORD"`
	Some      int          `yaml:"some" doc:"so many of the strangers, evenly spread over their list; 0: all" range:"0.."`
	Then      []string     `yaml:"then" doc:"who takes the co-players' places later" unit:"WHO"`
	AtEpisode int          `yaml:"at_episode" doc:"the first episode with those of then" range:"1.."`
	Zoo       Folder       `yaml:"zoo" doc:"folder of learnt co-players (hop zoo train); none: zoo. With strangers, its members of that split are met too" unit:"DIR"`
	Learn     string       `yaml:"learn" doc:"what goes on learning: nothing, beliefs, moa (the model of others), policy, all" oneof:"nothing|beliefs|moa|policy|all"`
	Every     int          `yaml:"every" doc:"steps between two updates of what learns" range:"0.."`
	Steps     int          `yaml:"steps" doc:"env steps of a life: one meeting with the co-players" range:"1.."`
	Last      int          `yaml:"last" doc:"the last steps, which are scored" range:"1.."`
	Lives     int          `yaml:"lives" doc:"how often each seed lives it, with other starts" range:"1.."`
	Seeds     config.Seeds `yaml:"seeds" doc:"seeds of the lives, such as 1-5; none: as many as a run has seeds" unit:"1-5"`
	Agent     int          `yaml:"agent" doc:"which agent of a run" range:"0.."`
	Starts    int          `yaml:"starts" doc:"where a co-player acts at random, solving a start is slow: at most so many of a seed are solved and scored" range:"0.."`
	Workers   int          `yaml:"workers" doc:"cores to use; 0: all; numbers do not depend on it" range:"0.."`
}

// DefaultAdapt returns the settings of docs/adaptation.md; whom they meet is for its user to say.
func DefaultAdapt() Adapt {
	return Adapt{AtEpisode: 10, Learn: "beliefs", Every: 200, Steps: 2400, Last: 600, Lives: 16, Starts: 128}
}

// Validate returns everything that is wrong, joined.
func (c *Adapt) Validate() error {
	errs := []error{config.Check(c)}
	if c.Last > c.Steps {
		errs = append(errs, config.Bad("last", c.Last, "some of the steps, at most all"))
	}
	said := 0
	for _, by := range []bool{len(c.VS) > 0, c.Trios != "", c.Strangers != ""} {
		if by {
			said++
		}
	}
	if said != 1 {
		errs = append(errs, config.Bad("trios", c.Trios,
			"several trios, such as six; or the co-players in vs; or a split of strangers; one of the three"))
	}
	if len(c.LeaveOut) > 0 && c.Strangers == "" {
		errs = append(errs, config.Bad("leave_out", c.LeaveOut, "a split of strangers, of which some are left out"))
	}
	return errors.Join(errs...)
}

// ZooFolder returns the folder in which members of a zoo are looked for.
func (c *Adapt) ZooFolder() string { return string(cmp.Or(c.Zoo, "zoo")) }

// players returns all who may be agents of runs.
func (c *Adapt) players() []string {
	return slices.Concat(c.VS, c.Then, slices.Concat(c.Teams()...))
}

// six are the trios of bots that docs/adaptation.md shows.
const six = "ns,ns,ns nh,nh,nh random,random,random ns,nh,nh ns,ns,random nh,ns,random"

// Teams returns the co-players of each meeting.
func (c *Adapt) Teams() (list [][]string) {
	if len(c.VS) > 0 {
		return [][]string{c.VS}
	}
	text := c.Trios
	if text == "six" {
		text = six
	}
	for _, t := range strings.Fields(text) {
		list = append(list, script.Split(t))
	}
	return list
}

// sound returns what tags find wrong with a config, and what else does.
func sound(c Config, also ...error) error {
	all := config.Split(config.Check(c))
	for _, err := range config.Split(errors.Join(also...)) {
		if !slices.ContainsFunc(all, func(e error) bool { return e.Error() == err.Error() }) {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}
