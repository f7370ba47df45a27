"""`jimbot export`: a trained policy as one file that needs nothing of JimBot to run, or as a small policy folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jimbot.cli import terminal
from jimbot.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from jimbot.runs import Manifest

EPILOG = """Examples:

jimbot export my-run --output policy.onnx

jimbot export my-run --best --output policy.npz

jimbot export runs/my-run/checkpoints/000000032768 --output policy.onnx --force

jimbot export my-run --best --output my-policy

An .onnx file takes `observation` and `legal_mask`, answers masked `log_probabilities` and `value`, and carries the
game, its version and the fingerprints of its tables as metadata. An .npz file holds the parameters as plain arrays. A
name without a suffix is a folder with both and the manifest: a checkpoint without training state."""
KINDS = (".onnx", ".npz")


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(export)


def export(
    checkpoint: Annotated[str, typer.Argument(help="A run, checkpoint directory or params_<step>.npz.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file (.onnx or .npz) or folder to write.")],
    best: Annotated[bool, typer.Option("--best", help="Of a run, the best checkpoint instead of the newest.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    runs_dir: Annotated[Path, typer.Option(help="Where runs live.")] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Write a trained policy as one ONNX or NumPy file."""
    from jimbot.runs.files import write_atomically

    _check_output(output, force)
    if not output.suffix:
        _export_folder(checkpoint, output, runs_dir, best, as_json)
        return
    manifest, data = _content(checkpoint, output.suffix, runs_dir, best)
    write_atomically(output, data)
    written = {"output": str(output), "bytes": len(data), "game": manifest.game, "step": manifest.step}
    written |= {"game_version": manifest.game_version}
    if as_json:
        terminal.print_json(written)
    else:
        size = f"{len(data) / 1e6:.1f} MB" if len(data) >= 1e6 else f"{len(data) / 1e3:.0f} kB"
        where = f"{manifest.game} v{manifest.game_version} at step {manifest.step:,}"
        typer.echo(f"Wrote {output} ({size}): {where}.")


def _check_output(output: Path, force: bool) -> None:
    if output.suffix and output.suffix not in KINDS:
        raise UnknownNameError("file kind", output.suffix, KINDS, "End --output with one of them.")
    if not output.parent.is_dir():
        raise UsageError(f"--output {output} lies in '{output.parent}', which is no folder; create it first.")
    if output.suffix and output.is_dir():
        raise UsageError(f"--output {output} is a folder; give the name of a file.")
    if output.exists() and not force:
        raise UsageError(f"{output} exists already; add --force to replace it, or choose another --output.")


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
        typer.echo(f"Wrote {output}/: {manifest.game} v{manifest.game_version} at step {manifest.step:,}.")


def _content(reference: str, kind: str, runs_dir: Path, best: bool) -> tuple[Manifest, bytes]:
    """The manifest of what `reference` means, and the bytes of the file to write."""
    from jimbot.policies.portable import OnnxPolicy, with_metadata
    from jimbot.runs import find_checkpoint, load_checkpoint
    from jimbot.runs.checkpoint import manifest_in_npz

    path = Path(reference)
    if path.suffix == ".onnx":
        raise UsageError(f"{path} is exported already; give a run, a checkpoint directory or a params_<step>.npz.")
    if path.suffix == ".npz" and not path.is_dir():
        manifest, params = manifest_in_npz(path)
        if kind == ".npz":
            return manifest, path.read_bytes()
        from jimbot.policies.onnx_form import onnx_from_params

        size, actions = manifest.network.get("observation_size"), manifest.network.get("num_actions")
        model = onnx_from_params(manifest.network, params, size, actions)  # ty: ignore[invalid-argument-type]
    else:
        which = "best" if best else "latest"
        checkpoint = load_checkpoint(find_checkpoint(reference, runs_dir, which))
        manifest = checkpoint.manifest
        if kind == ".npz":
            return manifest, checkpoint.params_path.read_bytes()
        model = checkpoint.policy_onnx()
    data = with_metadata(model, manifest)
    OnnxPolicy.from_bytes(data, reference)  # what is handed out must load
    return manifest, data
