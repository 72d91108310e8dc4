#!/usr/bin/env python3
"""A callback for Keras that reports steps and phases: model.fit(..., callbacks=[Report(), ...]), before those that save."""

import keras
import report


class Report(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        report.step(int(self.model.optimizer.iterations.numpy()))

    def on_test_begin(self, logs=None):
        report.phase("eval")

    def on_test_end(self, logs=None):
        report.phase("train")

    def on_epoch_end(self, epoch, logs=None):
        report.phase("checkpoint")  # of the callbacks after this one; the next step ends it, or the end of all

    def on_train_end(self, logs=None):
        report.phase("train")


def main():
    import os
    import tempfile

    import numpy

    x = numpy.arange(8, dtype="float32").reshape(-1, 1)
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with tempfile.TemporaryDirectory() as directory:
        saves = keras.callbacks.ModelCheckpoint(os.path.join(directory, "{epoch}.keras"))
        model.fit(x, 2 * x, batch_size=2, epochs=3, verbose=0, validation_data=(x, 2 * x), callbacks=[Report(), saves])
    print("done")


if __name__ == "__main__":
    main()
