#!/usr/bin/env bash
# Question 4: reuse. Goals (VAE, CVAE) and model of others pretrained on bots' play and used in self-play, and goals pretrained on
# self-play and used among bots: env steps until the moving mean of return/mean over five windows reaches 4.5, fresh (models of a
# thousand random steps, which learn on), pretrained and frozen, pretrained and learning on. Two stags on 4x4, leaves by scripts
# on the true rules (hop+scripts), because hop+ with its response network is above 4.5 in its first window.
# BIN=/path/to/hop OUT=/folder bash 04.sh; SEEDS, STEPS, EP and MORE shorten it. Stages are shared between seeds.
set -u
BIN=${BIN:?} OUT=${OUT:?}; export BIN EP=${EP:-100} STEPS=${STEPS:-12000} MORE=${MORE:-}
SEEDS=${SEEDS:-1 2 3 4 5}; first=${SEEDS%% *}
mkdir -p "$OUT"; cd "$OUT" || exit 1
self='train: {warm: {windows: 0}, standins: {share: 0}}'
bots='train: {warm: {windows: 0}, standins: {share: 0, teams: 0.9, who: [ns, nh]}}'
tiny='  - {name: data, run: "collect {game} --mix ns,random --rows 1000 --seed 7"}'
short='  - {name: vae, run: "pretrain vae --data {data} --loss b --set epochs=1"}
  - {name: cvae, run: "pretrain cvae --data {data} --vae {vae} --set epochs=1"}'
learn='goals: {cvae_passes: 1}
moa: {passes: 4}'
frozen='goals: {cvae_passes: 0}
moa: {passes: 0}'
spec() { echo "base: hop+scripts"; printf '%s\n' "$@"; }
spec "prepare:" "$tiny" "$short" 'models: {moa: ""}' "$learn" "$self" > self-fresh.yaml
spec "$frozen" "$self" > self-frozen.yaml
spec "$learn" "$self" > self-learning.yaml
spec "prepare:" "$tiny" "$short" 'models: {moa: ""}' "$learn" "$bots" > bots-fresh.yaml
one() { # variant seed workers
  "$BIN" train $1.yaml --seeds $2 --steps $STEPS --out runs-$1-$2 --workers $3 --set game.stags=2 --set train.envs=8 --set eval.episodes=$EP $MORE --json \
    > $1.$2.json 2> $1.$2.err || { echo "FAILED $1 $2: $(tail -1 $1.$2.err | cut -c1-300)"; return; }
  case $1 in bots-*) timeout 100 "$BIN" adapt $(ls -d runs-$1-$2/$1-001) --trios "ns,ns,ns ns,nh,nh" --lives 1 --workers $3 --out adapt-$1-$2 --json \
    > $1.$2.adapt.json 2> $1.$2.adapt.err || echo "FAILED adapt $1 $2";; esac
}
export -f one
for v in self-fresh self-frozen self-learning bots-fresh; do for s in $SEEDS; do echo "$v $s 1"; done; done | xargs -P 16 -L 1 bash -c 'one $0 $1 $2'
# The other direction: goals from the self-play of the run that learnt on; the model of others then learns from nothing, because
# the kinds that it is told are bots, of which there are none in self-play.
from=$(ls -d "$PWD"/runs-self-learning-$first/self-learning-001/seed-$first)
other='  - {name: data, run: "collect --agents '$from' --rows 60000 --seed 7"}'
spec "prepare:" "$other" 'models: {moa: ""}' 'goals: {cvae_passes: 0}' 'moa: {passes: 4}' "$bots" > bots-frozen.yaml
spec "prepare:" "$other" 'models: {moa: ""}' "$learn" "$bots" > bots-learning.yaml
for v in bots-frozen bots-learning; do for s in $SEEDS; do echo "$v $s 1"; done; done | xargs -P 16 -L 1 bash -c 'one $0 $1 $2'
echo "variant: env steps to a moving mean (five windows) of 4.5, every seed (- never within $STEPS), then first and last moving mean"
for v in self-fresh self-frozen self-learning bots-fresh bots-frozen bots-learning; do
  t=; for s in $SEEDS; do m=$(ls runs-$v-$s/*/seed-$s/metrics.csv 2>/dev/null | head -1); [ -n "$m" ] || continue
    t="$t $(awk -F, '$2 == "return/mean" && $3 ~ /^(|-|-1|all)$/ { x[n] = $4; at[n++] = $1 } END { for (i = 4; i < n; i++) { m = 0; for (k = 0; k < 5; k++) m += x[i - k] / 5
      if (i == 4) a = m; z = m; if (!hit && m >= 4.5) hit = at[i] } printf "%s(%.2f,%.2f)", hit ? hit : "-", a, z }' $m)"; done
  echo "$v: $t"
done
echo "among bots (3 ns, ns + 2 nh): normalised return of the final agents, every seed (return/mean above counts episodes of self-play alone)"
for v in bots-fresh bots-frozen bots-learning; do
  t=; for s in $SEEDS; do [ -s $v.$s.adapt.json ] && t="$t $(grep -o '"normalised": *[-0-9.e]*' $v.$s.adapt.json | head -2 | sed 's/.*: *//' | tr '\n' '/')"; done; echo "$v: $t"; done
