package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"hop/batch"
	"hop/exp"
	"hop/f32"
	"hop/game"
	"hop/nn/nnbench"
	"hop/rng"
	"hop/rollout"
)

type benchCmd struct {
	Env benchEnvCmd `cmd:"" help:"Games: agent-steps a second, masks and observations written."`
	NN  benchNNCmd  `cmd:"" name:"nn" help:"Networks: forward and training steps, share of the core's peak."`
}

type benchEnvCmd struct {
	Game string        `help:"Which game; empty: stag hunt in several sizes and each other game at its defaults."`
	CPU  int           `name:"cpu" help:"Cores to run on at once; rates are per core." default:"1"`
	Time time.Duration `help:"How long to measure each row." default:"1s"`
	JSON bool          `help:"Print one JSON object."`
}

func (benchEnvCmd) Help() string {
	return `Example:

  hop bench env --time 2s

Random legal play. An agent-step is one step of one agent that is alive, its mask and observation written. Resets are part of the time.`
}

type envRow struct {
	Game   string  `json:"game"`
	Size   int     `json:"size"`
	Agents int     `json:"agents"`
	Rate   float64 `json:"agent_steps_per_s"`
	NS     float64 `json:"ns_per_agent_step"`
	Bytes  int     `json:"obs_bytes"`
	Allocs float64 `json:"allocs"` // for each env step
}

func (c benchEnvCmd) Run(a *app) error {
	type setting struct {
		game string
		size int
		set  []string
	}
	var settings []setting
	if c.Game == "" || c.Game == "staghunt" {
		for _, size := range []int{4, 8, 16} {
			for _, agents := range []int{2, 4, 8} {
				set := []string{fmt.Sprintf("size=%d", size), fmt.Sprintf("agents=%d", agents)}
				if size > 4 {
					set = append(set, fmt.Sprintf("blocks=%d", size*5/8))
				}
				settings = append(settings, setting{"staghunt", size, set})
			}
		}
	}
	for _, name := range exp.Games() {
		if name != "staghunt" && (c.Game == "" || c.Game == name) {
			settings = append(settings, setting{game: name})
		}
	}
	if len(settings) == 0 {
		return usage("there is no game %q; see hop list games", c.Game)
	}
	var rows []envRow
	for _, s := range settings {
		g, err := exp.NewGame(s.game)
		if err != nil {
			return err
		}
		for _, kv := range s.set {
			key, value, _ := strings.Cut(kv, "=")
			if err := g.Set(key, value); err != nil {
				return err
			}
		}
		row, err := c.measure(a, g)
		if err != nil {
			return err
		}
		rows = append(rows, row)
		if err := a.ctx.Err(); err != nil {
			return err
		}
	}
	if c.JSON {
		return a.emit(map[string]any{"cpu": c.CPU, "rows": rows})
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "game\tboard\tagents\tagent-steps/s per core\tns each\tobservation\tallocations\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%dx%d\t%d\t%s\t%.0f\t%d B\t%.0f\t\n", r.Game, r.Size, r.Size, r.Agents, short(r.Rate), r.NS, r.Bytes, r.Allocs)
	}
	return w.Flush()
}

// measure plays random legal moves on as many cores as asked and counts the
// steps of agents that were alive.
func (c benchEnvCmd) measure(a *app, g exp.Game) (envRow, error) {
	built, err := g.Build()
	if err != nil {
		return envRow{}, err
	}
	spec := built.Spec()
	row := envRow{Game: spec.Name, Size: spec.Obs.Height, Agents: spec.Seats, Bytes: 4 * spec.Obs.Len()}
	cores := max(1, c.CPU)
	rates, allocs := make([]float64, cores), make([]float64, cores)
	errs := make([]error, cores)
	var wg sync.WaitGroup
	for k := range cores {
		wg.Go(func() { rates[k], allocs[k], errs[k] = c.core(built, k) })
	}
	wg.Wait()
	for k := range cores {
		if errs[k] != nil {
			return row, errs[k]
		}
		row.Rate += rates[k] / float64(cores)
		row.Allocs += allocs[k] / float64(cores)
	}
	row.NS = 1e9 / row.Rate
	return row, nil
}

func (c benchEnvCmd) core(g game.Game, k int) (rate, allocs float64, err error) {
	const lanes, window = 16, 64 // small enough to stay in the cache, as learners' minibatches do not
	envs, err := rollout.New(rollout.Config{Game: g, Envs: lanes, Key: rng.New(uint64(k)), Workers: 1})
	if err != nil {
		return 0, 0, err
	}
	bots, err := rollout.NewBots(g, "random", lanes)
	if err != nil {
		return 0, 0, err
	}
	players := [][]rollout.Player{make([]rollout.Player, g.Spec().Seats)}
	for i := range players[0] {
		players[0][i] = bots
	}
	ro := batch.New(envs.Shape(window, 0))
	envs.Collect(ro, players)
	var before, after runtime.MemStats
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.ReadMemStats(&before)
	alive, windows := 0, 0
	start := time.Now()
	for time.Since(start) < c.Time {
		envs.Collect(ro, players)
		windows++
		for i, ok := range ro.Alive {
			if ok && i/lanes%(window+1) < window {
				alive++
			}
		}
	}
	spent := time.Since(start).Seconds()
	runtime.ReadMemStats(&after)
	return float64(alive) / spent, float64(int(float64(after.Mallocs-before.Mallocs) / float64(windows*window*lanes))), nil
}

type benchNNCmd struct {
	Compare string        `help:"Folder written by bench/torch_compare.py; write outputs, gradients and times there." type:"path" placeholder:"DIR"`
	Net     []string      `help:"Which nets; default all." placeholder:"NET"`
	Round   time.Duration `help:"Length of a round; the fastest of several counts." default:"20ms"`
	CPU     int           `name:"cpu" help:"Must be 1: kernels run on one core." default:"1"`
	JSON    bool          `help:"Print one JSON object."`
}

func (benchNNCmd) Help() string {
	return `Examples:

  hop bench nn
  python3 bench/torch_compare.py`
}

func (c benchNNCmd) Run(a *app) error {
	if err := f32.KernelsErr(); err != nil {
		return err
	}
	start := time.Now()
	cfg := nnbench.Config{Clock: func() time.Duration { return time.Since(start) }, Round: c.Round, Nets: c.Net}
	if c.Compare != "" {
		return nnbench.Compare(c.Compare, cfg)
	}
	res, err := nnbench.Run(cfg)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.emit(res)
	}
	fmt.Fprintf(a.out, "kernels %s, measured peak %.0f GFLOP/s on one core\n\n", res.Kernels, res.Peak)
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "net\top\tbatch\tus\tGFLOP/s\tof peak\t")
	for _, r := range res.Rows {
		fmt.Fprintf(w, "%s\t%s\t%d\t%.1f\t%.1f\t%.0f %%\t\n", r.Net, r.Op, r.Batch, r.US, r.GFLOPS, 100*r.Share)
	}
	return w.Flush()
}
