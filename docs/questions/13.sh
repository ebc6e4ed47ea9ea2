#!/bin/bash
# The ablation table: every 4x4 preset of hop+types and hop, two stags, five whole pipelines.
cd $OUT; export PATH=$(dirname $BIN):$PATH
spec() { # name seed; seven names are hop+types with one thing changed
  local base=$1; case $1 in 8d|gate|tree|nosearch|nomoa|nogoals|rules) base=hop+types;; esac
  echo "base: $base" > "$2/$1.yaml"
  case $1 in
    gate) echo "goals: {gate: 1}";;
    tree) echo "search: {sims: 50, depth: 0}";;
    nosearch) echo "search: {sims: 0}";;
    nomoa) echo "search: {others: uniform}";;
    rules) printf '%s\n' 'models: {world: ""}' "search: {dynamics: rules}";;
    nogoals) printf '%s\n' "prepare:" "  - name: moa" '    pretrain moa:' '      data: "{data}"' \
      "      model: {hidden: [64, 64], distances: false}" "      learning: {decay: 0, augment: none}" \
      'models: {vae: "", cvae: ""}' "goals: {kind: none}";;
  esac >> "$2/$1.yaml"
  hop show "$2/$1.yaml" | awk -v seed="$2" '/^prepare:/ { inside = 1; next } /^[a-z]/ { inside = 0 }
    inside && /- name:/ { name = $3; getline; print "--set prepare." name ".seed=" (/seed:/ ? seed * 10 + 7 : seed) }'
  if [ $1 = 8d ]; then echo "--set prepare.vae.model.dim=8 --set prepare.vae.epochs=6"; fi; }
one() { # preset seed workers
  local t=$(date +%s) stages=$(spec $1 $2)
  hop train $2/$1.yaml $stages --seeds $2 --out $2/runs --workers $3 --set game.stags=2 --set eval.episodes=${EP:-400} $MORE --json > $2/$1.json 2> $2/$1.err || { echo "FAILED $1 $2"; tail -2 $2/$1.err; return; }
  timeout 200 hop adapt $2/runs/$1-001 --trios six --lives ${LIVES:-2} --workers $3 --out $2/adapt-$1 --json > $2/$1.adapt.json 2> $2/$1.adapt.err || { echo "FAILED adapt $1 $2"; tail -2 $2/$1.adapt.err; }
  echo "$1 $2 $(( $(date +%s) - t ))s"; }
export -f spec one
for s in ${SEEDS:-1 2 3 4 5}; do mkdir -p $s; one hop+types $s 3 & done; wait
for p in ${PRESETS:-hop+zoo hop+scripts hop+onestep hop+discrete hop-4x4 hop-net hop-no-across hop-no-within direct-om 8d tree nosearch nomoa nogoals gate rules}; do for s in ${SEEDS:-1 2 3 4 5}; do echo "$p $s 1"; done; done | xargs -P 16 -L 1 bash -c 'one $0 $1 $2'
rm -rf */runs/stages 2>/dev/null; true
