package curve

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/serve/cache"
	"github.com/hop-marl/hop/store/runlog"
)

// file writes a metrics.csv of some rows into a new folder.
func file(t testing.TB, rows ...string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, header+strings.Join(rows, ""))
	return dir
}

func write(t testing.TB, dir, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, metricsFile), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func row(step int, name string, agent int, v float64, n int) string {
	a := ""
	if agent >= 0 {
		a = fmt.Sprint(agent)
	}
	return fmt.Sprintf("%d,%s,%s,%v,%d\n", step, name, a, v, n)
}

// noise is a series with spikes.
func noise(n int, seed uint64) []float64 {
	r := rng.New(seed).Rand()
	out := make([]float64, n)
	for i := range out {
		if out[i] = float64(r.Float32()); r.IntN(997) == 0 {
			out[i] += 50 * (float64(r.Float32()) - 0.5)
		}
	}
	return out
}

func index(t testing.TB, dir string, keep int) *Index {
	t.Helper()
	x := New(dir)
	x.keep = keep
	if st, err := x.Extend(time.Minute); err != nil || st.Read != 1 {
		t.Fatalf("Extend: %+v, %v", st, err)
	}
	return x
}

func ends(l Line) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, v := range l.Value {
		lo, hi = min(lo, float64(v)), max(hi, float64(v))
	}
	return lo, hi
}

// Thinning keeps the lowest and the highest row of whatever range is shown, whether rows
// are kept or only blocks, and has no point that is no row.
func TestExtremesStay(t *testing.T) {
	vs := noise(20_000, 1)
	var rows []string
	at := map[int64]float64{}
	for i, v := range vs {
		rows = append(rows, row(10*i, "x", -1, v, 3), row(10*i, "y", 2, -v, 1))
		at[int64(10*i)] = v
	}
	dir := file(t, rows...)
	for _, keep := range []int{maxKept, 1000} {
		x := index(t, dir, keep)
		if x.coarse != (keep == 1000) {
			t.Fatalf("keep %d: coarse is %v", keep, x.coarse)
		}
		for _, r := range []Range{All, {12_345, 167_890}, {50_000, 52_000}, {0, 0}, {199_980, math.MaxInt64}} {
			for _, points := range []int{16, 300, 3000} {
				l, err := x.Read(Key{"x", -1}, Steps, r, points, 0)
				if err != nil {
					t.Fatal(err)
				}
				lo, hi := math.Inf(1), math.Inf(-1)
				n := 0
				for i, v := range vs {
					if r.has(int64(10 * i)) {
						lo, hi, n = min(lo, v), max(hi, v), n+1
					}
				}
				gotLo, gotHi := ends(l)
				if gotLo != lo || gotHi != hi {
					t.Errorf("keep %d, %v, %d points: from %v to %v, want %v to %v", keep, r, points, gotLo, gotHi, lo, hi)
				}
				if len(l.Step) > max(points, 4*blockRows)+2 {
					t.Errorf("keep %d, %v, %d points: got %d", keep, r, points, len(l.Step))
				}
				for i, s := range l.Step {
					if at[s] != float64(l.Value[i]) || i > 0 && s < l.Step[i-1] || !r.has(s) || l.N[i] != 3 {
						t.Fatalf("keep %d, %v, %d points: point %d is %d, %v, n %d, which is no row there", keep, r, points, i, s, l.Value[i], l.N[i])
					}
				}
				if n <= points && (l.Kind != Raw || len(l.Step) != n) {
					t.Errorf("keep %d, %v, %d points: %s of %d points, want all %d rows", keep, r, points, l.Kind, len(l.Step), n)
				}
			}
		}
	}
}

