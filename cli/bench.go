package cli

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"hop/agent"
	"hop/batch"
	"hop/exp"
	"hop/f32"
	"hop/game"
	"hop/nn/nnbench"
	"hop/rng"
	"hop/rollout"
)

type benchCmd struct {
	Env   benchEnvCmd   `cmd:"" help:"Games: agent-steps a second, masks and observations written."`
	NN    benchNNCmd    `cmd:"" name:"nn" help:"Networks: forward and training steps, share of the core's peak."`
	Plan  benchPlanCmd  `cmd:"" help:"Search: simulations a second, with and without networks."`
	Train benchTrainCmd `cmd:"" help:"Training: agent-steps a second, by phase."`
}

type benchEnvCmd struct {
	Game string        `help:"Which game; empty: stag hunt in several sizes and each other game at its defaults."`
	CPU  int           `name:"cpu" help:"Cores to run on at once; rates are per second of one core." default:"1"`
	Time time.Duration `help:"Processor time to measure each row for." default:"1s"`
	JSON bool          `help:"Print one JSON object."`
}

func (benchEnvCmd) Help() string {
	return `Example:

  hop bench env --time 2s

Random legal play. An agent-step is one step of one agent that is alive, its mask and observation written. Resets are part of the time. Rates are per second of processor time, so other programs disturb them little.`
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
	for _, name := range a.reg.GameNames() {
		if name != "staghunt" && (c.Game == "" || c.Game == name) {
			settings = append(settings, setting{game: name})
		}
	}
	if len(settings) == 0 {
		return usage("there is no game %q; see hop list games", c.Game)
	}
	var rows []envRow
	for _, s := range settings {
		g, err := a.reg.NewGame(s.game)
		if err != nil {
			return err
		}
		for _, kv := range s.set {
			key, value, _ := strings.Cut(kv, "=")
			if err := g.Set(key, value); err != nil {
				return err
			}
		}
		row, err := c.measure(g)
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
		fmt.Fprintf(w, "%s\t%dx%d\t%d\t%s\t%.0f\t%d B\t%.2f\t\n", r.Game, r.Size, r.Size, r.Agents, short(r.Rate), r.NS, r.Bytes, r.Allocs)
	}
	return w.Flush()
}

// measure plays random legal moves on as many cores as asked and counts the
// steps of agents that were alive.
func (c benchEnvCmd) measure(g exp.Game) (envRow, error) {
	built, err := g.Build()
	if err != nil {
		return envRow{}, err
	}
	spec := built.Spec()
	row := envRow{Game: spec.Name, Size: spec.Obs.Height, Agents: spec.Seats, Bytes: 4 * spec.Obs.Len()}
	cores := max(1, c.CPU)
	alive, steps, errs := make([]int, cores), make([]int, cores), make([]error, cores)
	var before, after runtime.MemStats
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.ReadMemStats(&before)
	cpu := cpuTime()
	var wg sync.WaitGroup
	for k := range cores {
		wg.Go(func() { alive[k], steps[k], errs[k] = c.core(built, k) })
	}
	wg.Wait()
	spent := (cpuTime() - cpu).Seconds()
	runtime.ReadMemStats(&after)
	total, played := 0, 0
	for k := range cores {
		total, played = total+alive[k], played+steps[k]
	}
	row.Rate = float64(total) / spent
	row.NS = 1e9 / row.Rate
	row.Allocs = math.Floor(float64(after.Mallocs-before.Mallocs)/float64(played)*100) / 100
	return row, errors.Join(errs...)
}

// core plays for c.Time and counts the steps of living agents and of envs.
func (c benchEnvCmd) core(g game.Game, k int) (alive, steps int, err error) {
	const lanes, window = 16, 64
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
	until := cpuTime() + time.Duration(max(1, c.CPU))*c.Time
	for cpuTime() < until {
		for range 16 {
			envs.Collect(ro, players)
			steps += window * lanes
			for a := range agent.ID(ro.Agents) {
				slots := ro.Alive[ro.Slot(a, 0, 0):ro.Slot(a, window, 0)]
				for _, ok := range slots {
					if ok {
						alive++
					}
				}
			}
		}
	}
	return alive, steps, nil
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
