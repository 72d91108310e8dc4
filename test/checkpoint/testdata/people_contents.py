"""Directories with what is saved beside checkpoints and looks like one: data, metrics, caches, and states that are
tuples, objects, or in parts; folders.py says how they are written."""

import argparse
import collections
import gzip
import json
import pickle
import random
import shutil

import numpy

from folders import cut, has, main, save, series, state, times, tree, weights
import torch


class Tokenizer:
    def __init__(self):
        self.vocab = {"a": 0, "b": 1}


class Buffer:
    def __init__(self):
        self.items = collections.deque([(1, 2.0), (3, 4.0)])


class Individual(list):
    pass


class Train(collections.namedtuple("Train", "params opt_state step")):
    pass


class Adam(collections.namedtuple("Adam", "count mu nu")):
    pass


def arrays():
    return {"linear": {"w": numpy.ones((8, 8)), "b": numpy.zeros(8)}}


def dump(path, what, protocol=4):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(what, protocol=protocol))


@tree("MNIST's processed data", [], None, "data")
def _(f):
    for name in "training", "test":
        save(f / f"data/MNIST/processed/{name}.pt", (torch.zeros(10, 28, 28, dtype=torch.uint8), torch.arange(10)))


@tree("PyTorch Geometric's processed data", [], None, "data")
def _(f):
    data = {"x": torch.zeros(9, 3), "edge_index": torch.zeros(2, 12, dtype=torch.long), "y": torch.zeros(3)}
    save(f / "data/processed/data.pt", (data, {"x": torch.tensor([0, 3, 6, 9]), "y": torch.tensor([0, 1, 2, 3])}, {"num_nodes": 9}))
    save(f / "data/processed/pre_filter.pt", "None")
    save(f / "data/processed/pre_transform.pt", "None")


@tree("samples cached beside checkpoints", ["ckpt_200.pt"], 200)
def _(f):
    series(f, "ckpt_{}.pt")
    save(f / "train_samples.pt", [{"input_ids": torch.arange(9), "label": n} for n in range(20)])
    times(f, "ckpt_100*", "ckpt_200*", "train*")


@tree("a list of numbers under a checkpoint's name", [])
def _(f):
    save(f / "ckpt_1.pt", [0.5, 0.25, 0.125])


@tree("losses beside each state", ["model_epoch_3.pt"], 3)
def _(f):
    losses = []
    for epoch in 1, 2, 3:
        save(f / f"model_epoch_{epoch}.pt", state(epoch, epoch=epoch))
        losses.append(1 / epoch)
        save(f / f"losses_epoch_{epoch}.pt", losses)


@tree("a history of epochs alone", [])
def _(f):
    dump(f / "history_epoch_5.pkl", [{"epoch": n, "loss": 1 / n, "acc": 0.5} for n in range(1, 6)])


@tree("a tokenizer and a vocabulary alone", [])
def _(f):
    dump(f / "tokenizer.pkl", Tokenizer())
    save(f / "vocab_30000.pt", {f"word{n}": n for n in range(300)})


@tree("embeddings alone", [])
def _(f):
    save(f / "embeddings_50000.pt", torch.randn(50, 16))
    numpy.save(f / "embeddings_50000.npy", numpy.ones((50, 16)))


@tree("DEAP", ["checkpoint_name.pkl"])
def _(f):
    dump(f / "checkpoint_name.pkl", {"population": [Individual([1, 0, 1]) for _ in range(10)], "generation": 30, "halloffame": [Individual([1, 1, 1])],
                                     "logbook": [{"gen": n, "avg": 0.5} for n in range(30)], "rndstate": random.getstate()})


@tree("NEAT, the last cut", ["neat-checkpoint-49"], 49)
def _(f):
    for n in 39, 49, 59:
        made = (n, Tokenizer(), {i: Individual([i]) for i in range(5)}, Buffer(), random.getstate())
        (f / f"neat-checkpoint-{n}").write_bytes(gzip.compress(pickle.dumps(made)))
    times(f, "*39", "*49", "*59")
    cut(f / "neat-checkpoint-59")


