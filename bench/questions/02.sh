#!/usr/bin/env bash
# Question 2: an order R1 > R2 > R3 > R4, and a return that rises and then falls: planted causes,
# healthy twins, and what hop audit says. BIN=/path/to/hop OUT=/folder bash 02.sh
# SEEDS, STEPS4, STEPS8 make it shorter for a trial.
set -u
BIN=${BIN:?}; OUT=${OUT:?}; SEEDS=${SEEDS:-1 2 3 4 5}; STEPS4=${STEPS4:-400000}; STEPS8=${STEPS8:-1500000}
mkdir -p "$OUT/specs"; cd "$OUT"
minds='minds:
  b: {agents: [1], ppo: {lr: 0.0003}}
  c: {agents: [2], ppo: {lr: 0.0001}}
  d: {agents: [3], ppo: {lr: 0.00003}}'
for size in 4 8; do
  if [ $size = 4 ]; then head="base: ppo-4x4
game: {stags: 2}
train: {steps: $STEPS4, save: 100000}
eval: {episodes: 1000}"
  else head="base: ppo-8x8
game: {stags: 2}
train: {steps: $STEPS8, save: 500000}
eval: {episodes: 500}"
  fi
  printf '%s\n' "$head" > specs/healthy$size.yaml
  printf '%s\n%s\n' "$head" "$minds" > specs/order$size.yaml
  printf '%s\nppo: {lr_end: 0.1}\n' "$head" > specs/rate$size.yaml
  printf '%s\nppo: {entropy_end: 1}\n' "$head" > specs/entropy$size.yaml
done
throttle() { while [ "$(jobs -rp | wc -l)" -ge 16 ]; do sleep 0.2; done; }
export GOMAXPROCS=1
for size in 8 4; do for v in healthy order rate entropy; do for s in $SEEDS; do
  throttle
  "$BIN" train specs/$v$size.yaml --seeds $s --workers 1 --out runs/$v$size/seed-$s --json > $v$size-$s.json 2> $v$size-$s.log &
done; done; done
wait
# the seeds of a variant in one folder, so that the audit compares them
for v in healthy order rate entropy; do for size in 4 8; do
  mkdir -p all/$v$size; for s in $SEEDS; do cp -r runs/$v$size/seed-$s/*/seed-$s all/$v$size/; done
done; done
for d in all/*; do throttle; n=$(basename $d)
  ( "$BIN" audit $d --out audits/$n > audit-$n.txt 2> audit-$n.log; "$BIN" audit $d --out audits/$n-json --json > audit-$n.json 2>> audit-$n.log ) &
done
wait
for d in all/*; do n=$(basename $d); echo; echo "## $n: mean return by tenth of the run | by agent in the last fifth"
  for f in $d/seed-*/metrics.csv; do
    awk -F, -v seed="$(basename $(dirname $f))" '
      $2=="return/mean" {s[++k]=$1; v[k]=$4; if ($1>end) end=$1}
      $2=="return" {as[++m]=$1; aa[m]=$3; av[m]=$4}
      END {for (i=1;i<=k;i++) {b=int(s[i]*10/(end+1)); sum[b]+=v[i]; c[b]++}
        for (i=1;i<=m;i++) if (as[i]>0.8*end) {x[aa[i]]+=av[i]; y[aa[i]]++}
        printf "%s ", seed; for (b=0;b<10;b++) printf " %.2f", c[b]?sum[b]/c[b]:0
        printf " |"; for (a=0;a<4;a++) printf " %.2f", y[a]?x[a]/y[a]:0; printf "\n"}' $f
  done | tee tab-$n.txt
  awk '{for (i=2;i<=NF;i++) if ($i!="|") {s[i]+=$i}; n++} END {printf "mean  "; for (i=2;i<=NF;i++) if (i==12) printf " |"; else printf " %.2f", s[i]/n; printf "\n"}' tab-$n.txt
  grep -m1 "Audit of" audit-$n.txt; grep -E "suspect|FAULT|fault |order|falls|not asked" audit-$n.txt | cut -c1-600
done