// The mean over seeds is that of the definition: rows of a stretch weighted by their
// counts, agents of a seed first, then seeds, with Student's interval.
func TestAverageIsTheDefinition(t *testing.T) {
	const steps, seeds, points = 40, 3, 10
	var parts []Part
	bins := [points][seeds][2]float64{} // sum, weight
	for s := range seeds {
		var rows []string
		for a := range 2 {
			for i, v := range noise(steps, uint64(10*s+a)) {
				n := 1 + (i+a)%4
				rows = append(rows, row(i, "r", a, v, n))
				b := &bins[i*points/steps][s]
				b[0], b[1] = b[0]+v*float64(n), b[1]+float64(n)
			}
		}
		x := index(t, file(t, rows...), maxKept)
		parts = append(parts, Part{x, Key{"r", 0}, s}, Part{x, Key{"r", 1}, s})
	}
	l, err := Average(parts, Steps, All, points, How{})
	if err != nil || len(l.Step) != points {
		t.Fatalf("%d points, %v", len(l.Step), err)
	}
	for i, b := range bins {
		var xs []float64
		n := 0.
		for _, s := range b {
			xs, n = append(xs, s[0]/s[1]), n+s[1]
		}
		mean, ci := stats.MeanCI(xs, 0.95)
		if math.Abs(float64(l.Value[i])-mean) > 1e-12 || math.Abs(float64(l.Low[i])-ci[0]) > 1e-9 || math.Abs(float64(l.High[i])-ci[1]) > 1e-9 {
			t.Errorf("stretch %d: %v (%v to %v), want %v %v", i, l.Value[i], l.Low[i], l.High[i], mean, ci)
		}
		if l.Runs[i] != seeds || l.N[i] != int64(n) || l.Rows[i] != 2*seeds*steps/points {
			t.Errorf("stretch %d: %d seeds, n %d, %d rows", i, l.Runs[i], l.N[i], l.Rows[i])
		}
	}
	one, err := Average(parts[:2], Steps, All, points, How{})
	if err != nil || !math.IsInf(float64(one.Low[0]), -1) {
		t.Errorf("the band of one seed begins at %v; one seed bounds nothing", one.Low[0])
	}
}

// Smoothing is the exponential mean of all rows so far, also where only a part is shown,
// and the rows themselves stay.
func TestSmoothingIsTheDefinition(t *testing.T) {
	const w = 0.9
	vs := noise(500, 3)
	var rows []string
	want := make([]float64, len(vs))
	for i, v := range vs {
		rows = append(rows, row(i, "x", -1, v, 1))
		sum, total := 0., 0.
		for k := i; k >= 0; k-- {
			p := math.Pow(w, float64(i-k))
			sum, total = sum+p*vs[k], total+p
		}
		want[i] = sum / total
	}
	x := index(t, file(t, rows...), maxKept)
	for _, r := range []Range{{0, 40}, {300, 340}} {
		l, err := x.Read(Key{"x", -1}, Steps, r, 100, w)
		if err != nil || len(l.Smooth) != 41 || l.By != 1 {
			t.Fatalf("%d smoothed of %d, by %d: %v", len(l.Smooth), len(l.Step), l.By, err)
		}
		for i, s := range l.Step {
			if math.Abs(float64(l.Smooth[i])-want[s]) > 1e-9 || float64(l.Value[i]) != vs[s] {
				t.Errorf("step %d: %v smoothed to %v, want %v to %v", s, l.Value[i], l.Smooth[i], vs[s], want[s])
			}
		}
	}
}

// An index follows a file that grows by parts of lines, is cut back, written anew and
// deleted, and always has what a fresh one has.
func TestGrowthAndCutsAreFollowed(t *testing.T) {
	all := header
	for i := range 300 {
		all += row(i, "x", -1, float64(i), 1)
	}
	other := strings.ReplaceAll(all, ",1\n", ",2\n")
	cut := strings.Index(all, "\n150,") + 1
	dir := t.TempDir()
	x := New(dir)
	gen := int64(0)
	for i, text := range []string{header, all[:len(header)+5], all[:2000], all[:2003], all, all[:cut], all[:cut+100], other,
		other[:cut], all} {
		write(t, dir, text)
		st, err := x.Extend(time.Minute)
		whole := text[:strings.LastIndexByte(text, '\n')+1]
		if want := strings.Count(whole, "\n") - 1; err != nil || st.Rows != want {
			t.Fatalf("text %d: %d rows, %v, want %d", i, st.Rows, err, want)
		}
		fresh := index(t, dir, maxKept)
		a, _ := x.Read(Key{"x", -1}, Steps, All, 1000, 0)
		b, _ := fresh.Read(Key{"x", -1}, Steps, All, 1000, 0)
		if !slices.Equal(a.Value, b.Value) || !slices.Equal(a.N, b.N) {
			t.Fatalf("text %d: the index has other rows than a fresh one", i)
		}
		if shrunk := i == 5 || i == 7 || i == 8; shrunk && st.Gen == gen {
			t.Errorf("text %d: the file was cut or replaced, and nobody is told", i)
		}
		gen = st.Gen
	}
	if err := os.Remove(filepath.Join(dir, metricsFile)); err != nil {
		t.Fatal(err)
	}
	if st, err := x.Extend(time.Minute); err == nil || st.Rows != 0 {
		t.Errorf("a deleted file: %+v, %v", st, err)
	}
}

