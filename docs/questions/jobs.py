"""Writes the jobs of questions 1 to 12, 14 to 19 and 25, and of goals in 13, for pool.sh: python3 jobs.py [QUESTIONS...] > jobs; all of them, or 01, 11, 11-4h1s, 13-goals, ...
One command a job, five seeds. Tiny sizes to try it: TINY=1. Models of hop+types on two stags are pretrained once ($R/hop) and shared
by questions 3, 6, 8 and 9; the second half of question 7 reads the runs of question 9."""
import os, sys
TINY = bool(os.environ.get("TINY"))
SEEDS = [1] if TINY else [1, 2, 3, 4, 5]
which = sys.argv[1:]
def n(full, tiny): return tiny if TINY else full
out = []
def job(name, deps, cmd): out.append((name, deps or "-", " ".join(cmd.split())))
def train(name, deps, folder, label, preset, sets, seed, pre="", post=""):
    flags = " ".join(f"--set '{s}'" for s in sets)
    job(name, deps, f"mkdir -p {folder} && cd {folder} && {pre} \"$BIN\" train {preset} --seeds {seed} --workers 1 {flags} --out runs-{label}-{seed} --json > {label}-{seed}.json 2> {label}-{seed}.err {post}")
def adapt(name, deps, folder, label, seed, run, flags):
    job(name, deps, f"mkdir -p {folder} && cd {folder} && \"$BIN\" adapt {run} {flags} --seeds {seed} --workers 1 --out adapt-{label}-{seed} --json > {label}-{seed}.json 2> {label}-{seed}.err")
STAGS = "game.stags=2"
link = lambda label, s, frm: f"mkdir -p runs-{label}-{s} && ln -sfn $R/{frm}/stages runs-{label}-{s}/stages &&"
EV = n(400, 4)
P = {}  # question -> list of jobs in order; the file's order is that of ORDER below

def begin(): out.clear()
def end(q): P[q] = list(out)

# hop: the models of hop+types on two stags, and hop+types itself
begin()
job("hop-prep", "", f"mkdir -p hop && cd hop && GOMAXPROCS=4 \"$BIN\" train hop+types --seeds 99 --workers 4 --set {STAGS} --set train.steps=1280 --set eval.episodes=4 --out . --json > prep.json 2> prep.err && "
    "for m in vae cvae moa world response; do echo \"--set models.$m=$(ls -d $PWD/stages/$m-* | head -1)\"; done | tr '\\n' ' ' > models")
for s in SEEDS: train(f"hop-{s}", "hop-prep", "hop", "hop+types", "hop+types", [STAGS, f"eval.episodes={EV}"] + n([], ["train.steps=1280"]), s, link("hop+types", s, "hop"))
end("hop")

# 1: their latest stack
begin()
rows, ep = n(60000, 6000), n(4, 1)
job("01-prep", "", f"mkdir -p 01 && cd 01 && \"$BIN\" collect --game staghunt --set {STAGS} --mix ns,nh --rows {rows} --seed 7 --out $PWD/data > prepare.txt 2>&1 && "
    f"\"$BIN\" pretrain vae --data $PWD/data --loss b --set epochs={ep} --out $PWD/vae >> prepare.txt 2>&1 && \"$BIN\" pretrain cvae --data $PWD/data --vae $PWD/vae --set epochs={ep} --out $PWD/cvae >> prepare.txt 2>&1 && "
    "\"$BIN\" show hop+dream | awk '/^[a-z]/ { skip = $1 == \"prepare:\" } !skip' > spec.yaml")
PPO = ["mind=ppo", "imagine.others=brains"]
SERIES = {"a-all-on": [], "b-world-off": ["imagine.on=false"], "c-goals-off": ["goals.kind=none"], "d-others-by-brains": ["imagine.others=brains"],
          "e-goals-and-others-off": PPO, "f-ppo-alone": PPO + ["imagine.on=false"], "g-shared-policy": PPO + ["train.brains=[0,0,0,0]"],
          "h-shared-ppo-alone": PPO + ["imagine.on=false", "train.brains=[0,0,0,0]"]}
for v, sets in SERIES.items():
    for s in SEEDS:
        steps = n(120000, 3000)
        models = [] if "mind=ppo" in sets else ["models.vae=$R/01/vae", "models.cvae=$R/01/cvae"]
        train(f"01-{v}-{s}", "01-prep", "01", v, "spec.yaml", sets + [f"train.steps={steps}", f"train.save={steps}", f"eval.episodes={n(1000, 20)}", "train.strangers.every=0"], s)
        if models: out[-1] = (out[-1][0], out[-1][1], out[-1][2].replace("spec.yaml", "spec.yaml --set models.vae=$R/01/vae --set models.cvae=$R/01/cvae"))
end("01")

# 2: order, and rise and fall
begin()
S4, S8 = n(400000, 20000), n(1500000, 20000)
minds = "minds: {b: {agents: [1], ppo: {lr: 0.0003}}, c: {agents: [2], ppo: {lr: 0.0001}}, d: {agents: [3], ppo: {lr: 0.00003}}}"
more = {"healthy": "", "order": minds, "rate": "ppo: {lr_end: 0.1}", "entropy": "ppo: {entropy_end: 1}"}
for size in (8, 4):
    head = f"base: ppo-{size}x{size}\\ngame: {{stags: 2}}\\ntrain: {{steps: {S4 if size == 4 else S8}, save: {n(100000 if size == 4 else 500000, 20000)}}}\\neval: {{episodes: {n(1000 if size == 4 else 500, 20)}}}\\n"
    for v, m in more.items():
        for s in SEEDS:
            train(f"02-{v}{size}-{s}", "", "02", f"{v}{size}", f"{v}{size}-{s}.yaml", [], s, f"printf '{head}{m}\\n' > {v}{size}-{s}.yaml &&",
                  f"&& mkdir -p all/{v}{size} && cp -r runs-{v}{size}-{s}/*/seed-{s} all/{v}{size}/")
for size in (8, 4):
    for v in more:
        job(f"02-audit-{v}{size}", " ".join(f"02-{v}{size}-{s}" for s in SEEDS), f"cd 02 && \"$BIN\" audit all/{v}{size} --out audits/{v}{size} > audit-{v}{size}.txt 2> audit-{v}{size}.log; [ -s audit-{v}{size}.txt ]")
