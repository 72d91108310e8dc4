"""More directories as loops without a library and loops of JAX and TensorFlow leave them; folders.py says how."""

import collections
import json
import pickle
import shutil

import numpy

from folders import cut, has, main, times, tree


class Scale(collections.namedtuple("Scale", "count mu nu")):
    pass


if has("torch"):
    import torch

    from folders import parts, save, series, state, weights

    class Trainer:
        def __init__(self, step):
            self.model, self.optimizer = parts(step)
            self.global_step = step

    @tree("the tutorial's snapshot", ["snapshot.pt"], 5)
    def _(f):
        save(f / "snapshot.pt", {"MODEL_STATE": weights(5), "EPOCHS_RUN": 5})

    @tree("a trainer as it is", ["trainer.pkl"], 300)
    def _(f):
        (f / "trainer.pkl").write_bytes(pickle.dumps(Trainer(300)))

    @tree("a model from the hub's cache", [])
    def _(f):
        save(f / "hub/checkpoints/resnet18-f37072fd.pth", weights(1))

    @tree("weights, optimizer and a json, in place", ["model.pt", "optimizer.pt"])  # 1200: a json beside files is not looked into
    def _(f):
        made = state(1)
        save(f / "model.pt", made["model"])
        save(f / "optimizer.pt", made["optimizer"])
        (f / "training_state.json").write_text(json.dumps({"step": 1200, "best": 0.5}))

    @tree("a dataset of numpy's and of HDF5's", [], None, "data")
    def _(f):
        (f / "data").mkdir()
        numpy.savez(f / "data/mnist.npz", x_train=numpy.zeros((9, 4)), y_train=numpy.zeros(9))
        if has("h5py"):
            import h5py

            with h5py.File(f / "data/train_10000.h5", "w") as h:
                h["images"], h["labels"] = numpy.zeros((9, 4)), numpy.zeros(9)

    @tree("the results of a search beside the states", ["ckpt_200.pt"], 200)
    def _(f):
        series(f, "ckpt_{}.pt")
        save(f / "results_300.pt", {"lr": [0.1, 0.2], "score": [0.5, 0.6]})
        save(f / "activations_200.pt", [{"layer": n, "mean": torch.zeros(4)} for n in range(6)])
        times(f, "ckpt_100*", "ckpt_200*", "results*", "act*")

    @tree("a schedule, a scaler and generators beside", ["step_20"], 20)
    def _(f):
        for step in 10, 20:
            made = state(step)
            for name, what in (("model", made["model"]), ("optimizer", made["optimizer"]), ("scheduler", {"last_epoch": step, "_step_count": step + 1}),
                               ("scaler", {"scale": 65536.0, "growth_tracker": 3}), ("rng", [torch.get_rng_state(), None])):
                save(f / f"step_{step}/{name}.pt", what)

    @tree("the same, its last optimizer cut", ["step_10"], 10)
    def _(f):
        for step in 10, 20:
            made = state(step)
            save(f / f"step_{step}/model.pt", made["model"])
            save(f / f"step_{step}/optimizer.pt", made["optimizer"])
            save(f / f"step_{step}/losses.pt", [0.5] * step)
        cut(f / "step_20/optimizer.pt")

    @tree("plain floats and a step in a tuple", ["ckpt_40.pkl"], 40)
    def _(f):
        for step in 20, 40:
            (f / f"ckpt_{step}.pkl").write_bytes(pickle.dumps((step, [0.5] * 9, [0.1] * 9)))

    @tree("federated rounds", ["round_7.pt"], 7)
    def _(f):
        for n in 6, 7:
            save(f / f"round_{n}.pt", {"global_weights": weights(n), "server_opt": state(n)["optimizer"], "clients": {n: weights(n) for n in range(3)}})


if has("jax"):
    import jax.numpy as jnp

    def params():
        return {"dense": {"w": jnp.ones((4, 4)), "b": jnp.zeros(4)}}

    @tree("JAX: parameters and named tuples", ["ckpt_00000200.pkl"], 200)
    def _(f):
        for step in 100, 200:
            (f / f"ckpt_{step:08d}.pkl").write_bytes(pickle.dumps((params(), (Scale(jnp.array(step), params(), params()), ()))))

    @tree("JAX: parameters alone", [])
    def _(f):
        for step in 100, 200:
            (f / f"params_{step:08d}.pkl").write_bytes(pickle.dumps(params()))

    @tree("JAX: bytes and an epoch", ["model.pkl"], 3)
    def _(f):
        import msgpack

        (f / "model.pkl").write_bytes(pickle.dumps({"state": msgpack.packb({"w": b"1" * 99}), "epoch": 3}))

    @tree("Orbax, copied partly", ["100"], 100)
    def _(f):
        import orbax.checkpoint as ocp

        m = ocp.CheckpointManager(f)
        for step in 100, 200:
            m.save(step, args=ocp.args.StandardSave({"params": params(), "step": jnp.array(step)}))
        m.wait_until_finished()
        m.close()
        for path in sorted((f / "200").rglob("d")):
            shutil.rmtree(path)


if has("tensorflow"):
    import tensorflow as tf

    @tree("TensorFlow, two prefixes, the later cut", ["model-20"], 20)
    def _(f):
        v = tf.Variable(tf.ones(50))
        c = tf.train.Checkpoint(v=v, step=tf.Variable(1, dtype=tf.int64))
        for step in 10, 20, 30:
            c.step.assign(step)
            c.write(str(f / f"model-{step}"))
        times(f, "model-10*", "model-20*", "model-30*")
        cut(f / "model-30.index")

    @tree("Keras, weights alone", [])
    def _(f):
        import keras

        m = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
        for epoch in 1, 2:
            m.save_weights(f / f"model_{epoch:02d}.weights.h5")

    @tree("Keras, whole models, the last copied partly", ["model_02.keras"], 2)
    def _(f):
        import keras

        m = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
        m.compile("adam", "mse")
        m.fit(numpy.ones((8, 4)), numpy.ones((8, 2)), verbose=0)
        for epoch in 1, 2, 3:
            m.save(f / f"model_{epoch:02d}.keras")
        times(f, "*01*", "*02*", "*03*")
        cut(f / "model_03.keras")


if __name__ == "__main__":
    main()
