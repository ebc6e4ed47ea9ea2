// Package deps writes down which package may import which, and what no package
// may call. Its tests hold the code to it.
//
// A package imports only from lower floors. To move a package or to break a
// rule, change this file in the same commit and argue in its message.
package deps

// Floors gives each package its floor.
var Floors = map[string]int{
	"rng": 0, "f32": 0, "field": 0, "npz": 0, "film": 0, "safetensors": 0, "internal/deps": 0, "internal/cpu": 0, "internal/cores": 0,
	"internal/disk": 0, "internal/wait": 0, "internal/mutants": 0,
	"lab/zoo": 1, "sweep/design": 1, "sweep/hub": 1, "sweep/queue": 2, "sweep/worker": 3,
	"agent": 1, "game": 1, "stats": 1, "nn": 1, "stage": 1, "trust": 1, "frame": 1, "bridge": 1, "internal/disk/disktest": 1,
	"page": 2, "belief": 2, "game/grid": 2, "batch": 2, "plan": 2, "nn/nntest": 2, "nn/nnbench": 2, "check": 2,
	"runlog": 3, "game/staghunt": 3, "game/snowdrift": 3, "game/coin": 3, "game/cleanup": 3, "game/foraging": 3,
	"game/tag": 3, "bridge/pyenv": 4, "game/matrix": 3, "game/cartpole": 3, "game/gametest": 3, "rollout": 3,
	"game/rules": 3, "audit/record": 3, "audit/reference": 3,
	"model": 4, "dataset": 4, "oracle": 4, "plan/truth": 4, "card": 4,
	"model/actor": 5, "model/moa": 5, "model/world": 5, "model/vae": 5, "model/cvae": 5, "model/sequence": 6, "eval": 5,
	"play":        5,
	"play/canvas": 0, "play/keys": 0,
	"plan/learned": 6, "mind": 6, "onnx": 6,
	"ppo": 7, "train": 7, "mind/imagine": 7,
	"mind/hop": 8, "mind/hop/pretrained": 7,
	"mind/lola": 8, "mind/influence": 8,
	"mind/a3c": 8, "mind/pr2": 8, "mind/rl2": 8, "pretrain": 8, "exp": 8,
	"pretrain/sketch": 8, "pretrain/score": 9, "pretrain/score/chance": 9, "pretrain/score/lives": 10,
	"registry": 9, "exp/names": 9, "report": 9, "report/cross": 9, "report/sweeps": 9,
	"report/adapted": 8, "audit/probe": 9, "audit/check": 10, "audit/ladder": 9, "audit": 11,
	"lab/bench": 9, "cli/board": 9, "cli/complete": 9, "cli/visit": 9, "cli/stop": 10, "lab/films": 10,
	"exp/exptest": 10, "lab": 11,
	"lab/prepare": 12, "lab/compare": 12, "lab/adapt": 12, "lab/export": 12, "lab/attempt": 12, "lab/scale": 13, "sweep": 13,
	"bridge/games":  13,
	"serve/cache":   11,
	"serve/words":   12,
	"serve/shelf":   12,
	"serve/curve":   12,
	"serve/door":    12,
	"serve/control": 13,
	"serve/theatre": 13,
	"serve":         14,
	"cli":           15,
	"cmd/hop":       16, "internal/mutants/cmd": 16, "internal/mutants/probe": 16, "sweep/faults": 16,
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
	{"train", "mind/hop", "the loop knows minds, not kinds of minds"},
	{"train", "mind/lola", "the loop knows minds, not kinds of minds"},
	{"train", "mind/influence", "the loop knows minds, not kinds of minds"},
	{"train", "mind/a3c", "the loop knows minds, not kinds of minds"},
	{"train", "mind/pr2", "the loop knows minds, not kinds of minds"},
	{"train", "mind/imagine", "the loop knows minds, not kinds of minds"},
	{"exp", "mind/hop", "specs are wired from a registry; only registry lists kinds of minds"},
	{"exp", "mind/lola", "specs are wired from a registry; only registry lists kinds of minds"},
	{"exp", "mind/influence", "specs are wired from a registry; only registry lists kinds of minds"},
	{"exp", "mind/a3c", "specs are wired from a registry; only registry lists kinds of minds"},
	{"exp", "mind/pr2", "specs are wired from a registry; only registry lists kinds of minds"},
	{"exp", "game/staghunt", "specs are wired from a registry; only registry lists games"},
	{"plan/truth", "model", "the real rules need no networks; plan itself is below models, and plan/learned is where they meet"},
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
var clocks = []string{"cli/", "lab/", "internal/cpu/", "internal/mutants/cmd/", "runlog/", "play/", "serve/", "sweep/"}

// ForbiddenCalls lists functions.
var ForbiddenCalls = []Ban{
	{"time.Now", "no clock below lab reaches a number", clocks},
	{"time.Since", "no clock below lab reaches a number", clocks},
	{"fmt.Print", "packages do not print", []string{"cli/", "internal/mutants/"}},
	{"fmt.Println", "packages do not print", []string{"cli/", "internal/mutants/"}},
	{"fmt.Printf", "packages do not print", []string{"cli/", "internal/mutants/"}},
	{"os.Exit", "only programs exit", []string{"cli/main.go", "cli/stop/", "internal/mutants/"}},
}
