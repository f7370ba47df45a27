"""What the site needs beside the pages: a hook of MkDocs, and of the reader of docstrings (mkdocs.yml names both).

Pages stay as GitHub shows them. Here the index becomes the navigation, pages from outside of docs/ join, links between
all of them are turned, headings get GitHub's anchors, and each module of `REFERENCE` gets a page of its docstrings.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "reporting.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "examples/README.md": "examples.md",
    "tests/golden/balatro/README.md": "golden-balatro.md",
}
"""Pages from elsewhere, and what they are called on the site."""
REFERENCE = {
    "Games": "games games.spec games.batch_game games.pure_game games.entry games.hooks games.hooks.learners "
    "games.hooks.people games.hooks.programs games.seeds games.checker games.recording",
    "Environments": "envs envs.gymnasium_env envs.pettingzoo_env envs.sb3_vec_env",
    "Policies": "policies.contract policies.players policies.networks policies.masking policies.portable",
    "Learning": "training.framework training.run training.experiment training.env_wrapper training.callbacks "
    "training.metrics training.export training.settings.record training.settings.groups "
    "training.settings.trainer_config",
    "Judging": "evaluation.evaluator evaluation.compare evaluation.intervals evaluation.duels planning.planner",
    "Runs": "runs.directory runs.checkpoint runs.catalogue runs.recorder runs.sinks.contract runs.alerts "
    "runs.resources",
    "Other programs": "clients.decision_client clients.event_bus clients.bus_contract clients.remote_policy "
    "clients.resilience proto.topics services.decision.service services.settings",
    "Errors": "errors",
}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^( *)(```|~~~).*?^\1\2\s*?$", re.DOTALL | re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The navigation is the index: its headings and links, in its order."""
    config.mdx_configs["toc"]["slugify"] = anchor
    groups: list[Any] = ["index.md"]
    for section in re.split(r"^## ", (ROOT / "docs/index.md").read_text(), flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        pages = [turned(link, "docs/index.md").partition("#")[0] for _, _, link in LINK.findall(body)]
        groups.append({title.strip(): list(dict.fromkeys(pages))})
    first = LINK.findall((ROOT / "docs/index.md").read_text().partition("\n## ")[0])
    named = {page for group in groups[1:] for pages in group.values() for page in pages}
    groups[1:1] = [page for _, _, link in first if (page := turned(link, "docs/index.md")) not in named]
    config.nav = [*groups, "changelog.md", {"Reference": [*map(reference_page, REFERENCE)]}]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for source, name in OUTSIDE.items():
        text = with_links((ROOT / source).read_text(), source)
        files.append(File.generated(config, name, content=text))
    for title, modules in REFERENCE.items():
        blocks = "\n\n".join(f"::: jimbot.{module}" for module in modules.split())
        files.append(File.generated(config, reference_page(title), content=f"# {title}\n\n{blocks}\n"))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    is_ours = page.file.generated_by is None
    return with_links(markdown, f"docs/{page.file.src_uri}") if is_ours else markdown


def reference_page(title: str) -> str:
    return f"reference/{title.lower().replace(' ', '-')}.md"


def anchor(title: str, separator: str) -> str:
    """The name GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", separator)


def with_links(text: str, source: str) -> str:
    """A page of the repository with its links as they are on the site; code stays as it is."""
    here = OUTSIDE.get(source, source.removeprefix("docs/"))

    def turn(found: re.Match[str]) -> str:
        sign, title, link = found.groups()
        if "://" in link or link.startswith("#"):
            return found[0]
        target = turned(link, source)
        if target.startswith("../"):  # source code: the site does not have it
            return title
        return f"{sign}[{title}]({posixpath.relpath(target, posixpath.dirname(here) or '.')})"

    parts, at = [], 0
    for fence in FENCE.finditer(text):
        parts += [LINK.sub(turn, text[at : fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*parts, LINK.sub(turn, text[at:])])


def turned(link: str, source: str) -> str:
    """Where a link of a file of the repository leads on the site, seen from its top; `../` what is not on it."""
    path, mark, place = link.partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path)) if path else source
    return OUTSIDE.get(target, posixpath.relpath(target, "docs")) + mark + place


class Doctests(griffe.Extension):
    """Examples in docstrings are code, which Markdown would take for quotations."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """Puts a fence around every example: lines from `>>>` to the next empty one."""
    return re.sub(r"^>>> .*?(?=\n\s*\n|\Z)", lambda found: f"```pycon\n{found[0]}\n```", text, flags=re.S | re.M)
