#!/usr/bin/env bash
# BIN=/path/to/hop OUT=/folder bash 11.sh: HOP's own tables, one part at a time.
# PART=4h1s | 4h2s | snowdrift: self-play of every method, five seeds. PART=few: few-shot adaptation of the
# agents of PART=4h1s, which must have been run into the same OUT. SCALE=0.01 is for trying the script.
# Each part is about 5 minutes on 16 cores. In order of importance: 4h1s, few, 4h2s, snowdrift (11a, 11b, 11c, 11d).
set -u
BIN=${BIN:?the hop program} OUT=${OUT:?a folder for results} PART=${PART:-4h1s} SCALE=${SCALE:-1} JOBS=${JOBS:-16} SEEDS=${SEEDS:-"1 2 3 4 5"}
mkdir -p "$OUT"; OUT=$(cd "$OUT" && pwd); cd "$OUT" || exit 1
begin=$SECONDS
place() { while [ "$(jobs -rp | wc -l)" -ge "$JOBS" ]; do wait -n; done; }
steps() { awk -v n="$1" -v s="$SCALE" 'BEGIN { x = n * s; printf "%d", x < 2000 ? 2000 : x }'; }
METHODS="hop no-across no-within direct-om a3c a3c-prosocial ppo ppo-prosocial lola influence pr2"

# settings METHOD: the preset and the settings of a method in this part.
settings() {
  local m=$1 hare
  case $PART-$m in
    snowdrift-hop) set -- hop-snowdrift;;
    snowdrift-no-across) set -- hop-snowdrift belief.across=false;;
    snowdrift-no-within) set -- hop-snowdrift belief.within=false belief.count=goal;;
    snowdrift-direct-om) set -- hop-snowdrift goals.kind=none;;
    snowdrift-a3c*) set -- ppo-snowdrift mind=a3c train.envs=16 train.steps="$(steps 2000000)" ppo.lr=0.003;;
    snowdrift-ppo*) set -- ppo-snowdrift train.steps="$(steps 2000000)";;
    snowdrift-lola|snowdrift-influence) set -- ppo-snowdrift mind="$m" train.steps="$(steps 800000)";;
    snowdrift-pr2) set -- ppo-snowdrift mind=pr2 train.envs=32 train.steps="$(steps 600000)";;
    *-hop) set -- hop-8x8;;
    *-no-across) set -- hop-8x8 belief.across=false;;
    *-no-within) set -- hop-8x8 belief.within=false belief.count=goal;;
    *-direct-om) set -- hop-8x8 goals.kind=none;;
    *-a3c*) set -- a3c-8x8 train.steps="$(steps 2500000)";;
    *-ppo*) set -- ppo-8x8 train.steps="$(steps 2500000)";;
    *-lola|*-influence) hare="[{goal: hare, from: 0, to: 1, over: $(steps 600000)}]"
      set -- ppo-8x8 mind="$m" train.steps="$(steps 1200000)" "train.goal_weight=$hare";;
    *-pr2) set -- pr2-8x8 train.steps="$(steps 800000)";;
  esac
  case $m in *prosocial) set -- "$@" ppo.prosocial=1;; esac
  case $PART in 4h2s) set -- "$@" game.stags=2;; esac
  case $1 in
    hop-*) if [ "$SCALE" != 1 ]; then set -- "$@" train.steps=1500 train.warm.windows=1; fi
      set -- "$@" eval.episodes=100;;
    *) set -- "$@" eval.episodes=500;;
  esac
  printf '%s\n' "$@"
}

# one METHOD SEED: trains, and writes its result to OUT/PART-METHOD-SEED.json.
one() {
  local args=() sets=()
  mapfile -t args < <(settings "$1")
  for s in "${args[@]:1}"; do sets+=(--set "$s"); done
  "$BIN" train "${args[0]}" "${sets[@]}" --seeds "$2" --workers 1 --json --out "runs/$PART/$1/$2" \
    > "$PART-$1-$2.json" 2> "$PART-$1-$2.err" || echo "FAILED: $PART $1 seed $2: $(tail -1 "$PART-$1-$2.err")"
}

