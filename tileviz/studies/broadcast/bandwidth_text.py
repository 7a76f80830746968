"""The bandwidth table in words: for the terminal, and what pages say above it."""

from __future__ import annotations

from collections.abc import Sequence

from tileviz.studies.broadcast.bandwidth import FORMULA, BandwidthRow, same_shape
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.portion import VERSIONS, Version
from tileviz.studies.statement import Statement, TextTable

NAMES: dict[Version, str] = {"before": "before", "cinn": "CINN", "ours": "ours"}


def verdict(
    rows: Sequence[BandwidthRow], design: BroadcastDesign, not_measured: str = ""
) -> Statement:
    """Return what is known of a design's bandwidth, newest measurement first, in one sentence.

    Args:
        rows: The whole table.
        design: The design in question.
        not_measured: Why nothing is measured here and now.

    Example:
        >>> from tileviz.studies.broadcast.bandwidth import bandwidth_rows
        >>> from tileviz.studies.registry import preset
        >>> said = verdict(bandwidth_rows(), preset("broadcast-192").design, "there is no GPU")
        >>> print(said.sentence, said.facts)
        Not measured: there is no GPU. Every figure in the table is as published.
    """
    ours = [row for row in rows if row.source != "published"]
    mine = [row for row in ours if same_shape(row.design) == same_shape(design)]
    if not mine:
        why = f": {not_measured}" if not_measured else " for this design"
        facts = "Every figure in the table is as published." if not ours else ""
        return Statement("attention", f"Not measured{why}.", facts)
    row = mine[0]
    shares = [
        f"{NAMES[version]} {row.rates[version].share:.1%}"
        for version in VERSIONS
        if version in row.rates and row.rates[version].share is not None
    ]
    if not shares:
        reasons = "; ".join(dict.fromkeys(row.missing.values()))
        return Statement("attention", f"Not timed on {place(row)}: {reasons}.")
    ceiling = f"Of the {row.ceiling_gb_per_s:,.0f} GB/s of a plain copy in the same run"
    return Statement("ok", f"{ceiling}: {', '.join(shares)}.", f"{place(row)}.")


def place(row: BandwidthRow) -> str:
    """Return where a row's figures come from: device, and publication or day.

    Example:
        >>> from tileviz.studies.broadcast.bandwidth import bandwidth_rows
        >>> place(bandwidth_rows()[0])
        'V100, published (#71434)'
    """
    return f"{row.device}, {source(row)}"


def source(row: BandwidthRow) -> str:
    """Return whether a row is published, recorded or measured here, and when."""
    how = {"published": f"published ({row.when})", "recorded": f"recorded {row.when}"}
    return how.get(row.source, f"measured here, {row.when}")


def named(row: BandwidthRow) -> str:
    """Return a design in few words: its shape, and what is not as in the publication.

    Example:
        >>> from tileviz.studies.broadcast.bandwidth import bandwidth_rows
        >>> named(bandwidth_rows()[0])
        '256, 64, 64, 192'
    """
    design = row.design
    name = ", ".join(map(str, design.out))
    shapes = dict.fromkeys(design.shapes)
    if (design.expression, design.dtype) != ("batchnorm", "float32"):
        name += f" {design.expression} {design.dtype}"
    channels = (1,) * (len(design.out) - 1) + design.out[-1:]
    if list(shapes) != [channels] and list(shapes) != [design.out[-1:]]:
        name += " with " + " and ".join(str(list(shape)) for shape in shapes)
    return name


def cell(row: BandwidthRow, version: Version) -> str:
    """Return what the table says of one version: share and time, or why there is none.

    Example:
        >>> from tileviz.studies.broadcast.bandwidth import bandwidth_rows
        >>> [cell(bandwidth_rows()[0], version) for version in ("cinn", "ours")]
        ['92.26 %, 1,940 µs', 'not part of the publication']
    """
    rate = row.rates.get(version)
    if rate is None:
        return row.missing.get(version, "not measured")
    share = "" if rate.share is None else f"{100 * rate.share:.2f} %, "
    if row.published_percent is not None:
        share = f"{row.published_percent:.2f} %, "
    return f"{share}{shown_us(rate.us)}"


def shown_us(us: float) -> str:
    """Return a time with as many digits as it is worth."""
    return f"{us:,.0f} µs" if us >= 100 else f"{us:.1f} µs"


def change(row: BandwidthRow) -> str:
    """Return how CINN's tactic compares with the general one, "" where that is not known.

    Example:
        >>> from tileviz.studies.broadcast.bandwidth import bandwidth_rows
        >>> change(bandwidth_rows()[0])
        '+35.56 % bandwidth, −26.24 % time'
    """
    if row.gain_percent is None or row.change_percent is None:
        return ""
    parts = ((row.gain_percent, "bandwidth"), (row.change_percent, "time"))
    return ", ".join(f"{value:+.2f} % {what}".replace("-", "−") for value, what in parts)


def table(rows: Sequence[BandwidthRow]) -> TextTable:
    """Return the table for a terminal."""
    return TextTable(
        f"bandwidth, cold L2: {FORMULA}",
        ("shape", "on", "ceiling", *(NAMES[version] for version in VERSIONS), "CINN over before"),
        tuple(
            (
                named(row),
                place(row),
                "not measured"
                if row.ceiling_gb_per_s is None
                else f"{row.ceiling_gb_per_s:,.0f} GB/s, {row.ceiling}",
                *(cell(row, version) for version in VERSIONS),
                change(row),
            )
            for row in rows
        ),
    )
