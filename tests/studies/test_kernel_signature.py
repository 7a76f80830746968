"""Kernels are read from a text by their tokens: whatever the text, without a crash or a hang."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tileviz.studies.kernel.design import KernelDesign
from tileviz.studies.kernel.signature import signatures
from tileviz.studies.registry import presets

PRESETS = [preset for preset in presets() if preset.study == "kernel"]
CORPUS = sorted((Path(__file__).parents[1] / "emulator" / "corpus").glob("*.cu"))


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_the_signature_of_a_preset_is_its_form(preset: object) -> None:
    design = preset.design
    assert isinstance(design, KernelDesign)
    (found,) = signatures(design.source)
    assert (found.name, found.extern_c) == (design.entry, True)
    rows = [(b.name, b.dtype, b.role) for b in design.buffers]
    rows += [(s.name, s.dtype, "scalar") for s in design.scalars]
    assert [(p.name, p.dtype, p.role) for p in found.parameters] == rows


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_every_kernel_of_the_corpus_is_read(path: Path) -> None:
    (found,) = signatures(path.read_text())
    assert (found.name, found.extern_c) == ("k", True)
    assert found.parameters
    assert all(p.name and p.dtype for p in found.parameters if p.role != "scalar")


def test_attributes_linkage_and_kinds_of_types() -> None:
    found = signatures(
        """
        // __global__ void commented(int n) {}
        const char* text = "__global__ void quoted(int n) {}";
        __global__ void declared(int n);
        template <typename T> struct Pair { T a, b; };
        extern "C" {
        __global__ __launch_bounds__(256, 2) void first(
            const unsigned char *__restrict__ a, float4 b[], Pair<float, int>* c, bool d, half e,
            unsigned long long f = 3, std::int16_t* const g) { b[0] = b[1]; *g = 1; }
        }
        __global__ void mangled(void) {}
        extern "C" void __global__ last() {}
        """
    )
    assert [(kernel.name, kernel.extern_c) for kernel in found] == [
        ("first", True),
        ("mangled", False),
        ("last", True),
    ]
    assert [(p.name, p.dtype, p.role) for p in found[0].parameters] == [
        ("a", "uint8", "in"),
        ("b", "float32x4", "inout"),
        ("c", "", "inout"),
        ("d", "uint8", "scalar"),
        ("e", "", "scalar"),
        ("f", "uint64", "scalar"),
        ("g", "int16", "inout"),
    ]
    assert found[1].parameters == ()


def test_a_member_of_the_same_name_is_no_use() -> None:
    text = 'extern "C" __global__ void k(int* y) { y[threadIdx.y] = threadIdx.y; }'
    assert signatures(text)[0].parameters[0].role == "out"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "__global__",
        "__global__ void k(",
        "__global__ " * 6000,
        "__global__ void k(" * 3600,
        'extern "C" __global__ void k(float* x) {' + "x[" * 20000,
        'extern "C" __global__ void k(' + "float* x," * 7000 + ") {}",
        "/*" * 30000,
        '"' * 60000,
    ],
    ids=range(9),
)
def test_hostile_text_is_read_without_a_hang(text: str) -> None:
    for kernel in signatures(text):
        assert len(kernel.parameters) <= 64


@given(some.text(alphabet='_globa k(){}[]*,;="C\n/<>#x1', max_size=200))
def test_any_text_is_read(text: str) -> None:
    assert isinstance(signatures(f'extern "C" __global__ void k(int* x) {text}'), tuple)
