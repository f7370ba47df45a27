"""A stand-in for QuestDB's `/write`: lines are parsed as the server parses them, and refused as it refuses them.

Written from QuestDB's description of its protocol: a table, symbols, fields, a time; symbols before fields; names
without the characters its columns may not have; strings in quotes; a column keeps the type of its first value; one bad
line refuses the request and nothing of it is stored.
"""

from __future__ import annotations

import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

NOT_IN_NAMES = set("?.,'\"\\/:()+*%~-\n\r\0 ")
LONGEST_NAME = 127
INTEGER, DOUBLE = re.compile(r"-?\d+i"), re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class BadLineError(Exception):
    """What the server says of a line."""


def split(text: str, at: str, fields: bool = False) -> list[str]:
    """Cut at a character that is neither escaped nor inside a string; escapes stay. Strings are only among fields, and
    those come after the first space of a line."""
    parts, current, before, quoted, place = [], "", "", False, 0
    while place < len(text):
        char = text[place]
        if char == "\\" and place + 1 < len(text):
            current, before, place = current + text[place : place + 2], "", place + 2
            continue
        if char == '"' and (quoted or (fields and before == "=")):
            quoted = not quoted
        if not quoted:
            fields = (fields and char != "\n") or char == " "
        if char == at and not quoted:
            parts.append(current)
            current = ""
        else:
            current += char
        before, place = char, place + 1
    if quoted:
        raise BadLineError("missing closing quote")
    return [*parts, current]


def plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)


def lines(body: str) -> list[str]:
    """The lines of a body; a line break that is escaped belongs to its line."""
    found = split(body, "\n")
    if found.pop():
        raise BadLineError("the last line has no end")
    return found


def name(text: str, what: str) -> str:
    found = plain(text)
    if not found or len(found) > LONGEST_NAME or set(found) & NOT_IN_NAMES:
        raise BadLineError(f"invalid {what} name: {found}")
    return found


def value(text: str) -> tuple[str, Any]:
    """(type of the column, value) of a field."""
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return "string", plain(text[1:-1])
    if INTEGER.fullmatch(text):
        number = int(text[:-1])
        if not -(2**63) < number < 2**63:
            raise BadLineError("integer out of range")
        return "long", number
    if DOUBLE.fullmatch(text):
        return "double", float(text)
    if text.lower() in ("t", "true", "f", "false"):
        return "boolean", text.lower().startswith("t")
    raise BadLineError(f"could not parse value: {text}")


def parse(line: str) -> tuple[str, dict[str, tuple[str, Any]], int]:
    """(table, column → (type, value), time in nanoseconds)."""
    parts = split(line, " ")
    if len(parts) != 3:
        raise BadLineError("expected table and symbols, fields, and a time")
    table, *symbols = split(parts[0], ",")
    row: dict[str, tuple[str, Any]] = {}
    for kind, found in (("symbol", symbols), ("field", split(parts[1], ",", fields=True))):
        for pair in found:
            key, *rest = split(pair, "=", fields=kind == "field")
            if len(rest) != 1 or not rest[0]:
                raise BadLineError(f"expected name=value: {pair}")
            column = name(key, "column")
            if column in row:
                raise BadLineError(f"column twice: {column}")
            row[column] = ("symbol", plain(rest[0])) if kind == "symbol" else value(rest[0])
    if not re.fullmatch(r"\d{19}", parts[2]):
        raise BadLineError(f"not a time in nanoseconds: {parts[2]}")
    return name(table, "table"), row, int(parts[2])


class QuestDB:
    """Listens on a loopback port; `rows` by table. `broken` is a status everybody gets, `seconds` makes it slow."""

    def __init__(self, token: str = "", port: int = 0) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.requests: list[int] = []  # lines per request that was taken
        self.errors: list[str] = []
        self.broken, self.seconds = 0, 0.0
        self._types: dict[tuple[str, str], str] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                time.sleep(outer.seconds)
                if outer.broken:
                    self.answer(outer.broken, "out of order")
                elif token and self.headers.get("Authorization") != f"Bearer {token}":
                    self.answer(401, "Unauthorized")
                elif self.path not in ("/write", "/write?precision=n"):
                    self.answer(404, "Not Found")
                else:
                    self.answer(*outer.take(body))

            def answer(self, status: int, said: str = "") -> None:
                data = said.encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                """Silence."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def take(self, body: str) -> tuple[int, str]:
        types, rows = dict(self._types), []
        for number, line in enumerate(found := lines(body), 1):
            try:
                table, row, when = parse(line)
                for column, (kind, _) in row.items():
                    if types.setdefault((table, column), kind) != kind:
                        raise BadLineError(f"cast error from {kind} to {types[table, column]} of column {column}")
            except BadLineError as problem:
                said = (
                    f"failed to parse line protocol: errors encountered on line(s): error in line {number}: {problem}"
                )
                self.errors.append(said)
                return 400, json.dumps({"code": "invalid", "message": said, "line": number, "errorId": "ABC-1"})
            rows.append((table, {column: value for column, (_, value) in row.items()} | {"timestamp": when}))
        self._types = types
        for table, row in rows:
            self.rows.setdefault(table, []).append(row)
        self.requests.append(len(found))
        return 204, ""

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
