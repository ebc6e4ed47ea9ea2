#!/usr/bin/env bash
# Question 8: different minds side by side, and each in self-play. BIN=/path/to/hop OUT=/folder bash 08.sh
# SEEDS, STEPS (of mixed), PPO (steps of PPO in self-play) make it shorter for a trial.
set -u
BIN=${BIN:?}; OUT=${OUT:?}; SEEDS=${SEEDS:-1 2 3 4 5}; STEPS=${STEPS:-150000}; PPO=${PPO:-600000}; EP=${EP:-1000}
mkdir -p "$OUT"; cd "$OUT"
# Once: the models of HOP+ on two stags, in runs/stages, which all runs then share.
"$BIN" train mixed-4x4 --set train.steps=2000 --set eval.episodes=20 --seeds 99 > prepare.log 2>&1 || tail -3 prepare.log
throttle() { while [ "$(jobs -rp | wc -l)" -ge 16 ]; do sleep 0.2; done; }
export GOMAXPROCS=1
one() { n=$1; shift; for s in $SEEDS; do throttle; "$BIN" train "$@" --set name=$n-s$s --seeds $s --workers 1 --set eval.episodes=$EP --json > $n-$s.json 2> $n-$s.log & done; }
one mixed     mixed-4x4 --set train.steps=$STEPS                       # hop+, ppo, prosocial, ns
one noplanner mixed-4x4 --set train.steps=$STEPS --set 'train.team=[nh,learn,learn,ns]'   # the planner's place played by a hare hunter
one later     mixed-4x4 --set train.steps=$STEPS --set 'train.team=[learn,ns,learn,ns]' --set "train.switch=[{at: $((STEPS/3)), agent: 1, to: learn}]"  # a bot first, then learning
one hop       hop+ --set game.stags=2                                  # self-play of each
one ppo       ppo-4x4 --set game.stags=2 --set ppo.entropy=0.03 --set ppo.entropy_end=0.001 --set ppo.lr_end=0.0001 --set train.steps=$PPO
one prosocial ppo-prosocial-4x4 --set game.stags=2 --set ppo.entropy=0.03 --set ppo.entropy_end=0.001 --set ppo.lr_end=0.0001 --set train.steps=$PPO
wait
echo "run: seed, mean, [agents 0 1 2 3], cpu seconds (mixed: 0 hop+, 1 ppo, 2 prosocial, 3 ns; noplanner: 0 nh; later: 1 was ns for the first third)"
for n in mixed noplanner later hop ppo prosocial; do
  for s in $SEEDS; do
    tr -d ' \n' < $n-$s.json | sed -E 's/.*"seeds":\[\{//' | awk -v n=$n -v s=$s '{
      match($0,/"mean":[-0-9.e]+/); m=substr($0,RSTART+7,RLENGTH-7); match($0,/"agents":\[[^]]*/); a=substr($0,RSTART+10,RLENGTH-10); gsub(",", " ", a)
      match($0,/"cpu_s":[-0-9.e]+/); c=substr($0,RSTART+8,RLENGTH-8); split(a,x," "); printf "%s %s %.3f %.3f %.3f %.3f %.3f %.1f\n", n, s, m, x[1], x[2], x[3], x[4], c}'
  done | tee tab-$n.txt
  awk '{k++; for(i=3;i<=8;i++){v[i]+=$i; q[i]+=$i*$i}} END {printf "%s mean", $1; for(i=3;i<=8;i++){m=v[i]/k; sd=k>1?sqrt((q[i]-k*m*m>0?q[i]-k*m*m:0)/(k-1)):0; printf " %.3f(sd %.3f)", m, sd}; printf "\n"}' tab-$n.txt
done
