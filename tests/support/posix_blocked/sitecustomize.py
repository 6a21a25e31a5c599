"""Runs at the start of each process that a blocked one starts."""

import posix_block

posix_block.block()