// Whoever follows a file by its offset gets each row once, also while a line is half
// written, and is told when the file was cut back.
func TestFollowingMissesNothing(t *testing.T) {
	all := header
	for i := range 50 {
		all += row(i, "x", -1, float64(i), 1)
	}
	dir := t.TempDir()
	next, got := int64(0), 0
	for end := range len(all) + 1 {
		write(t, dir, all[:end])
		rows, to, cut, err := Follow(dir, next)
		if err != nil || cut {
			t.Fatalf("%d bytes: cut %v, %v", end, cut, err)
		}
		for _, r := range rows {
			if r.Step != int64(got) {
				t.Fatalf("%d bytes: row %d after row %d", end, r.Step, got-1)
			}
			got++
		}
		next = to
	}
	if got != 50 {
		t.Errorf("%d rows", got)
	}
	write(t, dir, all[:len(all)/2])
	if rows, _, cut, err := Follow(dir, next); !cut || err != nil || rows[0].Step != 0 {
		t.Errorf("a file that was cut back: cut %v, %v", cut, err)
	}
}

// What is no row is refused with the number of its line, and stays refused.
func TestWhatIsNoRowIsNamed(t *testing.T) {
	for _, bad := range []string{"x\n", "1,x,,2\n", "1,x,,2,3,4\n", "a,x,,2,3\n", "1,x,-1,2,3\n", "1,x,5000,2,3\n", "1,,,2,3\n",
		"1,x,,,3\n", "1,x,,2,\n"} {
		x := New(file(t, row(1, "x", 0, 1, 1), bad))
		for range 2 {
			if _, err := x.Extend(time.Minute); err == nil || !strings.Contains(err.Error(), "line 3") {
				t.Errorf("%q: %v, want line 3 named", bad, err)
			}
		}
	}
	if _, err := New(file(t)).Extend(time.Minute); err != nil {
		t.Error(err)
	}
	dir := t.TempDir()
	write(t, dir, "step,name\n")
	if _, err := New(dir).Extend(time.Minute); err == nil {
		t.Error("another header is taken")
	}
}

// A run that writes a thousand rows a second is followed without a loss, by rows and by
// the index, while it writes.
func TestAThousandRowsASecondAreFollowed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "seed-1")
	run, err := runlog.Create(dir, []byte("name: x\n"), runlog.Info{Preset: "x", Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	const batches, size = 60, 20
	done := make(chan error, 1)
	go func() {
		for b := range batches {
			var rows []runlog.Row
			for i := range size {
				rows = append(rows, runlog.Row{Step: int64(b*size + i), Name: "x", Agent: -1, Value: float64(b*size + i), N: 1})
			}
			if err := run.Log(rows); err != nil {
				done <- err
				return
			}
			time.Sleep(size * time.Millisecond)
		}
		done <- run.Close()
	}()
	x, next, got := New(dir), int64(0), int64(0)
	for end := false; !end; {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			end = true
		case <-time.After(30 * time.Millisecond):
		}
		rows, to, cut, err := Follow(dir, next)
		if err != nil || cut {
			t.Fatalf("following from %d: cut %v, %v", next, cut, err)
		}
		for _, r := range rows {
			if r.Step != got {
				t.Fatalf("row %d comes after row %d", r.Step, got-1)
			}
			got++
		}
		next = to
		if _, err := x.Extend(time.Second); err != nil {
			t.Fatal(err)
		}
	}
	st, err := x.Extend(time.Second)
	if err != nil || got != batches*size || st.Rows != batches*size {
		t.Errorf("%d rows followed, %d in the index, of %d: %v", got, st.Rows, batches*size, err)
	}
}

