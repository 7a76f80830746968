"""Opening a file in the Kernel lab: CUDA text, or a design as JSON."""

from __future__ import annotations

from typing import Protocol

import streamlit as st

from tileviz.errors import DesignError
from tileviz.studies.design import Design
from tileviz.studies.documents import parse_json
from tileviz.studies.kernel.design import MAX_SOURCE, KernelDesign
from tileviz.studies.registry import make_design
from tileviz.ui import html, inputs
from tileviz.ui.kernel import editors
from tileviz.ui.kernel.form import LabForm
from tileviz.ui.kernel.limits import MAX_UPLOAD

_KEY, _FAULT = "lab.upload", "lab.upload_fault"
_KINDS = ("cu", "cuh", "cpp", "cc", "h", "hpp", "txt", "json")


class Uploaded(Protocol):
    """An uploaded file."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def size(self) -> int:
        """Its size in bytes."""

    def getvalue(self) -> bytes:
        """Return its content."""


def uploader() -> None:
    """Draw the field for a file."""
    st.file_uploader(
        "CUDA text, or a design as JSON",
        type=list(_KINDS),
        key=_KEY,
        on_change=_opened,
        max_upload_size=1,
        help=f"At most {MAX_SOURCE >> 10} KiB of CUDA, or a design that holds as much. A text "
        "takes the place of the source; a design fills every field.",
    )


def fault() -> None:
    """Say what was wrong with the last file."""
    error: DesignError | None = st.session_state.get(_FAULT)
    if error is not None:
        note = "Everything typed is still here."
        st.html(html.error_box([html.Fault("File", error)], note))


def _opened() -> None:
    inputs.sync()
    file: Uploaded | None = st.session_state.get(_KEY)
    st.session_state[_FAULT] = None
    if file is None:
        return
    try:
        found = opened(file)
    except DesignError as error:
        st.session_state[_FAULT] = error
        return
    if isinstance(found, KernelDesign):
        editors.fill(LabForm.of(found), force=True)
    else:
        st.session_state[editors.key("source")] = found


def opened(file: Uploaded) -> KernelDesign | str:
    """Return the design or the text that a file holds.

    Raises:
        DesignError: The file is too large, is no text, or holds no design of a kernel.
    """
    name = file.name[-60:]
    if file.size > MAX_UPLOAD:
        message = f"has {file.size:,} bytes; at most {MAX_UPLOAD:,} are read"
        raise DesignError("file", message, name)
    try:
        text = file.getvalue().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DesignError("file", "is not UTF-8 text", name) from None
    if name.lower().endswith(".json"):
        return _kernel(make_design(parse_json(text)))
    if len(text) > MAX_SOURCE:
        message = f"holds {len(text):,} characters; at most {MAX_SOURCE:,} of CUDA are read"
        raise DesignError("file", message, name)
    return text.replace("\r\n", "\n")


def _kernel(design: Design) -> KernelDesign:
    if not isinstance(design, KernelDesign):
        raise DesignError("study", "this page opens designs of kernel", design.study)
    return design
