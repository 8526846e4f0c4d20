"""The glossary's words are the code's words."""

import ast
import re
from pathlib import Path

import pytest

from tests.structure import sources, tree

ROOT = Path(__file__).parent.parent

GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")

ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in GLOSSARY.splitlines()
    if line.startswith("|") and not line.startswith(("| Word", "|:"))
]


def _names() -> set[tuple[str, str]]:
    """Every public class, function, type and module of the program, with the module that has it."""
    found = {(module, module.rpartition(".")[2]) for module in sources()}
    for module in sources():
        found |= {
            (module, node.name)
            for node in ast.walk(tree(module))
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and not node.name.startswith("_")
        }
    found |= {
        (module, target.id)
        for module in sources()
        for node in tree(module).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id != target.id.upper() and not target.id.startswith("_")
    }
    return found


NAMES = _names()


def _words(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def test_the_glossary_has_four_columns() -> None:
    """A word, its meaning, its name in the code, and the words it is not called by."""
    assert [row for row in ROWS if len(row) != 4] == []
    assert len({row[0] for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("retired", sorted({word for row in ROWS for word in row[3].split(", ") if word}))
def test_no_public_name_uses_a_retired_word(retired: str) -> None:
    """What the last column names is no part of a public class, function or module."""
    assert {f"{module}: {name}" for module, name in NAMES if retired in _words(name)} == set()


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([A-Z][a-z]\w+)`", GLOSSARY))))
def test_a_class_of_the_glossary_exists(name: str) -> None:
    """The column "In code" names what is there."""
    assert name in {found for _, found in NAMES}


def test_the_glossarys_names_exist() -> None:
    """What the third column names is in the program."""
    paths = [*(ROOT / "bot").rglob("*")]
    texts = [path.read_text(encoding="utf-8") for path in paths if path.suffix == ".py"]
    written = {word for text in texts for word in re.findall(r"\w+", text)}
    named = {
        word for row in ROWS for name in re.findall(r"`[^`]+`", row[2]) for word in re.findall(r"\w+", name)
    }
    assert set() == named - written - {path.stem for path in paths}
