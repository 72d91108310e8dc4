"""More ways to die on a GPU, in one process: python3 more.py NAME. With torch, Triton, numba, CuPy, JAX, Lightning, transformers, and programs of nvcc."""

import os
import subprocess
import sys

from loop import steps


def capture():
    import torch
    x = torch.ones(8, device='cuda')
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.sum().item()


def inverse():
    import torch
    steps(3)
    torch.linalg.inv(torch.zeros(4, 4, device='cuda'))


def cholesky():
    import torch
    steps(3)
    torch.linalg.cholesky(-torch.eye(4, device='cuda'))


def attention():
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    q = torch.ones(1, 1, 8, 8, device='cuda')
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        torch.nn.functional.scaled_dot_product_attention(q, q, q)


def allocator():
    os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'max_split:yes'
    import torch
    torch.ones(1, device='cuda')


def fraction_first():
    import torch
    torch.cuda.set_per_process_memory_fraction(0.01)
    torch.empty(4 << 30, dtype=torch.uint8, device='cuda')


def fraction_later():
    import torch
    torch.cuda.set_per_process_memory_fraction(0.01)
    steps(9, lambda i: torch.empty((4 if i == 7 else 0) << 30, dtype=torch.uint8, device='cuda'))


def loader_tensors():
    import torch

    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, i):
            return torch.ones(2, device='cuda') * i

    torch.ones(1, device='cuda')
    for batch in torch.utils.data.DataLoader(Data(), num_workers=1):
        print(batch)


def pinned():
    import torch
    a = torch.ones(4, device='cuda')
    torch.utils.data.DataLoader([a], pin_memory=True).__iter__().__next__()


def trap():
    import torch
    import cupy
    kernel = cupy.RawKernel('extern "C" __global__ void f() { asm("trap;"); }', 'f')
    kernel((1,), (1,), ())
    print(torch.ones(4, device='cuda').sum().item())


def misaligned():
    import cupy
    kernel = cupy.RawKernel('extern "C" __global__ void f(char* p) { *(double*)(p + 1) = 1; }', 'f')
    x = cupy.zeros(64, dtype=cupy.int8)
    kernel((1,), (1,), (x,))
    print(x.sum())


def cupy_types():
    import cupy
    cupy.ones(4) @ cupy.ones(5)


def numba_oom():
    import numpy
    from numba import cuda
    keep = [cuda.device_array(40 << 30, dtype=numpy.uint8) for _ in range(8)]


def triton_assert():
    os.environ['TRITON_DEBUG'] = '1'
    import torch
    import kernels
    kernels.checked[1,](torch.zeros(8, device='cuda'))
    torch.cuda.synchronize()


def jax_shapes():
    import jax.numpy as jnp
    steps(2)
    print(jnp.ones((3, 4)) @ jnp.ones((3, 4)))


def jax_leak():
    import jax
    kept = []
    jax.jit(lambda x: kept.append(x) or x)(1.0)
    print(kept[0] + 1)


def jax_devices():
    import jax
    from jax.sharding import Mesh
    import numpy
    Mesh(numpy.array(jax.devices()).reshape(8), ('x',))


def lightning_devices():
    import lightning
    lightning.Trainer(accelerator='gpu', devices=4)


def hub():
    os.environ.update(HF_HUB_ENDPOINT='http://127.0.0.1:9', HF_ENDPOINT='http://127.0.0.1:9')
    import transformers
    transformers.AutoModel.from_pretrained('acme/none')


def trainer_fp8():
    import torch
    a = torch.ones(17, 17, device='cuda').to(torch.float8_e4m3fn)
    one = torch.ones((), device='cuda')
    torch._scaled_mm(a, a.t(), scale_a=one, scale_b=one)


def weights():
    import torch
    torch.nn.Linear(4, 4).cuda().load_state_dict({'weight': torch.ones(5, 5)})


def later_memory():
    import torch
    other = subprocess.Popen([sys.executable, '-c', 'import torch, time; a = torch.empty(int(torch.cuda.mem_get_info()[0] * 0.9), dtype=torch.uint8, device="cuda"); print("taken", flush=True); time.sleep(60)'], stdout=subprocess.PIPE)
    steps(5)
    other.stdout.readline()
    try:
        torch.empty(int(torch.cuda.mem_get_info()[1] * 0.5), dtype=torch.uint8, device='cuda')
    finally:
        other.kill()


def native(source):
    with open('a.cu', 'w') as f:
        f.write(source)
    subprocess.run(['nvcc', '-o', 'a', 'a.cu'], check=True)
    os.execv('./a', ['./a'])


CHECK = '''#include <cstdio>
#include <cstdlib>
#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "CUDA error at %s:%d: %s\\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(EXIT_FAILURE); } } while (0)
'''


def native_illegal():
    native(CHECK + '__global__ void f(float* p) { p[1ull << 36] = 1; }\nint main() { float* p; CHECK(cudaMalloc(&p, 64)); printf("step 1\\n"); f<<<1, 1>>>(p); CHECK(cudaDeviceSynchronize()); }\n')


def native_memory():
    native(CHECK + 'int main() { void* p; CHECK(cudaMalloc(&p, 1ull << 40)); }\n')


def native_config():
    native(CHECK + '__global__ void f() {}\nint main() { f<<<1, 4096>>>(); CHECK(cudaGetLastError()); }\n')


def native_assert():
    native(CHECK + '#include <cassert>\n__global__ void f(int n) { assert(n < 4); }\nint main() { f<<<1, 1>>>(7); CHECK(cudaDeviceSynchronize()); }\n')


if __name__ == '__main__':
    globals()[sys.argv[1]]()
