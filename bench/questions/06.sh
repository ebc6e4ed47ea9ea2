#!/usr/bin/env bash
# Question 6: the distance gate, before the inference: return and processor time against its radius, in every game with things.
# Stages are shared between seeds and radii; BIN=/path/to/hop OUT=/folder bash 06.sh; GAMES, SEEDS, RADII, EP, MORE shorten it.
set -u
BIN=${BIN:?} OUT=${OUT:?}; export BIN EP=${EP:-200} MORE=${MORE:-}
SEEDS=${SEEDS:-1 2 3 4 5} RADII=${RADII:--1 0 1 2 3} GAMES=${GAMES:-staghunt snowdrift coin foraging tag cleanup}
mkdir -p "$OUT"; cd "$OUT" || exit 1
one() { # game radius seed workers
  local g=$1; mkdir -p $g
  local sets="--set game.name=$g"; [ $g = staghunt ] && sets='--set game.stags=2'
  "$BIN" train hop+ $sets --set goals.gate=$2 --set eval.episodes=$EP $MORE --seeds $3 --workers $4 --out $g/runs --json \
    > $g/$2.$3.json 2> $g/$2.$3.err || { echo "FAILED $g gate $2 seed $3: $(tail -1 $g/$2.$3.err | cut -c1-300)"; rm -f $g/$2.$3.json; }
}
export -f one
first=${SEEDS%% *}
for g in $GAMES; do one $g -1 $first 3 & done; wait
for g in $GAMES; do [ -s $g/-1.$first.json ] || continue
  for r in $RADII; do for s in $SEEDS; do [ $r.$s = -1.$first ] || echo "$g $r $s 1"; done; done
done | xargs -P 16 -L 1 bash -c 'one $0 $1 $2 $3'
number() { grep -o "\"$2\": *[-0-9.e]*" "$1" | head -1 | sed 's/.*: *//'; }
stat() { awk '{ for (i = 1; i <= NF; i++) { s += $i; q += $i * $i } n = NF; m = s / n; v = n > 1 ? (q - n * m * m) / (n - 1) : 0; if (v < 0) v = 0
  t = n == 5 ? 2.776 : n == 4 ? 3.182 : n == 3 ? 4.303 : n == 2 ? 12.706 : 0; printf "%.3f +- %.3f", m, t * sqrt(v / n) }'; }
echo "game, radius (-1: no gate): return, mean and 95 %, every seed; processor seconds of a run"
for g in $GAMES; do for r in $RADII; do
  m=; c=; for s in $SEEDS; do [ -s $g/$r.$s.json ] && m="$m $(number $g/$r.$s.json mean)" && c="$c $(number $g/$r.$s.json cpu_s)"; done
  [ -n "$m" ] && echo "$g $r: $(echo $m | stat) [$m ] cpu $(echo $c | stat)"
done; done
