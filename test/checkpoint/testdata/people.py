"""Directories as people have them; folders.py says how they are written."""

import gzip
import json
import os
import pickle
import shutil
import zipfile

import numpy

from folders import NOW, cut, has, library, main, times, tree

if has("torch"):
    import torch

    from folders import parts, save, series, shards, state, weights

    @tree("checkpoints two levels down", ["exp1/checkpoints/step_200.pt"], 200)
    def _(f):
        series(f, "exp1/checkpoints/step_{}.pt")
        (f / "exp1/config.yaml").write_text("lr: 1")

    @tree("EMA beside", ["ckpt_200.pt"], 200)
    def _(f):
        series(f, "ckpt_{}.pt")
        for step in 100, 200:
            save(f / f"ckpt_{step}_ema.pt", weights(step))
        times(f, "ckpt_1*", "ckpt_2*")

    @tree("EMA beside, killed before the last", ["ckpt_200.pt"], 200)
    def _(f):
        series(f, "ckpt_{}.pt", (100, 200, 300))
        for step in 100, 200:
            save(f / f"ckpt_{step}_ema.pt", weights(step))
        times(f, "ckpt_1*", "ckpt_2*", "ckpt_3*")

    @tree("pix2pix, weights alone", [])
    def _(f):
        for net in "GD":
            for when in "100", "latest":
                save(f / f"{when}_net_{net}.pth", weights())

    @tree("HiFi-GAN", ["g_00000200", "do_00000200"], 200)
    def _(f):
        for step in 100, 200:
            save(f / f"g_{step:08d}", {"generator": weights(step)})
            s = state(step)
            save(f / f"do_{step:08d}", {"mpd": weights(2), "msd": weights(3), "optim_g": s["optimizer"], "optim_d": s["optimizer"],
                                        "steps": step, "epoch": step // 100})
        times(f, "*100", "*200")

    @tree("scheduler in a file of its own, cut", ["ckpt-100.pt"], 100)
    def _(f):
        for step in 100, 200:
            save(f / f"ckpt-{step}.pt", state(step))
            save(f / f"sched-{step}.pt", {"last_epoch": step, "base_lrs": [0.1]})
        times(f, "*100*", "*200*")
        cut(f / "sched-200.pt")
        os.utime(f / "sched-200.pt", (NOW + 60, NOW + 60))

    @tree("last.pt.gz and best.pt.gz", ["last.pt.gz"], 300)
    def _(f):
        for name, step in ("best", 200), ("last", 300):
            with gzip.open(f / f"{name}.pt.gz", "wb") as out:
                torch.save(state(step, step=step), out)
        times(f, "best*", "last*")

    @tree("latest is a link", ["ckpt_200.pt", "latest"], 200)
    def _(f):
        series(f, "ckpt_{}.pt")
        (f / "latest").symlink_to("ckpt_200.pt")

    @tree("latest.pt is a link to a directory", ["step_200", "latest"], 200)
    def _(f):
        for step in 100, 200:
            save(f / f"step_{step}/model.pt", weights(step))
            save(f / f"step_{step}/optim.pt", state(step)["optimizer"])
        (f / "latest").symlink_to("step_200")

    @tree("latest leads to what was deleted", ["ckpt_200.pt"], 200)
    def _(f):
        series(f, "ckpt_{}.pt")
        (f / "latest.pt").symlink_to("ckpt_300.pt")

    @tree("copied, all of one time", ["ckpt_200.pt"], 200)
    def _(f):
        series(f, "ckpt_{}.pt")
        times(f)

    @tree("copied, the oldest last", ["ckpt_300.pt"], 300)
    def _(f):
        series(f, "ckpt_{}.pt", (100, 200, 300))
        times(f, "*300*", "*200*", "*100*")

    @tree("the last is cut", ["ckpt_200.pt"], 200)
    def _(f):
        series(f, "ckpt_{}.pt", (100, 200, 300))
        cut(f / "ckpt_300.pt")

    @tree("copied by Windows", ["ckpt_200.pt", "ckpt_200 - Copy.pt", "ckpt_200 (1).pt"], 200)
    def _(f):
        series(f, "ckpt_{}.pt")
        for name in "ckpt_200 - Copy.pt", "ckpt_200 (1).pt":
            shutil.copy2(f / "ckpt_200.pt", f / name)
        (f / "desktop.ini").write_text("[.ShellClassInfo]")
        (f / "Thumbs.db").write_bytes(b"\xd0\xcf\x11\xe0" + bytes(500))

    @tree("copied by a Mac", ["ckpt_200.pt"], 200)
    def _(f):
        series(f, "ckpt_{}.pt")
        for name in "._ckpt_200.pt", "._ckpt_100.pt":
            (f / name).write_bytes(b"\x00\x05\x16\x07" + bytes(160))
        (f / ".DS_Store").write_bytes(b"\x00\x00\x00\x01Bud1" + bytes(100))

    @tree("numpy, weights and optimizer", ["weights_200.npz", "opt_200.npz"], 200)
    def _(f):
        for step in 100, 200:
            numpy.savez(f / f"weights_{step}.npz", w=numpy.ones(9))
            numpy.savez(f / f"opt_{step}.npz", exp_avg=numpy.ones(9), exp_avg_sq=numpy.ones(9))
        times(f, "*100*", "*200*")

    @tree("a pickle with a class of the script's own", ["model.pkl"], 30)
    def _(f):
        with open(f / "model.pkl", "wb") as out:
            pickle.dump({"n_iter": 30, "w": numpy.ones(5), "velocity": numpy.zeros(5)}, out)

    if has("joblib", "cloudpickle"):
        import joblib

        @tree("joblib", ["model_epoch5.joblib"], 5)
        def _(f):
            for epoch in 4, 5:
                joblib.dump({"epoch": epoch, "coef": numpy.ones(50), "opt_state": {"m": numpy.ones(50)}}, f / f"model_epoch{epoch}.joblib")

        @tree("joblib, compressed, the last cut", ["model_epoch4.joblib"], 4)
        def _(f):
            for epoch in 4, 5:
                joblib.dump({"epoch": epoch, "coef": numpy.random.rand(5000), "opt_state": {"m": numpy.ones(50)}},
                            f / f"model_epoch{epoch}.joblib", compress=("gzip", 3))
            cut(f / "model_epoch5.joblib")

    @tree("shards, one is missing", ["step-100"], 100)
    def _(f):
        for step in 100, 200:
            d = f / f"step-{step}"
            shards(d, 3)
            torch.save(state(step)["optimizer"], d / "optimizer.pt")
        (f / "step-200/model-00002-of-00003.safetensors").unlink()

    @tree("two jobs", ["gpt_step200.pt"], 200)
    def _(f):
        series(f, "bert_step{}.pt", (800, 900))
        series(f, "gpt_step{}.pt")
        times(f, "bert*8*", "bert*9*", "gpt*1*", "gpt*2*")

    @tree("logs and settings beside", ["ckpt_200.pt"], 200)
    def _(f):
        series(f, "ckpt_{}.pt")
        (f / "events.out.tfevents.1700000000.host.1.0").write_bytes(bytes(400))
        (f / "config.yaml").write_text("step: 900")
        (f / "log.txt").write_text("step 300")
        (f / "wandb/run-20260102_030405-abc/files").mkdir(parents=True)
        (f / "wandb/run-20260102_030405-abc/files/wandb-summary.json").write_text('{"step": 300}')

    @tree("best_model and last_model", ["last_model.pt"], 20)
    def _(f):
        save(f / "best_model.pt", state(12, epoch=12))
        save(f / "last_model.pt", state(20, epoch=20))
        times(f, "best*", "last*")

    @tree("epoch and accuracy", ["epoch=010-val_acc=0.913.pth"], 10)
    def _(f):
        for epoch, accuracy in (9, 0.951), (10, 0.913):
            save(f / f"epoch={epoch:03d}-val_acc={accuracy}.pth", state(epoch))

    @tree("epoch and batch", ["net_epoch_20_batch_600.pth"], 600)
    def _(f):
        for batch in 300, 600:
            save(f / f"net_epoch_20_batch_{batch}.pth", state(batch))

    @tree("k and m", ["model_1m.pt"], 1_000_000)
    def _(f):
        for name in "200k", "900k", "1m":
            save(f / f"model_{name}.pt", state(1))

    @tree("timm", ["last.pth.tar", "checkpoint-5.pth.tar"], 5)
    def _(f):
        for name, epoch in ("checkpoint-4", 4), ("checkpoint-5", 5), ("model_best", 4), ("last", 5):
            model, optimizer = parts(epoch)
            save(f / f"{name}.pth.tar", {"epoch": epoch, "arch": "resnet50", "state_dict": model.state_dict(),
                                         "optimizer": optimizer.state_dict(), "version": 2, "metric": 71.5})
        (f / "args.yaml").write_text("epochs: 300")
        (f / "summary.csv").write_text("epoch,loss\n5,1\n")
        times(f, "*-4*", "model_best*", "*-5*", "last*")

    @tree("YOLO's directory", ["weights/last.pt"], 7)
    def _(f):
        for name, epoch in ("best", 5), ("last", 7):
            model, optimizer = parts(epoch)
            save(f / f"weights/{name}.pt", {"epoch": epoch, "model": model, "ema": None, "optimizer": optimizer.state_dict(), "date": "2026"})
        (f / "results.csv").write_text("epoch\n7\n")
        times(f, "weights/best*", "weights/last*")

    @tree("a zip as stable-baselines writes it", ["rl_model_20000_steps.zip"], 20000)
    def _(f):
        for step in 10000, 20000:
            save(f / "policy.pth", weights(step))
            save(f / "policy.optimizer.pth", state(step)["optimizer"])
            with zipfile.ZipFile(f / f"rl_model_{step}_steps.zip", "w") as z:
                z.writestr("data", json.dumps({"num_timesteps": step}))
                for name in "policy.pth", "policy.optimizer.pth":
                    z.write(f / name, name)
                    (f / name).unlink()

    @tree("Detectron2", ["model_final.pth"], 5999)
    def _(f):
        for name, iteration in ("model_0004999", 4999), ("model_final", 5999):
            save(f / f"{name}.pth", state(1, scheduler={"last_epoch": iteration}, iteration=iteration))
        (f / "last_checkpoint").write_text("model_final.pth")
        times(f, "model_0*", "model_f*", "last*")

    @tree("fairseq", ["checkpoint_last.pt"], 1000)
    def _(f):
        for name, updates in ("checkpoint1", 500), ("checkpoint2", 1000), ("checkpoint_best", 500), ("checkpoint_last", 1000):
            s = state(1)
            save(f / f"{name}.pt", {"args": None, "model": s["model"], "last_optimizer_state": s["optimizer"],
                                    "optimizer_history": [{"optimizer_name": "Adam", "num_updates": updates}],
                                    "extra_state": {"epoch": updates // 500}})
        times(f, "checkpoint1*", "checkpoint_best*", "checkpoint2*", "checkpoint_last*")

    @tree("NeRF", ["200000.tar"], 200000)
    def _(f):
        for step in 190000, 200000:
            model, optimizer = parts(step)
            save(f / f"{step:06d}.tar", {"global_step": step, "network_fn_state_dict": model.state_dict(),
                                         "optimizer_state_dict": optimizer.state_dict()})

    @tree("two runs below, of which nobody says which", ["65"])
    def _(f):
        save(f / "out/ckpt.pt", state(1, iter_num=200))
        save(f / "out-old-idea/ckpt.pt", state(1, iter_num=500))

    @tree("a base model", [])
    def _(f):
        save(f / "pytorch_model.bin", weights())
        (f / "config.json").write_text("{}")
        (f / "tokenizer.json").write_text("{}")

    @tree("logs alone", [])
    def _(f):
        (f / "train.log").write_text("step 1")
        (f / "samples").mkdir()
        (f / "samples/step_100.png").write_bytes(b"\x89PNG" + bytes(60))

    @tree("what people set aside", ["ckpt_200.pt"], 200)
    def _(f):
        series(f, "ckpt_{}.pt", (100, 200, 300, 400))
        (f / "ckpt_300.pt").rename(f / "ckpt_300.pt.bad")
        (f / "ckpt_400.pt").rename(f / "ckpt_400.pt.tmp")

    @tree("a directory for each rank", ["rank_0/ckpt_200.pt", "rank_1/ckpt_200.pt"], 200)
    def _(f):
        for rank in 0, 1:
            series(f, f"rank_{rank}/ckpt_{{}}.pt")

    @tree("a directory for each step, the last without its optimizer", ["200"], 200)
    def _(f):
        for step in 100, 200, 300:
            save(f / f"{step}/model.pt", weights(step))
            save(f / f"{step}/optim.pt", state(step)["optimizer"])
        (f / "300/optim.pt").unlink()

    @tree("litgpt", ["step-00000200", "step-00000200/lit_model.pth"], 200)
    def _(f):
        for step in 100, 200:
            save(f / f"step-{step:08d}/lit_model.pth", state(step, iter_num=step, step_count=step))
            (f / f"step-{step:08d}/model_config.yaml").write_text("name: pythia")
        save(f / "final/lit_model.pth", {"model": weights(300)})
        times(f, "step-*1*", "step-*2*", "final")

    @tree("a step of numpy", ["latest.pt"], 300)
    def _(f):
        save(f / "latest.pt", state(1, step=numpy.int64(300)))

    @tree("a step that is a tensor", ["latest.pt"], 400)
    def _(f):
        save(f / "latest.pt", state(1, step=torch.tensor(400)))

    @tree("last.pt is cut, and last.pt.bak whole", ["last.pt.bak"], 100)
    def _(f):
        save(f / "last.pt.bak", state(1, step=100))
        save(f / "last.pt", state(1, step=200))
        cut(f / "last.pt")
        times(f, "*.bak", "last.pt")

    @tree("a name with the world's size and a date", ["llama7b_ws8_2026-01-03_step200.pt"], 200)
    def _(f):
        for day, step in ("02", 100), ("03", 200):
            save(f / f"llama7b_ws8_2026-01-{day}_step{step}.pt", state(step))

if has("torch", "accelerate", "transformers", "peft", "pytorch_lightning"):
    import of_peft
    import of_torch

    @tree("the Trainer with an adapter, and the adapter by itself", ["checkpoint-3"], 3)
    def _(f):
        library(of_peft.trainer_write)(f)
        of_peft.adapted().save_pretrained(str(f))

    @tree("the Trainer, and its last state by itself", ["checkpoint-3"], 3)
    def _(f):
        library(of_torch.trainer_write)(f)
        shutil.copy(f / "checkpoint-3/trainer_state.json", f)
        shutil.copy(f / "checkpoint-3/model.safetensors", f)
        (f / "runs/Jan02").mkdir(parents=True)

    @tree("Accelerate's own numbers, one level down", ["checkpoints/checkpoint_3"], 3)
    def _(f):
        (f / "checkpoints").mkdir()
        library(of_torch.accelerate_write)(f / "checkpoints")

    @tree("Accelerate by epochs", ["epoch_3"], 3)
    def _(f):
        library(of_torch.accelerate_write)(f)
        for path in f.glob("checkpoint_*"):
            path.rename(f / path.name.replace("checkpoint", "epoch"))

    @tree("Lightning's version_N", ["version_1/checkpoints/*.ckpt"], 3, "lightning_logs")
    def _(f):
        for version, saves in (0, 2), (1, 3):
            d = f / f"lightning_logs/version_{version}/checkpoints"
            d.mkdir(parents=True)
            library(of_torch.lightning_write, saves)(d)
            (d.parent / "hparams.yaml").write_text("{}")

    @tree("Lightning's last-v1.ckpt", ["last-v1.ckpt", "epoch=0-step=3.ckpt"], 3)
    def _(f):
        library(of_torch.lightning_write)(f)
        saved = sorted(f.glob("*step=*.ckpt"))
        shutil.copy(saved[0], f / "last.ckpt")
        shutil.copy(saved[-1], f / "last-v1.ckpt")
        times(f, "*step=1*", "last.ckpt", "*step=2*", "*step=3*", "last-v1*")

if has("torch", "deepspeed"):
    @tree("DeepSpeed, latest names what is gone", ["global_step2"], 2)
    def _(f):
        import of_deepspeed

        library(of_deepspeed.zero(1)[0])(f)
        shutil.rmtree(f / "global_step3")

if has("jax", "orbax"):
    import of_jax

    orbax = library(of_jax.orbax_write)

    @tree("Orbax, with what it was writing", ["3"], 3)
    def _(f):
        orbax(f)
        shutil.copytree(f / "3", f / "4.orbax-checkpoint-tmp-1700000000")

    @tree("Orbax, copied without times, the last cut", ["2"], 2)
    def _(f):
        orbax(f)
        times(f)
        shutil.rmtree(next((f / "3").rglob("d")))

if has("jax", "flax"):
    @tree("flax, with what it was writing", ["checkpoint_3"], 3)
    def _(f):
        import of_flax

        library(of_flax.checkpoints_write)(f)
        (f / "checkpoint_tmp").write_bytes((f / "checkpoint_3").read_bytes()[:9000])

if has("tensorflow"):
    import of_keras
    import of_tensorflow

    @tree("TensorFlow, moved: checkpoint has another path", ["ckpt-3"], 3)
    def _(f):
        library(of_tensorflow.bundle_write)(f)
        (f / "checkpoint").write_text('model_checkpoint_path: "/mnt/old/run/ckpt-3"\nall_model_checkpoint_paths: "/mnt/old/run/ckpt-3"\n')

    @tree("Keras, the last cut", ["model_2.keras"], 2)
    def _(f):
        library(of_keras.keras_write("model_{}.keras", lambda made, path: made.save(path)))(f)
        cut(f / "model_3.keras")

    @tree("Keras, epoch and loss", ["weights.02-0.48.keras"], 2)
    def _(f):
        losses = iter(["0.52", "0.48"])
        library(of_keras.keras_write("weights.{:02d}-L.keras", lambda made, path: made.save(str(path).replace("L", next(losses)))), 2)(f)


if __name__ == "__main__":
    main()
