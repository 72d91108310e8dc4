"""What the programs here do until they die: steps, and checkpoints of them."""

import os
import time


def steps(n, f=None, pause=0.05):
    for i in range(1, n + 1):
        if f:
            f(i)
        print(f'step {i} loss {1.0 / i:.4f}', flush=True)
        time.sleep(pause)


def resumed(torch):
    """The checkpoint to resume from, or None, and the first step."""
    path = os.environ.get('GANGRUN_RESUME_PATH')
    if not path:
        return (None, 1)
    state = torch.load(path, map_location='cuda')
    print('resumed from step', state['step'], flush=True)
    return (state, state['step'] + 1)


def save(torch, root, model, optimizer, step):
    path = f'{root}/step_{step}.pt'
    torch.save({'model': model.state_dict(), 'optimizer': optimizer.state_dict(), 'step': step}, path + '.tmp')
    os.replace(path + '.tmp', path)


def once(mark):
    """Whether this is the first time: a file remembers it."""
    if os.path.exists(mark):
        return False
    open(mark, 'w').close()
    return True
