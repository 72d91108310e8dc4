"""The probe as a module of a package, for -m."""

import os
import runpy

runpy.run_path(os.path.join(os.path.dirname(__file__), "..", "probe.py"), run_name="__main__")
