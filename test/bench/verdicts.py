"""Notes that it was started, in a file, and becomes the program after that."""

import os
import sys

with open(sys.argv[1], "a") as file:
    file.write("start\n")
os.execv(sys.argv[2], sys.argv[2:])