end("02")

# 3: what replaces tree search
begin()
for s in SEEDS:
    job(f"03-data-{s}", "", f"mkdir -p 03 && cd 03 && \"$BIN\" collect --set game.size=4 --set {STAGS} --among ns,nh,random,deadline --life 5 --rows {n(300000, 8000)} --seed {s} --workers 1 --out data-{s} > data-{s}.txt 2>&1")
for s in SEEDS:
    for h in ("attention", "gru", "gru --forget", "none"):
        name = h.replace(" --forget", "-episode")
        job(f"03-{name}-{s}", f"03-data-{s}", f"cd 03 && \"$BIN\" pretrain sequence --data data-{s} --history {h} --seed {s} --out seq-{name}-{s} --set epochs={n(8, 1)} --json > seq-{name}-{s}.json 2> seq-{name}-{s}.err")
one = list(out); out.clear()
def act(name, s, sets, preset="hop+types"):
    train(f"03-{name}-{s}", "hop-prep", "03", f"act-{name}", preset, [STAGS] + sets, s)
    if preset == "hop+types": out[-1] = (out[-1][0], out[-1][1], out[-1][2].replace("train hop+types ", "train hop+types $(cat $R/hop/models) --set 'prepare=[]' "))
for s in SEEDS: act("onestep", s, [f"eval.episodes={EV}"] + n([], ["train.steps=3000", "train.warm.windows=1"]), "hop+onestep")
for s in SEEDS: act("nosearch", s, ["search.sims=0", f"eval.episodes={EV}", f"train.steps={n(6000, 1280)}"])
for sims, ev in ((1000, n(25, 1)), (200, n(100, 2)), (50, EV)):
    for s in SEEDS: act(f"tree-{sims}", s, [f"search.sims={sims}", "search.depth=0", "train.envs=8", f"train.steps={160 if sims > 50 else n(6000, 320)}", f"eval.episodes={ev}"] + (["train.window=20"] if sims > 50 else []))
for name, sets in (("tree-1000", "--set search.sims=1000 --set search.depth=0"), ("tree-200", "--set search.sims=200 --set search.depth=0"), ("tree-50", "--set search.sims=50 --set search.depth=0"), ("nosearch", "--set search.sims=0"), ("depth1", "")):
    job(f"03-time-{name}", "hop-prep", f"cd 03 && \"$BIN\" bench train hop+types --cpu 1 --set {STAGS} --set 'prepare=[]' --set train.envs=8 --set train.window=40 --steps 320 $(cat $R/hop/models) {sets} --json > time-{name}.json 2> time-{name}.err")
job("03-time-onestep", "03-onestep-1", f"cd 03 && \"$BIN\" bench train hop+onestep --cpu 1 --set train.warm.windows=0 --set train.standins.share=0 --set train.standins.teams=0 --set {STAGS} --set 'prepare=[]' --set train.envs=8 --set train.window=40 --steps 320 "
    "$(for m in vae cvae; do echo \"--set models.$m=$(ls -d $PWD/runs-act-onestep-1/stages/$m-* | head -1)\"; done) --json > time-onestep.json 2> time-onestep.err")
out[:] = one + out
end("03")

# 9 (and the second half of 7): learners over a population
begin()
N, SELF = n(3000000, 20000), n(2000000, 20000)
pop = {"rl2": [], "lstm": ["mind=ppo"], "ppo": ["mind=ppo", "actor.lstm=0", "actor.hidden=[64,64]"]}
for v, sets in pop.items():
    for s in SEEDS: train(f"09-{v}-{s}", "", "09", v, "rl2", sets + [f"train.steps={N}", f"train.save={N}", f"eval.episodes={n(400, 20)}"], s)
for s in SEEDS: train(f"09-self-{s}", "", "09", "self", "ppo-4x4", [STAGS, f"train.steps={SELF}", f"train.save={SELF}", f"eval.episodes={n(400, 20)}"], s)
for v, sets in (("selfish", []), ("prosocial", ["ppo.prosocial=1"])):
    train(f"09-{v}-9", "", "09", v, "ppo-4x4", [STAGS, f"train.steps={SELF}", f"train.save={SELF}", f"eval.episodes={n(400, 20)}"] + sets, 9)
LIVES = n(4, 1)
known = "ns,ns,ns nh,nh,nh random,random,random ns,nh,nh ns,ns,random nh,ns,random"
a, b = "runs-selfish-9/ppo-4x4-001/seed-9", "runs-prosocial-9/ppo-4x4-001/seed-9"
strange = f"deadline,deadline,deadline {a}#1,{a}#2,{a}#3 {b}#1,{b}#2,{b}#3"
for name in ("hop+types", "rl2", "lstm", "ppo", "self"):
    for s in SEEDS:
        run = {"hop+types": f"$R/hop/runs-hop+types-{s}/hop+types-001", "self": f"runs-self-{s}/ppo-4x4-001"}.get(name, f"runs-{name}-{s}/rl2-001")
        dep = f"hop-{s}" if name == "hop+types" else f"09-{name}-{s}"
        for where, flags in (("known", f"--trios '{known}'"), ("strange", f"--trios '{strange}'"),
                             ("to-ns", "--vs nh,nh,nh --then ns,ns,ns --at-episode 10 --steps 1200"), ("to-nh", "--vs ns,ns,ns --then nh,nh,nh --at-episode 10 --steps 1200")):
            adapt(f"09-{name}-{where}-{s}", dep + (" 09-selfish-9 09-prosocial-9" if where == "strange" else ""), "09", f"adapt-{name}-{where}", s, run, f"{flags} --lives {LIVES}")
end("09")

# 7: LSTM and the length of sequences
begin()
N = n(1000000, 20000)
for k in (1, 5, 20, 40):
    for s in SEEDS: train(f"07-lstm{k}-{s}", "", "07", f"lstm{k}", "ppo-lstm-4x4", [STAGS, f"ppo.seq_len={k}", f"train.steps={N}", f"train.save={N}", f"eval.episodes={n(2000, 20)}"], s)
for s in SEEDS: train(f"07-none-{s}", "", "07", "none", "ppo-lstm-4x4", [STAGS, "actor.lstm=0", "actor.hidden=[64,64]", f"train.steps={N}", f"train.save={N}", f"eval.episodes={n(2000, 20)}"], s)
end("07")

