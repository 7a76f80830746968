import pytest

from tileviz.cuda import library, nvrtc, prelude
from tileviz.cuda.diagnostics import parse_log, parse_resources
from tileviz.errors import DesignError

needs_nvrtc = pytest.mark.skipif(nvrtc.find() is None, reason="no NVRTC on this machine")

SCALE = """\
extern "C" __global__ void scale(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2.0f;
}
"""


@needs_nvrtc
def test_ptx_has_the_entry_the_target_and_source_lines():
    compiled = nvrtc.compile_ptx(SCALE)
    assert ".entry scale(" in compiled.ptx and ".target sm_80" in compiled.ptx
    assert ".loc\t1 3 " in compiled.ptx and "kernel.cu" in compiled.ptx
    assert compiled.seconds > 0


@needs_nvrtc
def test_the_prelude_leaves_line_numbers_alone():
    with pytest.raises(nvrtc.CompileError) as caught:
        nvrtc.compile_ptx(SCALE.replace("2.0f;", "2.0f"))
    assert caught.value.line == 4 or caught.value.line == 3
    assert caught.value.message == 'expected a ";"'
    first = caught.value.diagnostics[0]
    assert first.kind == "error" and first.excerpt.endswith("^")


@needs_nvrtc
@pytest.mark.parametrize(
    "source",
    [
        "__constant__ float c = INFINITY; constexpr float d = -NAN;",
        "#include <stdint.h>\n__device__ uint32_t a; __device__ int64_t b;",
        'static_assert(sizeof(int8_t) == 1 && sizeof(uint64_t) == 8, "");',
        "typedef unsigned int uint32_t;",
        "__device__ int m = INT_MAX; __device__ float f = FLT_MAX;",
        "#include <cuda_runtime.h>\n#include <math.h>\n__device__ float f() { return sqrtf(2); }",
    ],
)
def test_what_people_expect_without_headers(source):
    nvrtc.compile_ptx(source)


@needs_nvrtc
@pytest.mark.parametrize(
    ("header", "type_name"),
    [("cuda_fp16.h", "__half"), ("cuda_bf16.h", "__nv_bfloat16"), ("cuda_fp8.h", "__nv_fp8_e4m3")],
)
def test_half_headers_come_from_memory(header, type_name):
    source = f'#include <{header}>\nextern "C" __global__ void k({type_name}* a) {{ a[1] = a[0]; }}'
    assert ".entry k(" in nvrtc.compile_ptx(source).ptx


@needs_nvrtc
def test_without_half_headers_the_message_names_the_wheel(monkeypatch):
    monkeypatch.setattr(prelude, "half_headers", dict)
    with pytest.raises(nvrtc.CompileError, match="pip install nvidia-cuda-runtime"):
        nvrtc.compile_ptx("#include <cuda_fp16.h>")


@needs_nvrtc
@pytest.mark.parametrize("arch", ["compute_75", "compute_90", "compute_100", "compute_120"])
def test_other_virtual_architectures(arch):
    assert f".target sm_{arch.split('_')[1]}" in nvrtc.compile_ptx(SCALE, arch=arch).ptx


@needs_nvrtc
def test_a_cubin_comes_with_its_resources():
    source = SCALE + (
        'extern "C" __global__ void big(float* x) {\n'
        "  __shared__ float s[300];\n  s[threadIdx.x] = x[1]; __syncthreads();\n"
        "  x[threadIdx.x] = s[threadIdx.x + 1];\n}\n"
    )
    cubin = nvrtc.compile_cubin(source, entry="big")
    assert cubin.image[:4] == b"\x7fELF"
    assert cubin.resources.shared_bytes == 1200 and cubin.resources.spill_bytes == 0
    assert 0 < cubin.resources.registers <= 64
    assert nvrtc.compile_cubin(source, entry="scale").resources.shared_bytes == 0
    with pytest.raises(nvrtc.CompileError, match='no kernel named "other"'):
        nvrtc.compile_cubin(source, entry="other")


