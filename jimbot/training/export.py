"""A trained policy as the bytes of one file, for `jimbot export` and for

    python -m jimbot.training.export --checkpoint C --output production_model.onnx|.npz|.pt

Every kind says inside which game and network it is of, and is accepted wherever a policy is.
"""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from jimbot.errors import JimbotError, UnknownNameError, UsageError
from jimbot.foreign_text import visible
from jimbot.logs import quote_last_resort

if TYPE_CHECKING:
    import numpy as np

    from jimbot.runs import Manifest

KINDS = (".onnx", ".npz", ".pt")


def exported(
    reference: str, kind: str, runs_dir: Path = Path("runs"), best: bool = False, module: bool = False
) -> tuple[Manifest, bytes]:
    """The manifest of what `reference` means, and the bytes of the file to write. `module`: a .pt file that plain torch
    can run."""
    if module and kind != ".pt":
        raise UsageError(f"--module is for .pt files, not {kind}.")
    from jimbot.policies.networks import check_params
    from jimbot.policies.portable import OnnxPolicy, fitting, spec_of, with_metadata
    from jimbot.runs import find_checkpoint, load_checkpoint
    from jimbot.runs.checkpoint import check_matches
    from jimbot.training.init_policy import POLICY_FILES, read_policy

    path = Path(reference)
    if path.suffix == ".onnx":
        raise UsageError(f"{path} is exported already; give a run, a checkpoint directory, a .npz or a .pt file.")
    if path.suffix in POLICY_FILES and not path.is_dir():
        manifest, params = read_policy(path)
        model = b""
    else:
        checkpoint = load_checkpoint(find_checkpoint(reference, runs_dir, "best" if best else "latest"))
        manifest, params, path = checkpoint.manifest, checkpoint.params(), checkpoint.params_path
        model = checkpoint.policy_onnx()
    spec = spec_of(manifest)
    check_matches(manifest, spec, where=reference)
    check_params(manifest.network, params)
    if kind == ".npz":
        return manifest, path.read_bytes() if path.suffix == kind else _arrays(manifest, params)
    if kind == ".pt" and module:
        from jimbot.policies.torch_files import module_file

        return manifest, module_file(manifest, params, spec.observation.size, spec.actions.size)
    if kind == ".pt":
        return manifest, _tensors(manifest, params)
    if not model:
        from jimbot.policies.onnx_form import onnx_from_params

        model = onnx_from_params(manifest.network, params, spec.observation.size, spec.actions.size)
    data = with_metadata(model, manifest)
    fitting(OnnxPolicy.from_bytes(data, reference), spec)  # what is handed out must load
    return manifest, data


def _arrays(manifest: Manifest, params: dict[str, np.ndarray]) -> bytes:
    import numpy as np

    from jimbot.runs.arrays import write_npz
    from jimbot.runs.checkpoint import MANIFEST_ENTRY

    file = io.BytesIO()
    write_npz(file, {**params, MANIFEST_ENTRY: np.array(manifest.portable_text())})
    return file.getvalue()


def _tensors(manifest: Manifest, params: dict[str, np.ndarray]) -> bytes:
    from jimbot.policies.torch_files import tensor_file

    return tensor_file(manifest, params)


def main(arguments: list[str] | None = None) -> int:
    from jimbot.runs.files import write_atomically

    parser = argparse.ArgumentParser("python -m jimbot.training.export", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--checkpoint", required=True, help="a run, or a checkpoint directory")
    parser.add_argument("--output", required=True, type=Path, help="production_model.pt, .onnx or .npz")
    parser.add_argument("--module", action="store_true", help="a .pt file that plain torch can run")
    parser.add_argument("--runs-dir", type=Path, default=Path("runs"), help="where runs live")
    given = parser.parse_args(arguments)
    quote_last_resort()
    try:
        if given.output.suffix not in KINDS:
            raise UnknownNameError("file kind", given.output.suffix, KINDS, "End --output with one of them.")
        manifest, data = exported(given.checkpoint, given.output.suffix, given.runs_dir, module=given.module)
        write_atomically(given.output, data)
    except JimbotError as problem:
        print(visible(problem), file=sys.stderr)
        return problem.exit_code
    print(f"Wrote {given.output}: {manifest.game} v{manifest.game_version} at step {manifest.step:,}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
