package cores

import "testing"

// A group is left for a moment to who took it the last time, so that what it reads and writes stays near;
// then anybody takes it. Who was late once keeps what was its own.
func TestGroupsGoToWhoTookThem(t *testing.T) {
	p := New(4, nil)
	j := &Job{by: make([]took, 4)}
	p.jobs[0].Store(j)
	p.top.Store(1)
	const all = 1 | 1<<16 | 1<<32
	again := func() { j.times.Add(1); j.free.Store(all) }
	var helpers [4]helper
	for i := range helpers {
		helpers[i] = helper{pool: p, from: i}
	}
	find := func(i int, waited bool) int {
		t.Helper()
		found, bit, some := helpers[i].find(waited)
		if found == nil {
			if some != (j.free.Load() != 0) {
				t.Errorf("helper %d was told that there are free groups: %v", i, some)
			}
			return -1
		}
		return bit
	}
	again()
	if got := find(1, false); got != -1 {
		t.Errorf("who has not waited took %d, which may be another's", got)
	}
	own := [3]int{}
	for i := range own {
		own[i] = find(i, true)
	}
	if own != [3]int{0, 16, 32} {
		t.Fatalf("helpers took %v", own)
	}
	again()
	for _, i := range []int{2, 0, 1} {
		if got := find(i, false); got != own[i] {
			t.Errorf("helper %d took %d, before %d", i, got, own[i])
		}
	}
	again()
	if got := find(3, true); got < 0 || find(3, true) < 0 || find(3, true) < 0 || find(3, true) != -1 {
		t.Error("who waited did not take what nobody came for")
	}
	if got := find(1, false); got != -1 {
		t.Errorf("helper 1 came late and took %d", got)
	}
	again()
	if got := find(1, false); got != own[1] {
		t.Errorf("helper 1, late the last time, took %d, before %d", got, own[1])
	}
}
