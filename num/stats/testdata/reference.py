# The reference values in the tests of package stats come from this script: scipy
# 1.17.1, numpy 2.4.6; rliable's definitions are restated with numpy.
import numpy as np
from scipy import stats

p = lambda name, v: print(name, np.array2string(np.asarray(v, float), precision=17, separator=", "))

for level in (0.9, 0.95, 0.99):
    p(f"t {level}", stats.t.ppf(0.5 + level / 2, [1, 2, 4, 9, 29, 999]))

runs = np.array([3.1, 2.4, 5.9, 4.2, 0.7])
p("mean", runs.mean())
p("se", stats.sem(runs))
p("ci", stats.t.interval(0.95, 4, runs.mean(), stats.sem(runs)))

for k, n in ((0, 10), (3, 10), (10, 10), (517, 1000)):
    ci = stats.binomtest(k, n).proportion_ci(0.95, "wilson")
    p(f"wilson {k}/{n}", (ci.low, ci.high))

odd = np.array([9.0, 1, 4, 7, 2, 30, -5])
p("quantiles", np.quantile(odd, [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1]))
for m in range(1, 8):
    p(f"iqm of {m}", stats.trim_mean(odd[:m], 0.25))

# [task][run]
x = np.array([[1.0, 2, 3, 4], [0.5, 0.1, 0.9, 7], [10, 12, 11, 13]])
y = np.array([[2.0, 2, 1], [0.5, 0.6, 0.2], [14, 10, 9]])
p("pooled iqm", stats.trim_mean(x, 0.25, axis=None))
p("aggregate mean", np.mean(np.mean(x, axis=1)))
p("profile", [np.mean(x > tau) for tau in (0, 1, 3.5, 11, 13)])
p("poi", np.mean([stats.mannwhitneyu(a, b, alternative="greater").statistic / (len(a) * len(b)) for a, b in zip(x, y)]))

rs = np.random.RandomState(0)
def boot(f, *scores, reps):
    out = np.empty(reps)
    for i in range(reps):
        out[i] = f(*[np.take_along_axis(s, rs.randint(s.shape[1], size=s.shape), 1) for s in scores])
    return np.percentile(out, [2.5, 97.5])
p("bootstrap mean", boot(lambda s: np.mean(s), x, reps=200_000))
p("bootstrap iqm", boot(lambda s: np.mean(np.sort(s, axis=None)[3:9]), x, reps=200_000))

def within(f, *samples, alternative="greater"):
    return stats.permutation_test(samples, f, permutation_type="samples", n_resamples=np.inf, alternative=alternative).pvalue
seats = np.array([[5.0, 3, 6, 4], [1, 2, 0, 3], [2, 2.5, 4, 1]])
p("seats stat", np.var(seats.mean(axis=1), ddof=1))
p("seats p", within(lambda *s: np.var(np.mean(s, axis=1), ddof=1), *seats))
a = np.array([3.1, 2.4, 5.9, 4.2, 0.7, 3.3, 2.9])
b = np.array([2.5, 2.6, 4.1, 3.0, 0.9, 2.2, 2.0])
p("sign flip p", within(lambda s, t: np.mean(s - t), a, b, alternative="two-sided"))
two = lambda s, t: abs(np.mean(s) - np.mean(t))
p("two p", stats.permutation_test((a[:5], b[:4]), two, permutation_type="independent", n_resamples=np.inf, alternative="greater").pvalue)

seeds = np.array([[4.0, 3, 2, 1], [4, 2, 3, 1], [3, 4, 1, 2], [4, 3, 1, 2], [2, 4, 3, 1]])
for m in range(2, 6):
    t = stats.page_trend_test(seeds[:m, ::-1], ranked=False, method="exact")
    p(f"page {m}", (t.statistic, t.pvalue))
rs = np.random.default_rng(1)
many = rs.permuted(np.tile(np.arange(6.0), (30, 1)), axis=1)
many[:12] = np.sort(many[:12])[:, ::-1]
p("page 30x6", (lambda t: (t.statistic, t.pvalue))(stats.page_trend_test(many[:, ::-1], method="exact")))
print(many.astype(int).tolist())