# 5: discrete goals; whole pipelines, every stage with its seed
begin()
def pipeline(q, v, s, deps, base, sets):
    """Whole pipeline of a preset, every stage with the seed."""
    spec = (f"mkdir -p {s} && echo 'base: {base}' > {s}/{v}.yaml && STAGES=$(\"$BIN\" show {base} | awk -v seed={s} '/^prepare:/ {{ inside = 1; next }} /^[a-z]/ {{ inside = 0 }} "
            "inside && /- name:/ { name = $3; getline; print \"--set prepare.\" name \".seed=\" (/seed:/ ? seed * 10 + 7 : seed) }')")
    flags = " ".join(f"--set {x}" for x in [STAGS, f"eval.episodes={EV}"] + sets + n([], ["train.steps=1280"]))
    job(f"{q}-{v}-{s}", deps, f"mkdir -p {q} && cd {q} && {spec} && \"$BIN\" train {s}/{v}.yaml $STAGES --seeds {s} --out {s}/runs --workers 1 {flags} --json > {s}/{v}.json 2> {s}/{v}.err")
for s in SEEDS: pipeline("05", "hop+types", s, "", "hop+types", [])
for s in SEEDS: pipeline("05", "hop+gumbel", s, f"05-hop+types-{s}", "hop+gumbel", [])
for s in SEEDS: pipeline("05", "eight", s, f"05-hop+types-{s}", "hop+types", ["prepare.vae.model.discrete=8"])
for s in SEEDS: pipeline("05", "soft", s, f"05-hop+gumbel-{s}", "hop+gumbel", ["goals.spread=0"])
for s in SEEDS: pipeline("05", "hop+discrete", s, f"05-eight-{s}", "hop+discrete", [])
end("05")

# 3, in play: hop+types beside hop+sequence, whose others are read by a transformer, a GRU, a transformer that forgets at an episode's start, or nothing
begin()
def plays(v, s, deps, base, sets=()):
    pipeline("play", v, s, deps, base, list(sets))
    job(f"play-adapt-{v}-{s}", f"play-{v}-{s}", f"cd play && \"$BIN\" adapt {s}/runs/{v}-001 --trios six --lives {n(2, 1)} --workers 1 --out {s}/adapt-{v} --json > {s}/{v}.adapt.json 2> {s}/{v}.adapt.err")
for s in SEEDS: plays("hop+types", s, "", "hop+types")
READS = "prepare.sequence.model"
for v, sets in (("hop+sequence", []), ("hop+gru", [READS + ".history=gru"]), ("hop+forget", [READS + ".across=false"]), ("hop+blind", [READS + ".history=none"])):
    for s in SEEDS: plays(v, s, f"play-hop+types-{s}", "hop+sequence", sets)
end("03-play")

# 10: partial observation
for board, views in ((4, (1, 2, 0)), (8, (2, 0, 1, 3))):
    begin()
    for view in views:
        for who, preset, more in (("ppo", "ppo-4x4", []), ("lstm", "ppo-lstm-4x4", []), ("hop", "hop-view", []), ("nogoals", "hop-view", ["goals.kind=none", "belief.count=evidence"])):
            for s in SEEDS:
                steps = n(590000, 6000)
                train(f"10-{board}-{view}-{who}-{s}", "", "10", f"{board}-{view}-{who}", preset,
                      [f"game.size={board}", STAGS, f"game.view={view}", f"train.steps={steps}", f"eval.episodes={n(2000 if board == 4 else 1000, 20)}"] + (["game.blocks=5"] if board == 8 else []) + more, s)
    end(f"10-{board}x{board}")

# 10, with the hare's reward fading in as in ppo-8x8
begin()
for view in (2, 0, 1, 3):
    for who, preset in (("ppo", "ppo-4x4"), ("lstm", "ppo-lstm-4x4"), ("hop", "hop-view")):
        for s in SEEDS:
            train(f"10-fade-{view}-{who}-{s}", "", "10", f"fade-{view}-{who}", preset,
                  ["game.size=8", STAGS, f"game.view={view}", "game.blocks=5", f"train.steps={n(1500000, 6000)}", f"eval.episodes={n(1000, 20)}",
                   "train.goal_weight=[{goal: hare, from: 0, to: 1, over: " + str(n(700000, 3000)) + "}]"], s)
end("10-fade")

# 10, search with a view: HOP and HOP+ by what they take to be where nothing is seen; "none": HOP+ by its network alone. Seeds in one run.
begin()
PLAN = [STAGS, "train.warm.windows=4", "train.strangers.every=0"]
PLUS = [STAGS, f"prepare.lives.rows={n(40000, 4000)}", "prepare.reader.epochs=2", f"prepare.some.rows={n(12000, 2000)}", f"prepare.wander.rows={n(12000, 2000)}", "prepare.world.epochs=3",
        "train.envs=64", f"train.steps={n(100000, 12000)}", "train.strangers.every=0", f"eval.episodes={n(100, 4)}"]
WHO = {"hop4": ("hop-4x4", PLAN + [f"train.steps={n(12800, 6500)}", f"eval.episodes={n(200, 4)}"]), "hop+4": ("hop+", PLUS),
       "hop8": ("hop-8x8", PLAN + ["search.trees=8", f"train.steps={n(7680, 6500)}", f"eval.episodes={n(60, 4)}"])}
for who, (preset, sets) in WHO.items():
    for view, by in ((0, "drawn"), (1, "drawn"), (1, "seen"), (1, "gone"), (2, "drawn"), (2, "seen"), (2, "gone")) + (((1, "none"), (2, "none")) if who == "hop+4" else ()):
        train(f"10-view-{who}-{view}-{by}", "", "10", f"view-{who}-{view}-{by}", preset, sets + [f"game.view={view}", "search.kind=none" if by == "none" else f"search.unseen={by}"], "1" if TINY else "1-5")
end("10-view")