@tree("weights and the rest in two files of an epoch", ["Model_fpn_resnet_18_epoch_300.pth", "Utils_fpn_resnet_18_epoch_300.pth"], 300)
def _(f):
    for epoch in 290, 300:
        save(f / f"Model_fpn_resnet_18_epoch_{epoch}.pth", weights(epoch))
        save(f / f"Utils_fpn_resnet_18_epoch_{epoch}.pth", {"epoch": epoch, "configs": {}, "optimizer": state(epoch)["optimizer"], "lr_scheduler": {"last_epoch": epoch}})


@tree("an agent with lists of steps and rewards", ["Breakout.pth.tar"])
def _(f):
    made = state(1)
    save(f / "Breakout.pth.tar", {"network_dict": made["model"], "target_network_dict": made["model"], "actor_opt_dict": made["optimizer"],
                                  "critic_opt_dict": made["optimizer"], "replay": ([1, 2], 3), "steps": [100, 200], "rewards": [1.0, 2.0]})


@tree("an agent and its memory", ["dqn.pth"])
def _(f):
    made = state(1)
    save(f / "dqn.pth", {"progress": 1000, "dqn_online": made["model"], "dqn_target": made["model"], "optimizer": made["optimizer"]})
    dump(f / "dqn.mem", Buffer())


@tree("a file for each network, in place", ["checkpoint_gen.pth", "checkpoint_dis.pth"], 12)
def _(f):
    for name in "gen", "dis":
        save(f / f"checkpoint_{name}.pth", state(1, epoch=12, best_loss=0.5))


@tree("a state that is a named tuple", ["train_state_500.pkl"])
def _(f):
    for step in 400, 500:
        dump(f / f"train_state_{step}.pkl", Train(arrays(), (Adam(numpy.array(step), arrays(), arrays()),), numpy.array(step)))


@tree("parameters and a state of the optimizer in a tuple", ["ckpt_500.pkl"], 500)
def _(f):
    for step in 400, 500:
        dump(f / f"ckpt_{step}.pkl", (arrays(), (Adam(numpy.array(step), arrays(), arrays()), ())))


@tree("a directory for each step, the last copied partly", ["step_1000"], 1000)
def _(f):
    from safetensors.torch import save_file

    for step in 1000, 1500:
        d = f / f"step_{step}"
        made = state(step)
        save(d / "scheduler.pt", {"last_epoch": step})
        save_file(made["model"], d / "model.safetensors")
        (d / "trainer.json").write_text(json.dumps({"global_step": step, "lr": 1e-4}))
        if step == 1000:
            save(d / "optimizer.pt", made["optimizer"])
    (f / "latest").write_text("step_1500")


@tree("axolotl, killed within its second save", ["checkpoint-100"], 100, "outputs")
def _(f):
    from safetensors.torch import save_file

    for step in 100, 200:
        d = f / f"outputs/checkpoint-{step}"
        d.mkdir(parents=True)
        save_file({"base_model.model.a.lora_A.weight": torch.ones(4, 4)}, d / "adapter_model.safetensors")
        (d / "adapter_config.json").write_text('{"peft_type": "LORA", "r": 4}')
        (d / "tokenizer.json").write_text("{}")
        save(d / "training_args.bin", {"lr": 1})
        if step == 200:
            continue
        save(d / "optimizer.pt", state(step)["optimizer"])
        save(d / "scheduler.pt", {"last_epoch": step})
        save(d / "rng_state.pth", {"python": random.getstate(), "cpu": torch.get_rng_state()})
        (d / "trainer_state.json").write_text(json.dumps({"global_step": step, "epoch": 0.5, "max_steps": 300, "log_history": []}))
    (f / "outputs/config.json").write_text('{"model_type": "llama"}')
    (f / "outputs/README.md").write_text("")


@tree("mmsegmentation by iterations", ["iter_8000.pth"], 8000)
def _(f):
    for it in 4000, 8000:
        made = state(it)
        save(f / f"iter_{it}.pth", {"meta": {"epoch": 0, "iter": it, "cfg": "model = dict()", "seed": 1}, "state_dict": made["model"],
                                    "message_hub": {"runtime_info": {"iter": it}}, "optimizer": made["optimizer"], "param_schedulers": [{"last_step": it}]})
    save(f / "best_mIoU_iter_4000.pth", {"meta": {"epoch": 0, "iter": 4000}, "state_dict": weights(4000), "message_hub": {"runtime_info": {"iter": 4000}}})
    (f / "last_checkpoint").write_text("/old/place/iter_8000.pth")
    (f / "20260103_101112").mkdir()
    times(f, "iter_4000*", "best*", "iter_8000*", "last*")


