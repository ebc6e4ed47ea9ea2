#!/usr/bin/env bash
# Question 9: RL^2 trained over a population (ns, nh, random, copies) for lives of ten episodes, then hop adapt among
# co-players of the population and strangers, beside PPO over the same population (without and with an LSTM that
# forgets when an episode ends), PPO in self-play, and HOP+. 4x4, two stags.
# BIN=/path/to/hop OUT=/folder bash 09.sh; HOPPLUS='/folder/SEED/runs/hop+-001/seed-SEED' spares training hop+ on two stags.
# STEPS, SELF, SEEDS, LIVES, JOBS shorten it; TABLE=1: only the tables, of what is there.
set -u
BIN=${BIN:?} OUT=${OUT:?} STEPS=${STEPS:-4000000} SELF=${SELF:-2000000} SEEDS=${SEEDS:-1 2 3 4 5} LIVES=${LIVES:-4} JOBS=${JOBS:-16} HOPPLUS=${HOPPLUS:-}
mkdir -p "$OUT"; cd "$OUT" || exit 1
export BIN LIVES
job() { # name seed preset sets...
  local name=$1 seed=$2 preset=$3; shift 3
  local sets=(); for s in "$@"; do sets+=(--set "$s"); done
  "$BIN" train "$preset" "${sets[@]}" --seeds "$seed" --out "runs-$name-$seed" --workers 1 --json > "$name-$seed.json" 2> "$name-$seed.err" ||
    { echo "FAILED $name seed $seed: $(tail -1 "$name-$seed.err")"; return 1; }
}
meet() { # name seed run where co-players...
  local name=$1 seed=$2 run=$3 where=$4; shift 4
  local who=(--trios "$*"); [ "$where" = known ] || [ "$where" = strange ] || who=(--vs "$1" --then "$2" --at-episode 10 --steps 1200)
  "$BIN" adapt "$run" "${who[@]}" --lives "$LIVES" --seeds "$seed" --workers 1 --json > "adapt-$name-$where-$seed.json" 2> "adapt-$name-$where-$seed.err" ||
    echo "FAILED adapt $name $where seed $seed: $(tail -1 "adapt-$name-$where-$seed.err")"
}
export -f job meet
if [ -z "${TABLE:-}" ]; then
  first=$(date +%s)
  {
    for seed in $SEEDS; do
      echo "rl2 $seed rl2 train.steps=$STEPS train.save=$STEPS eval.episodes=200"
      echo "lstm $seed rl2 mind=ppo train.steps=$STEPS train.save=$STEPS eval.episodes=200"
    done
    for seed in $SEEDS; do
      echo "ppo $seed rl2 mind=ppo actor.lstm=0 actor.hidden=[64,64] train.steps=$STEPS train.save=$STEPS eval.episodes=200"
      echo "self $seed ppo-4x4 game.stags=2 train.steps=$SELF train.save=$SELF eval.episodes=200"
    done
    echo "selfish 9 ppo-4x4 game.stags=2 train.steps=$SELF train.save=$SELF eval.episodes=200" # strangers
    echo "prosocial 9 ppo-4x4 game.stags=2 ppo.prosocial=1 train.steps=$SELF train.save=$SELF eval.episodes=200"
  } | xargs -P "$JOBS" -L 1 bash -c 'job "$@"' _
  echo "trained after $(($(date +%s) - first)) s"
  if [ -z "$HOPPLUS" ]; then
    "$BIN" train hop+ --set game.stags=2 --set eval.episodes=100 ${HOPMORE:-} --seeds "$(echo $SEEDS | tr ' ' ,)" --out runs-hop+ --workers "$JOBS" --json \
      > hop+.json 2> hop+.err || echo "FAILED hop+: $(tail -1 hop+.err)"
    HOPPLUS=runs-hop+/hop+-001/seed-SEED
    echo "hop+ after $(($(date +%s) - first)) s"
  fi
  known='ns,ns,ns nh,nh,nh random,random,random ns,nh,nh ns,ns,random nh,ns,random'
  s=runs-selfish-9/ppo-4x4-001/seed-9 p=runs-prosocial-9/ppo-4x4-001/seed-9
  strange="deadline,deadline,deadline $s#1,$s#2,$s#3 $p#1,$p#2,$p#3"
  for seed in $SEEDS; do
    for name in hop+ rl2 lstm ppo self; do
      case $name in hop+) run=${HOPPLUS//SEED/$seed} ;; self) run=runs-self-$seed/ppo-4x4-001 ;; *) run=runs-$name-$seed/rl2-001 ;; esac
      [ -d "$run" ] || { echo "no run $run" >&2; continue; }
      echo "$name $seed $run known $known"
      echo "$name $seed $run strange $strange"
      echo "$name $seed $run to-ns nh,nh,nh ns,ns,ns"
      echo "$name $seed $run to-nh ns,ns,ns nh,nh,nh"
    done
  done | xargs -P "$JOBS" -L 1 bash -c 'meet "$@"' _
  echo "all after $(($(date +%s) - first)) s"
fi
stat() { awk '{ for (i = 1; i <= NF; i++) if ($i != "null") { s += $i; q += $i * $i; n++ } } END { if (!n) { printf "-"; exit }
  m = s / n; v = n > 1 ? (q - n * m * m) / (n - 1) : 0; if (v < 0) v = 0
  t = n == 5 ? 2.776 : n == 4 ? 3.182 : n == 3 ? 4.303 : n == 2 ? 12.706 : 0; printf "%.2f +- %.2f", m, t * sqrt(v / n) }'; }
pick() { awk -F'[:,]' -v want="$2" -v key="^      \"$1\":" '$0 ~ key { if (++k == want) printf "%s ", $2 }' "$3" 2> /dev/null; }
one() { awk -F'[:,]' -v key="^  \"$1\":" '$0 ~ key { printf "%s ", $2 }' "$2" 2> /dev/null; } # of a single meeting
for where in known strange; do
  if [ $where = known ]; then
    n=6; echo; echo "met in training: normalised score (1: the best response, 0: random play), mean +- 95 % over seeds"
    echo "| | 3 ns | 3 nh | 3 random | ns+2nh | 2ns+random | nh+ns+random |"; echo "|---|---|---|---|---|---|---|"
  else
    n=3; echo; echo "strangers"
    echo "| | 3 deadline | 3 selfish PPO | 3 prosocial PPO |"; echo "|---|---|---|---|"
  fi
  for name in hop+ rl2 lstm ppo self; do
    row="| $name |"; raw="| $name, score / first episode |"
    for i in $(seq $n); do
      row="$row $(for s in $SEEDS; do pick normalised $i adapt-$name-$where-$s.json; done | stat) |"
      raw="$raw $(for s in $SEEDS; do pick score $i adapt-$name-$where-$s.json; done | stat) / $(for s in $SEEDS; do pick first_episode $i adapt-$name-$where-$s.json; done | stat) |"
    done
    echo "$row"; echo "$raw"
  done
done
echo; echo "co-players change after ten episodes, which no trial of the training has: normalised score of the end; episodes until back at 90 %"
echo "| | 3 nh, then 3 ns | back | 3 ns, then 3 nh | back |"; echo "|---|---|---|---|---|"
for name in hop+ rl2 lstm ppo self; do
  row="| $name |"
  for w in to-ns to-nh; do
    row="$row $(for s in $SEEDS; do one normalised adapt-$name-$w-$s.json; done | stat) | $(for s in $SEEDS; do x=$(one back_after adapt-$name-$w-$s.json); echo -n "${x:-never} "; done)|"
  done
  echo "$row"
done
echo; echo "every seed, normalised, in the order of the tables"
for name in hop+ rl2 lstm ppo self; do for s in $SEEDS; do
  echo "$name seed $s: $(for w in known strange; do for i in 1 2 3 4 5 6; do pick normalised $i adapt-$name-$w-$s.json; done; done | awk '{ for (i = 1; i <= NF; i++) printf "%.2f ", $i }')"
done; done
echo; echo "rl2 among those it met, return by episode of the life: 1st, 2nd, 3rd, 4th to 10th, later (first seed of $SEEDS)"
awk -v RS='"vs":' 'NR > 1 { who = $0; sub(/].*/, "", who); gsub(/[^a-z,]/, "", who); x = $0; if (!sub(/.*"episodes": \[/, "", x)) next; sub(/].*/, "", x)
  n = split(x, e, ","); for (i = 4; i <= 10; i++) a += e[i] / 7; for (i = 11; i <= n; i++) b += e[i] / (n - 10); printf "%s: %.2f %.2f %.2f %.2f %.2f\n", who, e[1], e[2], e[3], a, b; a = b = 0 }' \
  "adapt-rl2-known-${SEEDS%% *}.json"
echo; echo "processor seconds of a training: rl2 $(for s in $SEEDS; do grep -m1 '"cpu_s"' rl2-$s.json | tr -dc '0-9. '; done | stat), lstm $(for s in $SEEDS; do grep -m1 '"cpu_s"' lstm-$s.json | tr -dc '0-9. '; done | stat), ppo $(for s in $SEEDS; do grep -m1 '"cpu_s"' ppo-$s.json | tr -dc '0-9. '; done | stat)"