# 4: reuse
begin()
selfp = "train: {warm: {windows: 0}, standins: {share: 0}}"
bots = "train: {warm: {windows: 0}, standins: {share: 0, teams: 0.9, who: [ns, nh]}}"
tiny = '  - {name: data, collect: {mix: [ns, random], rows: 1000, seed: 7}}\n  - {name: vae, pretrain vae: {data: "{data}", model: {loss: b}, epochs: 1}}\n  - {name: cvae, pretrain cvae: {data: "{data}", vae: "{vae}", epochs: 1}}'
learn = "goals: {cvae_passes: 1}\nmoa: {passes: 4}"
frozen = "goals: {cvae_passes: 0}\nmoa: {passes: 0}"
none = 'models: {moa: ""}'
other = '  - {name: data, collect: {agents: "@FROM@", rows: %d, seed: 7}}' % n(60000, 3000)
specs = {"self-fresh": ["prepare:", tiny, none, learn, selfp], "self-frozen": [frozen, selfp], "self-learning": [learn, selfp],
         "bots-fresh": ["prepare:", tiny, none, learn, bots],
         "bots-frozen": ["prepare:", other, none, "goals: {cvae_passes: 0}\nmoa: {passes: 4}", bots], "bots-learning": ["prepare:", other, none, learn, bots]}
for v, lines in specs.items():
    text = "\n".join(["base: hop+scripts"] + lines).replace("\n", "\\n")
    for s in SEEDS:
        # Stages of a variant are made once, by its first seed, and shared by the others.
        deps = "" if s == 1 else f"04-{v}-1"
        if v == "self-learning": deps = "04-self-frozen-1"
        frm = {"self-frozen": 1, "self-learning": 1}.get(v) and "04/runs-self-frozen-1" or f"04/runs-{v}-1"
        if v in ("bots-frozen", "bots-learning"):
            deps = "04-self-learning-1" if s == 1 and v == "bots-frozen" else "04-bots-frozen-1"; frm = "04/runs-bots-frozen-1"
        pre = "FROM=$(ls -d $R/04/runs-self-learning-1/self-learning-1-001/seed-1 2>/dev/null);" + f" printf '{text}\\n' | sed \"s|@FROM@|$FROM|\" > {v}-{s}.yaml &&"
        if f"{frm}" != f"04/runs-{v}-{s}": pre += f" mkdir -p runs-{v}-{s} && ln -sfn $R/{frm}/stages runs-{v}-{s}/stages &&"
        train(f"04-{v}-{s}", deps, "04", v, f"{v}-{s}.yaml", [f"train.steps={n(12000, 1280)}", STAGS, "train.envs=8", f"eval.episodes={n(100, 4)}"], s, pre)
        if v.startswith("bots"):
            adapt(f"04-adapt-{v}-{s}", f"04-{v}-{s}", "04", f"adapt-{v}", s, f"runs-{v}-{s}/{v}-{s}-001", f"--trios 'ns,ns,ns ns,nh,nh' --lives 1")
end("04")

# 8: different minds side by side
begin()
N, PP = n(150000, 6000), n(600000, 20000)
anneal = ["ppo.entropy=0.03", "ppo.entropy_end=0.001", "ppo.lr_end=0.0001", f"train.steps={PP}"]
for v, sets in (("mixed", []), ("noplanner", ["train.team=[nh,learn,learn,ns]"]), ("later", ["train.team=[learn,ns,learn,ns]", f"train.switch=[{{at: {N // 3}, agent: 1, to: learn}}]"])):
    for s in SEEDS: train(f"08-{v}-{s}", "hop-prep", "08", v, "mixed-4x4", [f"train.steps={N}", f"eval.episodes={n(1000, 20)}"] + sets, s, link(v, s, "hop"))
for v, preset in (("ppo", "ppo-4x4"), ("prosocial", "ppo-prosocial-4x4")):
    for s in SEEDS: train(f"08-{v}-{s}", "", "08", v, preset, [STAGS, f"eval.episodes={n(1000, 20)}"] + anneal, s)
end("08")

# 12: the world model on games of chance
begin()
rows, ep, probe, plays = n(25000, 4000), n(8, 1), n(20000, 1000), n(200, 10)
MIX = {"cleanup": "cleaner,harvester", "tag": "chase,flee", "coin": "own,any", "foraging": "nearest,solo", "staghunt": "ns,nh"}
W = {"coin": "2,2,1,1", "cleanup": "2,2,2,2,1,1,1,1", "foraging": "2,2,1,1", "tag": "2,2,2,2,1,1", "staghunt": "2,2,2,2,1,1,1"}
for g, mix in MIX.items():
    st = f"--set {STAGS}" if g == "staghunt" else ""
    job(f"12-{g}-mix", "", f"mkdir -p 12/data 12/runs && cd 12 && \"$BIN\" collect --game {g} {st} --mix {mix} --rows {rows} --seed 7 --out data/{g}-mix > data/{g}-mix.log 2>&1")
    job(f"12-{g}-random", "", f"mkdir -p 12/data 12/runs && cd 12 && \"$BIN\" collect --game {g} {st} --team random --rows {rows} --seed 8 --out data/{g}-random > data/{g}-random.log 2>&1")
for g in MIX:
    for v, more in (("joint", ""), ("apart", "--set model.apart=true"), ("weights", f"--set 'model.weights=[{W[g]}]'")):
        if v == "apart" and g not in ("coin", "cleanup", "tag"): continue
        for s in SEEDS:
            job(f"12-{g}-{v}-{s}", f"12-{g}-mix 12-{g}-random", f"cd 12 && \"$BIN\" pretrain world --data data/{g}-mix --data data/{g}-random --out runs/{g}-{v}-{s} --seed {s} --set epochs={ep} --probe {probe} --plays {plays} {more} --json > {g}-{v}-{s}.json 2> {g}-{v}-{s}.err")
end("12")

# 6: the gate
begin()
for r in (0, 1, 2):
    for s in SEEDS: train(f"06-staghunt-{r}-{s}", "hop-prep", "06", f"staghunt-{r}", "hop+types", [STAGS, f"goals.gate={r}", f"eval.episodes={EV}"] + n([], ["train.steps=1280"]), s, link(f"staghunt-{r}", s, "hop"))
end("06")
for g in ("coin", "snowdrift", "foraging", "tag", "cleanup"):
    begin()
    for r in (-1, 0, 1, 2):
        for s in SEEDS:
            first = (r, s) == (-1, 1)
            train(f"06-{g}-{r}-{s}", "" if first else f"06-{g}--1-1", "06", f"{g}-{r}", "hop+types", [f"game.name={g}", f"goals.gate={r}", f"eval.episodes={n(50, 4)}"] + n([], ["train.steps=1280"]), s,
                  "" if first else link(f"{g}-{r}", s, f"06/runs-{g}--1-1"))
    end(f"06-games-{g}")

