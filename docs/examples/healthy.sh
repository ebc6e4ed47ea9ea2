#!/bin/sh
# Are those who are well accused? Trains presets and random settings, and audits every run half way and at its end
# (docs/results/healthy.md). hop must be on the PATH, or named by BIN.
#   healthy.sh presets "SEEDS" [LIMIT]      prints a job for each preset and seed
#   healthy.sh random FROM COUNT [LIMIT]   prints a job for each of COUNT settings, drawn by the numbers from FROM on
#   healthy.sh one LIMIT PRESET SEED [--set ...]   does one of them and prints a line an audit
# A training that would take more than LIMIT seconds of a core is shortened; stages before it always are. What was
# trained is in the line: PRESET SEED, STEPS of ALL, at STEP: verdict; below it, indented, whatever is worse than pass.
set -e
hop=${BIN:-hop}
full() { "$hop" show "$@" | awk '/^train:/ { on = 1 } on && /^ +steps:/ { print $2; exit }'; }

# stages prints what makes the stages before a training short.
stages() {
  "$hop" show "$1" | awk '
    /^prepare:/ { on = 1; next }
    /^[a-z]/ { on = 0 }
    on && /- name:/ { name = $3; getline; kind = $1 " " $2
      if (kind ~ /collect/) print "--set prepare." name ".rows=20000"
      else if (kind ~ /response/) print "--set prepare." name ".steps=150000"
      else if (kind ~ /zoo/) print "--set prepare." name ".steps=20000"
      else print "--set prepare." name ".epochs=1" }'
}

# step prints how far a run is.
step() { cat "$1"/seed-*/metrics.csv 2>/dev/null | awk -F, '$1 + 0 > most { most = $1 } END { print most + 0 }'; }

# audit prints a line, and what is worse than pass.
audit() {
  "$hop" audit "$1" --out pages >audit.txt 2>audit.err || true
  echo "$2 at $(step "$1"): $(grep -m1 '^Audit of' audit.txt | sed 's/.*: //')"
  grep -E '^ +(note|suspect|fault) ' audit.txt || grep -q '^Audit of' audit.txt || sed 's/^/  /' audit.err | tail -2
}

case $1 in
presets)
  "$hop" list presets | awk '/^  / { print $1 }' | grep -v -e '-env$' -e '^hop+main$' -e '^ppo$' |
    while read -r preset; do for seed in $2; do echo "sh $0 one ${3:-60} $preset $seed"; done; done ;;
random)
  awk -v from="$2" -v count="$3" -v limit="${4:-60}" -v me="$0" '
    function pick(list,  n, a) { n = split(list, a, " "); return a[int(rand() * n) + 1] }
    BEGIN { for (i = from; i < from + count; i++) {
      srand(i); rand(); rand()
      preset = pick("ppo-4x4 ppo-4x4 ppo-matrix ppo-coin ppo-foraging ppo-snowdrift ppo-tag ppo-lstm-4x4 ppo-shared-4x4 ppo-vs-bots ppo-prosocial-4x4 ppo-ipd hop-4x4 hop-ipd hop-coin aa-ipd lola-matrix")
      sets = sprintf("--set ppo.lr=%.2g --set ppo.gamma=%s --set ppo.lambda=%s --set ppo.reward_scale=%s", exp(log(1e-4) + rand() * log(300)), pick("0.9 0.95 0.99 1"), pick("0.8 0.9 0.95 1"), pick("0.1 0.2 0.5 1"))
      if (preset !~ /^hop/) sets = sets sprintf(" --set ppo.epochs=%s --set ppo.minibatch=%s --set ppo.clip=%s --set ppo.norm_adv=%s --set ppo.clip_value=%s --set ppo.entropy=%s --set ppo.entropy_end=0 --set ppo.target_kl=%s", pick("1 2 4 8"), pick("64 128 256 512"), pick("0.1 0.2 0.3"), pick("true true false"), pick("false false true"), pick("0 0.003 0.01 0.03"), pick("0 0 0.01 0.03"))
      if (preset ~ /^ppo-(4x4|coin|foraging|tag)$/ && rand() < 0.3) sets = sets " --set train.standins.share=0.3 --set train.standins.who=[random,past]"
      print "sh " me " one " limit " " preset " " i " " sets } }' ;;
one)
  limit=$2 preset=$3 seed=$4
  shift 4
  all=$(full "$preset") prepared=$(stages "$preset")
  try=$((all / 40 > 2000 ? all / 40 : 2000))
  train="train $preset --seeds $seed $prepared $* --out runs --json"
  "$hop" $train --set eval.episodes=10 --steps $try >train.txt 2>&1 || { tail -1 train.txt; exit 1; }
  mv "runs/$preset-001" try
  steps=$(sed -n 's/.*"cpu_s": *\([0-9.]*\).*/\1/p' "try/seed-$seed/result.json" | awk -v limit="$limit" -v try=$try -v all="$all" '
    { most = int(limit / 100 * try / $1) * 100; print (most < all ? most : all) }')
  "$hop" $train --set eval.episodes=100 --steps "$steps" >train.txt 2>&1 &
  pid=$! run=runs/$preset-001
  while kill -0 $pid 2>/dev/null; do
    [ "$(step "$run")" -ge $((steps / 2)) ] && { kill -INT $pid 2>/dev/null || true; break; }
    sleep 0.1
  done
  wait $pid || true
  what="$preset $seed${*:+ $*}, $steps of $all"
  audit "$run" "$what"
  "$hop" train --resume "$run" --json >train.txt 2>&1 || { tail -1 train.txt; exit 1; }
  audit "$run" "$what" ;;
*) echo "healthy.sh: want presets, random or one, not '$1'" >&2; exit 2 ;;
esac