@tree("stable-baselines with buffers, the last cut", ["rl_model_10000_steps.zip"], 10000)
def _(f):
    import io
    import zipfile

    for step in 10000, 20000:
        with zipfile.ZipFile(f / f"rl_model_{step}_steps.zip", "w") as z:
            z.writestr("data", json.dumps({"num_timesteps": step}))
            for name, what in ("pytorch_variables.pth", {"log_ent_coef": torch.zeros(1)}), ("policy.pth", weights(step)), ("actor.optimizer.pth", state(step)["optimizer"]):
                b = io.BytesIO()
                torch.save(what, b)
                z.writestr(name, b.getvalue())
            z.writestr("_stable_baselines3_version", "2.3.0")
        dump(f / f"rl_model_replay_buffer_{step}_steps.pkl", Buffer())
        dump(f / f"rl_model_vecnormalize_{step}_steps.pkl", Buffer())
    times(f, "*10000*", "*20000*")
    cut(f / "rl_model_20000_steps.zip")


@tree("Composer", ["ep0-ba200-rank0.pt", "latest-rank0.pt"], 200, "run/checkpoints")
def _(f):
    d = f / "run/checkpoints"
    for batch in 100, 200:
        made = state(batch)
        save(d / f"ep0-ba{batch}-rank0.pt", {"state": {"model": made["model"], "optimizers": {"Adam": made["optimizer"]}, "timestamp": {"epoch": 0, "batch": batch},
                                                       "rank_zero_seed": 1, "run_name": "run"}, "rng": [{"python": random.getstate()}]})
    (d / "latest-rank0.pt").symlink_to("ep0-ba200-rank0.pt")


@tree("Megatron, the last without a rank", ["iter_0000100"], 100)
def _(f):
    for it in 100, 200:
        for rank in 0, 1:
            if (it, rank) != (200, 1):
                made = state(it)
                save(f / f"iter_{it:07d}/mp_rank_{rank:02d}/model_optim_rng.pt", {"iteration": it, "checkpoint_version": 3.0, "model": made["model"],
                                                                                  "args": argparse.Namespace(tensor_model_parallel_size=2, pipeline_model_parallel_size=1),
                                                                                  "optimizer": made["optimizer"], "rng_state": [{"python_rng_state": random.getstate()}]})
    (f / "latest_checkpointed_iteration.txt").write_text("200")


@tree("two models below one directory", ["65"], None, "out")
def _(f):
    series(f, "out/whisper-small/ckpt_{}.pt", (900,))
    series(f, "out/whisper-medium/ckpt_{}.pt", (300,))


@tree("whole modules alone", [])
def _(f):
    for epoch in 3, 4:
        save(f / f"model_epoch_{epoch}.pt", torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()))


@tree("a list of two states", ["ckpt_30.pt"], 30)
def _(f):
    for epoch in 20, 30:
        made = state(epoch)
        save(f / f"ckpt_{epoch}.pt", [made["model"], made["optimizer"]])


@tree("a tuple that begins with the epoch", ["checkpoint.pth"])
def _(f):
    made = state(1)
    save(f / "checkpoint.pth", (12, made["model"], made["optimizer"]))


@tree("a latest between two numbered ones", ["checkpoint_latest.pth.tar"], 10500)
def _(f):
    for name, step in ("checkpoint_10000", 10000), ("checkpoint_latest", 10500):
        made = state(step)
        save(f / f"{name}.pth.tar", {"model": made["model"], "opt": made["optimizer"], "step": step})
    times(f, "*10000*", "*latest*")


@tree("shards of tokens alone", [], None, "tokens")
def _(f):
    for n in range(4):
        save(f / f"tokens/shard_{n:05d}.pt", torch.arange(100))
        numpy.save(f / f"tokens/train_{n:06d}.npy", numpy.arange(100))


@tree("features extracted with each epoch", ["ckpt_epoch_3.pt"], 3)
def _(f):
    for epoch in 2, 3:
        save(f / f"ckpt_epoch_{epoch}.pt", state(epoch, epoch=epoch))
        save(f / f"features_epoch_{epoch}.pt", {"val": torch.ones(10, 4), "train": torch.ones(10, 4)})
    times(f, "ckpt_epoch_2*", "features_epoch_2*", "ckpt_epoch_3*", "features_epoch_3*")


