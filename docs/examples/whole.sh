#!/bin/sh
# whole.sh PRESET SEED [--set ...]: a training whose stages all have a seed of their own too, so
# that nothing is shared between two seeds. hop must be on the PATH.
set -e
preset=$1 seed=$2
shift 2
{
  echo "base: $preset"
  echo "prepare:"
  hop show "$preset" | awk -v seed="$seed" '
    /^prepare:/ { inside = 1; next }
    /^[a-z]/ { inside = 0 }
    inside && /- name:/ { name = $3 }
    inside && /run:/ {
      sub(/^ *run: /, "")
      gsub(/^\047|\047$/, "")
      if ($0 ~ /--seed/) sub(/--seed [0-9]+/, "--seed " seed * 10 + 7)
      else $0 = $0 " --seed " seed
      printf "  - {name: %s, run: \"%s\"}\n", name, $0
    }'
} >"whole-$seed.yaml"
hop train "whole-$seed.yaml" --seeds "$seed" "$@"
