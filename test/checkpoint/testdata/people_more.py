"""Directories of toolkits for one kind of training, and what people make of them; folders.py says how they are written."""

import json
import pickle
import shutil

import numpy

from folders import cut, has, main, times, tree

if has("torch"):
    import torch

    from folders import save, series, state, weights

    @tree("BasicSR", ["training_states/10000.state"], 10000, "experiments/ESRGAN")
    def _(f):
        d = f / "experiments/ESRGAN"
        for step in 5000, 10000:
            for net in "gd":
                save(d / f"models/net_{net}_{step}.pth", {"params": weights(step)})
            made = state(step)
            save(d / f"training_states/{step}.state", {"epoch": step // 1000, "iter": step, "optimizers": [made["optimizer"]], "schedulers": [{"last_epoch": step}]})
        save(d / "models/net_g_latest.pth", {"params": weights(3)})
        (d / "train_ESRGAN.log").write_text("")

    @tree("SpeechBrain", ["CKPT+2026-01-03+10-11-12+00"], None, "save")
    def _(f):
        for when, epoch in ("2026-01-02+03-04-05", 1), ("2026-01-03+10-11-12", 2):
            d = f / f"save/CKPT+{when}+00"
            made = state(epoch)
            save(d / "model.ckpt", made["model"])
            save(d / "optimizer.ckpt", made["optimizer"])
            save(d / "brain.ckpt", {"step": epoch * 100, "avg_train_loss": 1.5})
            (d / "counter.ckpt").write_text(str(epoch))
            (d / "CKPT.yaml").write_text("end-of-epoch: true\n")
        (f / "save/label_encoder.txt").write_text("a => 0")
        times(f / "save", "CKPT+2026-01-02*", "CKPT+2026-01-03*")

    @tree("AllenNLP, the last state cut", ["model_state_epoch_2.th", "training_state_epoch_2.th"], 2)
    def _(f):
        for epoch in 1, 2, 3:
            save(f / f"model_state_epoch_{epoch}.th", weights(epoch))
            save(f / f"training_state_epoch_{epoch}.th", {"optimizer": state(epoch)["optimizer"], "batch_num_total": epoch * 50, "epoch": epoch})
        shutil.copy(f / "model_state_epoch_1.th", f / "best.th")
        (f / "vocabulary").mkdir()
        times(f, "*_1.th", "best.th", "*_2.th", "*_3.th")
        cut(f / "training_state_epoch_3.th")

    @tree("OpenNMT", ["model_step_10000.pt"], 10000)
    def _(f):
        for step in 5000, 10000:
            made = state(step)
            save(f / f"model_step_{step}.pt", {"model": made["model"], "generator": weights(2), "vocab": {"src": ["a"]}, "opt": {"seed": 1},
                                               "optim": {"training_step": step + 1, "decay_step": step + 1, "optimizer": made["optimizer"]}})

    @tree("icefall, an epoch after its last batch", ["epoch-11.pt"], None)
    def _(f):
        for name, batch in ("checkpoint-4000", 4000), ("epoch-10", 5000), ("checkpoint-8000", 8000), ("epoch-11", 10000):
            save(f / f"{name}.pt", state(batch, scheduler={"last_epoch": 1}, grad_scaler={}, sampler={}, batch_idx_train=batch, best_train_epoch=3))
        shutil.copy(f / "epoch-10.pt", f / "best-valid-loss.pt")
        times(f, "checkpoint-4*", "epoch-10*", "best*", "checkpoint-8*", "epoch-11*")

    @tree("two stages", ["stage2/ckpt_50.pt"], 50)
    def _(f):
        series(f, "stage1/ckpt_{}.pt", (100, 200))
        series(f, "stage2/ckpt_{}.pt", (50,))
        times(f, "stage1", "stage2")

    @tree("a latest that is newer than the numbered ones", ["checkpoint_latest.pt"], 250)
    def _(f):
        for step in 100, 200:
            save(f / f"checkpoint_step_{step}.pt", state(step, step=step))
        save(f / "checkpoint_latest.pt", state(250, step=250))
        times(f, "*100*", "*200*", "*latest*")

    @tree("final weights beside the state", ["checkpoint.pth"], 40)
    def _(f):
        save(f / "checkpoint.pth", state(40, epoch=40))
        save(f / "model_final.pth", weights(40))
        times(f, "checkpoint*", "model*")

    @tree("sums and settings beside each", ["ckpt_200.pt"], 200)
    def _(f):
        series(f, "ckpt_{}.pt")
        for step in 100, 200:
            (f / f"ckpt_{step}.pt.sha256").write_text("ab" * 32)
            (f / f"ckpt_{step}.json").write_text(json.dumps({"step": step, "loss": 2.5}))
        (f / ".nfs0000000012345678").write_bytes(bytes(100))
        (f / "nohup.out").write_text("step 300")

    @tree("a speed run under its UUID", ["3f2a9c1e-8b7d-4c6e-9a01-2b3c4d5e6f70/state_step005100.pt"], 5100, "logs")
    def _(f):
        d = f / "logs/3f2a9c1e-8b7d-4c6e-9a01-2b3c4d5e6f70"
        made = state(1)
        save(d / "state_step005100.pt", {"step": 5100, "code": "import torch", "model": made["model"], "optimizers": [made["optimizer"]]})
        (f / "logs/3f2a9c1e-8b7d-4c6e-9a01-2b3c4d5e6f70.txt").write_text("step:5100")

    @tree("two runs under their UUIDs", ["65"], None, "logs")
    def _(f):
        for name, step in ("3f2a9c1e-8b7d-4c6e-9a01-2b3c4d5e6f70", 5100), ("c81d4e2e-bcf2-41e6-a2f1-9d3b0a5e7711", 1000):
            made = state(1)
            save(f / f"logs/{name}/state_step{step:06d}.pt", {"step": step, "model": made["model"], "optimizers": [made["optimizer"]]})

    @tree("zeros in the place of the last", ["ckpt_200.pt"], 200)
    def _(f):
        series(f, "ckpt_{}.pt", (100, 200, 300))
        (f / "ckpt_300.pt").write_bytes(bytes((f / "ckpt_300.pt").stat().st_size))

    @tree("a pointer of Git LFS in the place of the last", ["ckpt_200.pt"], 200)
    def _(f):
        series(f, "ckpt_{}.pt")
        (f / "ckpt_300.pt").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:" + "ab" * 32 + "\nsize 12345\n")

    @tree("an epoch and a time in each name", ["ckpt_epoch_3_2026-01-02_05-04-05.pt"], 3)
    def _(f):
        for epoch in 1, 2, 3:
            save(f / f"ckpt_epoch_{epoch}_2026-01-02_0{epoch + 2}-04-05.pt", state(epoch))

    @tree("bare numbers without an ending", ["10000"], 10000)
    def _(f):
        for step in 5000, 10000:
            save(f / str(step), state(step))

    @tree("weights and optimizer by epochs, the last optimizer cut", ["weights_epoch_9.pth", "optimizer_epoch_9.pth"], 9)
    def _(f):
        for epoch in 8, 9, 10:
            save(f / f"weights_epoch_{epoch}.pth", weights(epoch))
            save(f / f"optimizer_epoch_{epoch}.pth", state(epoch)["optimizer"])
        cut(f / "optimizer_epoch_10.pth")

    @tree("model, average and optimizer", ["model_200.pt", "optim_200.pt", "model_ema_200.pt"], 200)
    def _(f):
        for step in 100, 200:
            save(f / f"model_{step}.pt", weights(step))
            save(f / f"model_ema_{step}.pt", weights(step + 1))
            save(f / f"optim_{step}.pt", state(step)["optimizer"])

    @tree("a step in the header of safetensors", ["ckpt.safetensors"], 300)
    def _(f):
        from safetensors.torch import save_file

        save_file({"model.w": torch.ones(9), "optimizer.w.exp_avg": torch.ones(9)}, f / "ckpt.safetensors", {"step": "300", "format": "pt"})

    @tree("a step that is a text", ["ckpt.pt"])
    def _(f):
        save(f / "ckpt.pt", state(1, step="300"))

    @tree("a note of which is the latest", ["checkpoint_step_200.pt"], 200)
    def _(f):
        series(f, "checkpoint_step_{}.pt")
        (f / "latest_checkpoint.txt").write_text("checkpoint_step_200.pt")
        (f / "training_args.json").write_text('{"max_steps": 9000}')

    @tree("the best in the directory, the last one level down", ["checkpoints/last.pth"], 30)
    def _(f):
        save(f / "best.pth", state(10, epoch=10))
        save(f / "checkpoints/last.pth", state(30, epoch=30))
        times(f, "best*", "checkpoints")

    @tree("weights in the directory, and a state in place one level down, cut", ["65"])
    def _(f):
        save(f / "final.pth", weights())
        save(f / "checkpoint/ckpt.pth", state(30, epoch=30))
        cut(f / "checkpoint/ckpt.pth")
        times(f, "final*", "checkpoint")  # not of its first save

    @tree("a run that was begun again lower", ["ckpt_100.pt", "ckpt_300.pt"])
    def _(f):
        series(f, "ckpt_{}.pt", (100, 200, 300))
        times(f, "*200*", "*300*", "*100*")

    @tree("moments in a file of each rank, in place", ["model.pt", "optim_rank0.pt", "optim_rank1.pt", "optim_rank?.pt"])
    def _(f):
        save(f / "model.pt", weights(1))
        for rank in 0, 1:
            save(f / f"optim_rank{rank}.pt", state(rank)["optimizer"])


def paddle(f, name, what):
    with open(f / name, "wb") as out:
        pickle.dump(what, out, protocol=4)


@tree("Paddle, the last without its optimizer", ["epoch_5.pdparams", "epoch_5.pdopt"], 5)
def _(f):
    for epoch in 4, 5, 6:
        paddle(f, f"epoch_{epoch}.pdparams", {"linear.weight": numpy.ones((9, 9), "float32")})
        paddle(f, f"epoch_{epoch}.pdopt", {"linear.w_0_moment1_0": numpy.ones((9, 9), "float32"), "LR_Scheduler": {"last_epoch": epoch}})
    (f / "epoch_6.pdopt").unlink()


if __name__ == "__main__":
    main()
