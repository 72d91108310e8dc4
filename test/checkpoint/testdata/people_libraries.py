"""Directories as libraries and those who use them leave them, spoilt in the ways of crashes; folders.py says how they are
written."""

import dataclasses
import json
import os
import pathlib
import pickle
import shutil
import zipfile

import numpy

from folders import cut, has, library, main, times, tree

if has("torch"):
    import torch

    from folders import parts, save, series, shards, state, weights

    @dataclasses.dataclass
    class TrainState:
        step: int
        model: dict
        optimizer: dict

    @tree("CIFAR's example", ["checkpoint/ckpt.pth"], 88)
    def _(f):
        save(f / "checkpoint/ckpt.pth", {"net": weights(), "acc": 93.2, "epoch": 88})

    @tree("CIFAR's example, years ago", ["checkpoint/ckpt.t7"], 7)
    def _(f):
        save(f / "checkpoint/ckpt.t7", {"net": weights(), "acc": 93.2, "epoch": 7})

    @tree("InternLM, the last without one optimizer", ["200"], 200)
    def _(f):
        for step in 100, 200, 300:
            made = state(step)
            for tp in 0, 1:
                save(f / f"{step}/model_tp{tp}_pp0.pt", made["model"])
                save(f / f"{step}/optimizer_tp{tp}_pp0_zo0.pt", made["optimizer"])
            save(f / f"{step}/context.pt", {"batch_count": step, "num_consumed_samples_in_epoch": step * 8, "step_count": step})
            save(f / f"{step}/schedulder.pt", {"last_epoch": step})
            save(f / f"{step}/sampler.pt", {"batch_size": 8, "consumed_samples": step * 8})
        (f / "300/optimizer_tp1_pp0_zo0.pt").unlink()

    @tree("metaseq's shards, some empty", ["checkpoint_22_22000-model_part-?-shard?.pt"], 22000)
    def _(f):
        for epoch, step in (22, 22000), (23, 22750):
            for part in 0, 1:
                for shard in range(4):
                    save(f / f"checkpoint_{epoch}_{step}-model_part-{part}-shard{shard}.pt", state(step))
        for shard in 1, 3:
            (f / f"checkpoint_23_22750-model_part-0-shard{shard}.pt").write_bytes(b"")
        times(f, "checkpoint_22*", "checkpoint_23*")

    @tree("rank files in a directory, one is missing", ["checkpoint_step_200"], 200)
    def _(f):
        for step in 100, 200, 300:
            made = state(step)
            for rank in 0, 1:
                save(f / f"checkpoint_step_{step}/model_rank{rank}.pt", made["model"])
                save(f / f"checkpoint_step_{step}/optim_rank{rank}.pt", made["optimizer"])
            (f / f"checkpoint_step_{step}/meta.json").write_text(json.dumps({"step": step, "world_size": 2}))
        (f / "checkpoint_step_300/optim_rank1.pt").unlink()

    @tree("reached by a link", ["step_200.pt"], 200, "ckpts")
    def _(f):
        series(f / "disk", "step_{}.pt")
        (f / "ckpts").symlink_to("disk")

    @tree("a model of Hugging Face's with a state beside it, by epochs", ["epoch-3"], 3)
    def _(f):
        from safetensors.torch import save_file

        for epoch in 2, 3:
            d = f / f"epoch-{epoch}"
            d.mkdir()
            save_file({"w": torch.ones(9)}, d / "model.safetensors")
            (d / "config.json").write_text('{"model_type": "gpt2"}')
            (d / "tokenizer.json").write_text("{}")
            save(d / "training_state.pt", {"optimizer": state(epoch)["optimizer"], "epoch": epoch, "history": [0.1]})

    @tree("shards and their index, the last index cut", ["step_100"], 100)
    def _(f):
        for step in 100, 200:
            d = f / f"step_{step}"
            shards(d)
            torch.save(state(step)["optimizer"], d / "optimizer.bin")
        cut(f / "step_200/model.safetensors.index.json")

    @tree("stable-baselines in place, with its buffer", ["model.zip"])
    def _(f):
        for name, step in ("best_model", 20000), ("model", 30000):
            save(f / "policy.pth", weights(step))
            save(f / "policy.optimizer.pth", state(step)["optimizer"])
            with zipfile.ZipFile(f / f"{name}.zip", "w") as z:
                z.writestr("data", json.dumps({"num_timesteps": step}))
                for part in "policy.pth", "policy.optimizer.pth":
                    z.write(f / part, part)
                    (f / part).unlink()
                z.writestr("_stable_baselines3_version", "2.7.0")
        (f / "replay_buffer.pkl").write_bytes(pickle.dumps({"observations": numpy.zeros((50, 4)), "pos": 30}))
        (f / "evaluations.npz").write_bytes(b"")
        times(f, "best*", "model*")

    @tree("an object of the script's own class", ["state_200.pt"], 200)
    def _(f):
        for step in 100, 200:
            made = state(step)
            save(f / f"state_{step}.pt", TrainState(step, made["model"], made["optimizer"]))

    @tree("the old form of torch.save, the last cut", ["model_200.pt"], 200)
    def _(f):
        for step in 100, 200, 300:
            torch.save(state(step), f / f"model_{step}.pt", _use_new_zipfile_serialization=False)
        cut(f / "model_300.pt")

    @tree("a GAN in place, a file for each part", ["latest_G.pt", "latest_D.pt", "latest_optG.pt", "latest_optD.pt"])
    def _(f):
        for net in "GD":
            save(f / f"latest_{net}.pt", weights(3))
            save(f / f"latest_opt{net}.pt", state(3)["optimizer"])

    @tree("epoch and loss in a tar", ["epoch-10_loss-0.25.tar"], 10)
    def _(f):
        for epoch, loss in (9, 0.31), (10, 0.25):
            made = state(epoch)
            save(f / f"epoch-{epoch}_loss-{loss}.tar", {"state": made["model"], "opt": made["optimizer"], "loss": loss})

    @tree("a directory that was not renamed yet", ["ckpt_200"], 200)
    def _(f):
        for name, step in ("ckpt_100", 100), ("ckpt_200", 200), ("ckpt_300.tmp", 300):
            save(f / name / "model.pt", weights(step))
            save(f / name / "optim.pt", state(step)["optimizer"])

    @tree("what was before in old/", ["ckpt_200.pt"], 200)
    def _(f):
        series(f, "ckpt_{}.pt")
        series(f, "old/ckpt_{}.pt", (800, 900))
        times(f, "old", "ckpt_1*", "ckpt_2*")

    @tree("step 0 alone", ["checkpoint_0.pt"], 0)
    def _(f):
        save(f / "checkpoint_0.pt", state(1, step=0))

    @tree("the first directory, empty", [])
    def _(f):
        (f / "step_100").mkdir()

    @tree("the first directory, cut", [])
    def _(f):
        save(f / "step_100/model.pt", weights())
        cut(f / "step_100/model.pt")

    def sharded(f, step):
        import torch.distributed.checkpoint as dcp

        made = state(step)
        dcp.save({"model": made["model"], "optim": made["optimizer"], "step": step}, checkpoint_id=str(f), no_dist=True)

    @tree("DCP, the last without its metadata", ["checkpoint_200"], 200)
    def _(f):
        for step in 100, 200, 300:
            sharded(f / f"checkpoint_{step}", step)
        (f / "checkpoint_300/.metadata").unlink()

    @tree("DCP, the last shard cut", ["step-100"], 100)
    def _(f):
        for step in 100, 200:
            sharded(f / f"step-{step}", step)
        cut(f / "step-200/__0_0.distcp")

    @tree("DCP in place", ["latest"], 200)
    def _(f):
        sharded(f / "latest", 200)

    @tree("DCP of the model, the rest in a file", ["step_200"], 200)
    def _(f):
        import torch.distributed.checkpoint as dcp

        for step in 100, 200, 300:
            made = state(step)
            dcp.save({"model": made["model"]}, checkpoint_id=str(f / f"step_{step}/model"), no_dist=True)
            save(f / f"step_{step}/training_state.pt", {"optimizer": made["optimizer"], "step": step})
        (f / "step_300/training_state.pt").unlink()

