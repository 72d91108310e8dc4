"""Runs beside Google's ml-goodput-measurement, whose log is a file here as it is a list in its own tests.

goodput.py train LOG    one rank that tells its steps to gangrun and to Google's recorder; it is killed once, in step 30,
                        and goes on after step 20
goodput.py measure LOG  what Google's calculator says of it, as JSON
"""

import datetime
import json
import os
import signal
import socket
import sys
import tempfile
import time

from ml_goodput_measurement.src import goodput

what, path = sys.argv[1:]


class Log:
    """Takes the place of Cloud Logging."""

    def write_cloud_logging_entry(self, entry):
        with open(path, "a") as out:
            print(json.dumps(entry), file=out)

    def read_cloud_logging_entries(self, *_, **__):
        entries = [json.loads(line) for line in open(path)]
        return entries, (datetime.datetime.now(datetime.timezone.utc), "id")

    def flush(self):
        pass


if what == "train":
    gangrun = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    recorder = goodput.GoodputRecorder("job", "log", True, Log())
    recorder.record_job_start_time()
    again = os.environ["GANGRUN_ROUND"] != "0"
    done = 20 if again else 0
    gangrun.sendto(f"X_GANGRUN_STEP={done}".encode(), os.environ["NOTIFY_SOCKET"])
    for step in range(done + 1, 61):
        recorder.record_step_start_time(step)
        time.sleep(0.1)
        if step == 30 and not again:
            os.kill(os.getpid(), signal.SIGKILL)
        gangrun.sendto(f"X_GANGRUN_STEP={step}".encode(), os.environ["NOTIFY_SOCKET"])
    recorder.record_job_end_time()
else:
    calculator = goodput.GoodputCalculator("job", "log", Log(), cache_dir=tempfile.mkdtemp())
    calculator.get_job_goodput(include_badput_breakdown=True)
    said = calculator.get_job_goodput_details()
    print(json.dumps({
        "productive": said["goodput_time"][goodput.GoodputType.TOTAL],
        "elapsed": said["total_elapsed_time"],
        "disruptions": said["disruption_count"],
        "step": said["max_productive_step"],
        "badput": {k.name: v for k, v in said["badput_time"].items() if isinstance(v, (int, float))},
    }))
