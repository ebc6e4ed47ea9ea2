#!/usr/bin/env bash
# Question 1: the users' latest stack, and their series of switching parts off.
# BIN=/path/to/hop OUT=/folder [STEPS=120000] [EPISODES=1000] [SEEDS="1 2 3 4 5"] [AT_ONCE=16] bash 01.sh
set -u
BIN=${BIN:?} OUT=${OUT:?} STEPS=${STEPS:-120000} EPISODES=${EPISODES:-1000} SEEDS=${SEEDS:-1 2 3 4 5} AT_ONCE=${AT_ONCE:-16}
mkdir -p "$OUT"; cd "$OUT" || exit 1
start=$(date +%s)
# The VAE and the inference of goals, once for all seeds; then a spec that names them.
"$BIN" collect --game staghunt --set game.stags=2 --mix ns,nh --rows 60000 --seed 7 --out "$OUT/data" > /dev/null 2>> prepare.txt || exit 1
"$BIN" pretrain vae --data "$OUT/data" --loss b --set epochs=4 --out "$OUT/vae" > /dev/null 2>> prepare.txt || exit 1
"$BIN" pretrain cvae --data "$OUT/data" --vae "$OUT/vae" --set epochs=4 --out "$OUT/cvae" > /dev/null 2>> prepare.txt || exit 1
"$BIN" show hop+dream | awk '/^[a-z]/ { skip = $1 == "prepare:" } !skip' > "$OUT/spec.yaml"
echo "prepared after $(($(date +%s) - start)) s"
declare -A SETS=(
  [a-all-on]=""
  [b-world-off]="imagine.on=false"
  [c-goals-off]="goals.kind=none"
  [d-others-by-brains]="imagine.others=brains"
  [e-goals-and-others-off]="mind=ppo imagine.others=brains"
  [f-ppo-alone]="mind=ppo imagine.others=brains imagine.on=false"
  [g-shared-policy]="mind=ppo imagine.others=brains train.brains=[0,0,0,0]"
  [h-shared-ppo-alone]="mind=ppo imagine.others=brains imagine.on=false train.brains=[0,0,0,0]"
)
one() { # name seed
  local sets=() s
  for s in ${SETS[$1]}; do sets+=(--set "$s"); done
  local models=(--set models.vae="$OUT/vae" --set models.cvae="$OUT/cvae")
  [[ ${SETS[$1]} == *mind=ppo* ]] && models=()
  "$BIN" train "$OUT/spec.yaml" --workers 1 --seeds "$2" "${models[@]}" "${sets[@]}" --set train.steps="$STEPS" --set train.save="$STEPS" \
    --set eval.episodes="$EPISODES" --set train.strangers.every=0 --out "$OUT/$1-$2" --json > "$OUT/$1-$2.json" 2> "$OUT/$1-$2.txt" \
    || echo "FAILED $1 seed $2: $(tail -1 "$OUT/$1-$2.txt")"
}
for name in $(printf '%s\n' "${!SETS[@]}" | sort); do
  for seed in $SEEDS; do
    while (($(jobs -rp | wc -l) >= AT_ONCE)); do wait -n; done
    one "$name" "$seed" &
  done
done
wait
# What is refused, and why.
"$BIN" train "$OUT/spec.yaml" --set train.brains=[0,0,0,0] --out "$OUT/refused" > refused.txt 2>&1; tail -1 refused.txt
"$BIN" train "$OUT/spec.yaml" --set search.kind=tree --set own=search --out "$OUT/refused" > refused2.txt 2>&1; tail -1 refused2.txt
echo "done after $(($(date +%s) - start)) s"
num() { grep -m1 -o "\"$2\": *[-0-9.e+]*" "$1" | grep -o '[-0-9.e+]*$'; }
printf '%-24s %6s %-34s %-40s %6s %7s %s\n' setting mean "by seed" "env steps to 3.5 (window's mean), by seed" cpu_s MiB "ok"
for name in $(printf '%s\n' "${!SETS[@]}" | sort); do
  values="" to="" cpu="" mem="" foreseen=""
  for seed in $SEEDS; do
    j="$OUT/$name-$seed.json"; r=$(ls -d "$OUT/$name-$seed"/*/seed-"$seed" 2> /dev/null | head -1)
    values+="$(num "$j" mean) "; cpu+="$(num "$j" cpu_s) "
    mem+="$(num "$r/env.json" peak_memory_bytes) "
    to+="$(awk -F, '$2 == "return/mean" && $4 >= 3.5 { print $1; found = 1; exit } END { if (!found) print "-" }' "$r/metrics.csv" 2> /dev/null) "
  done
  awk -v n="$name" -v v="$values" -v t="$to" -v c="$cpu" -v m="$mem" 'BEGIN {
    k = split(v, x, " "); for (i = 1; i <= k; i++) { s += x[i]; by = by sprintf("%.2f ", x[i]) }
    kc = split(c, y, " "); for (i = 1; i <= kc; i++) cs += y[i]
    km = split(m, z, " "); for (i = 1; i <= km; i++) ms += z[i]
    printf "%-24s %6.3f %-34s %-40s %6.1f %7.0f %d seeds\n", n, s / (k ? k : 1), by, t, cs / (kc ? kc : 1), ms / (km ? km : 1) / 1048576, k }'
done
# Are agents alike? Each buffer's rows by agent, mean over windows and seeds, of the run with everything on.
for b in real imagined world others; do
  printf 'buffer/%-9s' "$b"
  for a in 0 1 2 3; do
    cat "$OUT"/a-all-on-*/*/seed-*/metrics.csv | awk -F, -v b="buffer/$b" -v a="$a" '$2 == b && $3 == a { s += $4; n++ } END { printf " %8.0f", n ? s / n : 0 }'
  done
  echo
done
