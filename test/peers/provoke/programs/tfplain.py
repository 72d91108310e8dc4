"""TensorFlow programs in one process that fail, one function each; the first argument names it."""

import os
import sys
import time

import tensorflow as tf


def oom():
    tf.ones([1 << 20, 1 << 20])


def oom_in_graph():
    @tf.function
    def step(rows):
        return tf.reduce_sum(tf.random.normal([rows, 1 << 22]))
    step(tf.constant(1 << 20))


def shapes():
    tf.matmul(tf.ones([2, 3]), tf.ones([4, 5]))


def shapes_in_graph():
    @tf.function
    def step(a, b):
        return tf.matmul(a, b)
    step(tf.ones([2, 3]), tf.ones([4, 5]))


def nan():
    tf.debugging.enable_check_numerics()
    tf.math.log(tf.constant([-1.0]))


def nan_keras():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer=tf.keras.optimizers.SGD(1e30), loss="mse")
    model.fit(tf.ones([64, 4]), tf.ones([64, 1]), epochs=3, callbacks=[tf.keras.callbacks.TerminateOnNaN()])


def records():
    with tf.io.TFRecordWriter("shard.tfrecord") as writer:
        for number in range(100):
            writer.write(b"x" * 1000)
    return "shard.tfrecord"


def record_truncated():
    path = records()
    with open(path, "r+b") as file:
        file.truncate(50500)
    for _ in tf.data.TFRecordDataset(path):
        pass


def record_corrupt():
    path = records()
    with open(path, "r+b") as file:
        file.seek(5000)
        file.write(b"\0" * 100)
    for _ in tf.data.TFRecordDataset(path):
        pass


def record_missing():
    for _ in tf.data.TFRecordDataset("/data/shard-00000.tfrecord"):
        pass


def checkpoint_missing():
    tf.train.Checkpoint(weight=tf.Variable(1.0)).restore("/checkpoints/ckpt-100")


def checkpoint_truncated():
    checkpoint = tf.train.Checkpoint(weight=tf.Variable(tf.ones([1000])))
    path = checkpoint.save("ckpt")
    with open(path + ".data-00000-of-00001", "r+b") as file:
        file.truncate(2000)
    checkpoint.restore(path).assert_consumed()


def checkpoint_no_data():
    checkpoint = tf.train.Checkpoint(weight=tf.Variable(tf.ones([1000])))
    path = checkpoint.save("ckpt")
    os.unlink(path + ".data-00000-of-00001")
    checkpoint.restore(path).assert_consumed()


def checkpoint_mismatch():
    path = tf.train.Checkpoint(weight=tf.Variable(tf.ones([10]))).save("ckpt")
    tf.train.Checkpoint(weight=tf.Variable(tf.ones([20]))).restore(path).assert_consumed()


def checkpoint_save():
    tf.train.Checkpoint(weight=tf.Variable(tf.ones([1 << 20]))).save("ckpt")


def keras_weights_missing():
    model = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(1)])
    model.load_weights("/checkpoints/model.weights.h5")


def keras_weights_truncated():
    model = tf.keras.Sequential([tf.keras.Input([400]), tf.keras.layers.Dense(100)])
    model.save_weights("model.weights.h5")
    with open("model.weights.h5", "r+b") as file:
        file.truncate(20000)
    model.load_weights("model.weights.h5")


def data_error():
    def parse(number):
        return tf.strings.to_number(tf.constant("ten"))
    for _ in tf.data.Dataset.range(4).map(parse):
        pass


def python_data_error():
    def generate():
        yield 1
        raise KeyError("label")
    for _ in tf.data.Dataset.from_generator(generate, output_types=tf.int32):
        pass


def gpu():
    with tf.device("/GPU:0"):
        tf.config.set_soft_device_placement(False)
        tf.ones([2])


def train():
    weight = tf.Variable(1.0)
    for number in range(100000):
        weight.assign_sub(0.001)
        print("step", number, flush=True)
        time.sleep(0.05)


def strategy():
    tf.distribute.MultiWorkerMirroredStrategy()


globals()[sys.argv[1]]()
