package pretrain

import (
	"math"
	"slices"
	"testing"
)

// What a network expects explains what was earned on episodes it has not seen,
// and nothing but the seed and the data decides what it expects.
func TestLearntValuesExpectWhatIsEarned(t *testing.T) {
	d, _ := goalData(t, 8000)
	v, _ := trainVAE(t, smallVAE("a", 1), d)
	m, p := v.Model()
	cfg := DefaultCVAE()
	cfg.Value, cfg.ValueNet.Hidden = "learnt", []int{32, 16}
	fresh := func() *CVAE {
		c, err := NewCVAE(cfg, d, m, p, 1)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := fresh()
	if !slices.Equal(c.worth.of[2], fresh().worth.of[2]) {
		t.Error("two equal runs expect different returns")
	}
	got := c.worth.judge(c)
	if got.Explained < 0.2 || got.Agrees < 0.3 || got.Agrees > 0.999 {
		t.Errorf("explains %.3f of the returns and picks %.3f of the subgoals alike; want at least 0.2 and 0.3, and not all", got.Explained, got.Agrees)
	}
	mean, want := 0., 0.
	for i, x := range c.worth.of[2] {
		mean += float64(x) / float64(len(c.worth.of[2]))
		want += float64(c.worth.earned[2][i]) / float64(len(c.worth.of[2]))
	}
	if math.Abs(mean-want) > 0.1*want {
		t.Errorf("the mean value is %.3f, the mean return %.3f", mean, want)
	}
	cfg.Value = "returns"
	if c := fresh(); c.worth.judge(c) != nil || !slices.Equal(c.worth.of[2], c.worth.earned[2]) {
		t.Error("recorded returns are not what the selector goes by")
	}
}
