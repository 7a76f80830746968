"""The reasons that the broadcast arithmetic gives, not only its numbers."""

from __future__ import annotations

import pytest

from tileviz import api


def reason(operand: list[int], out: list[int]) -> tuple[int, str]:
    found = api.explain(api.design(study="broadcast", operands=[operand], out=out))
    one = found.find("before.loads")
    return int(one.value), one.steps[0].text


@pytest.mark.parametrize("channels", [96, 192, 384])
def test_a_step_that_comes_back_is_told(channels: int) -> None:
    """3 * 256 is a multiple of each of them, so step 3 is at the channel of step 0 again."""
    loads, text = reason([channels], [64, 56, 56, channels])
    assert loads == 4 and 3 * 256 % channels == 0 != 256 % channels
    assert "another from one step to the next: loaded each time." in text
    assert "Step 3 is back at the element of step 0" in text
    assert "compiler does not find that out" in text


def test_other_reasons_claim_no_return() -> None:
    loads, text = reason([224], [64, 56, 56, 224])
    assert loads == 4 and "back at" not in text
    loads, text = reason([1, 64, 1, 1], [64, 64, 56, 56])
    assert loads == 4 and "not the same in all steps of every thread" in text
    assert "3,136 elements in a row, no whole number of blocks of 1,024." in text
    loads, text = reason([128], [64, 56, 56, 128])
    assert loads == 1 and "the same in all steps: loaded once" in text
    assert "and 1 is" not in text
