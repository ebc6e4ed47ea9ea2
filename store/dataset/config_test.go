package dataset_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/store/runlog"
)

func TestAnotherConfigInTheSameFolderIsRefused(t *testing.T) {
	larger, largerSpec := stagHunt(t, func(c *staghunt.Config) { c.Size = 5 })
	finished, partial := hunts(t), hunts(t)
	collect(t, finished)
	if err := stopAt(t, partial, 300); err == nil {
		t.Fatal("not stopped")
	}
	for name, c := range map[string]struct {
		change func(*dataset.Config)
		want   []string
	}{
		"seed":   {func(c *dataset.Config) { c.Seed = 8 }, []string{"seed is 7, want 8"}},
		"rows":   {func(c *dataset.Config) { c.Rows = 901 }, []string{"wanted_rows is 900, want 901"}},
		"shards": {func(c *dataset.Config) { c.ShardRows = 300 }, []string{"shard_rows is 250, want 300"}},
		"mix":    {func(c *dataset.Config) { c.Mix = []string{"nh", "ns"} }, []string{`mix is ["ns","nh"], want ["nh","ns"]`}},
		"team": {func(c *dataset.Config) { c.Mix, c.Team = nil, []string{"ns", "nh", "ns", "nh"} },
			[]string{`team is not set, want ["ns","nh"`, "mix is"}},
		"spec": {func(c *dataset.Config) { c.GameSpec = map[string]any{"name": "staghunt", "size": 4} },
			[]string{"game.stags is 1, want not set"}},
		"game": {func(c *dataset.Config) { c.Game, c.GameSpec = larger, largerSpec },
			[]string{"game.size is 4, want 5", "layout.height is 4, want 5"}},
	} {
		for _, cfg := range []dataset.Config{finished, partial} {
			before := files(t, cfg.Dir)
			c.change(&cfg)
			_, err := dataset.Collect(context.Background(), cfg)
			wantError(t, name, err, append(c.want, cfg.Dir, "Choose another folder, or remove this one")...)
			sameFiles(t, name, files(t, cfg.Dir), before)
		}
	}
	for name, build := range map[string]runlog.Build{
		"another commit": {Version: "test", Commit: "abd"}, "other kernels": {Version: "test", Commit: "abc", Kernels: "plain"},
	} {
		for _, cfg := range []dataset.Config{finished, partial} {
			before := files(t, cfg.Dir)
			cfg.Build = build
			_, err := dataset.Collect(context.Background(), cfg)
			wantError(t, name, err, cfg.Dir, "another build", "commit abc", build.Line(), "--accept-build")
			sameFiles(t, name, files(t, cfg.Dir), before)
		}
	}
	for _, cfg := range []dataset.Config{finished, partial} {
		cfg.Accept, cfg.Build.Commit = true, "abd"
		m, err := dataset.Collect(context.Background(), cfg)
		must(t, err)
		want := 1 // it was finished
		if cfg.Dir == partial.Dir {
			want = 2
		}
		if len(m.Builds) != want || m.Builds[0].Commit != "abc" || m.Builds[want-1].Commit != []string{"abc", "abd"}[want-1] {
			t.Errorf("the builds that made it are %+v, want %d", m.Builds, want)
		}
		if d := open(t, cfg.Dir); !reflect.DeepEqual(d.Builds, m.Builds) {
			t.Errorf("manifest.json names %+v", d.Builds)
		}
	}
	cfg := hunts(t)
	must(t, os.WriteFile(filepath.Join(cfg.Dir, "shard-00000.npz"), []byte("mine"), 0o666))
	_, err := dataset.Collect(context.Background(), cfg)
	wantError(t, "foreign shard", err, "shard-00000.npz", "another folder")
}

func TestAllFaultsOfAConfigAreNamed(t *testing.T) {
	cfg := hunts(t)
	cfg.Dir, cfg.Rows, cfg.ShardRows, cfg.Mix, cfg.GameSpec = "", -1, 10, []string{"ns", "nobody"}, map[string]any{"name": "snowdrift"}
	_, err := dataset.Collect(context.Background(), cfg)
	wantError(t, "faults", err, "no folder", "rows is -1", "shard_rows is 10, want at least 140", `no bot "nobody"`, `"snowdrift"`)
	for name, c := range map[string]struct {
		change func(*dataset.Config)
		want   string
	}{
		"no game":      {func(c *dataset.Config) { c.Game = nil }, "Game is not set"},
		"neither":      {func(c *dataset.Config) { c.Mix = nil }, "either a mix"},
		"both":         {func(c *dataset.Config) { c.Team = []string{"ns", "ns", "ns", "ns"} }, "either a mix"},
		"three in mix": {func(c *dataset.Config) { c.Mix = []string{"ns", "nh", "random"} }, "want two bots"},
		"short team":   {func(c *dataset.Config) { c.Mix, c.Team = nil, []string{"ns"} }, "each of the 4 seats"},
		"population":   {func(c *dataset.Config) { c.Mix, c.Population = nil, []string{"ns", "nh"} }, "needs players and their kinds"},
		"a crowd": {func(c *dataset.Config) {
			for c.Mix = nil; len(c.Among) < 128; {
				c.Among = append(c.Among, fmt.Sprintf("noisy(ns,.%03d)", 1+len(c.Among)))
			}
		}, "128 kinds of players, want at most 127"},
		"long episodes": {func(c *dataset.Config) { c.Game = toy{horizon: 40000} }, "horizon is 40000"},
		"spec":          {func(c *dataset.Config) { c.GameSpec["f"] = func() {} }, "cannot be written"},
	} {
		cfg := hunts(t)
		c.change(&cfg)
		_, err := dataset.Collect(context.Background(), cfg)
		wantError(t, name, err, c.want)
	}
	cfg = toys(t)
	cfg.Game = toy{horizon: 5, lies: true}
	_, err = dataset.Collect(context.Background(), cfg)
	wantError(t, "a game that does not follow its layout", err, "observes 0.5 at 0", "layout")
	cfg = hunts(t)
	cfg.Dir = filepath.Join(cfg.Dir, "file")
	must(t, os.WriteFile(cfg.Dir, nil, 0o666))
	_, err = dataset.Collect(context.Background(), cfg)
	wantError(t, "a file for a folder", err, cfg.Dir)
}
