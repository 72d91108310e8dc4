"""Says of each command line in a JSON file whether torchrun would start workers, or why not.

Everything of torchrun up to there is real; one process for all of them saves starting it for each.
"""

import json
import os
import sys

import torch.distributed.launcher.api as api
import torch.distributed.run as torchrun


class Started(BaseException):
    pass


def start(agent, role=""):
    raise Started


def answer(argv):
    try:
        torchrun.run(torchrun.parse_args(argv))
    except Started:
        return ""
    except SystemExit as e:
        return f"exit {e.code}"
    except Exception as e:
        return f"{type(e).__name__}: {e}"
    return "it ended"


def main():
    sys.argv[0] = "torchrun"
    api.LocalElasticAgent.run = start
    plain = dict(os.environ)
    with open(sys.argv[1]) as f:
        cases = json.load(f)
    answers = []
    for case in cases:
        os.environ.clear()
        os.environ.update(plain)
        os.environ.update(v.split("=", 1) for v in case["env"] or [])
        answers.append(answer(case["argv"]))
    print(json.dumps(answers))


main()
