"""Commands about this machine: trace a kernel of one's own, doctor."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from tileviz.cli.shell import FAILED, OK, JsonOption, SeedOption, app, finish, print_json


class _KeepsOrder(TyperCommand):
    """A command that remembers its arguments as typed: parameters come in that order."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta["typed"] = list(args)
        rest: list[str] = super().parse_args(ctx, args)
        return rest


@app.command(cls=_KeepsOrder)
def trace(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(help="A CUDA C++ file.")],
    entry: Annotated[str, typer.Option(help="Name of the __global__ function.")],
    grid: Annotated[str, typer.Option(help="Blocks, such as 4,2.")] = "1",
    block: Annotated[str, typer.Option(help="Threads per block, such as 32,8.")] = "32",
    buffer: Annotated[
        list[str] | None, typer.Option(help="name:dtype:extents:in|out|inout, in parameter order.")
    ] = None,
    scalar: Annotated[
        list[str] | None, typer.Option(help="name:dtype:value, in parameter order.")
    ] = None,
    shared: Annotated[int, typer.Option(help="Dynamic shared memory per block, in bytes.")] = 0,
    input: Annotated[list[str] | None, typer.Option(help="name=file.npy")] = None,
    output: Annotated[list[str] | None, typer.Option(help="name=file.npy")] = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Run your own kernel in the emulator and count every access, line by line."""

    def work() -> int:
        from tileviz import tracing
        from tileviz.runners import warm

        warm("emulator")
        request = tracing.Request(
            file, entry, grid, block, tuple(buffer or ()), tuple(scalar or ()), shared, seed
        )
        of = tracing.design(request, ctx.meta["typed"])
        done = tracing.run(of, input or [], output or [], seed)
        counts = tracing.counts(of, done)
        if as_json:
            print_json({**done.to_json(), "counts": [row.to_json() for row in counts]})
        else:
            from tileviz.export.terminal import show_trace

            show_trace(done, counts)
        return FAILED if done.problems else OK

    finish(work, as_json)


@app.command()
def doctor(as_json: JsonOption = False) -> None:
    """Say what is installed, which runners work, and the one command that fixes what does not."""
    from tileviz.doctor import diagnose

    def work() -> int:
        found = diagnose()
        if as_json:
            print_json(found.to_json())
        else:
            from tileviz.export.terminal import show_diagnosis

            show_diagnosis(found)
        return OK

    finish(work, as_json)
