#!/usr/bin/env bash
# Question 12: the world model on games of chance. BIN=/path/to/hop OUT=/folder bash 12.sh
# Five seeds: what appears drawn jointly (joint) or cell by cell (apart), and planes weighted as in the notes (weights).
# ROWS, EPOCHS, PROBE, PLAYS and SEEDS may be made small to try the script.
set -u
BIN=${BIN:?}; OUT=${OUT:?}; ROWS=${ROWS:-25000}; EPOCHS=${EPOCHS:-8}; PROBE=${PROBE:-20000}; PLAYS=${PLAYS:-200}; SEEDS=${SEEDS:-1 2 3 4 5}
mkdir -p "$OUT/12/data" "$OUT/12/runs"; cd "$OUT/12" || exit 1
export GOMAXPROCS=1
most=${MOST:-16}
room() { while [ "$(jobs -rp | wc -l)" -ge $most ]; do wait -n || true; done; }
declare -A MIX=([coin]=own,any [cleanup]=cleaner,harvester [foraging]=nearest,solo [tag]=chase,flee [staghunt]=ns,nh)
declare -A SET=([coin]= [cleanup]= [foraging]= [tag]= [staghunt]="--set game.stags=2")
declare -A W=([coin]=2,2,1,1 [cleanup]=2,2,2,2,1,1,1,1 [foraging]=2,2,1,1 [tag]=2,2,2,2,1,1 [staghunt]=2,2,2,2,1,1,1)
for g in coin cleanup foraging tag staghunt; do
  room; "$BIN" collect --game $g ${SET[$g]} --mix ${MIX[$g]} --rows $ROWS --seed 7 --out data/$g-mix >data/$g-mix.log 2>&1 &
  room; "$BIN" collect --game $g ${SET[$g]} --team random --rows $ROWS --seed 8 --out data/$g-random >data/$g-random.log 2>&1 &
done
wait
run() { # game variant seed, then more options
  local g=$1 v=$2 s=$3; shift 3
  room
  "$BIN" pretrain world --data data/$g-mix --data data/$g-random --out runs/$g-$v-$s --seed $s --set epochs=$EPOCHS \
    --probe $PROBE --plays $PLAYS --json "$@" >$g-$v-$s.json 2>$g-$v-$s.err &
}
for g in cleanup foraging tag coin staghunt; do # the longest first
  for s in $SEEDS; do
    run $g joint $s
    if [ -n "${W[$g]}" ]; then run $g weights $s --set "model.weights=[${W[$g]}]"; fi
    case $g in coin|cleanup|tag) run $g apart $s --set model.apart=true;; esac
  done
done
wait
cat > table.py <<'PY'
import glob, json, sys
seeds = sys.argv[1].split()
def load(g, v):
    out = []
    for s in seeds:
        try: out.append(json.load(open(f'{g}-{v}-{s}.json')))
        except Exception as e: print('missing', g, v, s, e)
    return out
def row(name, xs, f='%.4f'):
    xs = [x for x in xs if x is not None]
    if xs: print(f'  {name:34s} mean ' + f % (sum(xs)/len(xs)) + '  seeds ' + ' '.join(f % x for x in xs))
for g in ('coin', 'cleanup', 'foraging', 'tag', 'staghunt'):
    for v in ('joint', 'apart', 'weights'):
        ds = load(g, v) if glob.glob(f'{g}-{v}-*.json') else []
        ds = [d for d in ds if d.get('nats')]
        if not ds: continue
        print(g, v)
        for key in ('nats', 'nats_new'):
            row(key + ' cross-entropy', [d[key]['all']['cross_entropy'] for d in ds])
            row(key + ' rules (entropy)', [d[key]['all'].get('limit') for d in ds])
            row(key + ' above the rules (KL)', [d[key]['all'].get('kl') for d in ds])
            row(key + ' each cell by itself', [d[key]['all']['baseline'] for d in ds])
        for p in ds[0]['nats']['parts']:
            row(f'{p}: KL held', [d['nats']['parts'][p].get('kl') for d in ds])
            if 'weight' in ds[0]['nats']['parts'][p]:
                row(f'{p}: wrong, new', [d['nats_new']['parts'][p]['error'] for d in ds], '%.5f')
                row(f'{p}: mse, new', [d['nats_new']['parts'][p]['mse'] for d in ds], '%.6f')
        row('exact, new certain steps', [d['probe']['exact'] for d in ds], '%.5f')
        row('illegal', [float(d['probe']['illegal']) for d in ds], '%.0f')
        row('processor seconds', [d.get('cpu_s') for d in ds], '%.0f')
        for i, r in enumerate(ds[0].get('rollouts') or []):
            row(f'drawn {r["name"]}: game', [d['rollouts'][i]['game'] for d in ds], '%.3f')
            row(f'drawn {r["name"]}: model', [d['rollouts'][i]['model'] for d in ds], '%.3f')
            row(f'drawn {r["name"]}: off at 95 %', [float(not d['rollouts'][i]['ci95'][0] <= 0 <= d['rollouts'][i]['ci95'][1]) for d in ds], '%.0f')
PY
if command -v python3 >/dev/null; then python3 table.py "$SEEDS" | tee table.txt; else echo "no python3 here: run python3 table.py '$SEEDS' in $OUT/12 elsewhere"; fi
