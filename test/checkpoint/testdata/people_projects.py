"""Directories as well-known projects leave them, with the names and the keys that these use; folders.py says how they are
written."""

import argparse
import json
import shutil

import numpy

from folders import cut, has, library, main, times, tree

if has("torch"):
    import torch
    import torch.distributed.checkpoint as dcp

    from folders import parts, save, shards, state, weights

    def note(path, what):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(what))

    def keyed(seed, model, optimizer, **more):
        """A state under keys of somebody's own."""
        made = state(seed)
        return {model: made["model"], optimizer: made["optimizer"]} | more

    def nanochat(f):
        for step in 4000, 5000:
            made = state(step)
            save(f / f"model_{step:06d}.pt", made["model"])
            note(f / f"meta_{step:06d}.json", {"step": step, "val_bpb": 0.9, "model_config": {"n_layer": 20}})
            for rank in 0, 1:
                save(f / f"optim_{step:06d}_rank{rank}.pt", [made["optimizer"], made["optimizer"]])
        times(f, "*4000*", "*5000*")

    tree("nanochat", ["model_005000.pt"], 5000)(nanochat)

    @tree("nanochat, the last without the optimizer of a rank", ["model_004000.pt"], 4000)
    def _(f):
        nanochat(f)
        (f / "optim_005000_rank1.pt").unlink()

    @tree("OLMo-core, killed in its second save", ["step1000"], 1000)
    def _(f):
        for step in 1000, 2000:
            model, optimizer = parts(step)
            made = {"model": model.state_dict(), "optim": optimizer.state_dict()}
            dcp.save(made, checkpoint_id=str(f / f"step{step}/model_and_optim"), no_dist=True)
            note(f / f"step{step}/config.json", {"model": {}})
        save(f / "step1000/train/rank0.pt", {"global_step": 1000, "world_size": 1, "rng": {"torch": torch.get_rng_state()}})
        note(f / "step1000/.metadata.json", {"version": "1.8.0"})
        (f / "step2000/model_and_optim/.metadata").unlink()
        times(f, "step1000", "step2000")

    @tree("Gaussian splatting", ["chkpnt30000.pth"], 30000)
    def _(f):
        for step in 7000, 30000:
            captured = (3, *(torch.ones(5) for _ in range(9)), state(step)["optimizer"], 1.5)
            save(f / f"chkpnt{step}.pth", (captured, step))
            (f / f"point_cloud/iteration_{step}").mkdir(parents=True)
            (f / f"point_cloud/iteration_{step}/point_cloud.ply").write_bytes(b"ply\n" + bytes(100))
        note(f / "cameras.json", [])
        times(f, "*7000*", "*30000*")

    @tree("timm's recovery within an epoch", ["recovery-9-450.pth.tar"])
    def _(f):
        names = {"checkpoint-7": 7, "checkpoint-8": 8, "last": 8, "recovery-9-400": 9, "recovery-9-450": 9}
        for name, epoch in names.items():
            save(f / f"{name}.pth.tar", keyed(epoch, "state_dict", "optimizer", epoch=epoch, arch="resnet50", version=2,
                                              args=argparse.Namespace(lr=1), metric=71.2))
        times(f, *(f"{name}*" for name in names))

    @tree("epochs, and iterations below them", ["epoch_2/iter_1000"], 1000)
    def _(f):
        saves = (1, 500), (1, 1000), (2, 500), (2, 1000)
        for epoch, step in saves:
            made = state(step)
            save(f / f"epoch_{epoch}/iter_{step}/model.pt", made["model"])
            save(f / f"epoch_{epoch}/iter_{step}/optim.pt", made["optimizer"])
        times(f, *(f"epoch_{epoch}/iter_{step}" for epoch, step in saves))

    @tree("epochs of so many", ["model_epoch3of10.pt"], 3)
    def _(f):
        for epoch in 2, 3:
            save(f / f"model_epoch{epoch}of10.pt", state(epoch, epoch=epoch))
        times(f, "*2of*", "*3of*")

    def colossal(f, step):
        made, d = state(step), f / f"epoch-0_step-{step}"
        shards(d / "modeling")
        save(d / "optimizer/pytorch_optim-00001.bin", made["optimizer"]["state"])
        save(d / "optimizer/pytorch_optim_group.bin", made["optimizer"]["param_groups"])
        save(d / "lr_scheduler", {"last_epoch": step})
        note(d / "running_states.json", {"epoch": 0, "step": step, "sample_start_index": step * 8})

    @tree("Colossal-AI, the last without a part of its optimizer", ["epoch-0_step-1000"], 1000)
    def _(f):
        colossal(f, 1000)
        colossal(f, 2000)
        (f / "epoch-0_step-2000/optimizer/pytorch_optim_group.bin").unlink()
        times(f, "*1000", "*2000")

    @tree("a GAN by epochs, the last without an optimizer", ["*_epoch_23.pth"], 23)
    def _(f):
        for epoch in 22, 23, 24:
            for net in "GD":
                made = state(epoch)
                save(f / f"net{net}_epoch_{epoch}.pth", made["model"])
                save(f / f"optimizer{net}_epoch_{epoch}.pth", made["optimizer"])
        (f / "optimizerD_epoch_24.pth").unlink()
        times(f, "*22*", "*23*", "*24*")

    @tree("a number that never changes", ["G_2333333.pth", "D_2333333.pth"], 5)
    def _(f):
        for net in "DG":
            save(f / f"{net}_2333333.pth", keyed(5, "model", "optimizer", iteration=5, learning_rate=1e-4))
        (f / "3_feature768").mkdir()
        numpy.save(f / "3_feature768/a.npy", numpy.ones(4))
        times(f, "D*", "G*")

    @tree("two files in turn, the newer one cut", ["ckpt_b.pt"], 200)
    def _(f):
        save(f / "ckpt_a.pt", state(3, step=300))
        save(f / "ckpt_b.pt", state(2, step=200))
        cut(f / "ckpt_a.pt")
        times(f, "ckpt_b*", "ckpt_a*")

    @tree("FunASR", ["model.pt", "model.pt.ep4", "model.pt.best"], 4)
    def _(f):
        names = "model.pt.ep3", "model.pt.ep4", "model.pt.best", "model.pt"
        for name, epoch in zip(names, (3, 4, 4, 4)):
            save(f / name, keyed(epoch, "state_dict", "optimizer", epoch=epoch, scheduler={"last_epoch": epoch}, step=None))
        times(f, *names)

    @tree("StyleTTS 2, its second stage", ["epoch_2nd_00010.pth"], 10)
    def _(f):
        names = {"epoch_1st_00100": 100, "first_stage": 100, "epoch_2nd_00008": 8, "epoch_2nd_00010": 10}
        for name, epoch in names.items():
            save(f / f"{name}.pth", keyed(epoch, "net", "optimizer", iters=epoch * 100, val_loss=0.5, epoch=epoch))
        times(f, *(f"{name}*" for name in names))

if has("torch", "transformers", "accelerate"):
    import of_torch

    @tree("the Trainer, and what a script has left beside", ["checkpoint-3"], 3)
    def _(f):
        library(of_torch.trainer_write)(f)
        shutil.copy(f / "checkpoint-3/training_args.bin", f / "training_args.bin")
        note(f / "all_results.json", {"epoch": 1.0})
        (f / "README.md").write_text("x")

if __name__ == "__main__":
    main()
