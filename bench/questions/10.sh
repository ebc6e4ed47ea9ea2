#!/bin/bash
# Question 10: partial observation. BIN=/path/to/hop OUT=/folder bash 10.sh
# STEPS4, STEPS8: env steps of a run; SEEDS: seeds; JOBS: runs at once.
set -u
: "${BIN:?}" "${OUT:?}"
STEPS4=${STEPS4:-590000} STEPS8=${STEPS8:-590000} SEEDS=${SEEDS:-"1 2 3 4 5"} JOBS=${JOBS:-16}
mkdir -p "$OUT" && cd "$OUT" || exit 1
one() { # name, preset, seed, more flags
	local name=$1 preset=$2 seed=$3
	shift 3
	"$BIN" train "$preset" --seeds "$seed" --workers 1 --json --set eval.episodes=2000 --out "runs/$name-$seed" "$@" \
		>"$name-$seed.json" 2>"$name-$seed.err" || echo "FAILED $name seed $seed: $(tail -1 "$name-$seed.err")"
}
for board in 4 8; do
	game="--set game.size=$board --set game.stags=2"
	steps=$STEPS4
	[ $board = 8 ] && game="$game --set game.blocks=5" && steps=$STEPS8
	for view in 1 2 3 0; do
		[ $board = 4 ] && [ $view = 3 ] && continue # three cells are the whole board there
		for seed in $SEEDS; do
			all="$game --set game.view=$view --set train.steps=$steps"
			while [ "$(jobs -rp | wc -l)" -ge "$JOBS" ]; do wait -n; done
			one "$board-$view-ppo" ppo-4x4 "$seed" $all &
			while [ "$(jobs -rp | wc -l)" -ge "$JOBS" ]; do wait -n; done
			one "$board-$view-lstm" ppo-lstm-4x4 "$seed" $all &
			while [ "$(jobs -rp | wc -l)" -ge "$JOBS" ]; do wait -n; done
			one "$board-$view-hop" hop-view "$seed" $all &
			while [ "$(jobs -rp | wc -l)" -ge "$JOBS" ]; do wait -n; done
			one "$board-$view-nogoals" hop-view "$seed" $all --set goals.kind=none --set belief.count=evidence &
		done
	done
done
wait
echo "board view who: mean, each seed"
for board in 4 8; do
	for view in 1 2 3 0; do
		for who in ppo lstm hop nogoals; do
			list=""
			for seed in $SEEDS; do
				f="$board-$view-$who-$seed.json"
				[ -s "$f" ] || continue
				list="$list $(grep -o '"mean": *[-0-9.e]*' "$f" | head -1 | sed 's/.*: *//')"
			done
			[ -n "$list" ] && echo "$list" | awk -v n="${board}x$board view $view $who" \
				'{s=0; for(i=1;i<=NF;i++) s+=$i; printf "%s: %.3f  ", n, s/NF; for(i=1;i<=NF;i++) printf " %.2f", $i; print ""}'
		done
	done
done
