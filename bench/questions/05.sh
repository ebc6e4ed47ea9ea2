#!/usr/bin/env bash
# Question 5: discrete goals. 16 numbers, 8 classes and 4 variables of 4 classes, inferred from history by the CVAE, beside
# 8 classes over which beliefs follow Bayes' rule (hop+discrete); two stags on 4x4, whole pipelines, every stage with its seed.
# BIN=/path/to/hop OUT=/folder bash 05.sh; SEEDS, EP and MORE (further --set) shorten it.
set -u
BIN=${BIN:?} OUT=${OUT:?}; export BIN EP=${EP:-400} MORE=${MORE:-}
SEEDS=${SEEDS:-1 2 3 4 5}
mkdir -p "$OUT"; cd "$OUT" || exit 1
V8='pretrain vae --data {data} --loss b --discrete 8 --set epochs=4'
export V8
one() { # variant seed workers
  local v=$1 s=$2 base=$1 sets=; mkdir -p $s
  case $v in eight) base=hop+;; soft) base=hop+gumbel; sets='--set goals.spread=0';; esac
  { echo "base: $base"; echo "prepare:"
    "$BIN" show $base | awk -v seed=$s -v v=$v '
    /^prepare:/ { inside = 1; next } /^[a-z]/ { inside = 0 }
    inside && /- name:/ { name = $3 }
    inside && /run:/ { sub(/^ *run: /, ""); gsub(/^\047|\047$/, ""); if (v == "eight" && name == "vae") $0 = ENVIRON["V8"]
      if ($0 ~ /--seed/) sub(/--seed [0-9]+/, "--seed " seed * 10 + 7); else $0 = $0 " --seed " seed
      printf "  - {name: %s, run: \"%s\"}\n", name, $0 }'; } > $s/$v.yaml
  "$BIN" train $s/$v.yaml --seeds $s --out $s/runs --workers $3 --set game.stags=2 --set eval.episodes=$EP $sets $MORE --json \
    > $s/$v.json 2> $s/$v.err || { echo "FAILED $v $s: $(tail -1 $s/$v.err)"; return; }
}
export -f one
for s in $SEEDS; do one hop+ $s 3 & done; wait
for v in hop+gumbel eight hop+discrete; do for s in $SEEDS; do echo "$v $s 1"; done; done | xargs -P 16 -L 1 bash -c 'one $0 $1 $2'
for s in $SEEDS; do echo "soft $s 1"; done | xargs -P 16 -L 1 bash -c 'one $0 $1 $2'
number() { grep -o "\"$2\": *[-0-9.e]*" "$1" | head -1 | sed 's/.*: *//'; }
stat() { awk '{ for (i = 1; i <= NF; i++) { s += $i; q += $i * $i } n = NF; m = s / n; v = n > 1 ? (q - n * m * m) / (n - 1) : 0; if (v < 0) v = 0
  t = n == 5 ? 2.776 : n == 4 ? 3.182 : n == 3 ? 4.303 : n == 2 ? 12.706 : 0; printf "%.3f +- %.3f", m, t * sqrt(v / n) }'; }
echo "variant: self-play return, mean and 95 %, every seed; goal/ce of the last windows (nats, all agents)"
for v in hop+ hop+gumbel soft eight hop+discrete; do
  r=; c=; for s in $SEEDS; do [ -s $s/$v.json ] && r="$r $(number $s/$v.json mean)"
    m=$(ls -d $s/runs/$v-001/seed-$s/metrics.csv 2>/dev/null) && c="$c $(awk -F, '$2 == "goal/ce" { x[n++] = $4 } END { for (i = n > 8 ? n - 8 : 0; i < n; i++) { t += x[i]; k++ } if (k) printf "%.3f", t / k; else printf "-" }' $m)"; done
  echo "$v: $(echo $r | stat) [$r ] goal/ce [$c ]"
done
