"""How the code is built, measured from its own imports: `python -m tests.structure` says what to think about.

The list is no verdict. A file of a few lines with one reader may belong to that reader; a file above 800
lines may be two concepts.
"""

import ast
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
BOT = ROOT / "bot"

SMALL_LINES, LARGE_LINES = 60, 800
CROWDED_MODULES = 13
"""About a dozen: more side by side want a reason, which the folder's face states."""

FOREIGN = ("demo/training", "storage/migrations/versions")
"""What is executed as a program of its own: the demonstration's little trainer, and each migration."""


@cache
def sources() -> Mapping[str, Path]:
    """Every module of ours by its dotted name."""
    paths = (
        path for path in sorted(BOT.rglob("*.py")) if not any(part in path.as_posix() for part in FOREIGN)
    )
    return {module_name(path): path for path in paths}


def module_name(path: Path) -> str:
    """The dotted name of a file below the project's root."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def room(module: str) -> str:
    """The first folder, or file, below `bot` that a module is in."""
    return module.split(".")[1] if "." in module else module


@cache
def tree(module: str) -> ast.Module:
    """A module as syntax."""
    return ast.parse(sources()[module].read_text(encoding="utf-8"))


@cache
def imports(module: str) -> frozenset[str]:
    """The dotted names that a module imports, at once or later; of ours the module, not what is in it."""
    return frozenset(_imported(module))


def _imported(module: str) -> Iterator[str]:
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative imports hide where one is"
            assert node.module is not None
            for alias in node.names:
                below = f"{node.module}.{alias.name}"
                yield below if below in sources() else node.module


def reached(module: str) -> Mapping[str, tuple[str, ...]]:
    """Every module of ours that this one imports, itself or through others, with the way to it."""
    ways: dict[str, tuple[str, ...]] = {module: (module,)}
    waiting = [module]
    while waiting:
        here = waiting.pop()
        for name in sorted(imports(here)):
            if name in sources() and name not in ways:
                ways[name] = (*ways[here], name)
                waiting.append(name)
    return ways


def users() -> Mapping[str, frozenset[str]]:
    """Who imports each module."""
    found = defaultdict(set)
    for module in sources():
        for name in imports(module):
            found[name].add(module)
    return {module: frozenset(found[module]) for module in sources()}


def line_count(module: str) -> int:
    """The lines of a module."""
    return sources()[module].read_text(encoding="utf-8").count("\n")


def shards() -> list[str]:
    """Small modules that one other module of the same folder imports, and nobody else."""
    return [
        f"{module} ({line_count(module)} lines, only for {next(iter(readers))})"
        for module, readers in users().items()
        if line_count(module) < SMALL_LINES
        and sources()[module].stem not in {"__init__", "__main__"}
        and len(readers) == 1
        and next(iter(readers)).rpartition(".")[0] == module.rpartition(".")[0]
    ]


def heaps() -> list[str]:
    """Modules above 800 lines."""
    return [
        f"{module} ({line_count(module)} lines)" for module in sources() if line_count(module) > LARGE_LINES
    ]


def crowds() -> list[str]:
    """Folders with more than a dozen modules side by side."""
    folders = defaultdict(list)
    for module, path in sources().items():
        if path.stem != "__init__":
            folders[path.parent].append(module)
    return [
        f"{module_name(folder / '__init__.py')} ({len(modules)} modules)"
        for folder, modules in folders.items()
        if len(modules) > CROWDED_MODULES
    ]


def public_classes() -> Mapping[str, tuple[str, ...]]:
    """Every public class name, with the modules that define it."""
    found = defaultdict(list)
    for module in sources():
        for node in tree(module).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(module)
    return {name: tuple(modules) for name, modules in found.items()}


def main() -> None:
    """Print the figures and the lists."""
    lines = [line_count(module) for module in sources()]
    twice = [name for name, modules in public_classes().items() if len(modules) > 1]
    print(
        f"{len(lines)} files, {sum(lines)} lines, mean {statistics.mean(lines):.0f}, "
        f"median {statistics.median(lines):.0f}; public classes defined twice: {len(twice)}"
    )
    for title, found in (
        (f"under {SMALL_LINES} lines with one reader beside them", shards()),
        (f"above {LARGE_LINES} lines", heaps()),
        (f"folders of more than {CROWDED_MODULES} modules", crowds()),
    ):
        print(f"{title}: {len(found)}")
        for line in found:
            print(f"  {line}")


if __name__ == "__main__":
    main()
