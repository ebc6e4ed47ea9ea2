#!/usr/bin/env bash
# pool.sh JOBS [PLACES]: runs the jobs of a file that jobs.py wrote, so many at once (16), in the file's order but for what a job waits for.
# A line is name, tab, names that must be done before ("-": none), tab, command. BIN is hop, R the folder of results (not the one where hop lies).
# Lines added while it runs are run too. done/NAME holds the exit status, when it began and when it ended; log/NAME what it printed.
set -u
: "${BIN:?}" "${R:?}"; BIN=$(command -v "$BIN") BIN=$(realpath "$BIN"); mkdir -p "$R"; R=$(cd "$R" && pwd); export BIN R GOMAXPROCS=${GOMAXPROCS:-1}
jobs=$1 places=${2:-16}
mkdir -p "$R/done" "$R/log"
declare -A begun; for f in "$R"/done/*; do begun[$(basename "$f")]=yes; done # what was done before stays done
run() { local from; from=$(date +%s); bash -c "cd $R && $2" > "$R/log/$1" 2>&1 < /dev/null; echo "$? $from $(date +%s)" > "$R/done/$1.tmp"; mv "$R/done/$1.tmp" "$R/done/$1"; }
while :; do
  free=$((places - $(jobs -rp | wc -l))) left=0
  while IFS=$'\t' read -r name deps command; do
    [ -n "$name" ] && [ -z "${begun[$name]:-}" ] || continue
    left=1; [ $free -gt 0 ] || break
    ready=1
    for d in $deps; do
      [ "$d" = - ] && continue
      [ -f "$R/done/$d" ] || { ready=0; break; }
      read -r rc _ < "$R/done/$d"; [ "$rc" = 0 ] || { ready=0; begun[$name]=no; echo "$name: not run, $d failed"; break; }
    done
    [ $ready = 1 ] || continue
    begun[$name]=yes; run "$name" "$command" & free=$((free - 1))
  done < "$jobs"
  if [ $left = 0 ] && [ "$(jobs -rp | wc -l)" = 0 ]; then [ -n "${STAY:-}" ] || break; fi
  sleep 0.3
done
echo "all done"
