"""Checkpoints that are either whole or not there: one file for each, step-00000040.json or .pt."""

import os
import re

KEEP = 3


def save(directory, step, suffix, write):
    """Saves one checkpoint: write(file) fills a temporary file, which gets its name only when it is on the disk.

    A kill at any moment leaves the earlier checkpoints as they were. Only the newest few are kept.
    """
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, f"step-{step:08d}{suffix}")
    with open(path + ".tmp", "wb") as f:
        write(f)
        f.flush()
        os.fsync(f.fileno())
    os.replace(path + ".tmp", path)
    # The new name is safe from a power failure only once the directory is on the disk too.
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
    # Later ones may be there too, from before a return to an earlier step; they do not count.
    upto = [other for other in _newest_first(directory, suffix) if _step(other) <= step]
    for old in upto[KEEP:]:
        os.remove(old)


def load(directory, suffix, read):
    """The checkpoint to resume from, through read(path); None at a first start.

    That is the one gangrun chose (GANGRUN_RESUME_PATH), otherwise the newest in the directory that read accepts.
    read raises ValueError for a file that is not whole. Files of which none is whole are an error: to begin again
    at step 0 would silently throw the work away.
    """
    chosen = os.environ.get("GANGRUN_RESUME_PATH")
    if chosen:
        return read(chosen)
    paths = _newest_first(directory, suffix) if directory and os.path.isdir(directory) else []
    for path in paths:
        try:
            return read(path)
        except ValueError as e:
            print(f"checkpoint {path} is not whole, trying the one before: {e}", flush=True)
    if paths:
        raise RuntimeError(f"none of the {len(paths)} checkpoints in {directory} can be read")
    return None


def _newest_first(directory, suffix):
    pattern = re.compile(r"step-\d+" + re.escape(suffix))
    names = filter(pattern.fullmatch, os.listdir(directory))
    return sorted((os.path.join(directory, name) for name in names), key=_step, reverse=True)


def _step(path):
    return int(re.search(r"step-(\d+)", os.path.basename(path))[1])