# 11: HOP's own tables
def table(part):
    begin()
    k = lambda x: "train.steps=" + str(n(x, 4000))
    fade = "train.goal_weight=[{goal: hare, from: 0, to: 1, over: " + str(n(600000, 4000)) + "}]"
    snow = part == "snowdrift"
    hop, ppo = ("hop-snowdrift", "ppo-snowdrift") if snow else ("hop-8x8", "ppo-8x8")
    late = [k(800000)] if snow else [k(1200000), fade]
    a3c = ["ppo-snowdrift", "mind=a3c", "train.envs=16", k(2000000), "ppo.lr=0.003"] if snow else ["a3c-8x8", k(2500000)]
    M = {"pr2": ["ppo-snowdrift", "mind=pr2", "train.envs=32", k(600000)] if snow else ["pr2-8x8", k(800000)],
         "influence": [ppo, "mind=influence"] + late, "lola": [ppo, "mind=lola"] + late,
         "hop": [hop], "no-across": [hop, "belief.across=false"], "no-within": [hop, "belief.within=false", "belief.count=goal"], "direct-om": [hop, "goals.kind=none"],
         "a3c": a3c, "a3c-prosocial": a3c + ["ppo.prosocial=1"],
         "ppo": [ppo, k(2000000 if snow else 2500000)], "ppo-prosocial": [ppo, k(2000000 if snow else 2500000), "ppo.prosocial=1"]}
    for m, (preset, *sets) in M.items():
        sets = sets + [f"eval.episodes={n(100 if preset == hop else 500, 5)}"] + (n([], ["train.steps=1500", "train.warm.windows=1"]) if preset == hop else []) + ([STAGS] if part == "4h2s" else [])
        for s in SEEDS + ([6] if part == "4h1s" and m in ("lola", "a3c", "a3c-prosocial") else []):
            train(f"11-{part}-{m}-{s}", "", "11", f"{part}-{m}", preset, sets, s)
    end("11-" + part)
    return M
M = table("4h1s"); table("4h2s"); table("snowdrift")
begin()
for m in ("hop", "no-across", "no-within", "direct-om", "a3c", "a3c-prosocial", "ppo", "ppo-prosocial", "lola", "influence", "pr2"):
    for vs in ("lola", "a3c", "a3c-prosocial", "random", "ns", "nh"):
        for s in SEEDS:
            who = f"{vs},{vs},{vs}"; deps = f"11-4h1s-{m}-{s}"
            if vs in M: who, deps = "$F#1,$F#2,$F#3", deps + f" 11-4h1s-{vs}-6"
            pre = f"F=$(ls -d $PWD/11/runs-4h1s-{vs}-6/*/seed-6) && " if vs in M else ""
            adapt(f"11-few-{m}-{vs}-{s}", deps, "11", f"few-{m}-{vs}", s, f"runs-4h1s-{m}-{s}/*/seed-{s}", f"--vs {who} --lives {n(2, 1)}")
            if pre: out[-1] = (out[-1][0], out[-1][1], pre + out[-1][2])
end("11-few")

# 14 to 18 with errors planted need a hop with slips.py's slips in it; without its variables in the environment it is the same program.
def csvs(folder, label, seed, names):
    return f"; grep -hE ',({names}),' runs-{label}-{seed}/*/seed-*/metrics.csv > {label}-{seed}.csv"
def errs(x, env):  # the environment of a job that trains
    name, deps, cmd = x
    return name, deps, cmd.replace('"$BIN"', env + ' "$BIN"', 1) if env else cmd

SMALL = ["prepare.lives.rows=6000", "prepare.reader.epochs=1", "prepare.some.rows=2000", "prepare.wander.rows=2000", "prepare.world.epochs=1"]  # hop+ at tiny size

# 4, on hop+: a reader of one epoch of 5,000 rows or the whole one, its action head frozen or learning on
begin()
for s in SEEDS:
    for v, sets in (("plus-frozen", []), ("plus-learning", ["moa.passes=1"]), ("plus-fresh", ["prepare.lives.rows=5000", "prepare.reader.epochs=1"]), ("plus-fresh-learning", ["prepare.lives.rows=5000", "prepare.reader.epochs=1", "moa.passes=1"])):
        frm = {"plus-learning": "plus-frozen", "plus-fresh-learning": "plus-fresh"}.get(v)
        train(f"04-{v}-{s}", f"04-{frm}-{s}" if frm else "", "04", v, "hop+main", ["follow=[]", f"train.steps={n(400000, 20000)}", f"eval.episodes={n(100, 4)}"] + n([], SMALL) + sets + [f"prepare.lives.seed={s}7", f"prepare.reader.seed={s}"], s,
              link(v, s, f"04/runs-{frm}-{s}") if frm else "", csvs("04", v, s, "return/mean|moa/top1"))
        adapt(f"04-adapt-{v}-{s}", f"04-{v}-{s}", "04", f"adapt-{v}", s, f"runs-{v}-{s}/hop+main-001", "--trios 'ns,ns,ns ns,nh,nh nh,nh,nh' --lives 1")
end("04-plus")

# 14: rise and fall with search in the loop
begin()
THEIRS = dict(act="visits", norm="none", visit_all="false", unvisited="zero", plus_one="true", resample="child")
OURS = dict(act="q", norm="tree", visit_all="true", unvisited="node", plus_one="false", resample="depth")
def fall(label, search, env="", passes=6, steps=50000):
    s14 = ", ".join(f"{k}: {v}" for k, v in (dict(trees=4, sims=24) | search).items())
    text = (f"game: {{name: staghunt, size: 4, stags: 1, hares: 4, horizon: 35}}\\nactor: {{hidden: [64, 64]}}\\nppo: {{gamma: 0.99, lambda: 1, lr: 0.001, epochs: 2, reward_scale: 0.2}}\\n"
            f"mind: hop\\ngoals: {{kind: hand}}\\nleaf: {{kind: net}}\\nsearch: {{{s14}}}\\nmoa: {{hidden: [64, 64], lr: 0.001, passes: {passes}}}\\n"
            f"train: {{envs: 32, window: 40, steps: {n(steps, 2500)}, save: 1000000}}\\neval: {{episodes: {n(200, 4)}}}\\n")
    for s in SEEDS:
        train(f"14-{label}-{s}", "", "14", label, f"{label}-{s}.yaml", [], s, f"printf '{text}' > {label}-{s}.yaml &&", csvs("14", label, s, "return/mean|moa/top1|search/(entropy|value_loss)"))
        out[-1] = errs(out[-1], env)
