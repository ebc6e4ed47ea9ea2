"""Puts a seed's TensorBoard events into Weights & Biases, one run for each seed:

    pip install tensorboard wandb
    python to_wandb.py runs/ppo-4x4-001 my-project            # uploads; wandb login first
    WANDB_MODE=offline python to_wandb.py runs/ppo-4x4-001 my-project && wandb sync

Numbers keep their env step and their time, settings become the config, results the summary.
"""
import collections, pathlib, sys

import wandb
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import metadata

folder, project = pathlib.Path(sys.argv[1]), sys.argv[2]
for events in sorted(folder.glob("**/events.out.tfevents.*")):
    seed = events.parent
    acc = EventAccumulator(str(seed), size_guidance={"scalars": 0})
    acc.Reload()
    config = {}
    start = acc.summary_metadata.get("_hparams_/session_start_info")  # there once the run has ended
    if start:
        info = metadata.parse_session_start_info_plugin_data(start.plugin_data.content)
        config = {name: getattr(v, v.WhichOneof("kind")) for name, v in info.hparams.items()}
    run = wandb.init(project=project, group=seed.parent.name, name=f"{seed.parent.name}/{seed.name}", config=config, reinit="finish_previous")
    steps = collections.defaultdict(dict)
    for tag in acc.Tags()["scalars"]:
        for e in acc.Scalars(tag):
            if tag.startswith("result"):
                run.summary[tag] = e.value
            else:
                steps[e.step].update({tag: e.value, "_timestamp": e.wall_time})
    for step in sorted(steps):
        run.log(steps[step], step=step)
    run.finish()
