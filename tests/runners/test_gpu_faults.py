import pytest

from tileviz.runners.gpu.faults import INSTALL, explain

MACHINE = {
    "No module named 'pycuda'": INSTALL,
    "libcuda.so.1: cannot open shared object file: No such file or directory": "driver",
    "/x/_driver.cpython-311.so: undefined symbol: cuCtxCreate_v4": f"{INSTALL} --force",
    "/x/_driver.cpython-311.so: undefined symbol: _PyThing": f"{INSTALL} --force",
    "numpy.core.multiarray failed to import": f"{INSTALL} --force",
    "cuInit failed: CUDA driver is a stub library": "LD_LIBRARY_PATH",
    "cuInit failed: no CUDA-capable device is detected": "nvidia-smi",
    "cuDeviceGet failed: invalid device ordinal": "TILEVIZ_GPU",
    "cuInit failed: CUDA driver version is insufficient for CUDA runtime version": "525",
    "cuInit failed: system has unsupported display driver / cuda driver combination": "restart",
    "cuDevicePrimaryCtxRetain failed: CUDA-capable device(s) is/are busy or unavailable": "Default",
    "cuMemAlloc failed: out of memory": "smaller",
    "cuModuleLoadDataEx failed: the provided PTX was compiled with an unsupported toolchain.": (
        "nvidia-cuda-nvrtc-cu12==12.9.86"
    ),
    "cuModuleLoadDataEx failed: no kernel image is available for execution on the device": "NVRTC",
}
KERNEL = {
    "cuEventQuery failed: an illegal memory access was encountered": "out_of_bounds",
    "cuEventQuery failed: misaligned address": "misaligned",
    "cuEventQuery failed: the launch timed out and was terminated": "limit",
    "cuEventQuery failed: device-side assert triggered": "trap",
    "cuEventQuery failed: an illegal instruction was encountered": "trap",
    "cuEventQuery failed: unspecified launch failure": "trap",
    "cuLaunchKernel failed: too many resources requested for launch": "limit",
    "cuLaunchKernel failed: invalid argument": "limit",
    "cuModuleGetFunction failed: named symbol not found": "compile",
}


@pytest.mark.parametrize(("text", "remedy"), MACHINE.items(), ids=lambda value: value[:40])
def test_each_fault_of_the_machine_is_one_line_with_its_remedy(text, remedy):
    fault = explain(text)
    assert fault.kind is None and remedy in fault.line and "\n" not in fault.line
    assert fault.message not in text


@pytest.mark.parametrize(("text", "kind"), KERNEL.items(), ids=lambda value: value[:40])
def test_each_fault_of_a_kernel_has_its_kind(text, kind):
    assert explain(text).kind == kind


def test_messages_differ():
    lines = [explain(text).line for text in (*MACHINE, *KERNEL)]
    # Two ways for a module to fit another Python read the same, and so they should.
    assert len(set(lines)) >= len(lines) - 1


def test_an_unknown_text_is_shown_as_it_is():
    assert explain("cuFoo failed:\n  something  new").line == "cuFoo failed: something new"
    assert explain("").message
    assert len(explain("x" * 10_000).line) <= 300
