#!/bin/bash
# Workers of a hop sweep as a Slurm array: every task is one worker.
#
#   on a node that lives long enough:  hop sweep sweep.yaml --out sweeps/x --listen 0.0.0.0:4222 \
#                                        --token-file ~/.config/hop/sweep.secret --slots 0
#   then:  HOP_CONNECT=nats://THAT-NODE:4222 HOP_TOKEN_FILE=$PWD/sweeps/x/worker.token sbatch slurm.sh
#
# HOP_TOKEN_FILE is the file with the workers' token that hop sweep writes; only you may read it, and it must be on a
# disk that the tasks see. Slurm passes both on. Two minutes before the end of its time a task is asked to
# leave: its jobs save what they have, and go on from there on another worker.
#SBATCH --job-name=hop-worker
#SBATCH --array=0-15
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=8G
#SBATCH --time=04:00:00
#SBATCH --signal=B:TERM@120
#SBATCH --requeue
#SBATCH --output=hop-worker-%A-%a.log
set -euo pipefail
: "${HOP_CONNECT:?say where the sweep listens, such as nats://node1:4222}"
: "${HOP_TOKEN_FILE:?say where the token of the workers is, such as sweeps/x/worker.token}"

dir=$(mktemp -d "${SLURM_TMPDIR:-${TMPDIR:-/tmp}}/hop-worker.XXXXXX")
trap 'rm -rf "$dir"' EXIT
# In the background, so that the shell can pass the signal on.
"${HOP:-hop}" worker --connect "$HOP_CONNECT" --token-file "$HOP_TOKEN_FILE" --cores "${SLURM_CPUS_PER_TASK:-1}" --dir "$dir" &
worker=$!
trap 'kill -TERM "$worker"' TERM INT
code=0
wait "$worker" || code=$?
wait "$worker" 2>/dev/null || true # the first wait ends with the signal, this one with the worker
exit "$code"
