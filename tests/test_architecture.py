"""The rooms of the program, and who may know whom."""

import ast
import sys
from collections import defaultdict
from graphlib import TopologicalSorter

import pytest

from tests.structure import crowds, imports, public_classes, reached, room, sources, tree

ALLOWED = {
    "errors": set(),
    "domain": set(),
    "logs": set(),
    "redaction": set(),
    "verdict": {"logs"},
    "clusters": {"errors"},
    "runs": {"clusters", "domain"},
    "report": {"domain", "errors", "logs", "redaction", "runs", "verdict"},
    "config": {"clusters", "domain", "errors", "verdict"},
    "planning": {"clusters", "config", "domain", "report", "runs", "verdict"},
    "github": {"domain", "errors"},
    "webhooks": {"domain", "errors", "github"},
    "server": set(),
    "artifacts": {"domain", "errors"},
    "storage": {"clusters", "domain", "errors", "logs", "planning", "report", "runs", "verdict"},
    "ingest": {
        "artifacts",
        "config",
        "domain",
        "errors",
        "logs",
        "planning",
        "policy",
        "redaction",
        "report",
        "runs",
        "storage",
        "verdict",
    },
    "policy": {"artifacts", "clusters", "config", "domain", "errors", "planning", "storage"},
    "commands": {"config", "domain", "errors", "report", "storage", "webhooks"},
    "web": {
        "artifacts",
        "domain",
        "errors",
        "logs",
        "redaction",
        "report",
        "runs",
        "server",
        "storage",
        "verdict",
        "webhooks",
    },
    "publish": {"config", "domain", "errors", "github", "report", "storage", "templating"},
    "worker": {
        "artifacts",
        "clusters",
        "commands",
        "config",
        "domain",
        "errors",
        "ingest",
        "planning",
        "policy",
        "publish",
        "report",
        "runs",
        "storage",
        "verdict",
        "webhooks",
    },
}
"""Which rooms each room knows; no rule is idle, and the rooms stand in one order."""

JOINTS = {"__init__", "__main__", "app", "bot", "cli", "demo", "settings", "templating"}
"""What joins the rooms into programs may know them all."""

DOORS_IN_ROOMS = {"bot.config.loader": {"storage"}}
"""One module knows more than its room: it fetches a configuration, which the rest of the room reads."""

PURE_ROOMS = (
    "domain",
    "logs",
    "redaction",
    "verdict",
    "report",
    "planning",
    "runs",
    "config",
    "webhooks",
    "errors",
)
PURE_MODULES = (
    "bot.clusters.interface",
    "bot.commands.grammar",
    "bot.commands.permission",
    "bot.commands.prose",
    "bot.commands.scope",
    "bot.github.payload",
    "bot.policy.grants",
    "bot.policy.models",
    "bot.policy.suggest",
)
IMPURE_MODULES = {"bot.config.loader", "bot.webhooks.receiver"}
"""The doors inside rooms that think: they fetch a file, and take a request in."""

WORLD = {
    "asyncio",
    "io",
    "logging",
    "os",
    "pathlib",
    "random",
    "shutil",
    "socket",
    "subprocess",
    "tempfile",
    "threading",
    "time",
    "urllib.request",
}
"""Modules of the standard library through which a program touches the world."""

WORLD_CALLS = {"open", "print", "input", "datetime.now", "datetime.utcnow", "datetime.today", "date.today"}

THINKING_LIBRARIES = {
    "ahocorasick_rs",
    "backports",
    "compression",
    "hyperscan",
    "msgspec",
    "pydantic",
    "pydantic_core",
    "yaml",
}
"""What a room that thinks may use: none of them touches the world."""

DOORS = {
    "ahocorasick_rs": ("bot.logs.scanner",),
    "alembic": ("bot.storage.migrations",),
    "backports": ("bot.artifacts.log_archive", "bot.logs.decoding"),
    "anyio": ("bot.web.throttle",),
    "cmarkgfm": ("bot.demo",),
    "compression": ("bot.artifacts.log_archive", "bot.logs.decoding"),
    "cryptography": ("bot.demo", "bot.settings", "bot.web.auth"),
    "dulwich": ("bot.clusters.checkout", "bot.demo"),
    "githubkit": ("bot.github",),
    "google": ("bot.artifacts.bucket", "bot.clusters.xpk.log"),
    "google_crc32c": ("bot.artifacts.bucket",),
    "httptools": ("bot.server.connections",),
    "httpx": ("bot.github", "bot.artifacts.download", "bot.server.page_process", "bot.demo"),
    "httpx2": ("bot.clusters.xpk.api",),
    "hyperscan": ("bot.redaction.finder",),
    "jinja2": ("bot.templating",),
    "lightkube": ("bot.clusters.xpk.api",),
    "markupsafe": ("bot.templating", "bot.web"),
    "prometheus_client": ("bot.web",),
    "pydantic": ("bot.config", "bot.policy"),
    "pydantic_core": ("bot.config",),
    "re2": ("bot.web.log_viewer.search",),
    "requests": ("bot.clusters.xpk.log",),
    "rich": ("bot.cli", "bot.demo"),
    "sqlalchemy": ("bot.storage",),
    "starlette": ("bot.web", "bot.app", "bot.demo"),
    "uvicorn": ("bot.cli.serve", "bot.cli.page_server", "bot.server.connections", "bot.demo"),
    "yaml": ("bot.config",),
}
"""Each library's doors; a library that is not named here may not be used at all."""

