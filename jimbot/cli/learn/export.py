"""`jimbot export`: a trained policy as one file that needs nothing of JimBot to run, or as a small policy folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from jimbot.cli.shared import terminal
from jimbot.cli.shared.command import adds
from jimbot.cli.shared.common import RUNS, BestOption, RunsDirOption
from jimbot.errors import UnknownNameError, UsageError

EXAMPLES = """jimbot export my-run --output policy.onnx
jimbot export my-run --best --output policy.npz
jimbot export runs/my-run/checkpoints/000000032768 --output policy.onnx --overwrite
jimbot export my-run --output policy.pt --module
jimbot export my-run --best --output my-policy
An .onnx file takes `observation` and `legal_mask`, answers masked `log_probabilities` and `value`, and carries the \
game, its version and the fingerprints of its tables as metadata. An .npz file holds the parameters as plain arrays, \
a .pt file as plain torch tensors; with --module torch alone runs it (torch.jit.load). A name without a suffix is a \
folder with policy, parameters and manifest: a checkpoint without training state."""
KINDS = (".onnx", ".npz", ".pt")


def export(
    checkpoint: Annotated[str, "A run, checkpoint directory, .npz or .pt file."],
    output: Annotated[Path, "--output", "-o", "The file (.onnx, .npz or .pt) or folder to write."],
    best: BestOption = False,
    module: Annotated[bool, "A .pt file that plain torch can run: torch.jit.load."] = False,
    overwrite: Annotated[bool, "Replace the file if it exists."] = False,
    runs_dir: RunsDirOption = RUNS,
    as_json: Annotated[bool, "--json", "Print what was written as JSON."] = False,
) -> None:
    """Write a trained policy as one ONNX or NumPy file."""
    from jimbot.runs.files import write_atomically
    from jimbot.training.export import exported

    _check_output(output, overwrite)
    if module and output.suffix != ".pt":
        raise UsageError(f"--module is for .pt files; --output is {output}.")
    if not output.suffix:
        _export_folder(checkpoint, output, runs_dir, best, as_json)
        return
    manifest, data = exported(checkpoint, output.suffix, runs_dir, best, module)
    write_atomically(output, data)
    written = {"output": str(output), "bytes": len(data), "game": manifest.game, "step": manifest.step}
    written |= {"game_version": manifest.game_version}
    if as_json:
        terminal.print_json(written)
    else:
        size = f"{len(data) / 1e6:.1f} MB" if len(data) >= 1e6 else f"{len(data) / 1e3:.0f} kB"
        where = f"{manifest.game} v{manifest.game_version} at step {manifest.step:,}"
        terminal.say(f"Wrote {output} ({size}): {where}.")


register = adds(export, EXAMPLES)


def _check_output(output: Path, overwrite: bool) -> None:
    if output.suffix and output.suffix not in KINDS:
        raise UnknownNameError("file kind", output.suffix, KINDS, "End --output with one of them.")
    if output.suffix or not output.is_dir():
        terminal.check_output(output, overwrite)
    elif not overwrite:
        raise UsageError(f"{output} exists already; add --overwrite to replace it, or choose another --output.")


def _export_folder(reference: str, output: Path, runs_dir: Path, best: bool, as_json: bool) -> None:
    from jimbot.runs import find_checkpoint, load_checkpoint
    from jimbot.runs.checkpoint import publish

    checkpoint = load_checkpoint(find_checkpoint(reference, runs_dir, "best" if best else "latest"))
    publish(checkpoint, output)
    load_checkpoint(output)  # what is handed out must load
    manifest = checkpoint.manifest
    if as_json:
        terminal.print_json({"output": str(output), "game": manifest.game, "step": manifest.step})
    else:
        terminal.say(f"Wrote {output}/: {manifest.game} v{manifest.game_version} at step {manifest.step:,}.")
