"""Reports step 7, and is killed there each time."""

import os
import signal
import socket

gangrun = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
gangrun.sendto(b"X_GANGRUN_STEP=7", os.environ["NOTIFY_SOCKET"])
os.kill(os.getpid(), signal.SIGKILL)