SLIP = {"label": dict(env="SLIP_LABEL=cut"), "dead": dict(env="SLIP_DEAD=1"), "emptied": dict(env="SLIP_EMPTIED=10"), "one": dict(env="SLIP_ONE=1"), "stale": dict(passes=0)}
fall("theirs", THEIRS)
fall("ours", OURS)
for k in THEIRS: fall(f"theirs-{k}", dict(THEIRS, **{k: OURS[k]}))
fall("theirs-long", THEIRS, steps=150000)
for k, more in (("two", ()), ("three", ("unvisited",)), ("four", ("unvisited", "norm"))): fall(f"ours-{k}", dict(OURS, **{x: THEIRS[x] for x in ("act", "visit_all") + more}))
fall("theirs-c3", dict(THEIRS, c=3))
for k in THEIRS: fall(f"theirs-c3-{k}", dict(THEIRS, c=3, **{k: OURS[k]}))
fall("theirs-c3-sims100", dict(THEIRS, c=3, sims=100))
fall("theirs-softmax", dict(THEIRS, act="softmax", beta=2))
for k, v in SLIP.items(): fall(f"theirs-{k}", THEIRS, **v)
for k in THEIRS: fall(f"ours-{k}", dict(OURS, **{k: THEIRS[k]}))
for k, v in SLIP.items(): fall(f"ours-{k}", OURS, **v)
end("14")

# 15: good offline, bad online
begin()
job("15-prep", "", f"mkdir -p 15 && cd 15 && \"$BIN\" collect --game staghunt --set {STAGS} --mix ns,nh --rows {n(60000, 3000)} --seed 7 --out $PWD/data > prepare.txt 2>&1 && "
    f"\"$BIN\" pretrain vae --data $PWD/data --loss b --set epochs={n(4, 1)} --out $PWD/vae >> prepare.txt 2>&1 && \"$BIN\" pretrain cvae --data $PWD/data --vae $PWD/vae --set epochs={n(4, 1)} --out $PWD/cvae >> prepare.txt 2>&1 && "
    "\"$BIN\" show hop+dream | awk '/^[a-z]/ { skip = $1 == \"prepare:\" } !skip' > spec.yaml")
def rec(share, windows=20): return [f"train.recorded.windows={windows}", "train.recorded.who=[ns,nh]", f"moa.recorded={share}"]
PLAY = {"play": [], "records": rec(1), "quarter": rec(.25), "half": rec(.5), "most": rec(.75), "nine": rec(.9), "one": rec(.5, 1), "slow": ["moa.slow=0.9"], "slowhalf": rec(.5) + ["moa.slow=0.9"]}
STACK = {k: PLAY[k] for k in ("play", "half", "most", "nine", "records")}
STACK["frozengoals"] = rec(.75) + ["goals.cvae_passes=0"]
def kinds(share, who): return [f"train.recorded.who=[{who}]" if x.startswith("train.recorded.who") else x for x in rec(share)]
STACK |= {"even": kinds(.75, "ns,nh,nh"), "more": kinds(.75, "ns,nh,nh,nh"), "evennine": kinds(.9, "ns,nh,nh"), "evenslow": kinds(.75, "ns,nh,nh") + ["moa.slow=0.9"]}  # even: as many rows of hare hunters as of all others
for v, sets in [(k, x + ["imagine.on=false"]) for k, x in PLAY.items()] + [("stack-" + k, x) for k, x in STACK.items()]:
    for s in SEEDS + ([] if TINY or v not in ("stack-even", "stack-more", "stack-evennine", "stack-evenslow") else [101, 102, 103]):  # tried on 101 to 103
        train(f"15-{v}-{s}", "15-prep", "15", v, "spec.yaml --set models.vae=$R/15/vae --set models.cvae=$R/15/cvae", sets + [f"train.steps={n(100000, 6000)}", "train.save=1000000", f"eval.episodes={n(300, 4)}"], s,
              post=csvs("15", v, s, "return/mean|moa/top1|moa/strangers/.*"))
ctx = ["game.stags=2", f"prepare.lives.rows={n(150000, 4000)}", f"prepare.reader.epochs={n(5, 1)}", f"prepare.some.rows={n(10000, 2000)}", f"prepare.wander.rows={n(10000, 2000)}", "train.envs=64",
       "train.strangers.every=10", "train.strangers.who=[ns,nh]", f"train.steps={n(100000, 6000)}", "train.save=1000000", f"eval.episodes={n(100, 4)}"]
for s in SEEDS:  # what reads whole lives: frozen, learning on in play, and learning on among the population
    for v, sets in (("context-frozen", ["moa.passes=0"]), ("context-play", ["moa.passes=2", "train.standins.share=0", "train.standins.alike=0"]), ("context-standins", ["moa.passes=2"])):
        train(f"15-{v}-{s}", "" if v == "context-frozen" else f"15-context-frozen-{s}", "15", v, "hop+", ctx + sets + [f"prepare.reader.seed={s}"], s, "" if v == "context-frozen" else f"mkdir -p runs-{v}-{s} && ln -sfn $R/15/runs-context-frozen-{s}/stages runs-{v}-{s}/stages &&",
              csvs("15", v, s, "return/mean|moa/top1|moa/strangers/.*"))
end("15")

# 16: at which stage the order of the agents appears
begin()
RUNGS = {"ppo": PPO + ["imagine.on=false"], "imagination": PPO, "models": ["imagine.on=false"], "nogoals": ["goals.kind=none"], "all": []}
CAUSES = {"none": "", "rate": "SLIP_RATE=0.3", "moa": "SLIP_ONE=1"}
for v, sets in RUNGS.items():
    for c, env in CAUSES.items():
        if c == "moa" and "mind=ppo" in sets: continue
        models = "" if "mind=ppo" in sets or "goals.kind=none" in sets else " --set models.vae=$R/15/vae --set models.cvae=$R/15/cvae"
        for s in SEEDS:
            train(f"16-{v}-{c}-{s}", "15-prep", "16", f"{v}-{c}", "../15/spec.yaml" + models, sets + [f"train.steps={n(30000, 3000)}", "train.save=1000000", "train.strangers.every=0", f"eval.episodes={n(1000, 20)}"], s,
                  post=csvs("16", f"{v}-{c}", s, "return"))
            out[-1] = errs(out[-1], env)
