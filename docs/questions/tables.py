"""Tables of the users' questions from the results of jobs.py, pool.sh and 13.sh: python3 tables.py FOLDER [QUESTIONS...].
They are printed and written into docs/results/question-NN.md, with the commands, the commits and the kernel sets of the runs.
x ± y is the mean over seeds and half the 95 % interval by Student's t; a difference is taken seed by seed."""
import contextlib, csv, glob, io, json, os, re, sys
from math import sqrt
from statistics import mean, stdev

root = sys.argv[1]
T = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571}
SEEDS = [1, 2, 3, 4, 5]

def load(path):
    try:
        with open(os.path.join(root, path)) as f: return json.load(f)
    except (OSError, ValueError): return None
def half(x): return T[len(x) - 1] * stdev(x) / sqrt(len(x)) if len(x) > 1 else float("nan")
def num(v, d): return re.sub(r"^(-?)0\.", r"\1.", f"{v:.{d}f}")
def pm(x, d=3): return "-" if not x else f"{num(x[0], d)} (1 seed)" if len(x) == 1 else f"{num(mean(x), d)} ± {num(half(x), d)}" + ("" if len(x) == 5 else f" ({len(x)} seeds)")
def every(x, d=2): return " ".join(num(v, d) for v in x)
def diff(name, a, b, d=3):
    """a and b by seed: the difference seed by seed, and whether its interval holds 0."""
    x = [a[s] - b[s] for s in sorted(a) if s in b]
    print(f"- {name}: {'+' if mean(x) >= 0 else ''}{pm(x, d)}{' (holds 0)' if len(x) < 2 or abs(mean(x)) <= half(x) else ''} [{every(x, d)}]")
def row(*cells): print("| " + " | ".join(str(c) for c in cells) + " |")
def head(*cells): row(*cells); print("|" + "---|" * len(cells))
def env(pattern):
    f = glob.glob(os.path.join(root, pattern))
    return json.load(open(f[0])) if f else None
def run(folder, label):
    """By seed: mean, agents, cpu, memory, phases of folder/label-SEED."""
    out = {}
    for s in SEEDS:
        r, e = load(f"{folder}/{label}-{s}.json"), env(f"{folder}/runs-{glob.escape(label)}-{s}/*/seed-{s}/env.json")
        if r: out[s] = dict(mean=r["mean"], greedy=r["greedy_mean"], agents=r["seeds"][0]["agents"], steps=r["seeds"][0]["env_steps"], cpu=r["seeds"][0]["cpu_s"], mb=e["peak_memory_bytes"] / 2**20 if e else None, phases=e["phases_s"] if e else {})
    return out
def of(runs, key): return {s: r[key] for s, r in runs.items()}
def vals(x): return [x[s] for s in sorted(x)]
def cost(runs): return f"{mean(vals(of(runs, 'cpu'))):.0f}", f"{max(vals(of(runs, 'mb'))):.0f}"
def phases(runs):
    keys = sorted({k for r in runs.values() for k in r["phases"]})
    p = {k: mean(r["phases"].get(k, 0) for r in runs.values()) for k in keys}
    return ", ".join(f"{k} {num(v, 1)}" for k, v in sorted(p.items(), key=lambda x: -x[1]) if v >= .25 and "/" not in k)
def metrics(pattern):
    for f in glob.glob(os.path.join(root, pattern)):
        with open(f) as h:
            for r in csv.DictReader(h): yield int(r["step"]), r["name"], r["agent"], float(r["value"]), float(r["n"] or 0)
def windows(pattern, name): return [(s, v, n) for s, m, _, v, n in metrics(pattern) if m == name]

def q01():
    names = ["a-all-on", "b-world-off", "c-goals-off", "d-others-by-brains", "e-goals-and-others-off", "f-ppo-alone", "g-shared-policy", "h-shared-ppo-alone"]
    R = {n: run("01", n) for n in names}
    T1 = {"a-all-on": "everything on", "b-world-off": "no imagination: `imagine.on=false`", "c-goals-off": "no goals: `goals.kind=none`",
          "d-others-by-brains": "imagined co-players act by their own brains: `imagine.others=brains`", "e-goals-and-others-off": "no goals, no model of others: `mind=ppo imagine.others=brains`",
          "f-ppo-alone": "PPO alone: the same and `imagine.on=false`", "g-shared-policy": "one shared policy and imagination: `mind=ppo imagine.others=brains train.brains=[0,0,0,0]`", "h-shared-ppo-alone": "one shared policy, PPO alone: the same and `imagine.on=false`"}
    head("setting", "mean return", "every seed", "env steps to 3.5, every seed", "processor s", "MB", "phases, wall s")
    for n in names:
        to = []
        for s in SEEDS:
            w = windows(f"01/runs-{n}-{s}/*/seed-{s}/metrics.csv", "return/mean")
            to.append(next((str(round(a / 1000)) + "k" for a, v, _ in w if v >= 3.5), "never"))
        row(T1[n], pm(vals(of(R[n], "mean"))), every(vals(of(R[n], "mean"))), " ".join(to), *cost(R[n]), phases(R[n]))
    a = of(R[names[0]], "mean")
    for n in names[1:]: diff(f"all on - {n}", a, of(R[n], "mean"))
    diff("imagination for ppo (e - f)", of(R[names[4]], "mean"), of(R[names[5]], "mean"))
    diff("shared against separate, imagination (g - e)", of(R[names[6]], "mean"), of(R[names[4]], "mean"))
    diff("shared against separate, none (h - f)", of(R[names[7]], "mean"), of(R[names[5]], "mean"))
    diff("goals and model of others without imagination (b - f)", of(R[names[1]], "mean"), of(R[names[5]], "mean"))
    print("buffers, all on: rows by agent, mean over windows and seeds; last window")
    for b in ("real", "imagined", "world", "others"):
        m = {}
        for s in SEEDS:
            for st, name, ag, v, _ in metrics(f"01/runs-a-all-on-{s}/*/seed-{s}/metrics.csv"):
                if name == "buffer/" + b: m.setdefault(ag, {}).setdefault(s, []).append(v)
        print("  ", b, " ".join(f"{mean(v for x in m[g].values() for v in x):.0f}" for g in sorted(m)), "| first", " ".join(f"{mean(x[0] for x in m[g].values()):.0f}" for g in sorted(m)), "| last", " ".join(f"{mean(x[-1] for x in m[g].values()):.0f}" for g in sorted(m)))
    print("imagine/exact, last windows:", every([mean(v for _, v, _ in windows(f"01/runs-a-all-on-{s}/*/seed-{s}/metrics.csv", "imagine/exact")[-5:]) for s in SEEDS], 3))

def q02():
    for size in (4, 8):
        head("run", "mean return by tenth of the run", "agents 0 to 3, last fifth", "final, sampled", "audit")
        for v in ("healthy", "order", "rate", "entropy"):
            tenths, agents = [], []
            for s in SEEDS:
                p = f"02/runs-{v}{size}-{s}/*/seed-{s}/metrics.csv"
                w = windows(p, "return/mean"); end = w[-1][0]
                tenths.append([mean([x for a, x, _ in w if int(a * 10 / (end + 1)) == b] or [float("nan")]) for b in range(10)])
                ag = {}
                for st, name, g, x, _ in metrics(p):
                    if name == "return" and st > .8 * end: ag.setdefault(g, []).append(x)
                agents.append([mean(ag[g]) for g in sorted(ag)])
            r = run("02", f"{v}{size}")
            try: audit = open(os.path.join(root, f"02/audit-{v}{size}.txt")).readline().strip().split(": ", 1)[1]
            except OSError: audit = "-"
            row(f"{v}, {size}x{size}", every([mean(t[b] for t in tenths) for b in range(10)]), ", ".join(pm([a[i] for a in agents], 2) for i in range(4)) if agents[0] else "-", pm(vals(of(r, "mean")), 2), audit)
            print("   every seed, tenths:", "; ".join(every(t) for t in tenths), "| peak - last:", pm([max(t) - t[-1] for t in tenths], 2), "| cpu, MB", *cost(r))
            print("   agents by seed:", "; ".join(every(a) for a in agents))
    for f in sorted(glob.glob(os.path.join(root, "02/audit-*.txt"))):
        print(os.path.basename(f)); print("   ", "\n    ".join(l.rstrip() for l in open(f).read().splitlines()[:5] if l.strip()))
        for l in open(f):
            if re.search("suspect|FAULT|fault |falls", l): print("     *", l.strip()[:700])

