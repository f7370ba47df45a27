"""What a file is, for whoever was given the wrong one."""

from __future__ import annotations

from pathlib import Path

from jimbot.errors import UnreadableError
from jimbot.reading.plain import LARGEST_TEXT, file_bytes, file_text, json_value

_BY_NAME = {
    ".onnx": "a policy for playing (`jimbot watch`, `evaluate`, `compare` take it)",
    ".pt": "a file of tensors (`jimbot evaluate` takes those that `jimbot export` wrote)",
    ".yaml": "a file of settings (`--config` takes it)",
    ".yml": "a file of settings (`--config` takes it)",
    ".jsonl": "a log of figures; its run is the folder it lies in",
    ".html": "a report to be opened in a browser",
}


def what_is(path: Path) -> str:
    """A file in a few words, and which command takes it."""
    if not path.is_file():
        return "neither a file nor a folder"
    if path.stat().st_size == 0:
        return "an empty file"
    if path.name == "manifest.json":
        return "the manifest of a checkpoint; give the folder it lies in"
    if path.suffix == ".npz":
        return _archive(path)
    if path.suffix in _BY_NAME:
        return _BY_NAME[path.suffix]
    try:
        if file_bytes(path)[:4] == b"PK\x03\x04":
            return _archive(path)
        document = json_value(file_text(path, LARGEST_TEXT))
    except UnreadableError:
        return "a file of another kind"
    if isinstance(document, dict) and "game" in document:
        return f"a recorded game of {document['game']} (`jimbot replay` shows it)"
    return "a JSON file"


def _archive(path: Path) -> str:
    from jimbot.reading.arrays import open_archive

    try:
        with open_archive(path) as archive:
            names = set(archive.namelist())
    except UnreadableError as problem:
        return f"a damaged archive ({problem})"
    if "info.json" in names:
        return "a dataset of recorded games (`jimbot clone` learns from it)"
    if "__manifest__.npy" in names:
        return "the parameters of a policy (`jimbot evaluate` and `export` take them)"
    return "an archive of another program"
