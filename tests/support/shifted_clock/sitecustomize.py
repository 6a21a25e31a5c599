"""Runs at the start of a process whose clock is wrong by ``SVC_TEST_CLOCK_SECONDS``."""

import os
import time

_time, _time_ns, _seconds = time.time, time.time_ns, float(os.environ["SVC_TEST_CLOCK_SECONDS"])
time.time = lambda: _time() + _seconds
time.time_ns = lambda: _time_ns() + int(_seconds * 1e9)
