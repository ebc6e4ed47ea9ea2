#!/usr/bin/env bash
# Measures what a graphics card is worth, into a folder: bash python/bench/cuda.sh OUT, on a machine with a card, Go,
# PyTorch (HOP_CUDA and CARD_TEST are the program and card's tests, if Go is not there), and JAX if the whole loop is to be beside it. python3 python/bench/cuda_table.py OUT writes it down in docs/results/cuda.md.
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")/../../cuda"
hop=${HOP_CUDA:-$(mktemp -d)/hop-cuda}
[ -n "${HOP_CUDA:-}" ] || CGO_ENABLED=0 go build -trimpath -o "$hop" .
conv="--set actor.net=conv --set actor.frame=board"
measure() { name=$1; shift; "$hop" bench train "$@" --json >"$out/$name-$turn.json"; }
for turn in 1 2 3; do
  measure conv-card ppo-8x8 $conv --cpu 16 --steps 150000 --device cuda
  measure conv-16 ppo-8x8 $conv --cpu 16 --steps 20000
  measure seeds16-card ppo-4x4 --cpu 16 --steps 400000 --seeds 16 --device cuda
  measure seeds16-behind ppo-4x4 --set train.behind=true --cpu 16 --steps 400000 --seeds 16 --device cuda
  measure seeds16-16 ppo-4x4 --cpu 16 --steps 250000 --seeds 16
  measure seeds48-card ppo-4x4 --cpu 16 --steps 300000 --seeds 48 --device cuda
  measure wide-card ppo-4x4 --set train.envs=1024 --cpu 16 --steps 400000 --seeds 16 --device cuda
  measure one-card ppo-4x4 --cpu 16 --steps 300000 --device cuda
  measure one-16 ppo-4x4 --cpu 16 --steps 300000
  # A whole training by the clock, from the command to its report.
  TIMEFORMAT=%R
  { time "$hop" train ppo-4x4 --seeds 1-16 --device cuda --set eval.episodes=100 --out "$(mktemp -d)" >"$out/whole.log" 2>&1; } 2>"$out/whole-$turn.txt"
done
rm "$out/whole.log"
turn=1
measure conv-1 ppo-8x8 $conv --cpu 1 --steps 10000 # takes half a minute
if [ -n "${CARD_TEST:-}" ]; then
  (cd card && "$CARD_TEST" -test.run XXX -test.bench Step -test.benchtime 200x >"$out/step.txt")
else
  CGO_ENABLED=0 go test ./card -run XXX -bench Step -benchtime 200x >"$out/step.txt"
fi
python3 ../python/bench/cuda_torch.py >"$out/torch.txt"
if python3 -c "import jax" 2>/dev/null; then
  python3 ../python/bench/cuda_jax.py >"$out/jax.txt"
fi
