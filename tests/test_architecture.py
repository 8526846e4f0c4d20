"""The rooms and who may enter which, as `ARCHITECTURE` in the README draws them."""

import ast
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

BOT = Path(__file__).parent.parent / "bot"

ALLOWED = {
    "errors": set(),
    "globs": set(),
    "logs": {"logs"},
    "verdict": {"verdict", "logs"},
    "runs": {"runs", "errors", "globs"},
    "intake": {"intake", "errors"},
    "config": {"config", "errors", "globs", "runs", "verdict"},
    "report": {"report", "verdict", "logs", "runs", "intake", "errors"},
    "github": {"github", "intake", "errors"},
    "storage": {"storage", "runs", "intake", "report", "verdict", "logs", "errors", "globs"},
    "render": set(),
    "web": {"web", "storage", "report", "verdict", "logs", "runs", "intake", "errors"},
    "controller": {
        "controller",
        "config",
        "storage",
        "report",
        "verdict",
        "logs",
        "runs",
        "intake",
        "errors",
        "globs",
    },
}
"""Which of our rooms each room may know; `app`, `__main__`, `cli` and `demo` join them and know all."""

EXTRA = {
    "runs/collect.py": {"logs", "verdict", "storage"},
    "runs/plan.py": {"verdict"},
}
"""The doors inside a room: reading runs takes a store and a reader, planning takes a verdict."""

WEB = {
    "ground": set(),
    "figures": set(),
    "log": {"ground"},
    "cases": {"ground", "figures", "log"},
    "frame": {"ground", "log", "cases"},
    "repository": {"ground", "frame", "history"},
    "history": {"ground", "figures", "frame"},
    "pulls": {"ground", "cases", "frame"},
    "compare": {"ground", "cases", "frame"},
    "runs": {"ground", "figures", "log", "cases", "frame"},
    "log_viewer": {"ground", "log", "frame"},
    "log_compare": {"ground", "log", "frame", "log_viewer"},
    "schema": {"ground", "history", "log_viewer", "log_compare"},
    "sign_in": {"ground", "frame"},
}
"""Which rooms of `web` each of them may know besides itself."""

WEB_JOINTS = {"__init__", "api", "front", "measures", "moved", "pages", "site"}
"""The files of `web` that stand in no room: they join the rooms into one application, and may know all."""

