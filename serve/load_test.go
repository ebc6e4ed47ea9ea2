package serve

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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
	var pages, comparisons []time.Duration
	rnd := rand.New(rand.NewPCG(1, 1))
	run := func() string { return fmt.Sprintf("0:many-%04d", rnd.IntN(1000)) }
	began, first, heaps := time.Now(), 0., []float64{}
	for i := 0; time.Since(began) < time.Duration(*minutes*float64(time.Minute)); i++ {
		pages = append(pages, ask([]string{"/", "/api/runs", "/curves?run=" + run(), "/api/curves?m=return&run=" + run(), "/diagnose?run=" + run(),
			"/theatre?run=" + run() + "/seed-1"}[i%6]))
		if i%20 == 0 {
			comparisons = append(comparisons, ask(fmt.Sprintf("/compare?run=%s&run=%s&threshold=%d", run(), run(), i%8)))
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
	at := func(list []time.Duration, q float64) time.Duration {
		slices.Sort(list)
		return list[int(q*float64(len(list)-1))].Round(100 * time.Microsecond)
	}
	t.Logf("%d runs, 200 streams, %v: %d pages, p50 %v, p99 %v, longest %v; %d comparisons, p50 %v, p99 %v; heap %.0f MB after half a minute, %.0f MB at the end, "+
		"caches %.1f MB; heaps %.0f", len(s.shelf.Now().Rows), time.Since(began).Round(time.Second), len(pages), at(pages, 0.5), at(pages, 0.99), at(pages, 1),
		len(comparisons), at(comparisons, 0.5), at(comparisons, 0.99), first, last, float64(s.cache.Used())/1e6, heaps)
	if grown := last - first - float64(s.cache.Used())/1e6; grown > 30 {
		t.Errorf("the heap has grown by %.0f MB more than what is kept", grown)
	}
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
