#!/usr/bin/env bash
# Question 7: LSTM and the length of the sequences that it is trained through (ppo.seq_len), at equal steps,
# four independent PPO learners on the 4x4 stag hunt with two stags; and what a memory is worth to a network alone
# among a population, where who the co-players are is all that it can add.
# BIN=/path/to/hop OUT=/folder bash 07.sh; STEPS, BOTS and SEEDS shorten it.
set -u
BIN=${BIN:?} OUT=${OUT:?} STEPS=${STEPS:-1000000} BOTS=${BOTS:-2000000} SEEDS=${SEEDS:-1 2 3 4 5} JOBS=${JOBS:-16} EPISODES=${EPISODES:-2000}
mkdir -p "$OUT"; cd "$OUT" || exit 1
job() { # name seed preset sets...
  local name=$1 seed=$2 preset=$3; shift 3
  local sets=(); for s in "$@"; do sets+=(--set "$s"); done
  "$BIN" train "$preset" "${sets[@]}" --seeds "$seed" --out "runs-$name-$seed" --workers 1 --json > "$name-$seed.json" 2> "$name-$seed.err" ||
    { echo "FAILED $name seed $seed: $(tail -1 "$name-$seed.err")"; return 1; }
}
export -f job; export BIN
[ -n "${TABLE:-}" ] || { # TABLE=1: only the tables, of what is there
{
  for seed in $SEEDS; do
    for m in ppo lstm; do # the population of the preset rl2, dealt anew each episode
      w='actor.lstm=0 actor.hidden=[64,64]'; [ $m = lstm ] && w='actor.lstm=64 actor.hidden=[64]'
      echo "bots-$m $seed rl2 mind=ppo $w train.steps=$BOTS eval.episodes=100"
    done
    for k in 40 20 5 1; do
      echo "lstm$k $seed ppo-lstm-4x4 game.stags=2 ppo.seq_len=$k train.steps=$STEPS train.save=$STEPS eval.episodes=$EPISODES"
    done
    echo "none $seed ppo-lstm-4x4 game.stags=2 actor.lstm=0 actor.hidden=[64,64] train.steps=$STEPS train.save=$STEPS eval.episodes=$EPISODES"
  done
} | xargs -P "$JOBS" -L 1 bash -c 'job "$@"' _
for seed in $SEEDS; do for m in ppo lstm; do echo "$m $seed"; done; done | xargs -P "$JOBS" -L 1 bash -c \
  '"$BIN" adapt runs-bots-$0-$1/rl2-001 --trios six --lives '${LIVES:-4}' --seeds $1 --workers 1 --json > adapt-$0-$1.json 2> adapt-$0-$1.err || echo "FAILED adapt $0 $1"'
}

# Returns by the share of the run that lies behind, from metrics.csv, and of the final agents, sampled.
curve() { # name seed from to -> mean of return/mean over windows between two shares of the run
  awk -F, -v lo="$3" -v hi="$4" -v all="$STEPS" 'NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
    $col["name"] == "return/mean" && $col["step"] > lo * all && $col["step"] <= hi * all { s += $col["value"] * $col["n"]; n += $col["n"] }
    END { if (n) printf "%.3f", s / n; else printf "nan" }' runs-"$1"-"$2"/*/seed-"$2"/metrics.csv
}
stat() { awk '{ for (i = 1; i <= NF; i++) { s += $i; q += $i * $i } n = NF } END { m = s / n; v = n > 1 ? (q - n * m * m) / (n - 1) : 0; if (v < 0) v = 0
  t = n == 5 ? 2.776 : n == 4 ? 3.182 : n == 3 ? 4.303 : n == 2 ? 12.706 : 0; printf "%.3f +- %.3f", m, t * sqrt(v / n) }'; }
echo; echo "seq_len at equal steps, two stags, $STEPS env steps; mean +- 95 %, then every seed"
echo "| seq_len | 5 to 10 % of the steps | 15 to 25 % | 45 to 55 % | last 10 % | final, sampled | processor s | final of every seed |"
echo "|---|---|---|---|---|---|---|---|"
for name in lstm1 lstm5 lstm20 lstm40 none; do
  row="| $name |"
  for part in ".05 .10" ".15 .25" ".45 .55" ".90 1.01"; do
    row="$row $(for s in $SEEDS; do curve $name "$s" $part; echo -n ' '; done | stat) |"
  done
  fin=$(for s in $SEEDS; do grep -m1 '"mean"' "$name-$s.json" | tr -dc '0-9.'; echo -n ' '; done)
  cpu=$(for s in $SEEDS; do grep -m1 '"cpu_s"' "$name-$s.json" | tr -dc '0-9.'; echo -n ' '; done)
  echo "$row $(echo "$fin" | stat) | $(echo "$cpu" | stat) | $(echo "$fin" | awk '{ for (i = 1; i <= NF; i++) printf "%.2f ", $i }')|"
done
echo; echo "a network alone among the population of rl2, normalised score by trio: 3 ns, 3 nh, 3 random, ns+2nh, 2ns+random, nh+ns+random"
echo "| network | mean +- 95 % of each trio |"; echo "|---|---|"
for m in ppo lstm; do
  row="| $m |"
  for i in 1 2 3 4 5 6; do
    row="$row $(for s in $SEEDS; do awk -F'[:,]' -v want=$i '/^      "normalised":/ { if (++k == want) printf "%s ", $2 }' "adapt-$m-$s.json"; done | stat) |"
  done
  echo "$row"
done
