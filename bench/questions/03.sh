#!/bin/bash
# Question 3, two stags on 4x4. Offline: a transformer that reads whole lives, a GRU over lives, a GRU over one episode
# (what the model of others had), no history, and the Bayes observer, on lives held out. Acting: no search, one step, trees.
# In play: hop+ beside hop+sequence, whose others are read by a transformer, by a GRU, by a transformer that forgets at an
# episode's start, or by one that reads nothing; whole pipelines, self-play and six trios (13.py reads play/).
# BIN=/path/to/hop OUT=/folder bash 03.sh. Smaller: SEEDS="1" ROWS=6000 EPOCHS=1 BASE=small.yaml EVAL=4 SIMS="50" bash 03.sh
# PARTS="play" runs the last part alone.
set -u
export BIN SEEDS="${SEEDS:-1 2 3 4 5}" ROWS="${ROWS:-300000}" EPOCHS="${EPOCHS:-8}" BASE="${BASE:-hop+}" EVAL="${EVAL:-400}"
export STEPS="${STEPS:-6000}" ONESTEP="${ONESTEP:-80000}"
SIMS="${SIMS:-50 200 1000}"; P="${P:-16}"; PARTS="${PARTS:-offline acting play}"
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$OUT"; cd "$OUT" || exit 1

offline() { # seed history flags...
  local s=$1 h=$2; shift 2; local name=$h${1:+-episode}
  GOMAXPROCS=1 "$BIN" pretrain sequence --data data-$s --history $h "$@" --seed $s --out seq-$name-$s --set epochs=$EPOCHS --json \
    > seq-$name-$s.json 2> seq-$name-$s.err || { echo "FAILED $name $s"; tail -2 seq-$name-$s.err; }
}
acting() { # name seed preset flags...
  local name=$1 s=$2 p=$3; shift 3
  GOMAXPROCS=1 "$BIN" train $p --seeds $s --out runs/$name-$s --workers 1 --set game.stags=2 "$@" --json \
    > act-$name-$s.json 2> act-$name-$s.err || { echo "FAILED $name $s"; tail -2 act-$name-$s.err; }
}
timing() { # name flags...
  local name=$1; shift
  GOMAXPROCS=1 "$BIN" bench train $BASE --cpu 1 --set game.stags=2 --set "prepare=[]" --set train.envs=8 --set train.window=40 --steps 320 \
    $(cat models) "$@" --json > time-$name.json 2> time-$name.err || { echo "FAILED timing $name"; tail -2 time-$name.err; }
}
play() { # name seed preset flags of the stage that learns to read
  local name=$1 s=$2 preset=$3; shift 3
  mkdir -p play/$s
  { echo "base: $preset"; echo "prepare:"
    "$BIN" show "$preset" | awk -v seed="$s" -v more="$*" '
    /^prepare:/ { inside = 1; next } /^[a-z]/ { inside = 0 }
    inside && /- name:/ { name = $3 }
    inside && /run:/ { sub(/^ *run: /, ""); gsub(/^\047|\047$/, "")
      if ($0 ~ /--seed/) sub(/--seed [0-9]+/, "--seed " seed * 10 + ($0 ~ /--seed 8/ ? 8 : 7)); else $0 = $0 " --seed " seed
      if (name == "sequence") $0 = $0 " " more
      printf "  - {name: %s, run: \"%s\"}\n", name, $0 }'
  } > play/$s/$name.yaml
  GOMAXPROCS=${W:-3} "$BIN" train play/$s/$name.yaml --seeds $s --out play/$s/runs --workers ${W:-3} --set game.stags=2 \
    --set eval.episodes=$EVAL ${MORE:-} --json > play/$s/$name.json 2> play/$s/$name.err || { echo "FAILED $name $s"; tail -2 play/$s/$name.err; return; }
  GOMAXPROCS=${W:-3} "$BIN" adapt play/$s/runs/$name-001 --trios six --lives ${LIVES:-2} --workers ${W:-3} --out play/$s/adapt-$name --json \
    > play/$s/$name.adapt.json 2> play/$s/$name.adapt.err || { echo "FAILED adapt $name $s"; tail -2 play/$s/$name.adapt.err; }
}
export -f offline acting timing play

