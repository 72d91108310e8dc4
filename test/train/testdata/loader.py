"""Goes through an epoch with a data loader of two processes, and on SIGTERM finishes it, saves and exits with 0."""

import signal
import time

from torch.utils.data import DataLoader, Dataset

stopping = []


class Samples(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        time.sleep(0.02)
        return index


def default_action(_worker):
    # What is inherited would keep the loader's processes from the fate of most: to end at a SIGTERM.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def main():
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    loader = DataLoader(Samples(), batch_size=2, num_workers=2, worker_init_fn=default_action)
    while not stopping:
        for n, _ in enumerate(loader):
            print(f"batch {n}", flush=True)
    print("epoch finished, saved", flush=True)


main()
