"""One launch of one request and nothing else: ``python -m tileviz.runners.gpu.once FILE``.

For tools that watch a process: Nsight Compute, compute-sanitizer.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tileviz.runners.gpu.device import DeviceError
from tileviz.runners.gpu.driver import PycudaDevice
from tileviz.runners.gpu.loaded import Loaded, Modules
from tileviz.runners.gpu.measure import Bench, Hung
from tileviz.runners.gpu.transport import Request, unpack_request
from tileviz.workers import wire


def run_once(request: Request) -> None:
    """Launch the first program once.

    Raises:
        DeviceError: There is no device, or the launch went wrong.
        Hung: It takes too long.
    """
    device = PycudaDevice()
    try:
        loaded = Loaded(device, Modules(device), request.programs[0])
        loaded.arena.fill()
        Bench(device, (0, 0), lambda: None, request.settings).once(loaded.launch)
        loaded.arena.release()
    finally:
        # A context that is still current when the interpreter ends aborts the process.
        device.close()


def main() -> int:
    """Run the command; return its exit status."""
    with Path(sys.argv[1]).open("rb") as file:
        header, arrays = wire.receive(file)
    try:
        run_once(unpack_request(header, arrays))
    except (DeviceError, Hung) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
