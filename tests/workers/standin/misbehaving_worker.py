"""A worker that does what the request tells it to, however bad."""

from __future__ import annotations

import os
import signal
import stat
import sys
import time
from pathlib import Path

import numpy as np

from tileviz.errors import DesignError
from tileviz.workers import process


def handle(header, arrays):
    mode = header.get("mode", "double")
    if mode == "double":
        return {"pid": os.getpid()}, [array * 2 for array in arrays]
    if mode == "sleep":
        time.sleep(header["seconds"])
        return {"pid": os.getpid(), "ended": time.monotonic()}, []
    if mode == "retire":
        return {"pid": os.getpid(), "retire": True}, []
    if mode == "spin":
        while True:
            pass
    if mode == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    if mode == "exit":
        os.write(2, b"last words\n")
        os._exit(7)
    if mode == "print":
        print("chatter through Python", flush=True)
        os.write(1, b"chatter through the descriptor\n")
        return {}, []
    if mode == "garbage":
        os.write(max(_answer_pipes()), b"\xff" * 64)
        time.sleep(3600)
    if mode == "flood":
        os.write(2, b"x" * (1 << 20))
        return {}, []
    if mode == "raise":
        raise ValueError("two\nlines")
    if mode == "design":
        raise DesignError("source", "not allowed")
    if mode == "memory":
        return {}, [np.zeros(header["bytes"], np.uint8)]
    if mode == "files":
        return _try_files(), []
    raise AssertionError(mode)


def _answer_pipes():
    """Descriptors of pipes that can be written, above the standard three."""
    for entry in list(Path("/proc/self/fd").iterdir()):
        descriptor = int(entry.name)
        if descriptor > 2:
            try:
                if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                    os.write(descriptor, b"")
                    yield descriptor
            except OSError:  # closed meanwhile, or the reading end
                continue


def _try_files():
    tried = {}
    for what, action in {
        "open": Path("/etc/passwd").read_text,
        "fork": os.fork,
        "pipe": os.pipe,
        "root": lambda: os.setuid(0),
    }.items():
        try:
            if action() == 0 and what == "fork":
                os._exit(0)
            tried[what] = "worked"
        except OSError as error:
            tried[what] = type(error).__name__
    return {"tried": tried, "uid": os.getuid()}


if __name__ == "__main__":
    confined = process.Limits(memory_bytes=256 << 20) if "CONFINE" in os.environ else None
    if "BROKEN" in os.environ:
        sys.exit("cannot load the library")
    process.serve(handle, limits=confined)
