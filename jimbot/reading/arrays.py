"""npz archives and the npy arrays in them: plain numbers and text, never pickle, nothing a file could inflate.

A zip file lists where its entries lie, and nothing keeps two of them from naming the same bytes: a file of 20 MB could
hand out gigabytes. Here entries must lie one after the other, so that what is read in all is bounded by the file.
"""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path
from typing import IO

import numpy as np

from jimbot.errors import UnreadableError

KINDS = "biufcU"
"""dtype kinds that are plain values: booleans, integers, floats, complex, text."""
HEADER = 4096
"""Bytes; more than the header of any plain array."""
ENTRY_HEADER = 30
"""Bytes before an entry's name and content, at least."""
MOST_ENTRIES = 100_000
LAST_LETTER = 0x10FFFF
"""Of Unicode. NumPy makes texts of any number, which no Python program can then handle."""


def open_archive(path: str | Path | IO[bytes]) -> zipfile.ZipFile:
    """A zip file whose entries do not share bytes; to be closed by the caller."""
    try:
        archive = zipfile.ZipFile(path)
    except FileNotFoundError:
        raise
    except Exception as problem:  # zipfile raises struct.error, UnicodeDecodeError and more beside its own
        raise UnreadableError(_sentence(problem)) from problem
    try:
        _check_apart(archive)
    except BaseException:
        archive.close()
        raise
    return archive


def entry_of(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    try:
        return archive.getinfo(name)
    except KeyError as problem:
        raise UnreadableError(f"there is no entry '{name}'") from problem


def entry_bytes(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int) -> bytes:
    """The content of one entry of at most `most` bytes."""
    if not 0 <= entry.file_size <= most:
        raise UnreadableError(f"entry '{entry.filename}' has {entry.file_size:,} bytes; at most {most:,} were expected")
    try:
        with archive.open(entry) as file:
            data = file.read(most + 1)  # at most: the size in the list may be a lie
    except Exception as problem:  # a damaged stream raises zlib's, struct's and zipfile's own errors
        raise UnreadableError(f"entry '{entry.filename}': {_sentence(problem)}") from problem
    if len(data) != entry.file_size:
        raise UnreadableError(f"entry '{entry.filename}' does not have the {entry.file_size:,} bytes it announces")
    return data


def npy_array(data: bytes, name: str) -> np.ndarray:
    """The array in an npy file whose header announces exactly the bytes that follow; `name` is for the complaint."""
    file = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(file)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = header(file)
        fits = all(size >= 0 for size in shape) and math.prod(shape) * dtype.itemsize == len(data) - file.tell()
        plain = dtype.kind in KINDS and dtype.fields is None and dtype.subdtype is None
    except Exception as problem:  # a header is Python source that NumPy evaluates: anything may come out of it
        raise UnreadableError(f"'{name}' is no npy array ({_sentence(problem)})") from problem
    if not plain or not fits:
        raise UnreadableError(f"'{name}' announces {dtype}{shape} but holds {len(data):,} bytes")
    if dtype.kind == "U":
        letters = np.frombuffer(data, np.dtype(np.uint32).newbyteorder(dtype.byteorder), offset=file.tell())
        if ((letters > LAST_LETTER) | ((letters >= 0xD800) & (letters <= 0xDFFF))).any():
            raise UnreadableError(f"'{name}' holds letters that Unicode does not have")
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)


def _check_apart(archive: zipfile.ZipFile) -> None:
    entries = sorted(archive.infolist(), key=lambda entry: entry.header_offset)
    if len(entries) > MOST_ENTRIES:
        raise UnreadableError(f"it has {len(entries):,} entries; at most {MOST_ENTRIES:,} were expected")
    names = {entry.filename for entry in entries}
    if len(names) != len(entries):
        raise UnreadableError("it has two entries of one name")
    ends = [entry.header_offset for entry in entries[1:]] + [archive.start_dir]
    for entry, end in zip(entries, ends, strict=False):  # of no entries there is one end
        if entry.header_offset < 0 or entry.compress_size < 0:
            raise UnreadableError(f"entry '{entry.filename}' lies outside the file")
        if entry.header_offset + ENTRY_HEADER + entry.compress_size > end:
            raise UnreadableError(f"entry '{entry.filename}' overlaps what follows it")


def _sentence(problem: Exception) -> str:
    return " ".join(str(problem).split())[:200] or type(problem).__name__