end("16")

# 17: a world model that errs
begin()
job("17-data", "", f"mkdir -p 17 && cd 17 && \"$BIN\" collect --game staghunt --mix ns,nh --rows {n(25000, 2000)} --seed 17 --out $PWD/a > p.txt 2>&1 && \"$BIN\" collect --game staghunt --team random --rows {n(25000, 2000)} --seed 18 --out $PWD/b >> p.txt 2>&1")
for w, more in (("plain", ""), ("weights", "--set 'model.weights=[2,2,2,2,1,1,1]'")):
    for s in SEEDS: job(f"17-{w}-{s}", "17-data", f"cd 17 && \"$BIN\" pretrain world --data a --data b --out w-{w}-{s} --seed {s} --set epochs={n(8, 1)} --probe {n(20000, 500)} --plays {n(200, 5)} {more} --json > card-{w}-{s}.json 2> card-{w}-{s}.err")
ERRORS = [("none", "")] + [(f"{k}{r}", f"SLIP_{k.upper()}={r}") for k in ("jump", "pay", "end") for r in (".01", ".1", ".3")]
s17 = ("game: {name: staghunt, size: 4, stags: 1, hares: 4, horizon: 35}\\nactor: {hidden: [64, 64]}\\nppo: {gamma: 0.99, lambda: 1, lr: 0.001, epochs: 2, reward_scale: 0.2}\\nmind: hop\\ngoals: {kind: hand}\\nleaf: {kind: net}\\n"
       f"search: {{trees: 4, sims: 24, dynamics: world}}\\nmoa: {{hidden: [64, 64], lr: 0.001, passes: 6}}\\ntrain: {{envs: 32, window: 40, steps: {n(16000, 1300)}, save: 1000000}}\\neval: {{episodes: {n(100, 4)}}}\\n")
for s in SEEDS:
    train(f"17-search-{s}", "17-plain-1", "17", "search", "search.yaml", ["models.world=w-plain-1"], s, f"printf '{s17}' > search.yaml &&")
    for e, env in ERRORS: job(f"17-search-{e}-{s}", f"17-search-{s}", f"cd 17 && {env} \"$BIN\" crossplay runs-search-{s}/search-001 --episodes {n(200, 3)} --workers 1 --out cross-{e}-{s} --json > search-{e}-{s}.json 2> search-{e}-{s}.err")
for e, env, sets in ([(e, env, ["imagine.world=w-plain-1", "imagine.trust=0"]) for e, env in ERRORS] + [("off", "", ["imagine.on=false"]), ("weights", "", ["imagine.world=w-weights-1", "imagine.trust=0"])] +
                     [(e + "-trust", env, ["imagine.world=w-plain-1"]) for e, env in ERRORS if e in ("jump.1", "pay.1", "end.1")]):
    for s in SEEDS:
        train(f"17-imagine-{e}-{s}", "17-plain-1 17-weights-1", "17", f"imagine-{e}", "ppo-imagine-4x4", sets + [f"train.steps={n(60000, 6000)}", "train.save=1000000", f"eval.episodes={n(300, 4)}"], s, post=csvs("17", f"imagine-{e}", s, "return/mean|imagine/exact"))
        out[-1] = errs(out[-1], env)
end("17")

# 18: what a decision and an iteration take, like for like
begin()
LIKE = "--cpu 1 --set train.envs=8 --set train.window=40 --steps 640 --json"
none18 = "--set train.warm.windows=0 --set train.standins.share=0"
TIMED = {"ppo": "ppo-4x4", "direct-om": f"direct-om {none18}", "hop": f"hop-4x4 {none18}", "hop-tree": f"hop-4x4 {none18} --set leaf.kind=net --set search.depth=0 --set search.trees=5 --set search.sims=200",
         "om-tree": f"direct-om {none18} --set leaf.kind=net --set search.depth=0 --set search.trees=5 --set search.sims=200", "hop-paper": "hop-paper"}
small18 = f"--set prepare.lives.rows={n(40000, 4000)} --set prepare.reader.epochs=1 --set prepare.some.rows={n(10000, 2000)} --set prepare.wander.rows={n(10000, 2000)}"
job("18-prep", "", f"mkdir -p 18 && cd 18 && \"$BIN\" train hop+ --seeds 1 --workers 1 {small18} --set train.steps=9216 --set eval.episodes=4 --out . --json > prep.json 2> prep.err && for m in sequence world; do k=$m; [ $m = sequence ] && k=reader; echo \"--set models.$m=$(ls -d $PWD/stages/$k-* | head -1)\"; done | tr '\\n' ' ' > models")
for s in SEEDS:
    for v, x in TIMED.items(): job(f"18-{v}-{s}", "", f"mkdir -p 18 && cd 18 && \"$BIN\" bench train {x} {LIKE} > {v}-{s}.json 2> {v}-{s}.err")
    for v, x in (("hop+learning", ""), ("hop+play", "--set search.when=always")):
        job(f"18-{v}-{s}", "18-prep", f"cd 18 && \"$BIN\" bench train hop+ --set 'prepare=[]' $(cat models) {x} --set train.standins.share=0 --set train.standins.alike=0 {LIKE} > {v}-{s}.json 2> {v}-{s}.err")
end("18")

