#!/bin/sh
# whole.sh PRESET SEED [--set ...]: a training whose stages all have a seed of their own too, so
# that nothing is shared between two seeds. hop must be on the PATH.
set -e
preset=$1 seed=$2
shift 2
echo "base: $preset" >"whole-$seed.yaml"
seeds=$(hop show "$preset" | awk -v seed="$seed" '
  /^prepare:/ { inside = 1; next }
  /^[a-z]/ { inside = 0 }
  inside && /- name:/ { name = $3; getline; print "--set prepare." name ".seed=" (/seed:/ ? seed * 10 + 7 : seed) }')
hop train "whole-$seed.yaml" --seeds "$seed" $seeds "$@"
