"""One way to die on a GPU, in one process: python3 one.py NAME. jax_alone wants RANK, WORLD_SIZE and JPORT, a free port."""

import os
import sys
import time

from loop import once, steps

rank, world = int(os.environ.get('RANK', '0')), int(os.environ.get('WORLD_SIZE', '1'))


def full():
    import cupy
    f, t = cupy.cuda.runtime.memGetInfo()
    return cupy.cuda.runtime.malloc(f - (60 << 20))


def oom_first():
    import torch
    a = [torch.empty(30 << 30, dtype=torch.uint8, device='cuda') for _ in range(8)]


def oom_later():
    import torch
    keep = []
    total = torch.cuda.mem_get_info()[1]
    steps(12, lambda i: keep.append(torch.empty(1 << 30, dtype=torch.uint8, device='cuda') if i < 8 else torch.empty(total // 3, dtype=torch.uint8, device='cuda')))


def device_assert():
    import torch
    e = torch.nn.Embedding(10, 4).cuda()
    steps(3, lambda i: e(torch.tensor([i], device='cuda')).sum().item())
    print(e(torch.tensor([99], device='cuda')).sum().item())


def triton_illegal():
    import torch
    import kernels
    x = torch.ones(8, device='cuda')
    kernels.bad[1,](x, 1 << 38)
    torch.cuda.synchronize()


def ordinal():
    import torch
    torch.cuda.set_device(7)
    torch.ones(1, device='cuda')


def no_gpu():
    os.environ['CUDA_VISIBLE_DEVICES'] = ''
    import torch
    torch.ones(1, device='cuda')


def cublas_full():
    import torch
    a = torch.ones(64, 64, device='cuda')
    keep = full()
    print((a @ a).sum().item())


def dtype():
    import torch
    a = torch.ones(4, 4, device='cuda')
    b = torch.ones(4, 4, device='cuda', dtype=torch.float16)
    print(a @ b)


def devices():
    import torch
    a = torch.ones(4, 4, device='cuda')
    b = torch.ones(4, 4)
    print(a + b)


def nan_check():
    import torch
    torch.autograd.set_detect_anomaly(True)
    x = torch.zeros(4, device='cuda', requires_grad=True)
    y = torch.sqrt(x) * 0
    y.sum().backward()


def inductor():
    import torch

    @torch.compile(fullgraph=True)
    def f(x):
        if x.sum() > 0:
            return x
        return -x
    f(torch.ones(4, device='cuda'))


def segv():
    import torch, ctypes
    torch.ones(1, device='cuda')
    steps(3)
    ctypes.string_at(0)


def loader_shm():
    import torch

    class D(torch.utils.data.Dataset):

        def __len__(self):
            return 64

        def __getitem__(self, i):
            return torch.ones(1 << 20)
    if __name__ == '__main__':
        for b in torch.utils.data.DataLoader(D(), batch_size=4, num_workers=2):
            b.cuda()


def cuda_fork():
    import torch
    torch.ones(1, device='cuda')

    class D(torch.utils.data.Dataset):

        def __len__(self):
            return 8

        def __getitem__(self, i):
            return torch.ones(4, device='cuda')
    for b in torch.utils.data.DataLoader(D(), batch_size=4, num_workers=2, multiprocessing_context='fork'):
        pass


def terminate():
    import torch
    from torch.utils.cpp_extension import load_inline
    m = load_inline('boom', '#include <thread>\n#include <c10/util/Exception.h>\nvoid boom(){ std::thread([]{ TORCH_CHECK(false, "queue of gradients is broken"); }).join(); }', functions=['boom'])
    steps(3)
    m.boom()


def lightning_oom():
    import torch, lightning as L

    class M(L.LightningModule):

        def __init__(s):
            super().__init__()
            s.l = torch.nn.Linear(8, 1)
            s.k = []

        def training_step(s, b, i):
            s.k.append(torch.empty(3 << 30, dtype=torch.uint8, device='cuda'))
            return s.l(b[0]).mean()

        def configure_optimizers(s):
            return torch.optim.SGD(s.parameters(), 0.1)
    d = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(4096, 8)), batch_size=8)
    L.Trainer(max_epochs=1, accelerator='gpu', devices=1, logger=False, enable_checkpointing=False).fit(M(), d)


def trainer_assert():
    import torch, transformers as T
    c = T.GPT2Config(vocab_size=100, n_layer=1, n_head=2, n_embd=32, n_positions=64)
    m = T.GPT2LMHeadModel(c)
    ds = [{'input_ids': [i % 90 if i < 300 else 5000] * 16, 'labels': [1] * 16} for i in range(800)]
    a = T.TrainingArguments('/tmp/out_ta', per_device_train_batch_size=4, logging_steps=10, report_to=[], save_strategy='no', max_steps=200, train_sampling_strategy='sequential') if 'train_sampling_strategy' in T.TrainingArguments.__dataclass_fields__ else T.TrainingArguments('/tmp/out_ta', per_device_train_batch_size=4, logging_steps=10, report_to=[], save_strategy='no', max_steps=200)
    T.Trainer(m, a, train_dataset=ds).train()


def jax_oom():
    import jax, jax.numpy as jnp
    f = jax.jit(lambda: jnp.ones((1 << 36,), jnp.float32))
    print(f().sum())


def jax_oom_later():
    import jax, jax.numpy as jnp
    keep = []
    steps(14, lambda i: keep.append(jax.block_until_ready(jnp.ones((3 << 30,), jnp.float32))))


def jax_nan():
    import jax, jax.numpy as jnp
    jax.config.update('jax_debug_nans', True)
    steps(3)
    print(jax.jit(lambda x: jnp.log(x) * 0)(jnp.float32(-1)))


def jax_shape():
    import jax, jax.numpy as jnp
    print(jax.jit(lambda a, b: a @ b)(jnp.ones((2, 3)), jnp.ones((2, 3))))


def jax_alone():
    if rank == 1:
        time.sleep(300)
    import jax
    jax.distributed.initialize(f"127.0.0.1:{os.environ['JPORT']}", world, rank, initialization_timeout=12)


def cupy_oom():
    import cupy
    k = [cupy.empty(40 << 30, dtype=cupy.uint8) for _ in range(5)]


def cupy_illegal():
    import cupy
    k = cupy.RawKernel('extern "C" __global__ void k(float* p) { p[threadIdx.x + (1ull << 38)] = 1; }', 'k')
    x = cupy.ones(8, dtype=cupy.float32)
    k((1,), (32,), (x,))
    cupy.cuda.runtime.deviceSynchronize()


def big_restart():
    """Takes most of the GPU, is killed once, and needs it again at once."""
    import torch
    free, total = torch.cuda.mem_get_info()
    print('free GiB', free >> 30, flush=True)
    keep = [torch.empty(10 << 30, dtype=torch.uint8, device='cuda') for _ in range(int(total * 0.93) // (10 << 30))]
    steps(25)
    if once('mark'):
        os.kill(os.getpid(), 9)


def device_ok():
    import torch
    print(torch.ones(1, device='cuda'))


def context_full():
    import subprocess
    keep = full()
    sys.exit(subprocess.call([sys.executable, __file__, 'device_ok']))


def tqdm_oom():
    import torch, tqdm
    keep = []
    for i in tqdm.tqdm(range(400), desc='Training'):
        keep.append(torch.empty(2 << 30, dtype=torch.uint8, device='cuda'))


def multinomial():
    import torch
    steps(3)
    torch.multinomial(torch.tensor([0.5, float('nan')], device='cuda'), 1).item()


def crossentropy():
    import torch
    l = torch.nn.functional.cross_entropy(torch.zeros(4, 10, device='cuda'), torch.tensor([1, 2, 3, 10], device='cuda'))
    steps(1)
    print(l.item())


def blocking():
    os.environ['CUDA_LAUNCH_BLOCKING'] = '1'
    import torch
    torch.nn.Embedding(10, 4).cuda()(torch.tensor([99], device='cuda'))


def conv():
    import torch
    torch.nn.Conv2d(3, 8, 3).cuda()(torch.ones(1, 4, 8, 8, device='cuda'))


def triton_type():
    import torch
    import kernels
    kernels.bad2[1,](torch.ones(8, device='cuda'), BLOCK=7)


def nvrtc():
    import cupy
    cupy.RawKernel('extern C nonsense', 'k')((1,), (1,), ())


def jax_illegal_type():
    import jax, jax.numpy as jnp
    jax.jit(lambda x: x.astype('no'))(jnp.ones(3))


def jax_full():
    keep = full()
    import jax, jax.numpy as jnp
    print(jnp.ones((1024, 1024)) @ jnp.ones((1024, 1024)))


def jax_preallocated():
    os.environ['XLA_PYTHON_CLIENT_PREALLOCATE'] = 'true'
    import cupy
    f, t = cupy.cuda.runtime.memGetInfo()
    k = cupy.cuda.runtime.malloc(f - (3 << 30))
    import jax, jax.numpy as jnp
    x = jnp.ones((1 << 30,), jnp.float32)
    print(x.sum())


if __name__ == '__main__':
    globals()[sys.argv[1]]()
