"""Directories as training scripts on GitHub leave them; folders.py says how they are written.

Each stands for a kind of script that many have copied: its names, the keys in its files, what lies beside them.
"""

import argparse
import collections
import json
import os
import pickle
import shutil

import numpy

from folders import NOW, cut, has, main, times, tree

if has("torch"):
    import torch

    from folders import parts, save, series, shards, state, weights

    def keyed(seed, model, optimizer, **more):
        """A state under keys of somebody's own."""
        made = state(seed)
        return {model: made["model"], optimizer: made["optimizer"]} | more

    @tree("CleanRL, weights alone", [], None, "runs")
    def _(f):
        d = f / "runs/CartPole-v1__ppo__1__1767225600"
        save(d / "ppo.cleanrl_model", weights())
        (d / "events.out.tfevents.1767225600.host.1.0").write_bytes(bytes(300))

    @tree("an agent with its networks, by episode", ["checkpoint_ep_150.pt"], 150)
    def _(f):
        for episode in 50, 100, 150:
            made = state(episode)
            save(f / f"checkpoint_ep_{episode}.pt", {
                "actor_state": made["model"], "critic1_state": weights(2), "critic1_target_state": weights(2),
                "actor_optimizer": made["optimizer"], "critic1_optimizer": made["optimizer"], "episode": episode,
                "stats": {"reward": [1.0, 2.0]}})

    @tree("mmengine", ["epoch_12.pth"])
    def _(f):
        for epoch in 10, 11, 12:
            made = state(epoch)
            save(f / f"epoch_{epoch}.pth", {
                "meta": {"epoch": epoch, "iter": epoch * 100, "cfg": "model = dict()", "seed": 1, "time": "20260102_030405"},
                "state_dict": made["model"], "message_hub": {"log_scalars": {}, "runtime_info": {"epoch": epoch}},
                "optimizer": made["optimizer"], "param_schedulers": [{"last_step": epoch}]})
        save(f / "best_coco_bbox_mAP_epoch_10.pth", {"meta": {"epoch": 10, "iter": 1000}, "state_dict": weights(10), "message_hub": {}})
        (f / "last_checkpoint").write_text("/work_dirs/faster_rcnn/epoch_12.pth")
        (f / "20260102_030405/vis_data").mkdir(parents=True)
        (f / "20260102_030405/vis_data/scalars.json").write_text('{"loss": 1, "step": 1200}\n')
        (f / "faster_rcnn.py").write_text("model = dict()")
        times(f, "epoch_10*", "best*", "epoch_11*", "epoch_12*", "last*")

    @tree("nanoGPT's out/", ["out/ckpt.pt"], 2000)
    def _(f):
        save(f / "out/ckpt.pt", state(1, model_args={"n_layer": 2}, iter_num=2000, best_val_loss=torch.tensor(2.5), config={"out_dir": "out"}))

    @tree("runs of YOLOv5 side by side", ["exp3/weights/last.pt"], 7, "runs/train")
    def _(f):
        for run, epoch in ("exp", 20), ("exp2", 12), ("exp3", 7):
            d = f / "runs/train" / run
            for name, e in ("best", epoch - 2), ("last", epoch):
                model, optimizer = parts(e)
                save(d / f"weights/{name}.pt", {"epoch": e, "best_fitness": numpy.array([0.5]), "model": model, "ema": model, "updates": e * 10,
                                                "optimizer": optimizer.state_dict(), "date": "2026-01-02T03:04:05"})
            (d / "opt.yaml").write_text("epochs: 300")
            (d / "results.csv").write_text("epoch\n")
        times(f / "runs/train", "exp", "exp2", "exp3/weights/best*", "exp3/weights/last*")

    @tree("kohya, states beside LoRAs", ["my_lora-000004-state"])
    def _(f):
        from safetensors.torch import save_file

        for epoch in 2, 4:
            save_file({"lora_up": torch.ones(4)}, f / f"my_lora-{epoch:06d}.safetensors", {"ss_epoch": str(epoch), "ss_steps": str(epoch * 100)})
            d = f / f"my_lora-{epoch:06d}-state"
            d.mkdir()
            save_file({"w": torch.ones(9)}, d / "model.safetensors")
            made = state(epoch)
            torch.save(made["optimizer"], d / "optimizer.bin")
            torch.save({"last_epoch": epoch}, d / "scheduler.bin")
            with open(d / "random_states_0.pkl", "wb") as out:
                pickle.dump({"step": epoch * 100, "random_state": (3, (1, 2), None), "numpy_random_seed": ("MT19937", numpy.ones(4), 1, 0, 0.0),
                             "torch_manual_seed": torch.ones(8)}, out)
            (d / "train_state.json").write_text(json.dumps({"current_epoch": epoch, "current_step": epoch * 100}))
        (f / "sample").mkdir()

    @tree("diffusers, with its last LoRA", ["checkpoint-1000"], 1000)
    def _(f):
        from safetensors.torch import save_file

        for step in 500, 1000:
            d = f / f"checkpoint-{step}"
            (d / "unet").mkdir(parents=True)
            save_file({"w": torch.ones(9) * step}, d / "unet/diffusion_pytorch_model.safetensors")
            (d / "unet/config.json").write_text('{"_class_name": "UNet2DConditionModel"}')
            torch.save(state(step)["optimizer"], d / "optimizer.bin")
            torch.save({"last_epoch": step}, d / "scheduler.bin")
            torch.save({"scale": 65536.0}, d / "scaler.pt")
            with open(d / "random_states_0.pkl", "wb") as out:
                pickle.dump({"step": 0, "random_state": (3, (1, 2), None), "torch_manual_seed": torch.ones(8)}, out)
        save_file({"w": torch.ones(9)}, f / "pytorch_lora_weights.safetensors")
        (f / "logs/text2image").mkdir(parents=True)
        (f / "README.md").write_text("# LoRA")

    # The state is written in place, the weights of each epoch beside it; torchtune finds both by its own settings.
    @tree("torchtune, full, by epochs", ["recipe_state/recipe_state.pt"], 2)
    def _(f):
        for epoch in 0, 1:
            d = f / f"epoch_{epoch}"
            shards(d)
            (d / "config.json").write_text("{}")
        made = state(1)
        save(f / "recipe_state/recipe_state.pt", {"optimizer": made["optimizer"], "seed": 1, "epochs_run": 2, "total_epochs": 3, "max_steps_per_epoch": None})
        (f / "torchtune_config.yaml").write_text("epochs: 3")
        times(f, "epoch_0", "epoch_1", "recipe_state")

    @tree("DCGAN's example, weights alone", [])
    def _(f):
        for epoch in 23, 24:
            for net in "GD":
                save(f / f"net{net}_epoch_{epoch}.pth", weights(epoch))
            (f / f"fake_samples_epoch_{epoch:03d}.png").write_bytes(b"\x89PNG" + bytes(50))

    @tree("StyleGAN 2 in one file", ["checkpoint/020000.pt"], 20000)
    def _(f):
        for step in 10000, 20000:
            made = state(step)
            save(f / f"checkpoint/{step:06d}.pt", {"g": made["model"], "d": weights(2), "g_ema": weights(3), "g_optim": made["optimizer"],
                                                   "d_optim": made["optimizer"], "args": argparse.Namespace(iter=800000), "ada_aug_p": 0})
        (f / "sample").mkdir()
        (f / "sample/020000.png").write_bytes(b"\x89PNG" + bytes(50))

    def vits(f, step, nets="GD"):
        for net in nets:
            save(f / f"{net}_{step}.pth", keyed(step, "model", "optimizer", iteration=step // 100, learning_rate=2e-4))

    @tree("VITS", ["G_2000.pth", "D_2000.pth"])
    def _(f):
        vits(f, 1000)
        vits(f, 2000)
        (f / "config.json").write_text('{"train": {"epochs": 10000}}')
        (f / "train.log").write_text("2000")
        (f / "eval").mkdir()
        times(f, "?_1000*", "?_2000*")

    @tree("VITS, killed between its two files", ["G_2000.pth", "D_2000.pth"])
    def _(f):
        vits(f, 1000)
        vits(f, 2000)
        vits(f, 3000, "G")
        times(f, "?_1000*", "?_2000*", "?_3000*")

    @tree("ESPnet", ["checkpoint.pth"], None, "exp/asr")
    def _(f):
        d = f / "exp/asr"
        for epoch in 1, 2, 3:
            save(d / f"{epoch}epoch.pth", weights(epoch))
        made = state(3)
        save(d / "checkpoint.pth", {"model": made["model"], "reporter": {"stats": {1: {}, 2: {}, 3: {}}, "epoch": 3},
                                    "optimizers": [made["optimizer"]], "schedulers": [{"last_epoch": 300}], "scaler": None})
        (d / "latest.pth").symlink_to("3epoch.pth")
        (d / "valid.acc.best.pth").symlink_to("2epoch.pth")
        save(d / "valid.acc.ave_3best.pth", weights(9))
        (d / "config.yaml").write_text("max_epoch: 50")
        (d / "tensorboard").mkdir()
        times(d, "1epoch*", "2epoch*", "3epoch*", "checkpoint*", "valid.acc.ave*")

    @tree("fairseq by updates, the last empty", ["checkpoint_2_2000.pt"], 2000)
    def _(f):
        for name, epoch, updates in ("1_1000", 1, 1000), ("2_2000", 2, 2000):
            made = state(updates)
            save(f / f"checkpoint_{name}.pt", {"args": None, "cfg": {"optimization": {"max_update": 9000}}, "model": made["model"],
                                               "optimizer_history": [{"optimizer_name": "Adam", "num_updates": updates}],
                                               "extra_state": {"epoch": epoch, "train_iterator": {"epoch": epoch}},
                                               "last_optimizer_state": made["optimizer"]})
        (f / "checkpoint_last.pt").write_bytes(b"")
        times(f, "checkpoint_1*", "checkpoint_2*", "checkpoint_last*")

    @tree("Ignite, and its best models", ["checkpoint_200.pt"], 200)
    def _(f):
        for step in 100, 200:
            made = state(step)
            save(f / f"checkpoint_{step}.pt", {"trainer": {"epoch_length": 50, "max_epochs": 10, "iteration": step}, "model": made["model"],
                                               "optimizer": made["optimizer"], "lr_scheduler": {"last_epoch": step}})
        save(f / "best_model_3_accuracy=0.9120.pt", weights(3))
        save(f / "best_model_4_accuracy=0.9151.pt", weights(4))
        times(f, "checkpoint_1*", "best_model_3*", "checkpoint_2*", "best_model_4*")

    @tree("Catalyst", ["checkpoints/last_full.pth", "checkpoints/train.3_full.pth"], 3)
    def _(f):
        for name, epoch in ("train.2", 2), ("best", 2), ("train.3", 3), ("last", 3):
            save(f / f"checkpoints/{name}.pth", {"model_state_dict": weights(epoch), "epoch": epoch})
            save(f / f"checkpoints/{name}_full.pth", keyed(epoch, "model_state_dict", "optimizer_state_dict", criterion_state_dict={},
                                                           scheduler_state_dict={"last_epoch": epoch}, epoch=epoch, stage="train"))
        (f / "checkpoints/_metrics.json").write_text('{"best": {"loss": 1}}')
        times(f, "*/train.2*", "*/best*", "*/train.3*", "*/last*")

    @tree("Detectron2, the last cut", ["model_0000999.pth"], 999)
    def _(f):
        for iteration in 999, 1999:
            save(f / f"model_{iteration:07d}.pth", state(1, scheduler={"last_epoch": iteration + 1}, iteration=iteration))
        cut(f / "model_0001999.pth")
        (f / "last_checkpoint").write_text("model_0000999.pth")
        (f / "metrics.json").write_text('{"iteration": 1999}\n{"iteration": 2019}\n')
        times(f, "model_0000*", "last*", "model_0001*")

    @tree("OpenCLIP", ["epoch_10.pt", "epoch_latest.pt"], 10, "logs/run/checkpoints")
    def _(f):
        d = f / "logs/run/checkpoints"
        for name, epoch in ("9", 9), ("10", 10), ("latest", 10):
            save(d / f"epoch_{name}.pt", keyed(epoch, "state_dict", "optimizer", epoch=epoch, name="run", scaler={"scale": 1.0}))
        times(d, "epoch_9*", "epoch_10*", "epoch_latest*")

    @tree("MAE, the last empty", ["checkpoint-19.pth"], 19)
    def _(f):
        for epoch in 0, 19:
            save(f / f"checkpoint-{epoch}.pth", state(epoch, epoch=epoch, scaler={"scale": 1.0}, args=argparse.Namespace(start_epoch=0, epochs=400)))
        (f / "checkpoint-39.pth").write_bytes(b"")
        (f / "log.txt").write_text('{"epoch": 39}\n')

    @tree("ConvNeXt, with the best and its average", ["checkpoint-40.pth"], 40)
    def _(f):
        for name, epoch in ("39", 39), ("best", 39), ("best-ema", 39), ("40", 40):
            save(f / f"checkpoint-{name}.pth", state(epoch, epoch=epoch, scaler={}, model_ema=weights(2), args=argparse.Namespace(lr=1)))
        times(f, "*-39*", "*-best.*", "*-best-ema*", "*-40*")

    @tree("DINO, in place and every twentieth", ["checkpoint.pth"], 25)
    def _(f):
        for name, epoch in ("0000", 0), ("0020", 20), ("", 25):
            made = state(epoch)
            save(f / f"checkpoint{name}.pth", {"student": made["model"], "teacher": weights(2), "optimizer": made["optimizer"], "epoch": epoch,
                                               "args": argparse.Namespace(epochs=100), "dino_loss": weights(3)})
        times(f, "*0000*", "*0020*", "checkpoint.pth")

    @tree("MoCo", ["checkpoint_0199.pth.tar"], 200)
    def _(f):
        for epoch in 198, 199:
            save(f / f"checkpoint_{epoch:04d}.pth.tar", keyed(epoch, "state_dict", "optimizer", epoch=epoch + 1, arch="resnet50"))

    @tree("the ImageNet example", ["checkpoint.pth.tar"], 12)
    def _(f):
        for name, epoch in ("model_best", 9), ("checkpoint", 12):
            save(f / f"{name}.pth.tar", keyed(epoch, "state_dict", "optimizer", epoch=epoch, arch="resnet18", best_acc1=torch.tensor(71.2),
                                              scheduler={"last_epoch": epoch}))
        times(f, "model_best*", "checkpoint*")

    @tree("the ImageNet example, the best is the last", ["checkpoint.pth.tar", "model_best.pth.tar"], 12)
    def _(f):
        save(f / "checkpoint.pth.tar", keyed(12, "state_dict", "optimizer", epoch=12, arch="resnet18", best_acc1=torch.tensor(71.2)))
        shutil.copyfile(f / "checkpoint.pth.tar", f / "model_best.pth.tar")

    @tree("a file of each rank, one not yet there", ["ckpt_step200_rank?.pt"], 200)
    def _(f):
        for step in 100, 200, 300:
            for rank in range(3 if step == 300 else 4):
                save(f / f"ckpt_step{step}_rank{rank}.pt", state(step))
        times(f, "*100*", "*200*", "*300*")

    @tree("the last two, the best and the end", ["ckpt_1000.pt"], 1000)
    def _(f):
        series(f, "ckpt_{}.pt", (900, 1000))
        save(f / "best.pt", state(700, step=700))
        save(f / "final.pt", weights(3))
        times(f, "best*", "ckpt_9*", "ckpt_1*", "final*")

    @tree("a time in each name", ["model_20260103-101112.pt"], 200)
    def _(f):
        for name, step in ("20260102-030405", 100), ("20260103-101112", 200):
            save(f / f"model_{name}.pt", state(step, step=step))

    @tree("Hydra's directories", ["2026-01-03/10-11-12/checkpoints/last.pt"], 150, "outputs")
    def _(f):
        for day, step in ("2026-01-02/03-04-05", 400), ("2026-01-03/10-11-12", 150):
            d = f / "outputs" / day
            save(d / "checkpoints/last.pt", state(step, global_step=step))
            (d / ".hydra").mkdir()
            (d / ".hydra/config.yaml").write_text("lr: 1")
            (d / "train.log").write_text("")
        times(f / "outputs", "2026-01-02", "2026-01-03")

    @tree("what aws s3 sync was writing", ["ckpt-200.pt"], 200)
    def _(f):
        series(f, "ckpt-{}.pt", (100, 200, 300))
        cut(f / "ckpt-300.pt")
        (f / "ckpt-300.pt").rename(f / "ckpt-300.pt.6bE5Ba1F")

    @tree("what rsync was writing", ["ckpt-200.pt"], 200)
    def _(f):
        series(f, "ckpt-{}.pt", (100, 200, 300))
        cut(f / "ckpt-300.pt")
        (f / "ckpt-300.pt").rename(f / ".ckpt-300.pt.Xy12Za")

    @tree("guided diffusion, killed before the optimizer", ["model010000.pt", "opt010000.pt"], 10000)
    def _(f):
        for step in 10000, 20000:
            save(f / f"model{step:06d}.pt", weights(step))
            save(f / f"ema_0.9999_{step:06d}.pt", weights(step + 1))
            save(f / f"opt{step:06d}.pt", state(step)["optimizer"])
        (f / "opt020000.pt").unlink()
        (f / "progress.csv").write_text("step\n")
        times(f, "*010000*", "*020000*")

    @tree("guided diffusion, the first save cut", [])
    def _(f):
        save(f / "model010000.pt", weights())
        save(f / "ema_0.9999_010000.pt", weights(2))
        cut(f / "ema_0.9999_010000.pt")
        (f / "log.txt").write_text("")

    # The experiments are of different models: nothing says that one goes on with the other.
    @tree("DiT's numbered experiments", ["65"], None, "results")
    def _(f):
        for run, steps in ("000-DiT-XL-2", (50000, 300000)), ("001-DiT-B-4", (50000, 100000)):
            for step in steps:
                made = state(step)
                save(f / f"results/{run}/checkpoints/{step:07d}.pt", {"model": made["model"], "ema": weights(2), "opt": made["optimizer"],
                                                                     "args": argparse.Namespace(model=run)})
            (f / f"results/{run}/log.txt").write_text("")
        times(f / "results", "000*", "001*")

    @tree("EDM", ["training-state-002000.pt"], 2000)
    def _(f):
        for kimg in 1000, 2000:
            with open(f / f"network-snapshot-{kimg:06d}.pkl", "wb") as out:
                pickle.dump({"ema": parts(kimg)[0], "loss_fn": None, "augment_pipe": None}, out)
            model, optimizer = parts(kimg)
            save(f / f"training-state-{kimg:06d}.pt", {"net": model, "optimizer_state": optimizer.state_dict()})
        (f / "stats.jsonl").write_text('{"kimg": 2000}\n')
        (f / "training_options.json").write_text('{"total_kimg": 200000}')
        times(f, "*001000*", "*002000*")

    @tree("Coqui's TTS", ["checkpoint_2000.pth"], 2000)
    def _(f):
        for name, step in ("checkpoint_1000", 1000), ("best_model_1500", 1500), ("best_model", 1500), ("checkpoint_2000", 2000):
            save(f / f"{name}.pth", {"config": {"epochs": 1000}, "model": weights(step), "optimizer": state(step)["optimizer"], "scaler": None,
                                     "step": step, "epoch": step // 500, "date": "January 02, 2026", "model_loss": 1.5})
        (f / "config.json").write_text('{"epochs": 1000}')
        times(f, "checkpoint_1*", "best*", "checkpoint_2*")

    @tree("Ray Train", ["TorchTrainer_2026-01-02_03-04-05/TorchTrainer_ab12c_00000_0_2026-01-02_03-04-06/checkpoint_000003*"], 3)
    def _(f):
        d = f / "TorchTrainer_2026-01-02_03-04-05"
        trial = d / "TorchTrainer_ab12c_00000_0_2026-01-02_03-04-06"
        for i in 2, 3:
            save(trial / f"checkpoint_{i:06d}/checkpoint.pt", state(i, epoch=i))
            (trial / f"checkpoint_{i:06d}/.metadata.json").write_text("{}")
        for name in "params.json", "result.json":
            (trial / name).write_text('{"training_iteration": 3}\n')
        (d / "experiment_state-2026-01-02_03-04-05.json").write_text("{}")
        (d / "tuner.pkl").write_bytes(pickle.dumps({"a": 1}))

    @tree("Ray Tune's example: a tuple without an ending", ["checkpoint_000005*"], 5)
    def _(f):
        for i in 4, 5:
            made = state(i)
            save(f / f"checkpoint_{i:06d}/checkpoint", (made["model"], made["optimizer"]))

    @tree("a new file that was not renamed yet", ["checkpoint.pt"], 400)
    def _(f):
        save(f / "checkpoint.pt", state(1, step=400))
        save(f / "checkpoint.pt.tmp", state(1, step=500))
        cut(f / "checkpoint.pt.tmp")

    @tree("in place, and cut", ["65"])
    def _(f):
        (f / "checkpoint.pt").write_bytes(b"")
        os.utime(f / "checkpoint.pt", (NOW, NOW))

    @tree("epochs in directories, a step in meta.json", ["epoch_3"], 300)
    def _(f):
        for epoch in 2, 3:
            save(f / f"epoch_{epoch}/model.bin", weights(epoch))
            save(f / f"epoch_{epoch}/optim.bin", state(epoch)["optimizer"])
            (f / f"epoch_{epoch}/meta.json").write_text(json.dumps({"global_step": epoch * 100, "loss": 1.5}))

    @tree("a LoRA with its optimizer, the last cut", ["step_200"], 200)
    def _(f):
        from safetensors.torch import save_file

        for step in 100, 200, 300:
            d = f / f"step_{step}"
            d.mkdir()
            (d / "adapter_config.json").write_text('{"peft_type": "LORA"}')
            save_file({"lora_A": torch.ones(9)}, d / "adapter_model.safetensors")
            torch.save(state(step)["optimizer"], d / "optimizer.pt")
            (d / "training_state.json").write_text(json.dumps({"step": step}))
        (f / "step_300/training_state.json").write_text('{"st')

    @tree("safetensors twice and a json, in place", ["model.safetensors", "optimizer.safetensors", "."], None, "ckpt")
    def _(f):
        from safetensors.torch import save_file

        (f / "ckpt").mkdir()
        save_file({"w": torch.ones(9)}, f / "ckpt/model.safetensors")
        save_file({"0.exp_avg": torch.ones(9), "0.exp_avg_sq": torch.ones(9)}, f / "ckpt/optimizer.safetensors")
        (f / "ckpt/state.json").write_text('{"step": 300}')

Scaled = collections.namedtuple("Scaled", "count mu nu")


def tensors(seed):
    return {"dense": {"w": numpy.full((20, 20), seed, "float32"), "b": numpy.zeros(20, "float32")}}


@tree("Haiku, arrays and a tree", ["000200"], 200)
def _(f):
    for step in 100, 200:
        d = f / f"{step:06d}"
        d.mkdir()
        with open(d / "arrays.npy", "wb") as out:
            for array in (*tensors(step)["dense"].values(), *tensors(1)["dense"].values()):
                numpy.save(out, array)
        with open(d / "tree.pkl", "wb") as out:
            pickle.dump({"params": {"dense": {"w": 0, "b": 0}}, "opt_state": Scaled(0, 0, 0)}, out)


@tree("Haiku, one pickle, its step an array", ["checkpoint.pkl"], 300)
def _(f):
    with open(f / "checkpoint.pkl", "wb") as out:
        pickle.dump({"params": tensors(1), "opt_state": (Scaled(numpy.array(300, "int32"), tensors(2), tensors(3)),),
                     "rng": numpy.array([0, 42], "uint32"), "step": numpy.array(300, "int32")}, out)


@tree("numpy, all in one file", ["ckpt.npz"], 500)
def _(f):
    numpy.savez(f / "ckpt.npz", w1=numpy.ones((9, 9)), m_w1=numpy.ones((9, 9)), v_w1=numpy.ones((9, 9)), step=500)


@tree("big_vision", ["checkpoint.npz", "checkpoint.npz-000001000"])
def _(f):
    with open(f / "checkpoint.npz-000001000", "wb") as out:
        numpy.savez(out, **{"params/head/kernel": numpy.ones((9, 9)), "opt/0/mu/head/kernel": numpy.ones((9, 9)),
                            "opt/0/nu/head/kernel": numpy.ones((9, 9)), "opt/0/count": numpy.array(1000), "extra/accum_train_time": numpy.array(3.5)})
    shutil.copyfile(f / "checkpoint.npz-000001000", f / "checkpoint.npz")
    (f / "big_vision_metrics.txt").write_text("{}")


@tree("Dreamer", ["checkpoint.ckpt"], 12345)
def _(f):
    with open(f / "checkpoint.ckpt", "wb") as out:
        pickle.dump({"_timestamp": 1767225600.5, "step": 12345, "agent": {"agent/wm/w": numpy.ones((9, 9)), "agent/opt/mu": numpy.ones(9)},
                     "replay": {}}, out)
    (f / "replay").mkdir()
    (f / "replay/20260102T030405F123456-abc-1024.npz").write_bytes(b"PK\x03\x04")
    (f / "metrics.jsonl").write_text('{"step": 12340}\n')
    (f / "config.yaml").write_text("seed: 0")


@tree("Equinox", ["step_200.eqx"], 200)
def _(f):
    for step in 100, 200:
        with open(f / f"step_{step}.eqx", "wb") as out:
            for array in (*tensors(step)["dense"].values(), *tensors(1)["dense"].values(), numpy.array(step)):
                numpy.save(out, array)


if has("cloudpickle"):
    import cloudpickle

    @tree("RLlib", ["checkpoint_000010"], 10)
    def _(f):
        for i in 9, 10:
            d = f / f"checkpoint_{i:06d}"
            (d / "policies/default_policy").mkdir(parents=True)
            (d / "rllib_checkpoint.json").write_text(json.dumps({"type": "Algorithm", "checkpoint_version": "1.1", "policy_ids": ["default_policy"]}))
            (d / "algorithm_state.pkl").write_bytes(cloudpickle.dumps({"worker": {"policy_ids": {"default_policy"}}, "iteration": i,
                                                                       "counters": {"num_env_steps_trained": i * 4000}}))
            (d / "policies/default_policy/policy_state.pkl").write_bytes(cloudpickle.dumps(
                {"weights": tensors(i), "_optimizer_variables": [{"state": {0: {"exp_avg": numpy.ones(9)}}}], "global_timestep": i * 4000}))
            (d / "policies/default_policy/rllib_checkpoint.json").write_text('{"type": "Policy"}')


if __name__ == "__main__":
    main()