// The cache forgets what was not asked for longest, and never what is in use.
func TestTheCacheIsBounded(t *testing.T) {
	var rows []string
	for i := range 2000 {
		rows = append(rows, row(i, "x", -1, 1, 1))
	}
	all := cache.New(200_000)
	c := NewCache(all)
	var dirs []string
	for i := range 100 {
		dirs = append(dirs, file(t, rows...))
		for _, dir := range []string{dirs[i], dirs[0]} {
			x := c.Of(dir)
			if _, err := x.Extend(time.Second); err != nil {
				t.Fatal(err)
			}
			c.Keep(x)
			if line, err := x.Read(Key{"x", -1}, Steps, All, 20, 0); err != nil || line.Of != 2000 {
				t.Fatalf("%d rows of a smaller index, %v", line.Of, err)
			}
		}
		if all.Used() > 200_000 {
			t.Fatalf("%d bytes are kept", all.Used())
		}
	}
	first := c.Of(dirs[0])
	if c.Of(dirs[0]) != first || first.rows != 2000 {
		t.Error("an index that is asked for again and again was forgotten")
	}
	if c.Of(dirs[1]).rows != 0 {
		t.Error("an index that nobody asks for is kept")
	}
}

func FuzzMetrics(f *testing.F) {
	for _, text := range []string{"", header, header + "1,x,,2,3\n", header + "1,x,0,NaN,3\n2,x,0,+Inf,3\n", header +
		"9999999999999999999,x,,1,1\n", "\n", header + ",,,,\n"} {
		f.Add([]byte(text), uint8(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, copies uint8) {
		body := strings.Repeat(string(text), 1+int(copies)%8)
		dir := t.TempDir()
		write(t, dir, body)
		x := New(dir)
		x.keep = 4
		st, err := x.Extend(time.Second)
		rows, _, _, ferr := Follow(dir, 0)
		if err == nil && len(body) < 1<<20 && (ferr != nil || len(rows) != st.Rows) {
			t.Errorf("the index has %d rows, whoever follows %d: %v", st.Rows, len(rows), ferr)
		}
		var parts []Part
		for i, n := range x.Names() {
			for _, a := range n.Agents {
				if _, err := x.Read(Key{n.Name, a}, Steps, Range{int64(i), 3}, 16, 0.5); err != nil {
					t.Error(err)
				}
				parts = append(parts, Part{x, Key{n.Name, a}, i})
			}
		}
		if _, err := Average(parts, Steps, All, 16, How{Weight: 0.5}); err != nil {
			t.Error(err)
		}
	})
}

// go test ./serve/curve -bench TenMillion -benchtime 1x
func BenchmarkTenMillionRows(b *testing.B) {
	dir := b.TempDir()
	f, err := os.Create(filepath.Join(dir, metricsFile))
	if err != nil {
		b.Fatal(err)
	}
	buf := []byte(header)
	for i := range 10_000_000 {
		buf = fmt.Appendf(buf, "%d,m%d,%d,%v,64\n", i/40*4096, i%10, i%40/10, math.Sin(float64(i)/1e5))
		if len(buf) > 1<<20 {
			if _, err := f.Write(buf); err != nil {
				b.Fatal(err)
			}
			buf = buf[:0]
		}
	}
	if _, err := f.Write(buf); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		began := time.Now()
		x := New(dir)
		if _, err := x.Extend(time.Hour); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(began).Seconds(), "s/index")
		b.ReportMetric(float64(x.weight())/1e6, "MB/index")
		began = time.Now()
		if _, err := x.Read(Key{"m3", 2}, Steps, All, 1600, 0.9); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(1e3*time.Since(began).Seconds(), "ms/view")
		began = time.Now()
		last := x.state().Last
		l, err := x.Read(Key{"m3", 2}, Steps, Range{last / 2, last/2 + last/400}, 1600, 0)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(1e3*time.Since(began).Seconds(), "ms/zoom")
		b.ReportMetric(float64(len(l.Step)), "rows/zoom")
	}
}
