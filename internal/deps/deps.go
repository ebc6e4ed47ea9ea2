// Package deps writes down which package may import which, and what no package
// may call. Its tests hold the code to it.
//
// A package imports only from lower floors. To move a package or to break a
// rule, change this file in the same commit and argue in its message.
package deps

// Floors gives each package its floor.
var Floors = map[string]int{
	"rng": 0, "f32": 0, "field": 0, "npz": 0, "film": 0, "safetensors": 0, "internal/deps": 0, "num/cpu": 0, "num/cores": 0,
	"num/disk": 0, "num/wait": 0, "internal/mutants": 0,
	"lab/zoo": 1, "lab/sweep/design": 1, "lab/sweep/hub": 1, "lab/sweep/queue": 2, "lab/sweep/worker": 3,
	"agent": 1, "game": 1, "stats": 1, "nn": 1, "stage": 1, "trust": 1, "frame": 1, "bridge": 1, "num/disk/disktest": 1,
	"page": 2, "belief": 2, "game/grid": 2, "batch": 2, "plan": 2, "num/nn/nntest": 2, "num/nn/nnbench": 2, "check": 2,
	"runlog": 3, "game/staghunt": 3, "game/snowdrift": 3, "game/coin": 3, "game/cleanup": 3, "game/foraging": 3,
	"game/tag": 3, "game/pyenv": 4, "game/matrix": 3, "game/cartpole": 3, "game/gametest": 3, "rollout": 3,
	"game/rules": 3, "audit/record": 3, "audit/reference": 3,
	"model": 4, "dataset": 4, "oracle": 4, "search/truth": 4, "card": 4,
	"model/actor": 5, "model/moa": 5, "model/world": 5, "model/vae": 5, "model/cvae": 5, "model/sequence": 6, "eval": 5,
	"play":            5,
	"lab/play/canvas": 0, "lab/play/keys": 0,
	"search/learned": 6, "mind": 6, "onnx": 6,
	"ppo": 7, "train": 7, "agent/imagine": 7,
	"agent/hop": 8, "agent/hop/pretrained": 7,
	"agent/lola": 8, "agent/influence": 8,
	"agent/a3c": 8, "agent/pr2": 8, "agent/rl2": 8, "pretrain": 8, "exp": 8,
	"train/pretrain/sketch": 8, "train/pretrain/score": 9, "train/pretrain/score/chance": 9, "train/pretrain/score/lives": 10,
	"registry": 9, "train/spec/names": 9, "report": 9, "lab/report/cross": 9, "lab/report/sweeps": 9,
	"lab/report/adapted": 8, "audit/probe": 9, "audit/check": 10, "audit/ladder": 9, "audit": 11,
	"lab/bench": 9, "cmd/cli/board": 9, "cmd/cli/complete": 9, "cmd/cli/visit": 9, "cmd/cli/stop": 10, "lab/films": 10,
	"train/spec/exptest": 10, "lab": 11,
	"lab/prepare": 12, "lab/compare": 12, "lab/adapt": 12, "lab/export": 12, "lab/attempt": 12, "lab/scale": 13, "sweep": 13,
	"serve/games":  13,
	"serve/cache":  11,
	"serve/words":  12,
	"serve/runs":   12,
	"serve/curve":  12,
	"serve/auth":   12,
	"serve/jobs":   13,
	"serve/replay": 13,
	"serve":        14,
	"cli":          15,
	"cmd/hop":      16, "internal/mutants/cmd": 16, "internal/mutants/probe": 16, "lab/sweep/faults": 16,
}

// Trees gives packages below a folder one floor.
var Trees = map[string]int{"f32/internal": 0, "nn/internal": 0}

// Bar is an import that is wrong although it leads downwards.
type Bar struct{ From, To, Why string }

// Barred lists them.
var Barred = []Bar{
	{"model", "game", "models see arrays, never games"},
	{"game", "batch", "games know nothing of how they are recorded"},
	{"train", "ppo", "the loop knows minds, not kinds of minds"},
	{"train", "agent/hop", "the loop knows minds, not kinds of minds"},
	{"train", "agent/lola", "the loop knows minds, not kinds of minds"},
	{"train", "agent/influence", "the loop knows minds, not kinds of minds"},
	{"train", "agent/a3c", "the loop knows minds, not kinds of minds"},
	{"train", "agent/pr2", "the loop knows minds, not kinds of minds"},
	{"train", "agent/imagine", "the loop knows minds, not kinds of minds"},
	{"exp", "agent/hop", "specs are wired from a registry; only registry lists kinds of minds"},
	{"exp", "agent/lola", "specs are wired from a registry; only registry lists kinds of minds"},
	{"exp", "agent/influence", "specs are wired from a registry; only registry lists kinds of minds"},
	{"exp", "agent/a3c", "specs are wired from a registry; only registry lists kinds of minds"},
	{"exp", "agent/pr2", "specs are wired from a registry; only registry lists kinds of minds"},
	{"exp", "game/staghunt", "specs are wired from a registry; only registry lists games"},
	{"search/truth", "model", "the real rules need no networks; plan itself is below models, and plan/learned is where they meet"},
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
	{"log", "packages return numbers and errors; cli prints", nil},
	{"log/slog", "packages return numbers and errors; cli prints", []string{"cli/"}},
	{"C", "no cgo", nil},
}

// clocks may read the clock.
var clocks = []string{"cli/", "lab/", "num/cpu/", "internal/mutants/cmd/", "runlog/", "play/", "serve/", "sweep/"}

// ForbiddenCalls lists functions.
var ForbiddenCalls = []Ban{
	{"time.Now", "no clock below lab reaches a number", clocks},
	{"time.Since", "no clock below lab reaches a number", clocks},
	{"fmt.Print", "packages do not print", []string{"cli/", "internal/mutants/"}},
	{"fmt.Println", "packages do not print", []string{"cli/", "internal/mutants/"}},
	{"fmt.Printf", "packages do not print", []string{"cli/", "internal/mutants/"}},
	{"os.Exit", "only programs exit", []string{"cmd/cli/main.go", "cmd/cli/stop/", "internal/mutants/"}},
}