def q03():
    D = {}
    for n in ("attention", "gru", "gru-episode", "none"):
        for s in SEEDS:
            r = load(f"03/seq-{n}-{s}.json")
            if not r: continue
            for p in r["predictors"]:
                who = "bayes" if p["name"] == "Bayes observer" else n
                if who == "bayes" and n != "attention": continue
                D.setdefault(who, {})[s] = dict(p["all"], cpu=r["cpu_s"], eps=[x["ce"] for x in p["by_episodes"]], steps=[(x["seen"], x["ce"]) for x in p["by_steps"]])
    head("", "cross-entropy, nats", "every seed", "top-1", "goal", "kind", "CE by episode of the life", "processor s")
    T3 = {"bayes": "Bayes observer, scripts known", "attention": "transformer, the whole life", "gru": "GRU, the whole life", "gru-episode": "GRU, one episode", "none": "no history"}
    for n in T3:
        d = D[n]; k = lambda key: [d[s][key] for s in sorted(d) if d[s].get(key) is not None]
        row(T3[n], pm(k("ce")), every(k("ce"), 3), pm(k("top1")), pm(k("goal")), pm(k("kind")), every([mean(d[s]["eps"][i] for s in d) for i in range(len(d[1]["eps"]))]), "" if n == "bayes" else f"{mean(k('cpu')):.0f}")
    ce = {n: {s: D[n][s]["ce"] for s in D[n]} for n in D}
    diff("attention - gru", ce["attention"], ce["gru"]); diff("gru - gru over one episode", ce["gru"], ce["gru-episode"]); diff("attention - gru over one episode", ce["attention"], ce["gru-episode"]); diff("gru-episode - none", ce["gru-episode"], ce["none"])
    for n in ("attention", "gru", "gru-episode"):
        x = [(ce["none"][s] - ce[n][s]) / (ce["none"][s] - ce["bayes"][s]) for s in SEEDS]; print(f"- share of the gap closed, {n}: {pm(x)}")
    for n in D: print("   by steps seen,", n, " ".join(f"{D[n][1]['steps'][i][0]}:{mean(D[n][s]['steps'][i][1] for s in D[n]):.2f}" for i in range(len(D[n][1]["steps"]))))
    head("", "mean return", "every seed", "greedy", "processor s of the run", "MB", "processor ms a decision")
    A = {}
    for n, title in (("nosearch", "response network alone, `search.sims=0`"), ("onestep", "one step, own network's value, `hop+onestep`"), ("depth1", "one step in 8 drawn futures, `hop+types`"), ("tree-50", "8 trees of 50"), ("tree-200", "8 trees of 200"), ("tree-1000", "8 trees of 1,000")):
        A[n] = run("hop", "hop+types") if n == "depth1" else run("03", "act-" + n); t = load(f"03/time-{n}.json")
        row(title, pm(vals(of(A[n], "mean"))), every(vals(of(A[n], "mean")), 3), pm(vals(of(A[n], "greedy"))), *cost(A[n]), num(1000 / t["collect_agent_steps_per_s"], 2) if t else "-")
    for n in ("nosearch", "onestep", "tree-50", "tree-200", "tree-1000"): diff(f"hop+types - {n}", of(A["depth1"], "mean"), of(A[n], "mean"))

def q03play():
    """Whole pipelines of play/SEED: self-play and the six trios."""
    T = {"hop+types": "`hop+types`", "hop+sequence": "`hop+sequence`, transformer", "hop+gru": "GRU, `--history gru`", "hop+forget": "transformer that forgets at an episode's start, `--forget`", "hop+blind": "reads nothing, `--history none`"}
    S, K, A = {}, {}, {}
    head("others read by", "self-play", "every seed", *KNOWN, "mean of the six", "processor s", "MB")
    for v in T:
        r = {s: (t, env(f"play/{s}/runs/{glob.escape(v)}-001/seed-{s}/env.json")) for s in SEEDS if (t := load(f"play/{s}/{v}.json"))}
        a = {s: [x["normalised"] for x in t["table"]] for s in SEEDS if (t := load(f"play/{s}/{v}.adapt.json"))}
        if not r: continue
        A[v] = a
        S[v], K[v] = {s: t["mean"] for s, (t, _) in r.items()}, {s: mean(x) for s, x in a.items()}
        row(T[v], pm(vals(S[v])), every(vals(S[v]), 3), *(pm([x[i] for x in vals(a)], 2) for i in range(len(KNOWN))), pm(vals(K[v])), f"{mean(t['seeds'][0]['cpu_s'] for t, _ in r.values()):.0f}", f"{max(e['peak_memory_bytes'] / 2**20 for _, e in r.values() if e):.0f}")
    for v, names in (("hop+types", ("data", "vae", "cvae", "moa")), ("hop+sequence", ("lives", "sequence")), ("hop+gru", ("sequence",))):
        x = [q["wall_s"] for s in SEEDS for q in load(f"play/{s}/runs/{v}-001/stages.json") or [] if q["name"] in names]; print(f"   stages of {v}, {' '.join(names)}: {num(sum(x) / len(SEEDS), 1)} s of the clock")
    for a, b in (("hop+sequence", "hop+types"), ("hop+gru", "hop+types"), ("hop+sequence", "hop+gru"), ("hop+sequence", "hop+forget"), ("hop+sequence", "hop+blind")):
        if a not in S or b not in S: continue
        diff(f"{a} - {b}, self-play", S[a], S[b]); diff(f"{a} - {b}, mean of six", K[a], K[b])
        for i, t in enumerate(KNOWN): diff(f"{a} - {b}, {t}", *({s: x[i] for s, x in A[v].items()} for v in (a, b)))

def q04():
    V = ("self-fresh", "self-frozen", "self-learning", "bots-fresh", "bots-frozen", "bots-learning")
    head("", "env steps to 4.5, every seed", "env steps to 4.0, every seed", "first moving mean", "last moving mean", "final, sampled", "3 ns", "ns + 2 nh", "processor s", "MB")
    T4 = {"self-fresh": "self-play, fresh", "self-frozen": "self-play, pretrained on bots, frozen", "self-learning": "self-play, pretrained on bots, learning on", "bots-fresh": "among bots, fresh", "bots-frozen": "among bots, goals pretrained on self-play, frozen", "bots-learning": "among bots, goals pretrained on self-play, learning on"}
    F, A, ad, ends, at = {}, {}, {}, {}, {}
    for v in V:
        hit, four, first, last = {}, {}, {}, {}
        for s in SEEDS:
            w = windows(f"04/runs-{v}-{s}/*/seed-{s}/metrics.csv", "return/mean")
            m = [(w[i][0], mean(x for _, x, _ in w[i - 4:i + 1])) for i in range(4, len(w))]
            if not m: continue
            first[s], last[s] = m[0][1], m[-1][1]; hit[s] = next((a for a, x in m if x >= 4.5), None); four[s] = next((a for a, x in m if x >= 4), None)
        r = run("04", v); F[v], A[v], ends[v], at[v] = first, of(r, "mean"), last, hit
        ad[v] = {i: {s: t["table"][i]["normalised"] for s in SEEDS if (t := load(f"04/adapt-{v}-{s}.json"))} for i in (0, 1)}
        row(T4[v], *(" ".join(str(x[s]) if x[s] else "never" for s in sorted(x)) for x in (hit, four)), pm(vals(first), 2), pm(vals(last), 2), pm(vals(A[v]), 3), *(pm(vals(ad[v][i]), 3) for i in (0, 1)), *cost(r))
        print("   every seed: final", every(vals(A[v])), "| adapt", *(every(vals(ad[v][i])) + " /" for i in (0, 1)), "| phases", phases(r))
    for a, b in (("self-frozen", "self-fresh"), ("self-learning", "self-fresh"), ("self-learning", "self-frozen"), ("bots-frozen", "bots-fresh"), ("bots-learning", "bots-fresh")):
        diff(f"{a} - {b}, first moving mean", F[a], F[b]); diff(f"{a} - {b}, last moving mean", ends[a], ends[b]); diff(f"{a} - {b}, final", A[a], A[b])
        if a.startswith("bots"):
            for i, t in ((0, "3 ns"), (1, "ns+2nh")): diff(f"{a} - {b}, {t}", ad[a][i], ad[b][i])
        x = {s: at[a][s] for s in at[a] if at[a][s]}; y = {s: at[b][s] for s in at[b] if at[b][s]}
        if len(set(x) & set(y)) > 1: diff(f"{a} - {b}, steps to 4.5", x, y, 0)