EVERYWHERE = {"msgspec"}
"""Values are its structs."""

MODULES = sorted(sources())


def _is_pure(module: str) -> bool:
    named = module in PURE_MODULES or room(module) in PURE_ROOMS
    return named and module not in IMPURE_MODULES


def _libraries(module: str) -> set[str]:
    tops = {name.split(".")[0] for name in imports(module)}
    return tops - {"bot"} - set(sys.stdlib_module_names)


def _calls(module: str) -> set[str]:
    called = (node.func for node in ast.walk(tree(module)) if isinstance(node, ast.Call))
    return {ast.unparse(function) for function in called if isinstance(function, ast.Name | ast.Attribute)}


@pytest.mark.parametrize("module", MODULES)
def test_a_room_knows_only_the_rooms_it_may(module: str) -> None:
    """Imports among our own rooms go one way."""
    here = room(module)
    if here in JOINTS:
        return
    known = {room(name) for name in imports(module) if name in sources() and name != "bot"}

    assert known - ALLOWED[here] - DOORS_IN_ROOMS.get(module, set()) - {here} == set()


def test_every_rule_between_rooms_is_used_and_none_makes_a_circle() -> None:
    """What is allowed is what is done, and the rooms can be put in one order."""
    done: dict[str, set[str]] = {name: set() for name in ALLOWED}
    for module in MODULES:
        if (here := room(module)) in ALLOWED:
            known = {room(name) for name in imports(module) if name in sources() and name != "bot"}
            done[here] |= known - DOORS_IN_ROOMS.get(module, set()) - {here}

    assert done == ALLOWED
    assert set(TopologicalSorter(ALLOWED).static_order()) >= set(ALLOWED)


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Every module can be read after those that it imports."""
    graph = {module: {name for name in imports(module) if name in sources()} - {module} for module in MODULES}
    faces = {module for module in MODULES if sources()[module].stem == "__init__"}
    for module in graph:
        graph[module] -= {face for face in faces if module.startswith(f"{face}.")}

    assert set(TopologicalSorter(graph).static_order()) == set(MODULES)


@pytest.mark.parametrize("module", [module for module in MODULES if _is_pure(module)])
def test_what_thinks_touches_nothing_not_even_through_others(module: str) -> None:
    """What is pure reads no clock, file or network, and imports nothing of ours that does."""
    for name, way in reached(module).items():
        touched = {found for found in imports(name) if found in WORLD} | (_calls(name) & WORLD_CALLS)
        assert touched == set(), f"{' → '.join(way)} uses {touched}"
        assert _libraries(name) <= THINKING_LIBRARIES, f"{' → '.join(way)} uses {_libraries(name)}"


@pytest.mark.parametrize("module", MODULES)
def test_a_library_is_used_through_its_door(module: str) -> None:
    """Each library has one place that knows it."""
    for library in _libraries(module) - EVERYWHERE:
        assert library in DOORS, f"{module} imports {library}, which has no door"
        doors = DOORS[library]
        at_door = any(module == door or module.startswith(f"{door}.") for door in doors)
        assert at_door, f"{module} imports {library} past its door"


@pytest.mark.parametrize("module", MODULES)
def test_settings_are_seen_by_those_who_join_the_parts(module: str) -> None:
    """Only the program's own entrances know about the environment."""
    seen = "bot.settings" in imports(module)

    assert not seen or module.startswith(("bot.app", "bot.__main__", "bot.cli", "bot.demo"))


def test_no_public_class_name_is_defined_twice() -> None:
    """A name means one thing in the whole program."""
    twice = {name: modules for name, modules in public_classes().items() if len(modules) > 1}

    assert twice == {}


def test_every_room_says_what_it_is() -> None:
    """A room's face is a docstring of more than one line."""
    faces = {module: ast.get_docstring(tree(module)) or "" for module in MODULES if module in _rooms()}

    assert {module for module, text in faces.items() if "\n" not in text} == set()


def test_a_crowded_folder_says_why() -> None:
    """More than a dozen modules side by side need a reason in the folder's face."""
    silent = []
    for crowd in crowds():
        face = ast.get_docstring(tree(crowd.split(" ")[0])) or ""
        if "one module for each" not in " ".join(face.lower().split()):
            silent.append(crowd)

    assert silent == []


def _rooms() -> set[str]:
    counted: dict[str, int] = defaultdict(int)
    for module in MODULES:
        if module.count(".") >= 2:
            counted[".".join(module.split(".")[:2])] += 1
    return set(counted)