# 19: one network for all, from a bot to a learner, and different learners side by side, with models of others that learn
begin()
MODELS19 = "--set models.vae=$R/15/vae --set models.cvae=$R/15/cvae"
T19 = [f"train.steps={n(100000, 6000)}", "train.save=1000000", "train.strangers.every=0", "imagine.on=false", f"eval.episodes={n(1000, 20)}"]
bot = "train.team=[ns,learn,learn,learn]"
def switch(at): return f"train.switch=[{{at: {at}, agent: 0, to: learn}}]"
for s in SEEDS:
    for v, sets in (("apart", []), ("shared", ["train.brains=[0,0,0,0]"]), ("stack-bot", [bot]), ("stack-switch", [bot, switch(n(33000, 2000))])):
        train(f"19-{v}-{s}", "15-prep", "19", v, "../15/spec.yaml " + MODELS19, T19 + sets, s, post=csvs("19", v, s, "return"))
    for v, sets in (("hop-start", []), ("hop-switch", [bot, switch(n(35000, 1300))])):
        train(f"19-{v}-{s}", "", "19", v, "hop-4x4", [f"train.steps={n(60000, 2600)}", "train.standins.share=0", "train.strangers.every=0", f"eval.episodes={n(500, 10)}"] + sets, s, post=csvs("19", v, s, "return"))
    for v, sets in (("plus-start", []), ("plus-switch", [bot, switch(n(300000, 10000))])):
        train(f"19-{v}-{s}", "" if (v, s) == ("plus-start", 1) else "19-plus-start-1", "19", v, "hop+main", ["follow=[]", "train.brains=[]", f"train.steps={n(900000, 30000)}", f"eval.episodes={n(100, 4)}"] + n([], SMALL) + sets, s,
              "" if (v, s) == ("plus-start", 1) else link(v, s, "19/runs-plus-start-1"), csvs("19", v, s, "return"))
    text = "base: ../15/spec.yaml\\nminds: {plain: {agents: [2], mind: ppo}}\\n"
    train(f"19-mixed-{s}", "15-prep", "19", "mixed", f"mixed-{s}.yaml", T19 + ["train.team=[learn,learn,learn,ns]"], s, f"printf '{text}' > mixed-{s}.yaml &&", csvs("19", "mixed", s, "return"))
    out[-1] = (out[-1][0], out[-1][1], out[-1][2].replace(f"mixed-{s}.yaml --seeds", f"mixed-{s}.yaml {MODELS19} --seeds"))
end("19")

# 13, goals and types: hop+main's sizes, every stage with the seed. z: read by the own network and the search; search: by the search alone;
# few: z from lives among four known types; types: the same, told which types there are. Blind: a model of others that reads nothing, in play.
begin()
FEW = "prepare.lives.among=[ns,nh,random,deadline]"
for s in SEEDS:
    each = ["follow=[]", f"eval.episodes={n(300, 4)}", f"train.steps={n(2000000, 20000)}"] + n([], SMALL) + [f"prepare.{x}.seed={s}{y}" for x, y in (("lives", 7), ("some", 8), ("wander", 8), ("reader", ""), ("world", ""))]
    for v, sets, frm in (("z", [], None), ("search", ["goals.read=false"], "z"), ("few", [FEW], None), ("types", [FEW, "prepare.reader.model.untyped=false"], "few")):
        train(f"13-goals-{v}-{s}", f"13-goals-{frm}-{s}" if frm else "", "13goals", v, "hop+main", each + sets, s, link(v, s, f"13goals/runs-{frm}-{s}") if frm else "")
    job(f"13-goals-blind-{s}", f"13-goals-z-{s}", f"cd 13goals && \"$BIN\" pretrain sequence --data runs-z-{s}/stages/lives-* --history none --set model.width=4 --set model.untyped=true --set model.head.distances=false --set epochs={n(4, 1)} --seed {s} --out blind-{s} --json > blind-{s}.json 2> blind-{s}.err")
    score = lambda vs, out, env="": f"cd 13goals && {env} \"$BIN\" strangers score {' '.join(f'runs-{v}-{s}/hop+main-001/seed-{s}' for v in vs)} --strangers test@1 --some {n(15, 2)} --lives 1 --set game.stags=2 --seeds {s} --workers 1 --json > {out}-{s}.json 2> {out}-{s}.err"
    job(f"13-goals-score-blind-{s}", f"13-goals-z-{s} 13-goals-search-{s} 13-goals-blind-{s}", score(("z", "search"), "score-blind", "SLIP_BLIND=$PWD/blind-" + str(s)))
    job(f"13-goals-score-{s}", f"13-goals-z-{s} 13-goals-search-{s}", score(("z", "search"), "score"))
    job(f"13-goals-score-types-{s}", f"13-goals-few-{s} 13-goals-types-{s}", score(("few", "types"), "score-types"))
end("13-goals")

# 25: OMG (examples/baselines' program) at its whole length, and allies of equal strength
begin()
K25 = [f"train.steps={n(400000, 6000)}", f"train.save={n(400000, 6000)}", f"eval.episodes={n(500, 4)}"]
for s in SEEDS:
    for v, preset, sets in (("omg", "omg-4x4", []), ("omg-noread", "omg-4x4", ["goals.read=false"]), ("omg-conservative", "omg-4x4", ["goals.selector=conservative"]), ("ppo", "ppo-4x4", [STAGS])):
        first = v == "ppo" or (v, s) == ("omg", 1)
        train(f"25-{v}-{s}", "" if first else "25-omg-1", "25", v, preset, K25 + sets, s, "" if first else link(v, s, "25/runs-omg-1"))
    train(f"25-equal-{s}", "", "25", "equal", "hop-4x4", [f"eval.episodes={n(100, 4)}"] + n([], ["train.steps=2600"]), s)
    job(f"25-allies-{s}", f"25-equal-{s}", f"cd 25 && \"$BIN\" collect --agents runs-equal-{s}/hop-4x4-001/seed-{s} --rows {n(10000, 500)} --seed {s} --out equal-data-{s} > equal-data-{s}.txt 2>&1 && \"$BIN\" allies equal-data-{s} > allies-{s}.txt 2>&1")
end("25")

ORDER = ["hop", "01", "03", "03-play", "09", "07", "02", "05", "10-4x4", "04", "08", "12", "06", "11-4h1s", "11-few", "10-8x8", "11-4h2s", "11-snowdrift", "10-fade", "10-view", "14", "15", "16", "17", "18", "19", "04-plus", "13-goals", "25"] + [q for q in P if q.startswith("06-games-")]
NEEDS = {"16": ["15"], "19": ["15"], "03": ["hop"], "06": ["hop"], "08": ["hop"], "09": ["hop"], "07": ["hop", "09"], "11-few": ["11-4h1s"]}
chosen = [q for q in ORDER if not which or any(q == w or q.startswith(w + "-") for w in which)]
for q in list(chosen): chosen += [x for x in NEEDS.get(q, []) if x not in chosen]
for q in ORDER:
    if q not in chosen: continue
    for name, deps, cmd in P[q]: print(f"{name}\t{deps}\t{cmd}")
