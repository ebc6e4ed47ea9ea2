#!/bin/bash
# Workers of a hop sweep on machines that ssh reaches, one on each.
#
#   ./ssh.sh sweeps/x/worker.token nats://this-machine:4222 node1 node2 node3
#
# The first is the file with the token of the workers, which hop sweep writes. hop must be on those machines,
# the same build as here. Ctrl-C asks all workers to leave: their jobs move on. So does a connection that
# breaks. SSH is the command that runs a line on a machine (ssh by default), HOP the program there.
set -euo pipefail
token=$(cat "${1:?name the file with the token of the workers, such as sweeps/x/worker.token}")
shift
connect=${1:?say where the sweep listens, such as nats://this-machine:4222}
shift
[ $# -gt 0 ] || { echo "name the machines: $0 FILE $connect node1 node2" >&2; exit 2; }
ssh=${SSH:-ssh -o BatchMode=yes -o ServerAliveInterval=15}
hop=${HOP:-hop}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
leashes=()
leave() { for fd in "${leashes[@]}"; do exec {fd}>&-; done; leashes=(); }
for node in "$@"; do
  # A worker's standard input is its leash: the token goes in first (it is on no command line), and
  # when the pipe is closed the worker leaves.
  pipe=$dir/${#leashes[@]}
  mkfifo "$pipe"
  (
    leave # of the others: only this script holds leashes
    exec $ssh "$node" "read -r HOP_TOKEN; export HOP_TOKEN; exec $hop worker --leash --connect '$connect'" <"$pipe" \
      > >(sed "s/^/$node: /") 2>&1
  ) &
  exec {fd}>"$pipe"
  leashes+=("$fd")
  printf '%s\n' "$token" >&"$fd"
done
trap leave INT TERM
while [ -n "$(jobs -rp)" ]; do wait || true; done # a signal ends the first wait
