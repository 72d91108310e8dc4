"""One way to die of two ranks with NCCL: gangrun launch --standalone --nproc-per-node 2 nccl.py NAME [ARGUMENT...].

Both share one GPU: NCCL is told that each is on a host of its own, so that it takes them for two GPUs, over sockets.
"""

import os
import signal
import sys
import time

from loop import once, resumed, save, steps

rank = int(os.environ['RANK'])
if sys.argv[1] != 'nccl_duplicate':
    os.environ.update(NCCL_HOSTID=f'host{rank}', NCCL_SOCKET_IFNAME='lo', NCCL_IB_DISABLE='1')


def group(seconds=20):
    import datetime
    import torch
    import torch.distributed as dist
    torch.cuda.set_device(0)
    dist.init_process_group('nccl', timeout=datetime.timedelta(seconds=seconds))
    return (torch, dist)


def reduce(torch, dist):
    t = torch.ones(1024, device='cuda')
    dist.all_reduce(t)
    torch.cuda.synchronize()


def trained(seconds, n):
    """A group that has come through some steps."""
    torch, dist = group(seconds)
    steps(n, lambda i: reduce(torch, dist))
    return (torch, dist)


def on(torch, dist):
    for _ in range(100):
        reduce(torch, dist)


def differ(torch, dist):
    """Each rank calls another collective."""
    if rank == 1:
        t = torch.ones(2048, device='cuda')
        dist.all_gather_into_tensor(t, torch.ones(1024, device='cuda'))
    else:
        dist.all_reduce(torch.ones(1024, device='cuda'))
    torch.cuda.synchronize()


def nccl_duplicate():
    torch, dist = group()
    reduce(torch, dist)


def nccl_watchdog():
    torch, dist = trained(15, 5)
    if rank == 1:
        time.sleep(100)
    reduce(torch, dist)
    print('never')


def nccl_mismatch():
    torch, dist = trained(15, 5)
    differ(torch, dist)
    dist.barrier()
    torch.cuda.synchronize()


def nccl_size():
    torch, dist = trained(15, 3)
    dist.all_reduce(torch.ones(1024 if rank else 1 << 24, device='cuda'))
    torch.cuda.synchronize()
    steps(3, lambda i: reduce(torch, dist))


def nccl_raises():
    torch, dist = trained(60, 5)
    if rank == 1:
        raise ValueError('batch 17 has no labels')
    on(torch, dist)


def nccl_hang():
    torch, dist = trained(600, 30)
    if rank == 1:
        time.sleep(1000)
    steps(30, lambda i: reduce(torch, dist))


def nccl_oom():
    torch, dist = trained(60, 5)
    if rank == 1:
        k = [torch.empty(20 << 30, dtype=torch.uint8, device='cuda') for _ in range(8)]
    on(torch, dist)


def nccl_store_gone():
    torch, dist = trained(60, 3)
    if rank == 0:
        os._exit(0)
    time.sleep(2)
    dist.new_group([0, 1], backend='nccl')
    reduce(torch, dist)


def nccl_nobody():
    if rank == 1:
        time.sleep(200)
    torch, dist = group(12)
    reduce(torch, dist)


def nccl_train():
    torch, dist = group(60)
    from torch.nn.parallel import DistributedDataParallel as DDP
    root, mark = (sys.argv[2], sys.argv[3])
    os.makedirs(root, exist_ok=True)
    torch.manual_seed(1)
    m = DDP(torch.nn.Linear(64, 64).cuda())
    o = torch.optim.Adam(m.parameters(), 0.001)
    state, first = resumed(torch)
    if state:
        m.load_state_dict(state['model'])
        o.load_state_dict(state['optimizer'])
    for i in range(first, 61):
        x = torch.randn(32, 64, generator=torch.Generator().manual_seed(1000 * i + rank)).cuda()
        o.zero_grad()
        l = m(x).pow(2).mean()
        l.backward()
        o.step()
        print(f'step {i} loss {l.item():.8f}', flush=True)
        if i == 37 and rank == 1 and mark != '-' and once(mark):
            os.kill(os.getpid(), 9)
        if i % 10 == 0 and rank == 0:
            save(torch, root, m, o, i)
        dist.barrier()
    dist.destroy_process_group()


def nccl_frozen():
    torch, dist = trained(12, 5)
    if rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    on(torch, dist)


def nccl_ifname():
    os.environ['NCCL_SOCKET_IFNAME'] = 'ib7'
    torch, dist = group(12)
    reduce(torch, dist)


def nccl_monitored():
    torch, dist = group(12)
    g = dist.new_group([0, 1], backend='gloo')
    steps(5, lambda i: reduce(torch, dist))
    if rank == 1:
        time.sleep(60)
    import datetime
    dist.monitored_barrier(g, timeout=datetime.timedelta(seconds=5))


def nccl_gloo():
    torch, dist = group(12)
    g = dist.new_group([0, 1], backend='gloo')
    steps(5, lambda i: reduce(torch, dist))
    if rank == 1:
        os._exit(0)
    time.sleep(1)
    dist.all_reduce(torch.ones(4), group=g)


def nccl_ddp_shapes():
    torch, dist = group(20)
    m = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8 + rank).cuda())


def nccl_ddp_unused():
    torch, dist = group(20)

    class M(torch.nn.Module):

        def __init__(s):
            super().__init__()
            s.a = torch.nn.Linear(8, 8)
            s.b = torch.nn.Linear(8, 8)

        def forward(s, x):
            return s.a(x)
    m = torch.nn.parallel.DistributedDataParallel(M().cuda())
    for i in range(3):
        m(torch.ones(2, 8).cuda()).sum().backward()
        print('step', i, flush=True)


def nccl_uneven():
    torch, dist = group(15)
    m = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8).cuda())
    for i in range(20 if rank else 12):
        m(torch.ones(2, 8).cuda()).sum().backward()
        torch.cuda.synchronize()
        print('step', i, flush=True)
    if rank == 0:
        print('done with my data', flush=True)
        time.sleep(60)


def nccl_differ():
    torch, dist = trained(600, 30)
    differ(torch, dist)
    steps(30, lambda i: reduce(torch, dist))


def nccl_train_hang():
    """Hangs once at step 37; resumes from its checkpoint."""
    torch, dist = group(600)
    os.makedirs('ck', exist_ok=True)
    _, first = resumed(torch)
    w = torch.nn.Linear(4, 4).cuda()
    o = torch.optim.Adam(w.parameters())
    for i in range(first, 81):
        reduce(torch, dist)
        o.zero_grad()
        w(torch.ones(1, 4, device='cuda')).sum().backward()
        o.step()
        print(f'step {i} loss 0.1', flush=True)
        time.sleep(0.05)
        if i % 10 == 0 and rank == 0:
            save(torch, 'ck', w, o, i)
        if i == 37 and rank == 1 and once('mark'):
            time.sleep(1000)
    dist.destroy_process_group()


if __name__ == '__main__':
    globals()[sys.argv[1]]()
