"""`python -m jimbot.training.analyze --checkpoint C`: the report of a checkpoint, as `jimbot analyze` writes it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from jimbot.errors import JimbotError
from jimbot.evaluation.report import analyze
from jimbot.foreign_text import visible
from jimbot.logs import quote_last_resort


def main(arguments: Sequence[str] | None = None) -> int:
    """Reads the command line, writes the report, says where it is; gives the exit code."""
    parser = argparse.ArgumentParser(prog="python -m jimbot.training.analyze", description=__doc__)
    parser.add_argument("--checkpoint", required=True, help="a run, checkpoint, .npz or .onnx file")
    parser.add_argument("--games", type=int, help="games to play (256)")
    parser.add_argument("--output", help="the file to write; without it report.html of the run")
    parser.add_argument("--runs-dir", default="runs", help="where runs live")
    given = parser.parse_args(arguments)
    quote_last_resort()
    try:
        report = analyze(given.checkpoint, games=given.games, output=given.output, runs_root=given.runs_dir)
    except JimbotError as problem:
        print(visible(problem), file=sys.stderr)
        return problem.exit_code
    print(f"The report is {report.path}; open it in a browser.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
