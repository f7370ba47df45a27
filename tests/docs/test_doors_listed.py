"""Whatever listens on a port has a row in docs/operations/security.md.

What opens a port is found by the calls that do, in the text of every module. A program that is started and listens by
itself is found where its port is chosen or its library is started; one that does neither would not be found.
"""

from __future__ import annotations

import re

from tests.docs.pages import DOCS, REPOSITORY

OPENS = re.compile(
    r"\b(?:guarded_server|add_(?:in)?secure_port|ray\.init|\w+\.bind|free_port|uvicorn\.run"
    r"|(?:start|create)_(?:unix_)?(?:http_)?server|(?:Threading)?(?:HTTP|TCP|UDP)Server|init_process_group)\("
)
NO_DOORS = {
    "processes.py": "looks for a free port, and closes it",
    "doors/listening.py": "what the doors use to listen",
    "policies/jax_to_onnx.py": "binds a primitive of JAX to its inputs",
    "services/stack/components.py": "asks whether a port is free, and closes it",
}


def test_every_place_that_opens_a_port_has_a_row() -> None:
    package = REPOSITORY / "jimbot"
    opens = {path.relative_to(package).as_posix() for path in package.rglob("*.py") if OPENS.search(path.read_text())}
    rows = re.findall(r"^\|.*\| `(\S+\.py)` \|$", (DOCS / "operations" / "security.md").read_text(), re.MULTILINE)
    assert len(rows) == len(set(rows))
    assert opens - NO_DOORS.keys() == set(rows)
    assert opens >= NO_DOORS.keys()
