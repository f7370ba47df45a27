from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "start" / "environments.md"


def test_the_snippets_of_the_environments_page_run_one_after_another() -> None:
    pytest.importorskip("sb3_contrib")
    pytest.importorskip("pettingzoo")
    snippets = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(snippets) >= 8
    names: dict[str, object] = {}
    for number, snippet in enumerate(snippets):
        exec(compile(snippet, f"{PAGE.name}, snippet {number}", "exec"), names)
    assert names["info"]["ante"] == 1
    assert type(names["two"]).__name__ == "GameVectorEnv"
