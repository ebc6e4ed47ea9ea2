//go:build unix

package sweep_test

import (
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"
)

// poison makes a process misbehave whose spec asks for it, by a seed: that is how the tests plant jobs
// that panic, hang or eat memory.
func poison() {
	kinds := os.Getenv("HOP_TEST_POISON") // such as 7=panic,8=hang,9=eat
	if d, err := time.ParseDuration(os.Getenv("HOP_TEST_SLOW")); err == nil && len(os.Args) > 1 && os.Args[1] == "attempt" {
		time.Sleep(d)
	}
	if name := os.Getenv("HOP_TEST_PROFILE"); name != "" && len(os.Args) > 1 && os.Args[1] == "sweep" {
		if f, err := os.Create(name); err == nil {
			_ = pprof.StartCPUProfile(f)
			time.AfterFunc(20*time.Second, pprof.StopCPUProfile)
			time.AfterFunc(25*time.Second, func() {
				if h, err := os.Create(name + ".heap"); err == nil {
					_ = pprof.WriteHeapProfile(h)
					_ = h.Close()
				}
			})
		}
	}
	line := " " + strings.Join(os.Args, " ") + " "
	for _, k := range strings.Split(kinds, ",") {
		seed, how, _ := strings.Cut(k, "=")
		if seed == "" || !strings.Contains(line, " --seed "+seed+" ") {
			continue
		}
		switch how {
		case "panic":
			panic("planted")
		case "hang":
			time.Sleep(time.Hour)
		case "eat":
			var all [][]byte
			for {
				b := make([]byte, 16<<20)
				for i := range b {
					b[i] = 1
				}
				all = append(all, b)
				time.Sleep(5 * time.Millisecond)
				runtime.KeepAlive(all)
			}
		}
	}
}