@needs_nvrtc
def test_too_much_shared_memory_is_a_back_end_error():
    source = (
        'extern "C" __global__ void k(int* x) { __shared__ int s[16384]; '
        "s[threadIdx.x] = x[0]; __syncthreads(); x[0] = s[x[1]]; }"
    )
    with pytest.raises(nvrtc.CompileError, match="uses too much shared data") as caught:
        nvrtc.compile_cubin(source)
    assert caught.value.line is None


@needs_nvrtc
def test_a_bad_architecture_is_named():
    with pytest.raises(nvrtc.CompileError, match="gpu-architecture"):
        nvrtc.compile_ptx(SCALE, arch="compute_1")


@needs_nvrtc
def test_the_check_stands_before_the_compiler():
    with pytest.raises(DesignError, match="cannot include"):
        nvrtc.compile_ptx('#include "/etc/passwd"')


@needs_nvrtc
def test_version_and_architectures():
    assert nvrtc.version()[0] in (12, 13)
    known = nvrtc.architectures()
    assert 80 in known and list(known) == sorted(known)


def test_the_environment_chooses_the_library(tmp_path, monkeypatch):
    monkeypatch.setenv(library.ENVIRONMENT, str(tmp_path))
    assert library.find() is None and str(tmp_path) in library.missing_reason()
    plain = "nvrtc64_120_0.dll" if library.sys.platform == "win32" else "libnvrtc.so.12"
    for name in (plain, "libnvrtc.alt.so.12", "libnvrtc-builtins.so.12.9"):
        (tmp_path / name).write_bytes(b"no library")
    assert library.find() == tmp_path / plain
    monkeypatch.setenv(library.ENVIRONMENT, str(tmp_path / plain))
    assert library.find() == tmp_path / plain
    library.load.cache_clear()
    try:
        with pytest.raises(nvrtc.NvrtcNotFound, match="cannot be loaded"):
            library.load()
    finally:
        library.load.cache_clear()


def test_a_log_is_parsed_in_all_its_forms():
    log = """\
tile_gemm.cu(3): error: expected a ";"
    if (i < n) out[i] = in[i] * 2.0f;
    ^

tile_gemm.cu(2): warning #177-D: variable "i" was declared but never referenced
other.h(9): catastrophic error: could not open source file "x"
ptxas application ptx input, line 24; error   : Not a name of any known instruction: 'ldmatrixx'
ptxas error   : Entry function 'k' uses too much shared data (0x10000 bytes, 0xc000 max)
nvrtc: error: invalid value for --gpu-architecture (-arch)
3 errors detected in the compilation of "tile_gemm.cu".
"""
    found = parse_log(log, name="tile_gemm.cu")
    assert [(d.kind, d.line) for d in found] == [
        ("error", 3),
        ("warning", 2),
        ("error", None),
        ("error", None),
        ("error", None),
        ("error", None),
    ]
    assert found[0].excerpt == "    if (i < n) out[i] = in[i] * 2.0f;\n    ^"
    assert found[1].excerpt == ""
    assert found[3].message == "Not a name of any known instruction: 'ldmatrixx'"
    assert found[4].message.startswith("Entry function 'k' uses too much shared data")
    assert found[5].message == "invalid value for --gpu-architecture (-arch)"
    assert len(parse_log(log * 100, name="tile_gemm.cu")) == 100


def test_resources_are_read_per_entry():
    log = """\
ptxas info    : Compiling entry function 'a' for 'sm_80'
ptxas info    : Function properties for a
ptxas         .     2184 bytes stack frame, 7320 bytes spill stores, 33984 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 2184 bytes cumulative stack size
ptxas info    : Compiling entry function 'b' for 'sm_80'
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 63 registers, used 1 barriers, 8448 bytes smem, 388 bytes cmem[0]
"""
    found = parse_resources(log)
    assert (found["a"].registers, found["a"].spill_bytes, found["a"].shared_bytes) == (32, 41304, 0)
    assert (found["b"].registers, found["b"].spill_bytes, found["b"].shared_bytes) == (63, 0, 8448)
