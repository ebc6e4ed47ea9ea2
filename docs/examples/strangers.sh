#!/bin/sh
# The runs behind the tables of docs/strangers.md. hop must be on the PATH.
#   strangers.sh jobs SETTING [SEEDS]      prints the trainings, one a line: strangers.sh jobs 4x4 | xargs -P 8 -L 1 sh
#   strangers.sh train SETTING AGENT SEED [--set ...]  does one of them, every stage with that seed too
#   strangers.sh score SETTING [...]       scores whoever has been trained, beside scripts and a bandit, as JSON
# SETTING is 4x4 or 8x8 (stag hunt, two stags), snowdrift, dilemma, coin, foraging, cleanup or tag. Everything is written
# below tables/.
set -e
do=$1 setting=$2 short=
case $setting in
4x4) game='{name: staghunt, size: 4, stags: 2, hares: 4, horizon: 35}' agents='hop+ hop+zoo hop+sequence hop+types rl2 ppo hop-4x4 direct-om' ;;
8x8) game='{name: staghunt, size: 8, blocks: 5, stags: 2, hares: 4, horizon: 35}' agents='hop+ rl2 ppo hop-8x8' ;;
snowdrift) game='{name: snowdrift, size: 8, drifts: 6, horizon: 50}' agents='hop+snowdrift rl2 ppo hop-snowdrift' ;;
dilemma) game='{name: matrix, matrix: pd, rounds: 10, memory: true, time: true}' agents='hop+rules rl2 ppo hop-ipd' ;;
coin | foraging) game="{name: $setting}" agents='hop+ ppo' ;;
cleanup | tag) game="{name: $setting}" agents='hop+ ppo' short='--set train.steps=1000000' ;;
*) echo "strangers.sh: SETTING is 4x4, 8x8, snowdrift, dilemma, coin, foraging, cleanup or tag, not '$setting'" >&2; exit 2 ;;
esac
case $do in
jobs)
  for agent in $agents; do
    for seed in ${3:-31 32 33 34 35}; do echo "$0 train $setting $agent $seed"; done
  done ;;
train)
  agent=$3 seed=$4 at=tables/work/$setting-$3-$4
  shift 4
  mkdir -p "$at" "tables/$setting/$agent"
  case $agent in
  ppo | rl2) base=$(cd "$(dirname "$0")" && pwd)/$agent-strangers.yaml ;;
  *) base=$agent ;;
  esac
  spec=$at/whole.yaml
  printf 'base: %s\ngame: %s\n' "$base" "$game" >"$spec"
  seeds=$(hop show "$spec" | awk -v seed="$seed" '
    /^prepare:/ { inside = 1; next }
    /^[a-z]/ { inside = 0 }
    inside && /- name:/ { name = $3; getline; print "--set prepare." name ".seed=" (/seed:/ ? seed * 10 + 7 : seed) }')
  hop train "$spec" --seeds "$seed" $seeds --out "$at/runs" --workers "${WORKERS:-1}" $short "$@" >"$at/log" 2>&1
  rm -rf "tables/$setting/$agent/seed-$seed"
  cp -R "$at/runs/whole-001/seed-$seed" "tables/$setting/$agent/" ;;
score)
  shift 2
  case $setting in
  4x4 | 8x8) who='bandit deadline plan-infer' ;;
  snowdrift) who='bandit nd fix' ;;
  dilemma) who='bandit tft grim' ;;
  *) who=bandit ;;
  esac
  hop strangers score $(ls -d tables/"$setting"/*) $who --strangers test@1 --seeds 1-5 --json "$@" ;;
*) echo "strangers.sh: want jobs, train or score, not '$do'" >&2; exit 2 ;;
esac
