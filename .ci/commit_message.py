"""Checks a commit message: a subject of at most 72 characters, an empty line, and a body that says why.

Git and pre-commit call it with the file of the message: `python .ci/commit_message.py .git/COMMIT_EDITMSG`.
"""

from __future__ import annotations

import sys
from pathlib import Path

LONGEST_SUBJECT = 72
MADE_BY_GIT = ("Merge ", "Revert ", "fixup! ", "squash! ", "amend! ")
SCISSORS = "# ------------------------ >8"  # git commit --verbose puts the diff below this line


def complaints(message: str) -> list[str]:
    """One sentence for each thing to put right."""
    lines = [line.rstrip() for line in message.partition(SCISSORS)[0].splitlines() if not line.startswith("#")]
    while lines and not lines[0]:
        lines.pop(0)
    if not lines:
        return ["The message is empty."]
    subject, rest = lines[0], lines[1:]
    if subject.startswith(MADE_BY_GIT):
        return []
    found = []
    if len(subject) > LONGEST_SUBJECT:
        found.append(
            f"The subject has {len(subject)} characters; at most {LONGEST_SUBJECT} fit into a line of git log."
        )
    if subject.endswith("."):
        found.append("The subject is a headline: leave out the full stop.")
    if rest and rest[0]:
        found.append("Leave the second line empty; git takes everything before it for the subject.")
    if not any(rest):
        found.append("Say in the body why the change is made; what it is can be read in the diff.")
    return found


def main() -> int:
    found = complaints(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for sentence in found:
        print(sentence, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