# folder METHOD SEED: the run of a training.
folder() { echo "$OUT"/runs/4h1s/"$1"/"$2"/*/seed-"$2"; }

# number KEY FILE: the first number of that name at the top of a JSON object.
number() { awk -v k="  \"$1\":" 'index($0, k) == 1 { gsub(/[^-0-9.eE]/, "", $2); print $2; exit }' "$2" 2>/dev/null; }

# row LABEL FILES...: mean of KEY over files, and every one.
row() {
  local label=$1 key=$2 all=""; shift 2
  for f in "$@"; do all="$all $(number "$key" "$f")"; done
  echo "$label $all" | awk '{ n = NF - 1; s = 0; l = ""; for (i = 2; i <= NF; i++) { s += $i; l = l sprintf(" %.3f", $i) }
    if (n > 0) { m = s / n; v = 0; for (i = 2; i <= NF; i++) v += ($i - m) ^ 2
      printf "%-34s %8.3f  sd %.3f  [%s ]\n", $1, m, (n > 1 ? sqrt(v / (n - 1)) : 0), l } else printf "%-34s none\n", $1 }'
}

if [ "$PART" != few ]; then
  # The slow ones first. A sixth seed of three methods is met by all in PART=few, and met by nobody before.
  for m in pr2 influence lola hop no-across no-within direct-om a3c a3c-prosocial ppo ppo-prosocial; do
    more=""; case $PART-$m in 4h1s-lola|4h1s-a3c|4h1s-a3c-prosocial) more=6;; esac
    for s in $SEEDS $more; do place; one "$m" "$s" & done
  done
  wait
  echo "self-play, $PART, mean return of an agent"
  for m in $METHODS; do f=(); for s in $SEEDS; do f+=("$PART-$m-$s.json"); done; row "$m" mean "${f[@]}"; done
  echo "processor seconds of a seed"
  for m in $METHODS; do
    for s in $SEEDS; do awk '/"cpu_s":/ { gsub(/[^0-9.]/, "", $2); print $2; exit }' "$PART-$m-$s.json" 2>/dev/null; done |
      awk -v m="$m" '{ s += $1; n++ } END { if (n) printf "%-34s %.0f\n", m, s / n }'
  done
  for m in lola a3c a3c-prosocial; do [ -f "4h1s-$m-6.json" ] && [ "$PART" = 4h1s ] && row "co-player:$m:seed-6" mean "4h1s-$m-6.json"; done
else
  team() { local r; r=$(folder "$1" 6); echo "$r#1,$r#2,$r#3"; }
  LIVES=${LIVES:-2}
  for m in $METHODS; do
    for vs in lola a3c a3c-prosocial random ns nh; do
      case $vs in random|ns|nh) who=$vs,$vs,$vs;; *) who=$(team $vs);; esac
      for s in $SEEDS; do
        place
        "$BIN" adapt "$(folder "$m" "$s")" --vs "$who" --lives "$LIVES" --workers 1 --json > "few-$m-$vs-$s.json" 2> "few-$m-$vs-$s.err" ||
          echo "FAILED: few $m among $vs seed $s: $(tail -1 "few-$m-$vs-$s.err")" &
      done
    done
  done
  wait
  for key in normalised score; do
    echo "few-shot, 8x8 4h1s, $key, three of"
    for vs in lola a3c a3c-prosocial random ns nh; do
      for m in $METHODS; do f=(); for s in $SEEDS; do f+=("few-$m-$vs-$s.json"); done; row "$vs:$m" $key "${f[@]}"; done
    done
  done
  echo "best responses and random play, mean over all"
  for vs in lola a3c a3c-prosocial random ns nh; do row "$vs:best" best_response few-*-"$vs"-[0-9]*.json; row "$vs:random" random few-*-"$vs"-[0-9]*.json; done | cut -c1-60
fi
echo "$PART took $((SECONDS - begin)) s"
