"""What is saved: arrays of which each tells its generation and its place, so that a mix of two saves is seen."""

ARRAYS = 48
SHAPE = (128, 192)  # of float32: 96 KiB each, 4.5 MiB in all


def value(generation, place):
    """What all elements of the array at this place are. float32 holds it exactly."""
    return float(generation * 1000 + place)


def generation_of(arrays, more=()):
    """The generation of arrays in their order. All of them, and all in more, have to be of it."""
    first = None
    for place, array in enumerate(arrays):
        generation = (float(array.flat[0]) - place) / 1000
        if first is None:
            first = generation
        if generation != first or not (array == array.flat[0]).all():
            raise ValueError(f"array {place} is of generation {generation}, and not all of {first}")
    for other in more:
        if int(other) != first:
            raise ValueError(f"something is of generation {other}, and the arrays of {first}")
    if first != int(first) or first < 1:
        raise ValueError(f"there is no generation {first}")
    return int(first)
