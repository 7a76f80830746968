"""``cp.async``: bytes arrive at the wait, not before, and the checks know it."""

import numpy as np
import pytest

SOURCE = """
__device__ void copy(void* to, const void* from, int bytes) {
    unsigned t = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" :: "r"(t), "l"(from), "r"(bytes));
}
#define COMMIT asm volatile("cp.async.commit_group;")
#define WAIT(n) asm volatile("cp.async.wait_group %0;" :: "n"(n))
extern "C" __global__ void k(const int4* in, int4* out) {
    __shared__ int4 tile[2][32];
    int i = threadIdx.x;
    BODY
}
"""


def run(run_cuda, body, **settings):
    data = np.arange(1, 257, dtype=np.int32)
    data.flags.writeable = False
    return data.reshape(-1, 4), run_cuda(
        SOURCE.replace("BODY", body),
        arguments={"in": data, "out": ("out", "int32", 256)},
        **settings,
    )


def test_groups_complete_in_order(run_cuda):
    body = """
        copy(&tile[0][i], in + i, 16); COMMIT;
        copy(&tile[1][i], in + 32 + i, 16); COMMIT;
        WAIT(1); __syncthreads();
        out[i] = tile[0][31 - i];
        WAIT(0); __syncthreads();
        out[32 + i] = tile[1][31 - i];
    """
    data, result = run(run_cuda, body)
    want = np.concatenate([data[31::-1], data[:31:-1]])
    assert result.problems == ()
    assert np.array_equal(result.outputs["out"].reshape(-1, 4), want)
    copies = {(a.space, a.op, a.bytes): a.executions for a in result.accesses if "ldgsts" in a.op}
    assert copies == {("shared", "ldgsts.ca", 16): 2, ("global", "ldgsts.ca", 16): 2}


@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        # No wait at all: what is read was never written.
        ("copy(&tile[0][i], in + i, 16); COMMIT; out[i] = tile[0][i];", {"uninitialised", "race"}),
        # A wait, but no barrier before another lane reads.
        ("copy(&tile[0][i], in + i, 16); COMMIT; WAIT(0); out[i] = tile[0][31 - i];", {"race"}),
        # Waiting for one group too few.
        (
            "copy(&tile[0][i], in + i, 16); COMMIT; WAIT(1); __syncthreads(); out[i] = tile[0][i];",
            {"uninitialised", "race"},
        ),
        # A barrier before the wait orders nothing.
        (
            "copy(&tile[0][i], in + i, 16); COMMIT; __syncthreads(); WAIT(0); "
            "out[i] = tile[0][31 - i];",
            {"race"},
        ),
        # A lane may read what it copied itself.
        ("copy(&tile[0][i], in + i, 16); COMMIT; WAIT(0); out[i] = tile[0][i];", set()),
        # A copy over what others may still be reading.
        (
            "tile[0][i] = in[i]; __syncthreads(); out[i] = tile[0][31 - i]; "
            "copy(&tile[0][i], in + i, 16); WAIT(0);",
            {"race"},
        ),
    ],
)
def test_hazards(run_cuda, body, kinds):
    _, result = run(run_cuda, body.replace("WAIT(0)", 'asm volatile("cp.async.wait_all;")'))
    assert {p.kind for p in result.problems} == kinds


def test_a_race_with_a_copy_under_way_says_so(run_cuda):
    body = "copy(&tile[0][i], in + i, 16); COMMIT; __syncthreads(); out[i] = tile[0][i];"
    _, result = run(run_cuda, body)
    race = next(p for p in result.problems if p.kind == "race")
    assert "with the cp.async" in race.message
    assert race.buffer == "tile"


def test_short_sources_are_filled_with_zeros(run_cuda):
    body = """
        copy(&tile[0][i], in + i, i < 8 ? 16 : i < 16 ? 0 : i < 24 ? 4 : 7);
        asm volatile("cp.async.wait_all;");
        out[i] = tile[0][i];
    """
    data, result = run(run_cuda, body)
    content = data[:32].copy().view(np.uint8).reshape(32, 16)
    for lane, size in enumerate([16] * 8 + [0] * 8 + [4] * 8 + [7] * 8):
        content[lane, size:] = 0
    assert result.problems == ()
    assert np.array_equal(result.outputs["out"][:128].view(np.uint8).reshape(32, 16), content)


def test_a_source_of_no_bytes_may_lie_anywhere(run_cuda):
    body = """
        copy(&tile[0][i], in + (i < 4 ? i : 100000), i < 4 ? 16 : 0);
        asm volatile("cp.async.wait_all;");
        out[i] = tile[0][i];
    """
    data, result = run(run_cuda, body)
    assert result.problems == ()
    assert np.array_equal(result.outputs["out"][:16], data[:4].reshape(-1))
    assert not result.outputs["out"][16:128].any()


def test_a_source_out_of_bounds_stops(run_cuda):
    _, result = run(run_cuda, "copy(&tile[0][i], in + 40 + i, 16);")
    assert result.problems[0].message == (
        'out-of-bounds 16-byte global load: block (0,0,0) thread (24,0,0), buffer "in" (1024 '
        "bytes), byte offset 1024, line 4"
    )
