"""Files and texts made to break readers, by format."""

from __future__ import annotations

import io
import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jimbot.errors import UnreadableError

DEEP = 100_000

JSON = {
    "deep lists": "[" * DEEP + "]" * DEEP,
    "deep objects": '{"a":' * DEEP + "1" + "}" * DEEP,
    "not too deep for the parser": "[" * 500 + "]" * 500,
    "5,000 digits": "9" * 5000,
    "400 digits": "-" + "9" * 400,
    "lone surrogate": '{"name": "\\ud800"}',
    "surrogate key": '{"\\udc00": 1}',
    "nul": '["a\\u0000b"]',
    "nan": '{"total": NaN}',
    "infinity": "[-Infinity]",
    "cut off": '{"a": [1, 2',
    "two values": "1 2",
    "nothing": "",
    "binary": "\x00\x01\x02",
}

YAML = {
    "a date that is none": "start: 2023-13-45",
    "a time that is none": "start: 2023-01-01 99:99:99",
    "no int": "lr: !!int foo",
    "no float": "lr: !!float foo",
    "no bool": "lr: !!bool foo",
    "no timestamp": "lr: !!timestamp foo",
    "no binary": "lr: !!binary é",
    "a class": "lr: !!python/object/apply:os.system ['true']",
    "5,000 digits": f"lr: {'9' * 5000}",
    "alias bomb": "\n".join(
        ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12))]
    ),
    "merge bomb": "\n".join(
        ["a0: &a0 {k: 1, l: 2}", *(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 12))]
    ),
    "a list in itself": "a: &a [*a]",
    "a mapping in itself": "a: &a {b: *a}",
    "merged with itself": "a: &a {<<: *a}",
    "deep lists": "a: " + "[" * 3000 + "]" * 3000,
    "deep blocks": "\n".join("  " * n + "- a:" for n in range(300)),
    "two documents": "a: 1\n---\nb: 2",
    "unknown alias": "a: *b",
    "tab": "a:\n\tb: 1",
    "nul": 'a: "b\\0c"',
    "surrogate": 'a: "\\ud800"',
    "list as a key": "? [a]\n: 1",
    "control": "a: \x01",
}


def npy(descr: str = "'<f4'", shape: str = "(2,)", content: bytes = b"\0" * 8, header: str | None = None) -> bytes:
    """An npy file with any header."""
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}" if header is None else header
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode("latin1") + content


NPY = {
    "more than follows": npy(shape="(1000000000000,)"),
    "less than follows": npy(shape="(1,)"),
    "huge product": npy(shape="(4294967296, 4294967296, 4294967296)"),
    "negative": npy(shape="(-2,)"),
    "negative twice": npy(shape="(-1, -2)"),
    "a float as length": npy(shape="(2.0,)"),
    "text as length": npy(shape="('2',)"),
    "a list as shape": npy(shape="[2]"),
    "objects": npy("'|O'"),
    "record": npy("[('a', '<f4'), ('b', '|O')]"),
    "plain record": npy("[('a', '<f4')]"),
    "times": npy("'<M8[s]'", "(1,)"),
    "unknown type": npy("'<q17'"),
    "number as type": npy("12"),
    "nested type": npy("[('a', [('b', '<f4')])]", "(2,)"),
    "broken header": npy(header="{'descr': '<f4', 'shape': (2,"),
    "code": npy(header="__import__('os').system('true')"),
    "deep header": npy(header="(" * 3000 + ")" * 3000),
    "no dictionary": npy(header="[1, 2, 3]"),
    "more keys": npy(header="{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}"),
    "empty header": npy(header=""),
    "wrong magic": b"\x93NUMPX\x01\x00" + b"\0" * 40,
    "unknown version": b"\x93NUMPY\x09\x00" + b"\0" * 40,
    "cut off": npy()[:9],
    "empty": b"",
    "impossible letters": npy("'<U2'", "(1,)", b"\xff\xff\xff\x7f" * 2),
}


def archive(entries: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as found:
        for name, data in entries.items():
            found.writestr(name, data)
    return file.getvalue()


def overlapping(count: int = 60, size: int = 100_000) -> bytes:
    """An npz whose entries lie inside each other, each a whole array: `count` times what the file holds."""
    data, listing = b"\0" * size, []
    for number in range(count):
        data = npy("'|u1'", f"({len(data)},)", data)
        entry = zipfile.ZipInfo(f"{number:02d}.npy")
        entry.CRC, entry.compress_size, entry.file_size = zlib.crc32(data), len(data), len(data)
        data = entry.FileHeader(zip64=False) + data
        listing.append((entry, len(data)))
    central = b""
    for entry, length in listing:
        name = entry.filename.encode()
        numbers = (20, 20, 0, 0, 0, 33, entry.CRC, entry.file_size, entry.file_size, len(name), 0, 0, 0, 0, 0)
        central += struct.pack("<4s6H3I5H2I", b"PK\x01\x02", *numbers, len(data) - length) + name
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count, count, len(central), len(data), 0)
    return data + central + end


def spoiled(data: bytes, count: int, seed: int = 0) -> Iterator[bytes]:
    """Copies of a sound file with bytes changed, cut out, doubled or cut off."""
    rng = random.Random(seed)
    for number in range(count):
        changed, kind = bytearray(data), number % 4
        place = rng.randrange(len(changed))
        if kind == 0:
            for _ in range(rng.randint(1, 8)):
                changed[rng.randrange(len(changed))] = rng.randrange(256)
        elif kind == 1:
            del changed[place : place + rng.randint(1, 64)]
        elif kind == 2:
            changed[place:place] = changed[place : place + rng.randint(1, 64)]
        else:
            del changed[place:]
        yield bytes(changed)


def written(folder: Path, name: str, data: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def by_name(table: dict[str, Any]) -> Any:
    return pytest.mark.parametrize("given", table.values(), ids=table.keys())


def refused(read: Callable[[Any], Any], given: Any) -> str:
    """The reason, which must be one line that any terminal can show."""
    with pytest.raises(UnreadableError) as caught:
        read(given)
    reason = str(caught.value)
    assert reason
    assert "\n" not in reason
    assert len(reason) < 500
    reason.encode()
    return reason