PURE = ("logs", "verdict", "report", "intake", "runs", "config", "globs", "errors")
IMPURE_FILES = {"intake/webhook.py", "runs/collect.py"}
IMPURE_FOLDERS = ("runs/clusters/",)
FORBIDDEN_WHEN_PURE = {
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

DOORS = {
    "ahocorasick_rs": ("logs/scan.py",),
    "alembic": ("storage/migrations/",),
    "cmarkgfm": ("demo/",),
    "cryptography": ("demo/", "private_key.py", "web/sign_in/seal.py"),
    "dulwich": ("runs/clusters/checkout.py", "demo/"),
    "githubkit": ("github/",),
    "google": ("storage/gcs.py", "runs/clusters/xpk/cloud_log.py"),
    "google_crc32c": ("storage/gcs.py",),
    "httpx": ("github/", "storage/addresses.py", "demo/"),
    "httpx2": ("runs/clusters/xpk/api.py",),
    "jinja2": ("render.py",),
    "lightkube": ("runs/clusters/xpk/api.py",),
    "markupsafe": ("render.py", "web/"),
    "msgspec": ("storage/", "controller/", "web/", "report/"),
    "prometheus_client": ("web/",),
    "re2": ("web/log_viewer/query.py",),
    "requests": ("runs/clusters/xpk/cloud_log.py",),
    "rich": ("cli/", "demo/"),
    "sqlalchemy": ("storage/", "controller/candidates.py", "controller/choosing.py", "controller/loop.py"),
    "starlette": ("web/", "app.py", "demo/"),
    "uvicorn": ("cli/serve.py", "demo/"),
    "yaml": ("config/document.py",),
}
"""Each library's doors; a library that is not named here may not be used at all."""


def _files() -> list[Path]:
    return sorted(path for path in BOT.rglob("*.py") if "demo/training" not in path.as_posix())


def _room(path: Path) -> str:
    return path.relative_to(BOT).parts[0].removesuffix(".py")


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide where one is"
            yield f"{node.module}"


def _name(path: Path) -> str:
    return path.relative_to(BOT).as_posix()


@pytest.mark.parametrize("path", _files(), ids=_name)
def test_a_room_knows_only_the_rooms_it_may(path: Path) -> None:
    """Imports among our own packages follow the corridor."""
    room = _room(path)
    if room not in ALLOWED:
        assert room in {
            "app",
            "speech",
            "upkeep",
            "entrance",
            "__main__",
            "__init__",
            "settings",
            "private_key",
            "cli",
            "demo",
        }
        return
    allowed = ALLOWED[room] | EXTRA.get(_name(path), set())

    rooms = {_room(BOT / name.split(".")[1]) for name in _imports(path) if name.startswith("bot.")}

    assert rooms - allowed == set()


def _web_files() -> list[Path]:
    return [path for path in _files() if _room(path) == "web"]


def _web_room(path: Path) -> str:
    return path.relative_to(BOT / "web").parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", _web_files(), ids=_name)
def test_a_room_of_the_pages_knows_only_the_rooms_it_may(path: Path) -> None:
    """The pages' own rooms stand on each other in one direction; what joins them is known by none of them."""
    room = _web_room(path)
    if room in WEB_JOINTS:
        return
    known = {name.split(".")[2] for name in _imports(path) if name.startswith("bot.web.")}

    assert "bot.web" not in set(_imports(path)), "a room of the pages is named in full"
    assert known - WEB[room] - {room} == set()


def test_every_rule_between_rooms_of_the_pages_is_used_and_none_makes_a_circle() -> None:
    """What is allowed is what is done, and the rooms can be put in one order."""
    done: dict[str, set[str]] = {room: set() for room in WEB}
    for path in _web_files():
        if (room := _web_room(path)) in WEB:
            done[room] |= {name.split(".")[2] for name in _imports(path) if name.startswith("bot.web.")}

    assert {room: known - {room} for room, known in done.items()} == WEB
    assert set(TopologicalSorter(WEB).static_order()) == set(WEB)


@pytest.mark.parametrize("path", _files(), ids=_name)
def test_pure_rooms_touch_nothing(path: Path) -> None:
    """What thinks does not read clocks, files or the network."""
    name = _name(path)
    pure = _room(path) in PURE and name not in IMPURE_FILES and not name.startswith(IMPURE_FOLDERS)

    touched = {module for module in _imports(path) if module in FORBIDDEN_WHEN_PURE}

    assert not (pure and touched), touched


@pytest.mark.parametrize("path", _files(), ids=_name)
def test_a_library_is_used_through_its_door(path: Path) -> None:
    """Each library has one place that knows it."""
    name = _name(path)
    for module in _imports(path):
        top = module.split(".")[0]
        if top == "bot" or top in sys.stdlib_module_names:
            continue
        assert top in DOORS, f"{name} imports {top}, which has no door"
        assert name.startswith(DOORS[top]), f"{name} imports {top} past its door"


@pytest.mark.parametrize("path", _files(), ids=_name)
def test_settings_are_seen_by_those_who_join_the_parts(path: Path) -> None:
    """Only the program's own entrances know about the environment."""
    seen = any(name == "bot.settings" for name in _imports(path))

    assert not seen or _name(path).startswith(("app.py", "entrance.py", "__main__.py", "cli/", "demo/"))


@pytest.mark.parametrize("path", _files(), ids=_name)
def test_files_and_functions_stay_small(path: Path) -> None:
    """A file of more than 250 lines, or a function of more than 40, is two things."""
    text = path.read_text(encoding="utf-8")
    long = [
        f"{node.name}: {node.end_lineno - node.lineno + 1}"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > 40
        and "migrations/versions" not in path.as_posix()
    ]

    assert long == []
    assert text.count("\n") <= 250 or "migrations/versions" in path.as_posix()
