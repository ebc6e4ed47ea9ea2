// Package deps writes down how the house is built: its groups, which package may import
// which, and what no package may call. Its tests hold the code to it.
//
// A group imports only groups above it in the list; inside a group a package imports only
// packages above it. To move a package or to break a rule, change this file in the same
// commit and argue in its message.
package deps

// Module is what import paths of ours begin with.
const Module = "github.com/hop-marl/hop/"

// Group is a folder at the top.
type Group struct {
	Name, Says string
	Packages   []string // lowest first
}

// Groups are the folders with packages in them, lowest first.
var Groups = []Group{
	{"num", "Numbers, files of numbers, pictures of numbers; knows nothing of games.", []string{
		"num/config", "num/cores", "num/cpu", "num/disk", "num/f32", "num/film", "num/npz", "num/rng", "num/safetensors",
		"num/disk/disktest", "num/nn", "num/stats", "num/check", "num/nn/nnbench", "num/nn/nntest", "num/plot",
	}},
	{"game", "Games, who plays them, what they see, what is best in them.", []string{
		"game", "game/agent", "game/bridge", "game/frame", "game/batch", "game/gametest", "game/grid", "game/script", "game/rules",
		"game/cartpole", "game/inmatrix",
		"game/matrix", "game/cleanup", "game/coin", "game/commons", "game/foraging", "game/snowdrift", "game/staghunt", "game/tag",
		"game/rollout", "game/oracle", "game/stranger", "game/pyenv", "game/pybot",
	}},
	{"store", "What lies on disk.", []string{"store/card", "store/runlog", "store/stage", "store/trust", "store/dataset", "store/played"}},
	{"model", "Networks.", []string{
		"model", "model/actor", "model/cvae", "model/moa", "model/vae", "model/vector", "model/world", "model/sequence",
	}},
	{"search", "Beliefs and trees.", []string{"search", "search/belief", "search/learned", "search/truth", "search/hunt", "search/bandit",
		"search/unknown", "search/unseen"}},
	{"agent", "Who learns.", []string{
		"agent/hop/pretrained", "agent/learner", "agent/imagine", "agent/ppo", "agent/hop", "agent/influence", "agent/lola", "agent/rl2",
	}},
	{"train", "The spec, the loop, what is learnt before it.", []string{
		"train", "train/eval", "train/pretrain", "train/pretrain/score", "train/pretrain/score/chance", "train/prepare",
		"train/spec", "train/pretrain/score/lives", "train/registry", "train/spec/names", "train/spec/spectest",
	}},
	{"audit", "Is it right, and if not, where.", []string{
		"audit/ladder", "audit/record", "audit/reference", "audit/check", "audit/probe", "audit",
	}},
	{"lab", "Experiments as Go calls, and their pages.", []string{
		"lab/bench", "lab/onnx", "lab/report/adapted", "lab/report/cross", "lab/report/sweeps",
		"lab/sweep/design", "lab/sweep/hub", "lab/zoo", "lab/play", "lab/report", "lab/sweep/queue", "lab/films",
		"lab/sweep/worker", "lab", "lab/compare", "lab/export", "lab/sweep", "lab/scale",
	}},
	{"serve", "Browser and Python.", []string{
		"serve/auth", "serve/cache", "serve/games", "serve/jobs", "serve/runs", "serve/words", "serve/curve", "serve/replay", "serve",
	}},
	{"cmd", "The command line.", []string{
		"cmd/cli/board", "cmd/cli/complete", "cmd/cli", "cmd/hop",
	}},
}

// Beside are the other folders at the top.
var Beside = []Group{
	{Name: "cuda", Says: "The program hop-cuda, which learns and acts on a graphics card: a module of its own, since it links to the system."},
	{Name: "python", Says: "The Python package, its tests and its wheels."},
	{Name: "docs", Says: "Pages for users, and what they were measured with."},
	{Name: "examples", Says: "Programs of others: a game and a learner from outside, HOP's baselines, a cluster, Axelrod's library."},
	{"internal", "What nobody outside needs: this plan, planted slips, browser tests, tools.", []string{
		"internal/deps", "internal/deps/house", "internal/mutants", "internal/mutants/cmd", "internal/mutants/subject",
		"internal/numbers", "internal/platforms", "internal/site",
	}},
}

// Early are packages that stand lower than their group: after all of another one. Learners
// and specs say by audit/reference what an audit must hold them to.
var Early = map[string]string{"audit/reference": "game"}

// Trees are the private parts of a package, which it alone imports.
var Trees = []string{"num/f32/internal/", "num/nn/internal/"}

// Bar is an import that is wrong although it leads upwards in the list.
type Bar struct {
	From string // a package, or with /... all below a folder too
	To   []string
	Why  string
}

var (
	games = []string{
		"game/cartpole", "game/inmatrix", "game/matrix", "game/cleanup", "game/coin", "game/commons", "game/foraging", "game/snowdrift",
		"game/staghunt", "game/tag",
	}
	learners = []string{
		"agent/ppo", "agent/hop", "agent/imagine", "agent/lola", "agent/influence", "agent/rl2",
	}
)

// Barred lists them.
var Barred = []Bar{
	{"model/...", append([]string{"game", "game/grid"}, games...), "models see arrays, never games"},
	{"game/grid", []string{"game/batch"}, "games know nothing of how they are recorded"},
	{"train", learners, "the loop knows what a learner is, not which there are"},
	{"train/spec", games, "specs are wired from a registry; only train/registry lists games"},
	{"train/spec", []string{"agent/hop", "agent/lola", "agent/influence"},
		"specs are wired from a registry; only train/registry lists learners"},
	{"search/truth", games, "rules made for one game's search are named by its registry entry"},
	{"game/oracle", games, "best responses in one game are named by its registry entry"},
	{"search/truth", []string{"model"}, "the real rules need no networks; search/learned is where trees and networks meet"},
}

// Ban is something that only some files may use.
type Ban struct {
	Name, Why string
	Except    []string // prefixes of paths
}

// ForbiddenImports lists packages.
var ForbiddenImports = []Ban{
	{"math/rand", "random numbers come from rng", nil},
	{"math/rand/v2", "random numbers come from rng", nil},
	{"log", "packages return numbers and errors; the command line prints", nil},
	{"log/slog", "packages return numbers and errors; the command line prints", []string{"cmd/"}},
	{"C", "no cgo", nil},
}

// clocks may read the clock.
var clocks = []string{"cmd/", "lab/", "num/cpu/", "internal/mutants/cmd/", "internal/numbers/", "store/runlog/", "serve/"}

// ForbiddenCalls lists functions.
var ForbiddenCalls = []Ban{
	{"time.Now", "no clock below lab reaches a number", clocks},
	{"time.Since", "no clock below lab reaches a number", clocks},
	{"fmt.Print", "packages do not print", []string{"cmd/", "internal/"}},
	{"fmt.Println", "packages do not print", []string{"cmd/", "internal/"}},
	{"fmt.Printf", "packages do not print", []string{"cmd/", "internal/"}},
	{"os.Exit", "only programs exit", []string{"cmd/cli/main.go", "examples/baselines/main.go", "internal/", "cuda/kernels/generate/"}},
}