def q04plus():
    """Reuse on hop+: its reader of 250,000 rows or of 5,000, the action's head frozen or learning on in play."""
    T = {"plus-fresh": "fresh, frozen", "plus-fresh-learning": "fresh, learning on", "plus-frozen": "pretrained, frozen", "plus-learning": "pretrained, learning on"}
    head("reader", "first fifth of the run", "last fifth", "final, drawn", "every seed", "3 ns", "ns + 2 nh", "3 nh", "in play, top-1, last fifth", "processor s")
    D = {}
    for v, title in T.items():
        R = {s: r for s in SEEDS if (r := load(f"04/{v}-{s}.json"))}
        if not R: continue
        w = {s: [x for _, _, x in r] for s, r in small("04", v, "return/mean").items()}
        A = {s: [x["normalised"] for x in t["table"]] for s in SEEDS if (t := load(f"04/adapt-{v}-{s}.json"))}
        top = [mean(x for _, _, x in r[-len(r) // 5:]) for r in small("04", v, "moa/top1").values()]
        D[v] = {"first fifth": {s: mean(x[:len(x) // 5]) for s, x in w.items()}, "final": {s: r["mean"] for s, r in R.items()}, "mean of the trios": {s: mean(x) for s, x in A.items()}}
        row(title, pm(vals(D[v]["first fifth"]), 2), pm([mean(x[-len(x) // 5:]) for x in w.values()], 2), pm(vals(D[v]["final"])), every(vals(D[v]["final"])), *(pm([x[i] for x in A.values()]) for i in range(3)), pm(top), f"{mean(r['seeds'][0]['cpu_s'] for r in R.values()):.0f}")
    for a, b in (("plus-frozen", "plus-fresh"), ("plus-learning", "plus-frozen"), ("plus-fresh-learning", "plus-fresh")):
        for k in D.get(a, {}):
            if D.get(b, {}).get(k) and D[a][k]: diff(f"{T[a]} - {T[b]}, {k}", D[a][k], D[b][k])

def q05():
    V = ("hop+types", "hop+gumbel", "soft", "eight", "hop+discrete"); R = {}
    T5 = {"hop+types": "16 numbers, `hop+types`", "hop+gumbel": "4 x 4 classes, `hop+gumbel`", "soft": "4 x 4 classes, plans with the probabilities, `goals.spread=0`", "eight": "8 classes, `hop+types` with the VAE of `hop+discrete`", "hop+discrete": "8 classes, beliefs by Bayes' rule, `hop+discrete`"}
    head("goals", "self-play", "every seed", "greedy", "`goal/ce`, first windows", "`goal/ce`, last windows", "processor s", "MB")
    for v in V:
        R[v], G, cpu, mb, ce, c0 = {}, {}, [], [], [], []
        for s in SEEDS:
            r, e = load(f"05/{s}/{v}.json"), env(f"05/{s}/runs/{v}-001/seed-{s}/env.json")
            if not r: continue
            R[v][s], G[s] = r["mean"], r["greedy_mean"]; cpu.append(r["seeds"][0]["cpu_s"]); mb.append(e["peak_memory_bytes"] / 2**20)
            w = [x for _, x, _ in windows(f"05/{s}/runs/{v}-001/seed-{s}/metrics.csv", "goal/ce")]
            if w: ce.append(mean(w[-8:])); c0.append(mean(w[:8]))
        row(T5[v], pm(vals(R[v])), every(vals(R[v]), 3), pm(vals(G)), pm(c0), pm(ce), f"{mean(cpu):.0f}", f"{max(mb):.0f}")
    for v in V[1:]: diff(f"hop+types - {v}", R["hop+types"], R[v])
    diff("eight - hop+discrete", R["eight"], R["hop+discrete"]); diff("eight - gumbel", R["eight"], R["hop+gumbel"]); diff("gumbel - soft", R["hop+gumbel"], R["soft"])

def q06():
    head("radius", "return", "every seed", "processor s", "every seed", "MB", "phases, wall s")
    R = {-1: run("hop", "hop+types"), **{r: run("06", f"staghunt-{r}") for r in (0, 1, 2)}}
    for r in R: row("no gate" if r < 0 else r, pm(vals(of(R[r], "mean"))), every(vals(of(R[r], "mean")), 3), pm(vals(of(R[r], "cpu")), 1), every(vals(of(R[r], "cpu")), 0), cost(R[r])[1], phases(R[r]))
    part = lambda r, k: {s: x["phases"].get(k, 0) for s, x in R[r].items()}
    for r in R: print(f"   radius {r}: collect/search/others {pm(vals(part(r, 'collect/search/others')), 2)} s, its share of collect {pm([part(r, 'collect/search/others')[s] / part(r, 'collect')[s] for s in SEEDS])}; collect {pm(vals(part(r, 'collect')), 2)} s")
    for r in (0, 1, 2): diff(f"radius {r} - none, share of collect that predicts others", *({s: part(x, "collect/search/others")[s] / part(x, "collect")[s] for s in SEEDS} for x in (r, -1)))
    for r in (0, 1, 2): diff(f"radius {r} - none, return", of(R[r], "mean"), of(R[-1], "mean")); diff(f"radius {r} - none, seconds", of(R[r], "cpu"), of(R[-1], "cpu"), 1)

def q06games():
    """The gate in other games: return and seconds against the radius, of what was measured over five seeds."""
    head("game, radius", "return", "every seed", "greedy", "processor s", "predicting others, share of collecting", "world model, share", "MB")
    lines = []
    for g in ("coin", "snowdrift", "foraging", "tag", "cleanup"):
        R = {r: x for r in (-1, 0, 1, 2) if len(x := run("06", f"{g}-{r}")) == len(SEEDS)}
        if -1 not in R or len(R) < 2: continue
        part = lambda r, k: {s: x["phases"].get(k, 0) for s, x in R[r].items()}
        share = lambda r, k: {s: x["phases"].get("collect/search/" + k, 0) / x["phases"]["collect"] for s, x in R[r].items()}
        for r in R:
            d = 2 if mean(vals(of(R[r], "mean"))) >= 10 else 3
            row(f"{g}, no gate" if r < 0 else f"{g}, {r}", pm(vals(of(R[r], "mean")), d), every(vals(of(R[r], "mean"))), pm(vals(of(R[r], "greedy")), d), pm(vals(of(R[r], "cpu")), 1), pm(vals(share(r, "others"))), pm(vals(share(r, "dynamics"))), cost(R[r])[1])
        for r in R:
            if r < 0: continue
            for t, f, d in [("return", lambda x: of(R[x], "mean"), 3), ("seconds", lambda x: of(R[x], "cpu"), 1), ("share of others", lambda x: share(x, "others"), 3)] + [(k + ", wall s", lambda x, k=k: part(x, k), 2) for k in ("collect", "collect/search/dynamics", "collect/search/others", "collect/search/leaf")]:
                lines.append((f"{g}, radius {r} - none, {t}", f(r), f(-1), d))
    for x in lines: diff(*x)

def q07():
    N = 1000000; C = {}
    head("seq_len", "5 to 10 % of the steps", "15 to 25 %", "45 to 55 %", "last 10 %", "final, sampled", "every seed", "processor s", "MB")
    for n in ("lstm1", "lstm5", "lstm20", "lstm40", "none"):
        C[n] = []
        for lo, hi in ((.05, .1), (.15, .25), (.45, .55), (.9, 1.01)):
            x = {}
            for s in SEEDS:
                w = [(v, k) for a, v, k in windows(f"07/runs-{n}-{s}/*/seed-{s}/metrics.csv", "return/mean") if lo * N < a <= hi * N]
                x[s] = sum(v * k for v, k in w) / sum(k for _, k in w)
            C[n].append(x)
        r = run("07", n); C[n].append(of(r, "mean"))
        row({"none": "no LSTM"}.get(n, n[4:]), *(pm(vals(x), 2) for x in C[n]), every(vals(C[n][-1])), *cost(r))
    for i, t in enumerate(("5-10 %", "15-25 %", "45-55 %", "last", "final")):
        diff(f"20 - 1, {t}", C["lstm20"][i], C["lstm1"][i]); diff(f"20 - 5, {t}", C["lstm20"][i], C["lstm5"][i]); diff(f"40 - 20, {t}", C["lstm40"][i], C["lstm20"][i]); diff(f"none - 20, {t}", C["none"][i], C["lstm20"][i])

def adapted(names, where, k):
    return {n: [{s: t["table"][i]["normalised"] for s in SEEDS if (t := load(f"09/adapt-{n}-{where}-{s}.json"))} for i in range(k)] for n in names}
T9 = {"hop+types": "`hop+types`", "rl2": "RL^2", "lstm": "PPO with an LSTM, population", "ppo": "PPO, population", "self": "PPO, self-play"}
KNOWN = ("3 ns", "3 nh", "3 random", "ns+2nh", "2ns+random", "nh+ns+random")
def q09():
    names = ("hop+types", "rl2", "lstm", "ppo", "self")
    K, S = adapted(names, "known", 6), adapted(names, "strange", 3)
    head("met in training", *KNOWN, "mean of the six", "self-play", "processor s", "MB")
    six = {n: {s: mean(K[n][i][s] for i in range(6)) for s in SEEDS} for n in names}
    for n in names:
        r = run("hop", "hop+types") if n == "hop+types" else run("09", n)
        row(T9[n], *(pm(vals(x), 2) for x in K[n]), pm(vals(six[n]), 3), pm(vals(of(r, "mean")), 2), *cost(r))
    head("strangers", "3 deadline", "3 selfish PPO", "3 prosocial PPO", "3 nh, then 3 ns", "back, every seed", "3 ns, then 3 nh", "back, every seed")
    for n in names:
        cells = []
        for w in ("to-ns", "to-nh"):
            d = {s: load(f"09/adapt-{n}-{w}-{s}.json") for s in SEEDS}
            x = {s: d[s]["parts"][-1]["normalised"] if d[s].get("parts") else d[s]["normalised"] for s in SEEDS}
            cells += [pm(vals(x), 2), " ".join("never" if d[s].get("back_after") in (None, -1) else f"{d[s]['back_after']:.0f}" for s in SEEDS)]
        row(T9[n], *(pm(vals(x), 2) for x in S[n]), *cells)
    for n in names:
        print(f"   {n} raw: known scores", " / ".join(every([load(f'09/adapt-{n}-known-{s}.json')['table'][i]['score'] for s in SEEDS]) for i in range(6)), "| strange", " / ".join(every([load(f'09/adapt-{n}-strange-{s}.json')['table'][i]['score'] for s in SEEDS]) for i in range(3)))
    for n in ("hop+types", "lstm", "ppo", "self"):
        for i, t in enumerate(KNOWN): diff(f"{n} - rl2, {t}", K[n][i], K["rl2"][i])
        diff(f"{n} - rl2, mean of six", six[n], six["rl2"])
        for i, t in enumerate(("deadline", "selfish", "prosocial")): diff(f"{n} - rl2, {t}", S[n][i], S["rl2"][i])
    for n in ("ppo", "lstm"):
        diff(f"hop+types - {n}, mean of six", six["hop+types"], six[n])
        for i, t in enumerate(KNOWN): diff(f"hop+types - {n}, {t}", K["hop+types"][i], K[n][i])
        for i, t in enumerate(("deadline", "selfish", "prosocial")): diff(f"hop+types - {n}, {t}", S["hop+types"][i], S[n][i])
    print("question 7: lstm - ppo over the population")
    for i, t in enumerate(KNOWN): diff(f"lstm - ppo, {t}", K["lstm"][i], K["ppo"][i])
    diff("lstm - ppo, mean of six", six["lstm"], six["ppo"])
    print("rl2 by episode of the life: 1st, 2nd-10th, 11th-20th, later; mean over seeds")
    for i, t in enumerate(KNOWN):
        e = [load(f"09/adapt-rl2-known-{s}.json")["table"][i]["episodes"] for s in SEEDS]
        print("  ", t, *(pm([mean(x[a:b]) for x in e], 2) for a, b in ((0, 1), (1, 10), (10, 20), (20, None))))
    for n, l in (("selfish", "selfish"), ("prosocial", "prosocial")):
        r = load(f"09/{l}-9.json"); print("strangers' self-play,", n, r["mean"] if r else "-")
    t = load("09/adapt-hop+types-strange-1.json"); print([(x["best_response"], x["best_response_by"], x["random"]) for x in t["table"]])

def q08():
    R = {v: run("08", v) for v in ("mixed", "noplanner", "later", "ppo", "prosocial")}; R["hop+types"] = run("hop", "hop+types")
    head("run", "mean", "agent 0", "agent 1", "agent 2", "agent 3", "processor s", "MB", "phases, wall s")
    T8 = {"mixed": "`mixed-4x4`: hop+types, PPO, prosocial PPO, ns", "noplanner": "nh in the planner's place", "later": "agent 1 is ns for a third, then learns", "ppo": "self-play of PPO", "prosocial": "self-play of prosocial PPO", "hop+types": "self-play of `hop+types`"}
    for v in R: row(T8[v], pm(vals(of(R[v], "mean")), 2), *(pm([a[i] for a in vals(of(R[v], "agents"))], 2) for i in range(4)), *cost(R[v]), phases(R[v]))
    for v in R: print("  ", v, "; ".join(every(a) for a in vals(of(R[v], "agents"))))
    ag = lambda v, i: {s: R[v][s]["agents"][i] for s in R[v]}
    diff("mixed: ppo - prosocial", ag("mixed", 1), ag("mixed", 2)); diff("mixed: hop+types - ppo", ag("mixed", 0), ag("mixed", 1))
    diff("mixed - noplanner: ppo", ag("mixed", 1), ag("noplanner", 1)); diff("mixed - noplanner: prosocial", ag("mixed", 2), ag("noplanner", 2)); diff("mixed - noplanner: ns", ag("mixed", 3), ag("noplanner", 3))
    for i in range(4): diff(f"later - mixed: agent {i}", ag("later", i), ag("mixed", i))
    diff("hop+types in mixed - hop+types in self-play", ag("mixed", 0), of(R["hop+types"], "mean")); diff("ppo in mixed - in self-play", ag("mixed", 1), of(R["ppo"], "mean")); diff("prosocial in mixed - in self-play", ag("mixed", 2), of(R["prosocial"], "mean"))

def q10():
    for board, views in ((4, (1, 2, 0)), (8, (1, 2, 3, 0))):
        head("board, view", "ppo", "ppo-lstm", "hop-view", "without goals", "processor s, same order", "MB")
        R = {(v, w): run("10", f"{board}-{v}-{w}") for v in views for w in ("ppo", "lstm", "hop", "nogoals")}
        for v in views:
            x = [R[v, w] for w in ("ppo", "lstm", "hop", "nogoals")]
            row(f"{board}x{board}, {v or 'whole'}", *(pm(vals(of(r, "mean")), 2) for r in x), " ".join(cost(r)[0] for r in x), max(int(cost(r)[1]) for r in x))
            print("   every seed:", " | ".join(every(vals(of(r, "mean"))) for r in x))
        for v in views:
            m = lambda w: of(R[v, w], "mean")
            for a, b in (("hop", "ppo"), ("hop", "nogoals"), ("lstm", "ppo"), ("hop", "lstm")): diff(f"{board}x{board} view {v}: {a} - {b}", m(a), m(b), 2)

def q10fade():
    head("8x8, the hare fades in, view", "ppo", "ppo-lstm", "hop-view", "every seed, same order", "processor s, same order", "MB")
    R = {(v, w): run("10", f"fade-{v}-{w}") for v in (1, 2, 3, 0) for w in ("ppo", "lstm", "hop")}
    for v in (1, 2, 3, 0):
        x = [R[v, w] for w in ("ppo", "lstm", "hop")]
        if all(x): row(v or "whole", *(pm(vals(of(r, "mean")), 2) for r in x), " / ".join(every(vals(of(r, "mean"))) for r in x), " ".join(cost(r)[0] for r in x), max(int(cost(r)[1]) for r in x))
    for v in (1, 2, 3, 0):
        for a, b in (("hop", "ppo"), ("lstm", "ppo"), ("hop", "lstm")):
            if R[v, a] and R[v, b]: diff(f"view {v}: {a} - {b}", of(R[v, a], "mean"), of(R[v, b], "mean"), 2)

def q10view():
    names = {"hop4": "HOP, 4x4", "hop+4": "HOP+, 4x4", "hop8": "HOP, 8x8"}
    takes = {"drawn": "a draw from what may be there", "seen": "what was last seen there", "gone": "nothing and nobody", "none": "no search"}
    head("agents", "view", "where nothing is seen", "mean return", "every seed", "processor s a seed")
    for who, name in names.items():
        R = {}
        for f in glob.glob(os.path.join(root, f"10/view-{who}-[0-9]-*-1-5.json")):
            view, by = os.path.basename(f)[len(f"view-{who}-"):].split("-")[:2]
            if r := load(f): R[view, by] = {s["seed"]: s for s in r["seeds"]}
        at = {k: of(r, "mean") for k, r in R.items()}
        for (view, by), r in sorted(R.items(), key=lambda x: (x[0][0], list(takes).index(x[0][1]))):
            row(name, view if view != "0" else "whole board", takes[by] if view != "0" or by == "none" else "-", pm(vals(at[view, by])), every(vals(at[view, by])), num(mean(vals(of(r, "cpu_s"))), 0))
        for x, y in [((v, "drawn"), (v, by)) for v in "12" for by in ("seen", "gone", "none")] + [(("0", "drawn"), (v, "drawn")) for v in "12"]:
            if x in at and y in at: diff(f"{name}: {' '.join(x)} - {' '.join(y)}", at[x], at[y])

T11 = {"hop": "HOP", "no-across": "no beliefs across episodes", "no-within": "no beliefs within", "direct-om": "direct-OM, no goals", "a3c": "A3C", "a3c-prosocial": "prosocial A3C", "ppo": "PPO", "ppo-prosocial": "prosocial PPO", "lola": "LOLA", "influence": "social influence", "pr2": "PR2"}
M11 = ("hop", "no-across", "no-within", "direct-om", "a3c", "a3c-prosocial", "ppo", "ppo-prosocial", "lola", "influence", "pr2")
def q11():
    A = {m: run("11", f"4h1s-{m}") for m in M11}; B = {m: run("11", f"4h2s-{m}") for m in M11}
    head("", "8x8 4h1s", "every seed", "processor s", "MB", "8x8 4h2s", "every seed", "processor s")
    for m in M11: row(T11[m], pm(vals(of(A[m], "mean"))), every(vals(of(A[m], "mean")), 2), *cost(A[m]), pm(vals(of(B[m], "mean"))) if B[m] else "-", every(vals(of(B[m], "mean"))) if B[m] else "", cost(B[m])[0] if B[m] else "")
    for m in M11[1:]:
        diff(f"4h1s: hop - {m}", of(A["hop"], "mean"), of(A[m], "mean"))
        if B[m]: diff(f"4h2s: hop - {m}", of(B["hop"], "mean"), of(B[m], "mean"))
    for m in ("lola", "a3c", "a3c-prosocial"):
        r = load(f"11/4h1s-{m}-6.json"); print("co-player", m, "seed 6, self-play:", r["mean"], "steps", r["seeds"][0]["env_steps"])
    V = ("lola", "a3c", "a3c-prosocial", "random", "ns", "nh")
    head("few-shot, normalised", *V, "mean of six")
    F = {m: {v: {s: t["normalised"] for s in SEEDS if (t := load(f"11/few-{m}-{v}-{s}.json"))} for v in V} for m in M11}
    for m in M11: row(T11[m], *(pm(vals(F[m][v]), 2) for v in V), pm([mean(F[m][v][s] for v in V) for s in SEEDS], 2))
    head("few-shot, score", *V)
    for m in M11: row(T11[m], *(pm([load(f"11/few-{m}-{v}-{s}.json")["score"] for s in SEEDS], 2) for v in V))
    for v in V:
        t = [load(f"11/few-hop-{v}-{s}.json") for s in SEEDS]; print("  ", v, "best", every([x["best_response"] for x in t]), "by", {x["best_response_by"] for x in t}, "random", every([x["random"] for x in t]))
    for m in M11[1:]:
        for v in V: diff(f"few: hop - {m}, {v}", F["hop"][v], F[m][v], 2)
        diff(f"few: hop - {m}, mean of six", {s: mean(F["hop"][v][s] for v in V) for s in SEEDS}, {s: mean(F[m][v][s] for v in V) for s in SEEDS}, 2)
    tot = sum(r["cpu"] for X in (A, B) for m in X for r in X[m].values()); print("processor seconds of all self-play runs", round(tot), *(f"{t} {sum(len(X[m]) for m in X)} runs {sum(r['cpu'] for m in X for r in X[m].values()):.0f}" for t, X in (("4h1s", A), ("4h2s", B))))

def q11snow():
    """Snowdrift in self-play, ours beside what was published."""
    R = {m: x for m in M11 if (x := run("11", f"snowdrift-{m}"))}
    theirs = {"hop": "29.1 (its predecessor)", "lola": "27.4", "a3c": "25.1"}
    head("snowdrift 8x8", "ours", "every seed", "greedy", "published", "lowest agent", "highest agent", "env steps", "processor s", "MB")
    for m in R: row(T11[m], pm(vals(of(R[m], "mean")), 2), every(vals(of(R[m], "mean"))), pm(vals(of(R[m], "greedy")), 2), theirs.get(m, "-"), *(pm([f(a) for a in vals(of(R[m], "agents"))], 1) for f in (min, max)), f"{mean(vals(of(R[m], 'steps'))):,.0f}", *cost(R[m]))
    for m in R:
        if m != "hop": diff(f"hop - {m}", of(R["hop"], "mean"), of(R[m], "mean"), 2)
    for a, b in (("a3c-prosocial", "a3c"), ("a3c-prosocial", "ppo"), ("no-within", "direct-om"), ("ppo", "a3c")):
        if a in R and b in R: diff(f"{a} - {b}", of(R[a], "mean"), of(R[b], "mean"), 2)
    for m in ("a3c", "ppo", "influence", "pr2", "lola"): print("  ", m, "; ".join(every(a, 1) for a in vals(of(R[m], "agents"))))
    print("processor seconds of all", len([r for m in R for r in R[m]]), "runs:", round(sum(r["cpu"] for m in R for r in R[m].values())))

def q12():
    G = ("coin", "cleanup", "tag", "foraging", "staghunt")
    D = {(g, v): {s: d for s in SEEDS if (d := load(f"12/{g}-{v}-{s}.json")) and d.get("nats")} for g in G for v in ("joint", "apart", "weights")}
    D = {k: x for k, x in D.items() if x}
    kl = lambda k, key="nats": {s: d[key]["all"].get("kl", d[key]["all"]["cross_entropy"]) for s, d in D[k].items()}
    head("game", "rules' entropy", "each cell by itself", "variant", "above the rules, held-out steps", "above the rules, new episodes", "every seed, new", "exact, new certain steps", "processor s")
    for (g, v), x in D.items():
        first = x[min(x)]
        row(g, num(mean(d["nats"]["all"].get("limit") or 0 for d in x.values()), 3), num(mean(d["nats"]["all"]["baseline"] for d in x.values()), 2), v, pm(vals(kl((g, v))), 4), pm(vals(kl((g, v), "nats_new")), 4), every(vals(kl((g, v), "nats_new")), 4), pm([d["probe"]["exact"] for d in x.values()], 4), f"{mean(d['cpu_s'] for d in x.values()):.0f}")
    for g in G:
        for v in ("apart", "weights"):
            if (g, v) in D and (g, "joint") in D:
                diff(f"{g}: {v} - joint, held-out", kl((g, v)), kl((g, "joint")), 4); diff(f"{g}: {v} - joint, new", kl((g, v), "nats_new"), kl((g, "joint"), "nats_new"), 4)
    def drawn(g, v, name, key):
        return [r[key] for d in D.get((g, v), {}).values() for r in d.get("rollouts") or [] if r["name"] == name]
    def off(g, v, name):
        c = drawn(g, v, name, "ci95"); return f"{sum(not a <= 0 <= b for a, b in c)} of {len(c)}" if c else "-"
    head("drawn, random play", "game", "joint", "apart", "seeds off at 95 %, joint", "apart")
    for g, names in (("coin", ("coin0", "several coin0", "return")), ("cleanup", ("waste", "apple", "return")), ("tag", ("prey", "several prey", "return"))):
        for name in names: row(f"{g}: {name}", pm(drawn(g, "joint", name, "game")), pm(drawn(g, "joint", name, "model")), pm(drawn(g, "apart", name, "model")), off(g, "joint", name), off(g, "apart", name))
    head("plane, new episodes", "wrong, joint", "wrong, weights", "weights - joint", "squared error a cell, joint", "weights")
    for g in G:
        if (g, "joint") not in D: continue
        for p, q in D[g, "joint"][min(D[g, "joint"])]["nats_new"]["parts"].items():
            if "weight" not in q: continue
            e = {v: {s: d["nats_new"]["parts"][p]["error"] for s, d in D.get((g, v), {}).items()} for v in ("joint", "weights")}
            m = {v: vals({s: d["nats_new"]["parts"][p]["mse"] for s, d in D.get((g, v), {}).items()}) for v in ("joint", "weights")}
            if not any(vals(e["joint"]) + vals(e["weights"])): continue
            row(f"{g}: {p}", pm(vals(e["joint"]), 4), pm(vals(e["weights"]), 4), pm([e["weights"][s] - e["joint"][s] for s in e["joint"] if s in e["weights"]], 5), pm(m["joint"], 5), pm(m["weights"], 5))
    for (g, v), x in D.items():
        print(g, v, "parts: weight; KL held; share of steps with a wrong likeliest cell, new; squared error a cell, new")
        for p, q in x[min(x)]["nats"]["parts"].items():
            k = [d["nats"]["parts"][p].get("kl") for d in x.values()]
            line = f"    {p}: weight {q.get('weight', '-')} KL {pm([a for a in k if a is not None], 4)}"
            if "weight" in q: line += f" wrong {pm([d['nats_new']['parts'][p]['error'] for d in x.values()], 5)} mse {pm([d['nats_new']['parts'][p]['mse'] for d in x.values()], 6)}"
            print(line)
        if v == "weights" and (g, "joint") in D:
            for p, q in x[min(x)]["nats"]["parts"].items():
                if "weight" in q: diff(f"{g} {p}: weights - joint, wrong, new", {s: d["nats_new"]["parts"][p]["error"] for s, d in x.items()}, {s: d["nats_new"]["parts"][p]["error"] for s, d in D[g, "joint"].items()}, 5)
        for i, r in enumerate(x[min(x)].get("rollouts") or []):
            off = sum(not d["rollouts"][i]["ci95"][0] <= 0 <= d["rollouts"][i]["ci95"][1] for d in x.values())
            print(f"    drawn {r['name']}: game {pm([d['rollouts'][i]['game'] for d in x.values()])} model {pm([d['rollouts'][i]['model'] for d in x.values()])} off in {off} of {len(x)}")

def q13():
    """13.sh: whole pipelines of 13/SEED, self-play and the six trios."""
    names = sorted({os.path.basename(p)[:-len(".adapt.json")] for p in glob.glob(os.path.join(root, "13/*/*.adapt.json"))})
    head("preset", "self-play", "every seed", "greedy", *KNOWN, "processor s", "MB")
    for v in names:
        r = {s: (t["seeds"][0], a["table"], env(f"13/{s}/runs/{glob.escape(v)}-001/seed-*/env.json")) for s in SEEDS
             if (t := load(f"13/{s}/{v}.json")) and (a := load(f"13/{s}/{v}.adapt.json"))}
        if not r: continue
        x = [t["mean"] for t, _, _ in vals(r)]; e = [e for _, _, e in vals(r) if e]
        row(f"`{v}`", pm(x), every(x, 3), pm([t["greedy_mean"] for t, _, _ in vals(r)]), *(pm([a[i]["normalised"] for _, a, _ in vals(r)]) for i in range(len(KNOWN))),
            f"{mean(y['cpu_s'] for y in e):.0f}" if e else "-", f"{max(y['peak_memory_bytes'] for y in e) / 2**20:.0f}" if e else "-")

def q13goals():
    """Goals and types of hop+: strangers that nobody was raised with, the same fifteen for all."""
    W = {"z, z": ("score", "z", "its network and its search read z (`hop+main`)"), "-, z": ("score", "search", "its search alone (`goals.read=false`)"), "z, -": ("score-blind", "z", "its network alone (`SLIP_BLIND`)"),
         "-, -": ("score-blind", "search", "neither"), "few": ("score-types", "few", "both, z from lives among `ns`, `nh`, `random` and `deadline`"), "types": ("score-types", "types", "the same, and these types")}
    head("reads z", "median of the strangers", "every seed", "worst decile", "every seed", "mean", "self-play")
    D = {}
    for k, (out, v, title) in W.items():
        S = {s: (a, [x["normalised"] for x in r["table"] if x["run"] == a["agent"] and x["normalised"] is not None]) for s in SEEDS if (r := load(f"13goals/{out}-{s}.json")) for a in r["strangers_by_agent"] if a["agent"].startswith(f"runs-{v}-")}
        if not S: continue
        D[k] = {"median": {s: a["median"] for s, (a, _) in S.items()}, "worst decile": {s: a["worst_decile"] for s, (a, _) in S.items()}, "mean": {s: mean(x) for s, (_, x) in S.items()}}
        own = [r["mean"] for s in SEEDS if (r := load(f"13goals/{v}-{s}.json"))]
        row(title, *(c for m in ("median", "worst decile") for c in (pm(vals(D[k][m])), every(vals(D[k][m])))), pm(vals(D[k]["mean"])), pm(own))
    for a, b in (("z, z", "-, z"), ("z, z", "z, -"), ("z, z", "-, -"), ("-, z", "-, -"), ("z, -", "-, -"), ("z, z", "few"), ("types", "few")):
        for m in D.get(a, {}):
            if b in D: diff(f"{a} - {b}, {m}", D[a][m], D[b][m])

def small(q, label, name):
    """By seed: (step, agent, value) of a number in the small csv beside a result."""
    out = {}
    for s in SEEDS:
        try:
            with open(os.path.join(root, f"{q}/{label}-{s}.csv")) as f: out[s] = [(int(r[0]), r[2], float(r[3])) for r in csv.reader(f) if r[1] == name]
        except OSError: pass
    return {s: x for s, x in out.items() if x}
def labels(q, pattern=r"(.*)-\d\.json"): return sorted({m[1] for f in glob.glob(os.path.join(root, q, "*.json")) if (m := re.fullmatch(pattern, os.path.basename(f)))})
def tenths(x): return [mean(x[i * len(x) // 10:(i + 1) * len(x) // 10] or [x[-1]]) for i in range(10)]

def q14():
    all14 = labels("14")
    head("run", "mean return by tenth of the run", "rise: first tenth to best", "fall: best tenth to last", "final, drawn", "final, greedy", "model of others, top-1, last tenth", "processor s")
    order = ["theirs", "theirs-long", "theirs-c3"] + [x for x in all14 if x.startswith("theirs-c3-")] + ["theirs-softmax"] + [x for x in all14 if x.startswith("theirs-") and x not in ("theirs-long", "theirs-softmax") and not x.startswith("theirs-c3")] + ["ours"] + [x for x in all14 if x.startswith("ours-")]
    for v in order:
        w = {s: tenths([x for _, _, x in r]) for s, r in small("14", v, "return/mean").items()}
        if not w: continue
        R = {s: load(f"14/{v}-{s}.json") for s in w}; top = small("14", v, "moa/top1")
        row(v, every([mean(t[i] for t in w.values()) for i in range(10)]), pm([max(t) - t[0] for t in vals(w)], 2), pm([max(t) - t[-1] for t in vals(w)], 2), pm([r["mean"] for r in R.values()], 2), pm([r["greedy_mean"] for r in R.values()], 2),
            pm([mean(x for _, _, x in r[-len(r) // 10:]) for r in top.values()], 2), f"{mean(r['seeds'][0]['cpu_s'] for r in R.values()):.0f}")
    print(); print("Every seed, best tenth to last:", "; ".join(f"{v} " + every([max(t) - t[-1] for t in (tenths([x for _, _, x in r]) for r in small("14", v, "return/mean").values())]) for v in order if small("14", v, "return/mean")))

def q15():
    order = [x for x in ("play", "quarter", "half", "most", "nine", "records", "one", "slow", "slowhalf") if x in labels("15")] + [x for x in ("stack-play", "stack-half", "stack-most", "stack-nine", "stack-records", "stack-frozengoals", "stack-even", "stack-more", "stack-evennine", "stack-evenslow") if x in labels("15")] + [x for x in ("context-frozen", "context-play", "context-standins") if x in labels("15")]
    last = lambda v, name: {s: mean(x for t, _, x in r if t == max(y[0] for y in r)) for s, r in small("15", v, name).items()}
    head("learns from", "held-out top-1, all", "of records alone", "`ns`", "`nh`", "every seed", "in play, last fifth", "return", "processor s")
    for v in order:
        a, ref = last(v, "moa/strangers/all/top1"), last("stack-records" if v.startswith("stack") else "context-frozen" if v.startswith("context") else "records", "moa/strangers/all/top1")
        own = {s: mean(x for _, _, x in r[-len(r) // 5:]) for s, r in small("15", v, "moa/top1").items()}
        R = [load(f"15/{v}-{s}.json") for s in a]
        row(v, pm(vals(a)), pm([a[s] / ref[s] for s in a if s in ref]), pm(vals(last(v, "moa/strangers/ns/top1"))), pm(vals(last(v, "moa/strangers/nh/top1"))), every(vals(a), 3), pm(vals(own)), pm([r["mean"] for r in R], 2), f"{mean(r['seeds'][0]['cpu_s'] for r in R):.0f}")
    print(); print("The Bayes observer of one episode has", ", ".join(f"{k} {num(mean(vals(last(order[0], f'moa/strangers/{k}/limit'))), 3)}" for k in ("all", "ns", "nh")) + ".")

def q16():
    head("rung", "cause", "agents 0 to 3, mean return", "agent 0 - agent 3", "seeds in full order", "processor s")
    for v in ("ppo", "imagination", "models", "nogoals", "all"):
        for c in ("none", "rate", "moa"):
            R = {s: r for s in SEEDS if (r := load(f"16/{v}-{c}-{s}.json"))}
            if not R: continue
            A = {s: r["seeds"][0]["agents"] for s, r in R.items()}
            row(v, c, ", ".join(pm([a[i] for a in A.values()], 2) for i in range(4)), pm([a[0] - a[3] for a in A.values()], 2), sum(a[0] > a[1] > a[2] > a[3] for a in A.values()), f"{mean(r['seeds'][0]['cpu_s'] for r in R.values()):.0f}")

def q17():
    cell = lambda s, e: (load(f"17/search-{e}-{s}.json") or {"cells": [{"own": {"mean": None}}]})["cells"][0]["own"]["mean"]
    head("error", "rate", "search: return in play", "every seed", "below none", "imagination: return after 60,000 steps", "every seed", "below none", "share of steps foreseen")
    S0 = {s: cell(s, "none") for s in SEEDS if cell(s, "none") is not None}
    I = lambda e: {s: r["mean"] for s in SEEDS if (r := load(f"17/imagine-{e}-{s}.json"))}
    for e in ["none"] + [k + r for k in ("jump", "pay", "end") for r in (".01", ".1", ".3")] + ["jump.1-trust", "pay.1-trust", "end.1-trust", "weights", "off"]:
        a, b = {s: x for s in SEEDS if (x := cell(s, e)) is not None}, I(e)
        ex = [r[-1][2] for r in small("17", f"imagine-{e}", "imagine/exact").values()]
        m = re.fullmatch(r"([a-z]+)(\.\d+)?(-trust)?", e)
        row(m[1] + (" (trust .9)" if m[3] else ""), m[2] or "-", pm(vals(a)), every(vals(a)), pm([S0[s] - a[s] for s in a]) if a and e != "none" else "-", pm(vals(b)), every(vals(b)), pm([I("none")[s] - b[s] for s in b if s in I("none")]) if b and e != "none" else "-", pm(ex))
    for w in ("plain", "weights"):
        C = [c for s in SEEDS if (c := load(f"17/card-{w}-{s}.json"))]
        if C: print(f"Cards, {w} ({len(C)} seeds): exact", pm([c["exact"] for c in C], 5), "; PSNR", pm([c["psnr"] for c in C], 1), "; processor s", pm([c["cpu_s"] for c in C], 1))

def q18():
    T18 = {"ppo": "PPO, `ppo-4x4`", "direct-om": "direct-OM, `direct-om`", "hop": "HOP, `hop-4x4`", "om-tree": "direct-OM, 5 trees of 200", "hop-tree": "HOP, 5 trees of 200", "hop-paper": "HOP as published, `hop-paper`", "hop+learning": "HOP+ while it learns, `hop+` (no search)", "hop+play": "HOP+ with its search, `search.when=always`"}
    head("agent", "a decision, ms", "an iteration (320 env steps), ms", "of it playing", "in the search", "select", "model of others", "leaves", "learning", "MB", "against PPO, a decision")
    base = None
    for v, title in T18.items():
        B = [b for s in SEEDS if (b := load(f"18/{v}-{s}.json"))]
        if not B: continue
        d = [1000 / b["collect_agent_steps_per_s"] for b in B]; base = base or mean(d)
        it = [1000 * 320 / b["env_steps_per_s"] for b in B]
        ph = lambda b, k: b["phases"].get(k, 0)
        share = lambda k, of: pm([ph(b, k) / max(sum(x for y, x in b["phases"].items() if "/" not in y) if of is None else ph(b, of), 1e-9) for b in B], 2)
        row(title, pm(d, 3), pm(it, 0), share("collect", None), share("collect/search", None), share("collect/search/select", "collect/search"), share("collect/search/others", "collect/search"), share("collect/search/leaf", "collect/search"), share("learn", None), pm([b["memory_mib"] for b in B], 0), f"{mean(d) / base:.0f}")

def q19():
    T19 = {"apart": "four networks", "shared": "one network", "stack-bot": "agent 0 is `ns`", "stack-switch": "agent 0 is `ns`, then learns", "mixed": "0 and 1 with models, 2 PPO, 3 `ns`", "hop-start": "HOP from the start", "hop-switch": "HOP, agent 0 first `ns`", "plus-start": "HOP+, four networks", "plus-switch": "HOP+, agent 0 first `ns`"}
    head("", "mean return", "every seed", "agents 0 to 3", "processor s")
    for v, title in T19.items():
        R = [r for s in SEEDS if (r := load(f"19/{v}-{s}.json"))]
        if R: row(title, pm([r["mean"] for r in R]), every([r["mean"] for r in R]), ", ".join(pm([r["seeds"][0]["agents"][i] for r in R], 2) for i in range(4)), f"{mean(r['seeds'][0]['cpu_s'] for r in R):.0f}")
    by = lambda v, i=None: {s: r["mean"] if i is None else r["seeds"][0]["agents"][i] for s in SEEDS if (r := load(f"19/{v}-{s}.json"))}
    for name, a, b in (("one network - four", by("shared"), by("apart")), ("agent 0 after the switch - from the start", by("stack-switch", 0), by("apart", 0)), ("HOP: agent 0 after the switch - from the start", by("hop-switch", 0), by("hop-start", 0)), ("HOP+: agent 0 after the switch - from the start", by("plus-switch", 0), by("plus-start", 0))):
        if a and b: diff(name, a, b)

def q25():
    head("agents, 400,000 steps", "mean return", "every seed", "likeliest action", "processor s")
    R = {v: {s: r for s in SEEDS if (r := load(f"25/{v}-{s}.json"))} for v in ("omg", "omg-noread", "omg-conservative", "ppo")}
    for v, title in (("omg", "OMG, optimistic"), ("omg-conservative", "OMG, conservative"), ("omg-noread", "OMG that reads no subgoals"), ("ppo", "PPO")):
        if R[v]: row(title, pm([r["mean"] for r in R[v].values()]), every([r["mean"] for r in R[v].values()], 3), every([r["greedy_mean"] for r in R[v].values()]), f"{mean(r['seeds'][0]['cpu_s'] for r in R[v].values()):.0f}")
    for v in ("omg-noread", "omg-conservative", "ppo"):
        if R[v] and R["omg"]: diff(f"OMG - {v}", {s: r["mean"] for s, r in R["omg"].items()}, {s: r["mean"] for s, r in R[v].items()})
    A = {}
    for s in SEEDS:
        try:
            with open(os.path.join(root, f"25/allies-{s}.txt")) as f: A[s] = json.loads(f.read().splitlines()[-1])
        except (OSError, ValueError, IndexError): pass
    if not A: return
    head("equal strengths", "crews of 2, 3, 4", "takes part", "pairs together", "earned", "mean return of the agents")
    share = lambda a, i, j: a["together"][i][j] / a["stags"]
    own = [r["mean"] for s in SEEDS if (r := load(f"25/equal-{s}.json"))]
    row("1, 1, 1, 1", ", ".join(pm([a["crews"].get(k, 0) / a["stags"] for a in A.values()]) for k in "234"), ", ".join(pm([share(a, i, i) for a in A.values()], 2) for i in range(4)),
        ", ".join(pm([share(a, i, j) for a in A.values()], 2) for i in range(4) for j in range(i + 1, 4)), ", ".join(pm([a["earned"][i] for a in A.values()], 2) for i in range(4)), pm(own))

def page(text):
    """What a question prints as Markdown: every table whole, what is said beside it as lines below it."""
    parts, table, notes = [], [], []
    def flush():
        if len(table) > 2: parts.append("\n".join(table))
        if notes: parts.append("\n".join("- " + n.strip().removeprefix("- ") for n in notes))
        table.clear(); notes.clear()
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if line.startswith("|"):
            if i + 1 < len(lines) and lines[i + 1].startswith("|---"): flush()
            table.append(line)
        elif line.strip(): notes.append(line)
    flush()
    return "\n\n".join(parts)

def builds(folders):
    """The commits and kernel sets that the runs of some folders name in their env.json."""
    found = set()
    for f in folders:
        for p in glob.glob(os.path.join(root, f, "**/seed-*/env.json"), recursive=True):
            with open(p) as h: b = json.load(h)
            found.add(f"{b.get('commit', 'unknown')[:12]}{' with changes' if b.get('dirty') else ''}, kernels {b.get('kernels', 'unknown')}")
    return "; ".join(sorted(found)) or "not recorded"

# Which tables make a question's page, and which folders hold its runs.
PAGES = {"01": (["01"], ["01"]), "02": (["02"], ["02"]), "03": (["03", "03play"], ["03", "play"]), "04": (["04", "04plus"], ["04"]), "05": (["05"], ["05"]), "06": (["06", "06games"], ["06", "hop"]),
         "07": (["07"], ["07"]), "08": (["08"], ["08", "hop"]), "09": (["09"], ["09", "hop"]), "10": (["10", "10fade", "10view"], ["10"]), "11": (["11", "11snow"], ["11"]), "12": (["12"], ["12"]), "13": (["13", "13goals"], ["13", "13goals"])} | {q: ([q], [q]) for q in ("14", "15", "16", "17", "18", "19", "25")}

def write(q):
    tables, folders = PAGES[q]
    parts = []
    for t in tables:
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out): globals()["q" + t]()
        except Exception as e: print(f"table {t}: {type(e).__name__} {e}: left out", file=sys.stderr); continue
        print(f"\n===== {t}\n{out.getvalue()}")
        parts.append(page(out.getvalue()))
    if not parts: sys.exit(f"question {q}: no tables; its page is left as it is")
    docs = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    answer = os.path.basename(glob.glob(os.path.join(docs, f"questions/{q}-*.md"))[0])
    how = "`OUT=out/13 BIN=hop bash docs/questions/13.sh`" if q == "13" else f"`python3 docs/questions/jobs.py {' '.join(f for f in ('hop', q) if f == q or f in folders)}` and `pool.sh`"
    with open(os.path.join(docs, f"results/question-{q}.md"), "w") as f:
        f.write(f"# Tables: question {int(q)}\n\n[Question and answer](../questions/{answer}). {how}, then `python3 docs/questions/tables.py out {q}`. "
                f"Runs of: {builds(folders)}.\n\n" + "\n\n".join(parts) + "\n")

for q in sys.argv[2:] or PAGES: write(q)
