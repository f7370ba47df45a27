"""The compile options and the cache directory that follows every source, table and option."""

import ast
import os
import shutil
import subprocess
import sys
import time

import pytest

from jimbot.games.balatro.compiling import kernels as build


def test_a_change_in_a_table_a_source_or_an_option_means_another_cache(tmp_path):
    package = tmp_path / "package"
    (package / "tables").mkdir(parents=True)
    (package / "rules.py").write_text("AMOUNT = 1\n")
    (package / "tables" / "jokers.json").write_text("[]")
    seen = [build.source_fingerprint(package)]
    (package / "rules.py").write_text("AMOUNT = 2\n")
    seen.append(build.source_fingerprint(package))
    (package / "tables" / "jokers.json").write_text("[1]")
    seen.append(build.source_fingerprint(package))
    seen.append(build.source_fingerprint(package, {**build.OPTIONS, "boundscheck": True, "nogil": False}))
    assert len(set(seen)) == 4
    assert seen[2] == build.source_fingerprint(package)


def test_words_and_pictures_may_change_without_a_new_compile(tmp_path):
    package = tmp_path / "package"
    (package / "verify").mkdir(parents=True)
    (package / "rules.py").write_text("AMOUNT = 1\n")
    before = build.source_fingerprint(package)
    (package / "transcript.py").write_text("WIDTH = 100\n")
    (package / "verify" / "report.py").write_text("MOST = 5\n")
    for apart in build.APART:
        (package / apart).mkdir()
        (package / apart / "shopping.py").write_text("BARGAIN = 5\n")
    assert build.source_fingerprint(package) == before


def test_no_compiled_module_takes_anything_from_the_plain_ones():
    """A constant of a plain module inside machine code would go stale without anyone noticing."""
    name = "jimbot.games.balatro"
    for path in build.PACKAGE.rglob("*.py"):
        parts = path.relative_to(build.PACKAGE).with_suffix("").parts
        source = path.read_text(encoding="utf-8")
        if parts[0] in build.PLAIN or "@njit" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(name):
                inside = (node.module or "").removeprefix(name).strip(".").split(".")[0]
                taken = {inside} if inside else {alias.name for alias in node.names}
                assert not taken & set(build.PLAIN), f"{path.name} imports {taken & set(build.PLAIN)}"
                others = taken & set(build.APART) - {parts[0]}
                assert not others, f"{path.name} imports {others}"


@pytest.mark.parametrize("apart", ["heuristic.rounds", "arms"])
def test_what_calls_the_rules_keeps_its_machine_code_apart_from_them(apart):
    rules, caller = (build._directory_of(f"jimbot.games.balatro.{name}") for name in ("scoring", apart))
    if build.JIT_DISABLED:
        assert rules is caller is None
    else:
        assert caller is not None
        assert caller.parent == rules == build.CACHE_DIRECTORY


def test_caches_unused_for_a_month_are_swept_and_newer_ones_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("JIMBOT_CACHE_DIR", str(tmp_path))
    for name, days in (("old", 40), ("recent", 3)):
        (tmp_path / "balatro" / name).mkdir(parents=True)
        date = time.time() - days * 24 * 3600
        os.utime(tmp_path / "balatro" / name, (date, date))
    directory = build.prepare_cache()
    assert directory.is_dir()
    assert sorted(entry.name for entry in (tmp_path / "balatro").iterdir()) == sorted(["recent", directory.name])


def test_the_same_sources_share_machine_code_wherever_they_lie(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "_directory_of", lambda module: tmp_path / "cache")
    found, kept = [], []  # Numba finds the globals of code it loads as long as the first kernel lives
    for place in ("first", "second"):
        path = tmp_path / place / "kernel.py"
        path.parent.mkdir()
        path.write_text("def twice(number):\n    return number + number\n")
        names: dict = {"__name__": "kernel"}
        exec(compile(path.read_text(), str(path), "exec"), names)
        kernel = build._cached_njit(names["twice"])
        kept.append(kernel)
        assert kernel(4) == 8
        found.append(sum(kernel.stats.cache_hits.values()))
    assert found == [0, 1]


def test_draws_never_use_fast_maths_and_division_by_zero_does_not_raise():
    assert build.OPTIONS["fastmath"] is False
    assert build.OPTIONS["error_model"] == "numpy"


def test_a_read_only_cache_place_falls_back_instead_of_failing(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    monkeypatch.setenv("JIMBOT_CACHE_DIR", str(blocked))
    directory = build.prepare_cache()
    assert directory.is_dir()
    shutil.rmtree(directory)


def test_the_same_functions_run_without_the_compiler():
    imports = "from jimbot.games.balatro.compiling import kernels; from jimbot.games.balatro.rules.chance import rng; "
    code = f"{imports}print(kernels.JIT_DISABLED, rng.hash_text('A'))"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "0.6517518426706488"]
