import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileviz.cuda.includes import MAX_SOURCE_BYTES, check_source
from tileviz.cuda.prelude import ALLOWED_INCLUDES
from tileviz.errors import DesignError

KERNEL = '\nextern "C" __global__ void k(float* a) { a[0] = 1; }\n'

HOSTILE = {
    "absolute": '#include "/etc/passwd"',
    "angle": "#include </etc/passwd>",
    "parent": '#include "../secret.h"',
    "unknown": "#include <iostream>",
    "self": '#include "kernel.cu"',
    "prefix": '#include "cuda_fp16.h/../../secret"',
    "macro": '#define NAME "/etc/passwd"\n#include NAME',
    "allowed macro": "#define NAME <cuda_fp16.h>\n#include NAME",
    "digraph": '%:include "/etc/passwd"',
    "trigraph": '??=include "/etc/passwd"',
    "blanks": '/* */ \f # \v include "/etc/passwd"',
    "comments": '/**/#/**/include/**/"/etc/passwd"',
    "splice in the word": '#inc\\\nlude "/etc/passwd"',
    "splice before": '\\\n#include "/etc/passwd"',
    "splice with carriage return": '#inc\\\r\nlude "/etc/passwd"',
    "splice with blanks": '// hidden \\ \n#include "/etc/passwd"',
    "splice of a splice": '#inc\\\\\n\nlude "/etc/passwd"',
    "comment after": '#include "/etc/passwd" /*\n*/',
    "comment inside": '#include "/etc//passwd"',
    "lone carriage return": '// \r /* \n#include "/etc/passwd"\n// */',
    "separator is no text": "int x = 1'0; /* ' */\n#include \"/etc/passwd\"",
    "unended text": 'char c = \'; /*\n#include "/etc/passwd"\n*/',
    "raw string": 'auto s = R"(\n)";',
    "next": '#include_next "/etc/passwd"',
    "import": '#import "/etc/passwd"',
    "embed": '#embed "/etc/passwd"',
    "line": '#line 1 "/etc/passwd"',
    "line marker": '# 1 "/etc/passwd"',
    "has": '#if __has_include("/etc/passwd")\n#endif',
    "has next": "#if __has_include_next(<x>)\n#endif",
    "has embed": "#if __has_embed(<x>)\n#endif",
    "has as name": "#ifdef __has_include\n#endif",
    "has spliced": '#if __has_\\\ninclude("/etc/passwd")\n#endif',
    "has pasted": '#define C(a,b) a##b\n#if C(__has_,include)("/etc/passwd")\n#endif',
    "has pasted finely": '#define C(a,b) a##b\n#if C(__h,as_include)("/etc/passwd")\n#endif',
    "has pasted elsewhere": (
        "#define C(a,b) a##b\n#define D C(__ha,s_include)(<x>)\n#if 0\n#elif D\n#endif"
    ),
    "has pasted by digraph": "#define C(a,b) a%:%:b\n#if C(__ha,s_include)(<x>)\n#endif",
    "has pasted by the compiler": "#if _NV_CONCAT_EVAL1(__ha, s_include)(<x>)\n#endif",
    "pragma": '#pragma GCC dependency "/etc/passwd"',
    "pragma operator": '_Pragma("GCC dependency \\"/etc/passwd\\"")',
    "pragma of another compiler": "__pragma(once)",
    "incbin": 'asm(".incbin \\"/etc/passwd\\"");',
    "asm include": 'asm(".include \\"/etc/passwd\\"");',
    "nul": "int x;\0",
    "surrogate": "// \ud800",
    "too long": "/" * (MAX_SOURCE_BYTES + 1),
}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_text_that_could_open_a_file_is_refused_in_one_line(source):
    with pytest.raises(DesignError) as caught:
        check_source(source + KERNEL)
    assert caught.value.field == "source"
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


HARMLESS = {
    "plain": KERNEL,
    "every header": "".join(f"#include <{name}>\n" for name in sorted(ALLOWED_INCLUDES)),
    "quoted": '#  include "cuda_fp16.h" // halves',
    "commented out": '// #include "/etc/passwd"\n/* #include "/etc/passwd" */',
    "in a text": 'const char* s = "#include </etc/passwd>";',
    "unrolled": '#pragma unroll 4\n_Pragma("unroll")\n#pragma once',
    "conditions": "#define N 4\n#if N > 2 && defined(__CUDA_ARCH__)\n#elif 1\n#endif",
    "pasting": "#define C(a, b) a##b\nint C(x, 1);\n#define N 4\n#if N == 4\n#endif",
    "continued macro": "#define F(x) \\\n  (x)\nint y = F(1);",
    "carriage returns": "int x;\r\n#define N 1\r\n",
    "stringised": "#define S(x) #x\n",
    "separators": "int million = 1'000'000;",
    "unicode": "// naïve → ok\n",
    "empty": "",
}


@pytest.mark.parametrize("source", HARMLESS.values(), ids=HARMLESS.keys())
def test_a_harmless_text_passes(source):
    check_source(source)


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("\n\n#include <x>", 3),
        ("a\\\nb\\\nc\n#include <x>", 4),
        ("/*\n\n*/ int x;\n#include <x>", 4),
        ("#define A \\\n 1\n\n#line 3", 4),
    ],
)
def test_the_message_names_the_source_line(source, line):
    with pytest.raises(DesignError, match=f"line {line}:"):
        check_source(source)


@given(st.text(alphabet="#%:in<>\"'/*\\\n\r?=R(A1 _", max_size=40))
def test_any_text_is_judged(source):
    try:
        check_source(source)
    except DesignError as error:
        assert error.field == "source"


@pytest.mark.parametrize(
    "piece",
    [
        "#if 0\n",
        "#define A ((((",
        "/**/ ",
        "\\\n",
        "1'1",
        '"',
        "/*",
        "#if a##b\n",
        "'\\",
        "# ",
        "(",
    ],
)
def test_the_work_grows_with_the_length_only(piece):
    """Hostile repetition must not make an expression backtrack: far under a minute even so."""
    source = "#if defined" + piece * (400_000 // len(piece))
    start = time.monotonic()
    with contextlib.suppress(DesignError):
        check_source(source)
    assert time.monotonic() - start < 20
