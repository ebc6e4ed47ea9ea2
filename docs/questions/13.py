import json,glob,os,statistics as st,sys
from math import sqrt
root=sys.argv[1]; T={1:12.706,2:4.303,3:3.182,4:2.776}
names=sorted({os.path.basename(p)[:-11] for p in glob.glob(root+'/*/*.adapt.json')})
trios=None
for n in names:
    sp,greedy,cols,cpu,mem=[],[],{},[],[]
    for s in range(1,6):
        try:
            t=json.load(open(f"{root}/{s}/{n}.json")); a=json.load(open(f"{root}/{s}/{n}.adapt.json"))
        except Exception: continue
        sd=t["seeds"][0]; sp.append(sd["mean"]); greedy.append(sd["greedy_mean"])
        e=glob.glob(f"{root}/{s}/runs/{n}-001/seed-*/env.json")
        if e: e=json.load(open(e[0])); cpu.append(e["cpu_s"]); mem.append(e["peak_memory_bytes"]/2**20)
        for r in a["table"]:
            k=tuple(r.get("vs") or r.get("team") or r.get("trio") or []) or r.get("name")
            cols.setdefault(str(k),[]).append(r["normalised"])
    if not sp: continue
    def ci(x): return 0 if len(x)<2 else T[len(x)-1]*st.stdev(x)/sqrt(len(x))
    print(f"{n:15s} n={len(sp)} self {st.mean(sp):.3f} ± {ci(sp):.3f} [{' '.join(f'{x:.3f}' for x in sp)}] cpu {st.mean(cpu) if cpu else 0:.0f}s mem {max(mem) if mem else 0:.0f}M")
    print("      ", "  ".join(f"{k[:26]} {st.mean(v):.3f}±{ci(v):.3f}" for k,v in cols.items()))