# In play. The first preset of a seed makes the stages that the others share.
case $PARTS in *play*)
  for s in $SEEDS; do play hop+ $s hop+ & done; wait
  for s in $SEEDS; do
    { play hop+sequence $s hop+sequence; play hop+gru $s hop+sequence --history gru; play hop+forget $s hop+sequence --forget
      play hop+blind $s hop+sequence --history none; } &
  done; wait
  rm -rf play/*/runs/stages play/*/runs/*/seed-*/checkpoints
  command -v python3 > /dev/null && python3 "$here/13.py" play
esac
[ "$PARTS" = play ] && exit 0

# Data, and hop+'s models once: all seeds of the acting part share them.
for s in $SEEDS; do
  "$BIN" collect --set game.size=4 --set game.stags=2 --among ns,nh,random,deadline --life 5 --rows $ROWS --seed $s --workers 2 --out data-$s \
    > data-$s.txt 2>&1 || tail -2 data-$s.txt &
done; wait
{ for s in $SEEDS; do echo "offline $s attention"; echo "offline $s gru"; echo "offline $s gru --forget"; echo "offline $s none"; done
  for s in $SEEDS; do echo "acting onestep $s hop+onestep --set train.steps=$ONESTEP --set eval.episodes=$EVAL"; done
} | xargs -P $((P > 6 ? P - 6 : P)) -I{} bash -c '{}' &
side=$!
GOMAXPROCS=6 "$BIN" train $BASE --seeds 1 --out runs/models --workers 6 --set game.stags=2 --set train.steps=1280 --set eval.episodes=4 --json \
  > models.json 2> models.err || { echo "FAILED models"; tail -2 models.err; }
for m in vae cvae moa world response; do echo "--set models.$m=$(ls -d "$PWD"/runs/models/stages/$m-* | head -1)"; done | tr '\n' ' ' > models
few() { case $1 in 1000) echo $((EVAL / 10 + 1));; 200) echo $((EVAL / 4 + 1));; *) echo $EVAL;; esac; }
{ for n in $(echo $SIMS | tr ' ' '\n' | sort -rn); do
    echo "timing tree-$n --set search.sims=$n --set search.depth=0"
    for s in $SEEDS; do
      echo "acting tree-$n $s $BASE \$(cat models) --set \"prepare=[]\" --set search.sims=$n --set search.depth=0 --set train.envs=8 \
        --set train.steps=$((n > 50 ? 320 : STEPS)) --set eval.episodes=$(few $n)"
    done
  done
  for s in $SEEDS; do
    echo "acting nosearch $s $BASE \$(cat models) --set \"prepare=[]\" --set search.sims=0 --set train.steps=$STEPS --set eval.episodes=$EVAL"
    echo "acting depth1 $s $BASE \$(cat models) --set \"prepare=[]\" --set train.steps=$STEPS --set eval.episodes=$EVAL"
  done
  echo "timing nosearch --set search.sims=0"; echo "timing depth1"
} | tr -s ' ' | tr '"' "'" | xargs -d '\n' -P $P -I{} bash -c '{}'
wait $side
s1=${SEEDS%% *}
GOMAXPROCS=1 "$BIN" bench train hop+onestep --cpu 1 --set train.warm.windows=0 --set train.standins.share=0 --set train.standins.teams=0 --set game.stags=2 --set "prepare=[]" --set train.envs=8 --set train.window=40 --steps 320 \
  $(for m in vae cvae; do echo "--set models.$m=$(ls -d "$PWD"/runs/onestep-$s1/stages/$m-* | head -1)"; done) --json \
  > time-onestep.json 2> time-onestep.err || tail -2 time-onestep.err
rm -rf data-* runs/*/*/seed-*/checkpoints
command -v python3 > /dev/null && python3 "$here/03.py" . || echo "no python here: run 03.py on this folder"