@tree("what WinSCP was writing", ["step-100"], 100)
def _(f):
    for step in 100, 200:
        made = state(step)
        save(f / f"step-{step}/model.pt", made["model"])
        save(f / f"step-{step}/optim.pt", made["optimizer"])
    (f / "step-200/model.pt").rename(f / "step-200/model.pt.filepart")
    (f / "step-200/optim.pt").unlink()


@tree("a note of which is the latest, and that is gone", ["ckpt_200.pt"], 200)
def _(f):
    series(f, "ckpt_{}.pt")
    (f / "latest.txt").write_text("ckpt_300.pt")


@tree("one copied under a later name", ["ckpt_200.pt", "ckpt_300.pt"], 200)
def _(f):
    series(f, "ckpt_{}.pt", (100,), step=100)
    series(f, "ckpt_{}.pt", (200,), step=200)
    shutil.copy2(f / "ckpt_200.pt", f / "ckpt_300.pt")


@tree("FSDP's full states in two files", ["model_state_step_50.pt", "optim_state_step_50.pt"], 50)
def _(f):
    for step in 25, 50:
        save(f / f"model_state_step_{step}.pt", weights(step))
        save(f / f"optim_state_step_{step}.pt", {"state": {"weight": {"step": torch.tensor(float(step)), "exp_avg": torch.ones(4)}}, "param_groups": [{"lr": 1, "params": ["weight"]}]})


@tree("the epoch in a file of its own, in place", ["model.pt", "optim.pt", "epoch.pt"])
def _(f):
    made = state(1)
    save(f / "model.pt", made["model"])
    save(f / "optim.pt", made["optimizer"])
    save(f / "epoch.pt", 5)


@tree("the old form of torch.save, its step a tensor", ["latest.pt"], 300)
def _(f):
    torch.save(state(300, step=torch.tensor(300)), f / "latest.pt", _use_new_zipfile_serialization=False)


@tree("safetensors and an optimizer, the last without it", ["step_100.safetensors", "step_100.optim.pt"], 100)
def _(f):
    from safetensors.torch import save_file

    for step in 50, 100, 200:
        save_file(weights(step), f / f"step_{step}.safetensors")
        if step < 200:
            save(f / f"step_{step}.optim.pt", state(step)["optimizer"])


@tree("numpy's arrays without names alone", [])
def _(f):
    numpy.savez(f / "params_000300.npz", numpy.ones((4, 4)), numpy.ones(4))


@tree("a dataset of Hugging Face's alone", [], None, "data")
def _(f):
    (f / "data/train").mkdir(parents=True)
    for n in 0, 1:
        (f / f"data/train/data-0000{n}-of-00002.arrow").write_bytes(b"\xff\xff\xff\xff" + bytes(1000))
    (f / "data/train/state.json").write_text('{"_data_files": [{"filename": "data-00000-of-00002.arrow"}], "_split": "train"}')
    (f / "data/train/dataset_info.json").write_text("{}")


@tree("an agent, and a newer buffer", ["agent_5000.pt"], 5000)
def _(f):
    for step in 4000, 5000:
        save(f / f"agent_{step}.pt", state(step, num_timesteps=step))
    dump(f / "replay_buffer_5000.pkl", Buffer())
    times(f, "agent_4000*", "agent_5000*", "replay*")


@tree("a cache of images and labels alone", ["cache_512.pt"], 512)
def _(f):
    # A person would begin from nothing. A script could keep its weights and a counter so: it is taken, and a warning says why.
    save(f / "cache_512.pt", {"images": torch.zeros(8, 3, 4, 4), "labels": torch.arange(8), "n": 8})


@tree("a word and a number under checkpoints' names", [])
def _(f):
    save(f / "ckpt_3.pt", "done")
    save(f / "checkpoint_4.pt", 4)


@tree("word vectors alone", ["glove.6B.300d.txt.pt"])
def _(f):
    # As above.
    save(f / "glove.6B.300d.txt.pt", (["a", "b"], {"a": 0, "b": 1}, torch.ones(2, 300), 300))


@tree("a list of tensors under a checkpoint's name", [])
def _(f):
    save(f / "ckpt_7.pt", [torch.ones(4), torch.ones(4)])


if __name__ == "__main__":
    main()