if has("torch", "accelerate", "transformers", "peft", "pytorch_lightning"):
    import of_torch

    @tree("Accelerate, directories of steps, the last without its generators", ["000200"])
    def _(f):
        library(of_torch.accelerate_write)(f)
        for i in 1, 2, 3:
            (f / f"checkpoint_{i}").rename(f / f"{i:04d}00")
        (f / "000300/random_states_0.pkl").unlink()

    @tree("Accelerate in place, the epoch in a file of its own", ["checkpoint"])
    def _(f):
        library(of_torch.accelerate_write, 1)(f)
        (f / "checkpoint_1").rename(f / "checkpoint")
        torch.save({"current_epoch": 3}, f / "checkpoint/state.pt")

    @tree("Accelerate, step_N", ["step_3"])
    def _(f):
        library(of_torch.accelerate_write)(f)
        for i in 1, 2, 3:
            (f / f"checkpoint_{i}").rename(f / f"step_{i}")

    @tree("the Trainer, runs by date", ["run-2026-01-05/checkpoint-2"], 2, "outputs")
    def _(f):
        library(of_torch.trainer_write)(f / "outputs/run-2026-01-02")
        library(of_torch.trainer_write, 2)(f / "outputs/run-2026-01-05")
        times(f / "outputs", "run-2026-01-02", "run-2026-01-05/checkpoint-1", "run-2026-01-05/checkpoint-2")

    for what, spoil in {
        "without trainer_state.json": lambda d: (d / "trainer_state.json").unlink(),
        "its optimizer empty": lambda d: (d / "optimizer.pt").write_bytes(b""),
        "without its scheduler": lambda d: (d / "scheduler.pt").unlink(),
        "its weights cut": lambda d: cut(d / "model.safetensors"),
    }.items():
        @tree(f"the Trainer, the last {what}", ["checkpoint-2"], 2)
        def _(f, spoil=spoil):
            library(of_torch.trainer_write)(f)
            spoil(f / "checkpoint-3")

    @tree("the Trainer, one that was not renamed", ["checkpoint-3"], 3)
    def _(f):
        library(of_torch.trainer_write)(f)
        shutil.copytree(f / "checkpoint-3", f / "tmp-checkpoint-4")

    @tree("the Trainer, with the best model beside", ["checkpoint-3"], 3)
    def _(f):
        library(of_torch.trainer_write)(f)
        (f / "best").mkdir()
        for name in "model.safetensors", "config.json":
            if (f / "checkpoint-2" / name).exists():
                shutil.copy(f / "checkpoint-2" / name, f / "best")
        (f / "all_results.json").write_text('{"epoch": 1.0}')
        (f / "trainer_log.jsonl").write_text("{}\n")

    @tree("the Trainer, the first save cut beside a base model", [])
    def _(f):
        library(of_torch.trainer_write, 1)(f)
        shutil.copy(f / "checkpoint-1/model.safetensors", f)
        cut(f / "checkpoint-1/model.safetensors")
        for path in (f / "checkpoint-1").iterdir():
            if path.name != "model.safetensors":
                path.unlink()

    @tree("Lightning, last.ckpt cut", ["*step=2.ckpt"], 2)
    def _(f):
        library(of_torch.lightning_write, 2)(f)
        shutil.copy(next(f.glob("*step=2.ckpt")), f / "last.ckpt")
        cut(f / "last.ckpt")

    @tree("Lightning under W&B's names", ["my-project/ab12cd34/checkpoints/epoch=*step=3.ckpt"], 3)
    def _(f):
        library(of_torch.lightning_write)(f / "my-project/ab12cd34/checkpoints")
        (f / "wandb/run-20260102_030405-ab12cd34/files").mkdir(parents=True)
        (f / "wandb/run-20260102_030405-ab12cd34/files/config.yaml").write_text("{}")

    @tree("Lightning, the last empty", ["*step=2.ckpt"], 2)
    def _(f):
        library(of_torch.lightning_write)(f)
        next(f.glob("*step=3.ckpt")).write_bytes(b"")

    @tree("Lightning, a measure in each name", ["epoch=01-val_loss=0.31-step=3.ckpt"], 3)
    def _(f):
        library(of_torch.lightning_write)(f)
        for step, name in (1, "epoch=00-val_loss=0.52-step=1"), (2, "epoch=00-val_loss=0.44-step=2"), (3, "epoch=01-val_loss=0.31-step=3"):
            next(f.glob(f"epoch=0-step={step}.ckpt")).rename(f / f"{name}.ckpt")

    @tree("Fabric, the last with a tail of zeros", ["step-2.ckpt"], 2)
    def _(f):
        library(of_torch.fabric_write)(f)
        data = (f / "step-3.ckpt").read_bytes()
        (f / "step-3.ckpt").write_bytes(data[:len(data) // 2] + bytes(len(data) - len(data) // 2))

if has("torch", "deepspeed"):
    def deepspeed(f):
        import of_deepspeed

        library(of_deepspeed.zero(2)[0])(f)

    @tree("DeepSpeed, the last without its optimizer", ["global_step2"], 2)
    def _(f):
        deepspeed(f)
        for path in (f / "global_step3").glob("*optim_states.pt"):
            path.unlink()

    @tree("DeepSpeed, latest is empty", ["global_step3"], 3)
    def _(f):
        deepspeed(f)
        (f / "latest").write_text("")

    @tree("DeepSpeed, tags of somebody's own", ["epoch_3"])
    def _(f):
        deepspeed(f)
        for i in 1, 2, 3:
            (f / f"global_step{i}").rename(f / f"epoch_{i}")
        (f / "latest").write_text("epoch_3")

if has("jax"):
    import jax

    @tree("a pickle of jax's arrays", ["ckpt.pkl"], 300)
    def _(f):
        with open(f / "ckpt.pkl", "wb") as out:
            pickle.dump({"params": {"w": jax.numpy.ones((9, 9))}, "opt_state": ({"mu": jax.numpy.ones(9)},), "step": jax.numpy.array(300)}, out)

if has("jax", "orbax"):
    import of_jax

    @tree("Orbax, two levels down", ["run1/checkpoints/3"], 3)
    def _(f):
        library(of_jax.orbax_write)(f / "run1/checkpoints")
        (f / "run1/config.json").write_text("{}")

    @tree("Orbax, the last manifest empty", ["2"], 2)
    def _(f):
        library(of_jax.orbax_write)(f)
        for path in (f / "3").rglob("manifest.ocdbt"):
            path.write_bytes(b"")

    @tree("Orbax, a state and a json, of the last the json is missing", ["2"], 2)
    def _(f):
        import orbax.checkpoint as ocp

        with ocp.CheckpointManager(f) as manager:
            for now in 1, 2, 3:
                manager.save(now, args=ocp.args.Composite(state=ocp.args.StandardSave(of_jax.state(now)), extra=ocp.args.JsonSave({"step": now})))
        for path in (f / "3/extra").rglob("*"):
            if path.is_file() and not path.name.startswith("_"):
                path.unlink()

if has("jax", "flax"):
    @tree("flax in one file, its step an array", ["state.msgpack"], 300)
    def _(f):
        from flax import serialization

        (f / "state.msgpack").write_bytes(serialization.to_bytes(
            {"step": jax.numpy.array(300), "params": {"w": jax.numpy.ones((9, 9))}, "opt_state": {"0": {"mu": jax.numpy.ones(9)}}}))

    @tree("flax under a prefix, the last cut", ["model_200"], 200)
    def _(f):
        from flax import serialization

        for step in 100, 200, 300:
            (f / f"model_{step}").write_bytes(serialization.to_bytes(
                {"step": step, "params": {"w": numpy.ones((9, 9))}, "opt_state": {"0": {"mu": numpy.ones(9)}}}))
        cut(f / "model_300")

if has("tensorflow"):
    import of_keras
    import of_tensorflow
    import tensorflow

    @tree("TensorFlow, the last data cut", ["ckpt-2"], 2)
    def _(f):
        library(of_tensorflow.bundle_write)(f)
        cut(next(f.glob("ckpt-3.data*")))

    @tree("TensorFlow, the last index missing", ["ckpt-2"], 2)
    def _(f):
        library(of_tensorflow.bundle_write)(f)
        (f / "ckpt-3.index").unlink()

    @tree("TensorFlow, in training_checkpoints/", ["training_checkpoints/ckpt-3"], 3)
    def _(f):
        library(of_tensorflow.bundle_write)(f / "training_checkpoints")
        (f / "logs/train").mkdir(parents=True)

    @tree("Keras's weights with the optimizer, the last empty", ["weights.02.weights.h5"], 2)
    def _(f):
        library(of_keras.keras_write("weights.{:02d}.weights.h5", lambda made, path: made.save_weights(path)))(f)
        (f / "weights.03.weights.h5").write_bytes(b"")

    @tree("BackupAndRestore, one level down", ["backup*"])
    def _(f):
        library(of_keras.backup_write)(f / "backup")
        (f / "logs").mkdir()

    @tree("exports by number", [])
    def _(f):
        for i in 1, 2:
            module = tensorflow.Module()
            module.w = tensorflow.Variable(float(i))
            tensorflow.saved_model.save(module, str(f / str(i)))


if __name__ == "__main__":
    main()
