package serve

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var minutes = flag.Float64("minutes", 10, "how long TestLoadIsBorne lasts, with -long")

// TestLoadIsBorne serves a thousand runs, one of which grows, to two hundred streams and to
// somebody who looks at page after page, while comparisons are made: it says how long answers
// take and how much memory there is in use at the beginning and at the end.
func TestLoadIsBorne(t *testing.T) {
	if !*long {
		t.Skip("it takes minutes; -args -long")
	}
	root, growing := fixture(t)
	for i := range 1000 {
		from := []string{"a", "b"}[i%2]
		must(t, os.CopyFS(filepath.Join(root, fmt.Sprintf("many-%04d", i)), os.DirFS(filepath.Join(root, from))))
	}
	base, s, end := start(t, root)
	defer end()
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	ask := func(path string) time.Duration {
		began := time.Now()
		w, err := c.Do(withToken(t, t.Context(), base+path))
		if err != nil {
			t.Error(err)
			return 0
		}
		_, _ = io.Copy(io.Discard, w.Body)
		w.Body.Close()
		if w.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", path, w.StatusCode)
		}
		return time.Since(began)
	}
	ask("/") // the first look at all of them
	stop, streams := make(chan struct{}), sync.WaitGroup{}
	for i := range 200 {
		path := []string{"/api/runs/stream", "/api/curves/stream?run=0:live", "/api/rows/stream?run=0:live/seed-1", "/api/sweeps/stream"}[i%4]
		streams.Go(func() { follow(t, base+path, stop) })
	}
	streams.Go(func() {
		for w := 8; ; w++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
				logWindows(t, growing, 1, w, w+1)
			}
		}
	})
	took := map[string][]time.Duration{} // by page
	rnd := rand.New(rand.NewPCG(1, 1))
	run := func() string { return fmt.Sprintf("0:many-%04d", rnd.IntN(1000)) }
	look := func(path string) {
		name, _, _ := strings.Cut(path, "?")
		took[name] = append(took[name], ask(path))
	}
	began, first, heaps := time.Now(), 0., []float64{}
	for i := 0; time.Since(began) < time.Duration(*minutes*float64(time.Minute)); i++ {
		look([]string{"/", "/api/runs", "/curves?run=" + run(), "/api/curves?m=return&run=" + run(), "/diagnose?run=" + run(),
			"/theatre?run=" + run() + "/seed-1"}[i%6])
		if i%20 == 0 {
			look(fmt.Sprintf("/compare?run=%s&run=%s&threshold=%d", run(), run(), i%8))
		}
		if i%200 == 199 {
			heaps = append(heaps, heap())
			if first == 0 && time.Since(began) > 30*time.Second {
				first = heaps[len(heaps)-1]
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	last := heap()
	close(stop)
	streams.Wait()
	var all []time.Duration
	for _, name := range slices.Sorted(maps.Keys(took)) {
		t.Logf("%-12s %s", name, spread(took[name]))
		all = append(all, took[name]...)
	}
	t.Logf("%d runs, 200 streams, %v: all pages %s", len(s.shelf.Now().Rows), time.Since(began).Round(time.Second), spread(all))
	t.Logf("heap %.0f MB after half a minute, %.0f MB at the end, caches %.1f MB; heaps %.0f", first, last,
		float64(s.cache.Used())/1e6, heaps)
	if grown := last - first - float64(s.cache.Used())/1e6; grown > 30 {
		t.Errorf("the heap has grown by %.0f MB more than what is kept", grown)
	}
}

// spread says how long answers took.
func spread(list []time.Duration) string {
	slices.Sort(list)
	at := func(q float64) time.Duration { return list[int(q*float64(len(list)-1))].Round(100 * time.Microsecond) }
	return fmt.Sprintf("%d times, p50 %v, p99 %v, longest %v", len(list), at(0.5), at(0.99), at(1))
}

// follow reads a stream until it is told to stop.
func follow(t testing.TB, address string, stop chan struct{}) {
	t.Helper()
	w, err := (&http.Client{Transport: &http.Transport{}}).Do(withToken(t, t.Context(), address))
	if err != nil {
		t.Error(err)
		return
	}
	go func() {
		<-stop
		w.Body.Close()
	}()
	if _, err := io.Copy(io.Discard, w.Body); err != nil {
		select {
		case <-stop:
		default:
			t.Errorf("%s ended: %v", address, err)
		}
	}
}

// heap is what is in use after a collection, in megabytes.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / 1e6
}
