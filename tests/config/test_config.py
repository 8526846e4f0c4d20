"""The configuration: what is valid, what is said about what is not, and the schema that agrees."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import jsonschema_rs
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import create_model

from bot.clusters import interface
from bot.config import (
    Case,
    CheckConfig,
    CheckKind,
    ClusterKind,
    CompareMode,
    LocalConfig,
    Suite,
    XpkConfig,
    json_schema,
    read_suite,
)
from bot.config.document import MAX_TEXT_LENGTH, MAX_VALUES, Problem, parse
from bot.config.models import ConfigModel, Priority, SchemaGenerator, Section
from bot.config.suite import DEFAULT_LABELS
from bot.config.validation import MAX_PROBLEMS, validate
from bot.errors import UserError

FULL = """\
version: 1
runs:
  source: gs://lance-maxtext            # where finished runs are found
  pattern: "{variant}_ckpt_xpk_{slug}_{date}_{time}/{variant}_xpk_{slug}_{date}_{time}_{case}/*.log"
launch:
  cluster: xpk
  xpk: {cluster: v6e-32-bench, project: my-project, zone: us-east5-b, device-type: v6e-32,
        docker-image: "gcr.io/my-project/maxtext:{sha}", priority: low, timeout: 45m}
variants: {linen: {}, nnx: {args: "pure_nnx=true"}}
compare: [ref, variant]
cases:
  03_dropout: {command: "python3 -m maxtext.trainers.pre_train.train … run_name={run_name} dropout_rate=0.1"}
triggers: {pull_request: true, drafts: false, paths: ["src/**"],
           labels: {benchmark: all, "benchmark:*": "{case}"}, branches: ["test_*", "exported_pr_*"]}
checks: off
budget: {chip_hours_per_day: 200, concurrent_runs: 4}
margins: {practical_percent: 1, equivalence_percent: 5}
"""

SMALL = """\
version: 1
runs: {source: "file:/runs", pattern: "{slug}_{date}_{time}/{case}/*.log"}
cases: {03_dropout: , 04_int8: {}}
"""


def _problems(text: str) -> list[tuple[int, str]]:
    try:
        read_suite(text, "file")
    except UserError as error:
        found = re.split(r"^file:(\d+): ", str(error), flags=re.MULTILINE)[1:]
        return [
            (int(n), problem.removesuffix("\n")) for n, problem in zip(found[::2], found[1::2], strict=True)
        ]
    return []


def test_every_documented_key_is_read() -> None:
    """Every key ends in its place of the suite."""
    suite = read_suite(FULL)
    assert suite.runs is not None
    assert suite.launch is not None
    assert (
        XpkConfig(
            cluster="v6e-32-bench",
            project="my-project",
            zone="us-east5-b",
            device_type="v6e-32",
            docker_image="gcr.io/my-project/maxtext:{sha}",
            priority="low",
            timeout_seconds=2700,
        )
        == suite.launch.xpk
    )
    assert ("gs://lance-maxtext", ClusterKind.XPK) == (suite.runs.source, suite.launch.cluster)
    assert (("linen", "nnx"), "pure_nnx=true") == (suite.variant_names, suite.variants["nnx"].args)
    assert ((CompareMode.REF, CompareMode.VARIANT), CheckConfig()) == (suite.compare, suite.checks)
    assert (200, 4) == (suite.budget.chip_hours_per_day, suite.budget.concurrent_runs)
    assert (1, 5) == (suite.margins.practical_percent, suite.margins.equivalence_percent)
    assert ("src/**",) == suite.triggers.paths
    assert DEFAULT_LABELS == suite.triggers.labels


def test_everything_optional_has_a_default() -> None:
    """Three keys are enough to compare finished runs."""
    suite = read_suite(SMALL)
    assert {"03_dropout": Case(name="03_dropout"), "04_int8": Case(name="04_int8")} == suite.cases
    assert ("default",) == suite.variant_names
    assert (None, (CompareMode.REF,), CheckConfig()) == (suite.launch, suite.compare, suite.checks)
    assert (True, False, ()) == (
        suite.triggers.pull_request,
        suite.triggers.drafts,
        suite.triggers.paths,
    )


def test_a_local_launch_names_its_repository() -> None:
    """As in the demo, and on a machine with a device."""
    suite = read_suite(
        "version: 1\nlaunch: {cluster: local, local: {repository: /src/x, timeout: 2h}}\n"
        "cases:\n  a:\n    command: >-\n      python train.py\n      --steps 10\n"
    )
    assert suite.launch is not None
    assert LocalConfig(repository="/src/x", timeout_seconds=7200) == suite.launch.local
    limited = read_suite(
        "version: 1\ncases: {a: {command: x}}\n"
        "launch: {cluster: local, local: {repository: /src/x, memory: 8G}}\n"
    ).launch
    assert limited is not None
    assert LocalConfig(repository="/src/x", timeout_seconds=3600, memory_mb=8192) == limited.local
    assert "python train.py --steps 10" == suite.cases["a"].command


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("cluster", "c;reboot"),
        ("project", "$(id)"),
        ("zone", "--quiet"),
        ("device-type", "v6e-32|cat"),
        ("docker-image", "gcr.io/p/i:{tag}"),
        ("docker-image", "gcr.io/p/i:`id`"),
    ],
)
def test_values_with_a_meaning_to_a_shell_are_refused(key: str, value: str) -> None:
    """xpk pastes them into commands."""
    right = {"cluster": "c", "project": "p", "zone": "z", "device-type": "v6e-32", "docker-image": "i:{sha}"}
    lines = "".join(f"    {name}: '{word}'\n" for name, word in (right | {key: value}).items())
    (problem,) = _problems(
        f"version: 1\ncases: {{a: {{command: x}}}}\nlaunch:\n  cluster: xpk\n  xpk:\n{lines}"
    )
    assert f"launch.xpk.{key}" in problem[1]


def test_checks_are_one_word_or_a_mapping() -> None:
    """The word stands for the kind alone; everything else needs the mapping, with its kind."""
    assert CheckConfig(kind=CheckKind.CHECK) == read_suite(SMALL + "checks: check\n").checks
    whole = "checks: {kind: status, pending: true, fail_on_regression: true}\n"
    assert CheckConfig(kind=CheckKind.STATUS, pending=True, fail_on_regression=True) == (
        read_suite(SMALL + whole).checks
    )
    assert [(4, "checks: kind is missing; write kind: check or kind: status")] == (
        _problems(SMALL + "checks: {pending: true}\n")
    )


def test_words_are_read_as_in_yaml_1_2() -> None:
    """`checks: off` is not false, and a case called 010 is not the number 8."""
    suite = read_suite(SMALL.replace("03_dropout", "010") + "checks: off\n")
    assert (CheckConfig(), ("010", "04_int8")) == (suite.checks, suite.case_names)


def test_every_problem_is_reported_at_once_with_its_line_and_nearest_key() -> None:
    """A person fixes the file in one go."""
    bad = """\
version: 2
runs:
  source: s3://x
  patern: "{slug}"
  pattern: "{varient}_{slug}/{case}"
launch: {cluster: xkp, local: {repository: 5, timeout: 45}}
variants: [a]
cases:
  03_dropout: {command: 7}
  "bad name": {command: a}
  x: {command: "a\\nb"}
  x: {command: a}
triggers: {drafts: yes, paths: ["/src", "!x"], labels: 5}
checks: on
budget: {chip_hours_per_day: -1, concurrent_runs: 1.5}
margins: {practical_percent: 0}
trigers: 1
"""
    with pytest.raises(UserError) as told:
        read_suite(bad, "m.yml")
    source = "must be a bucket (gs://bucket/prefix) or a folder (file:/path)"
    named = "must be made of letters, digits, _, - and ., not beginning with - or ."
    one_line = "must be one line (a cluster's manifest breaks on a second); fold it with `>-`, join with &&"
    glob = "must be a glob such as src/** or test_* (wildcards *, ** and ?; no leading / or !, no brackets)"
    assert [
        "m.yml:1: version: must be 1, not 2",
        f"m.yml:3: runs.source: {source}, not 's3://x'",
        "m.yml:4: runs.patern: unknown key; did you mean pattern?",
        "m.yml:5: runs.pattern: unknown placeholder {varient}; did you mean {variant}?",
        "m.yml:6: launch.cluster: 'xkp' is not a choice; did you mean xpk?",
        'm.yml:6: launch.local.repository: must be text, not 5; write it in quotes: "5"',
        "m.yml:6: launch.local.timeout: must be a time such as 90s, 45m or 2h, not 45",
        "m.yml:7: variants: must be keys and their values, not a list",
        'm.yml:9: cases.03_dropout.command: must be text, not 7; write it in quotes: "7"',
        f"m.yml:10: cases.bad name: the name {named}, not 'bad name'",
        f"m.yml:11: cases.x.command: {one_line}",
        "m.yml:12: cases.x: is written before, on line 11; keep one",
        "m.yml:13: triggers.drafts: must be true or false, not 'yes'",
        "m.yml:13: triggers.labels: must be keys and their values, not 5",
        f"m.yml:13: triggers.paths.0: {glob}, not '/src'",
        f"m.yml:13: triggers.paths.1: {glob}, not '!x'",
        "m.yml:14: checks: 'on' is not a choice; valid are off, status or check",
        "m.yml:15: budget.chip_hours_per_day: must be 0 or more, not -1",
        "m.yml:15: budget.concurrent_runs: must be a whole number from 1, not 1.5",
        "m.yml:16: margins.practical_percent: must be above 0 and at most 100, not 0",
        "m.yml:17: trigers: unknown key; did you mean triggers?",
    ] == told.value.text.split("\n")


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 1, "nothing is written here; begin with version: 1"),
        ("# only a comment\n", 1, "nothing is written here; begin with version: 1"),
        ("- a\n- b\n", 1, "must be keys and their values, not a list"),
        ("just words\n", 1, "must be keys and their values, not 'just words'"),
        ("version: 1\n\tcases: {}\n", 2, "indented with a tab; YAML wants spaces"),
        ("version: 1\ncases: {a: [}\n", 2, "not YAML: "),
        ("version: 1\n--- \nversion: 1\n", 2, "not YAML: "),
        ("version: *gone\n", 1, "not YAML: "),
        ("version: 1\ncases: !!python/object:os.system {}\n", 2, "the tag tag:yaml.org,2002:python/object:"),
        ("a: &a [*a]\n", 1, "*a stands inside what it stands for"),
        ("[" * 10_000, 1, "nested too deeply for a configuration"),
        ("x" * (MAX_TEXT_LENGTH + 1), 1, "longer than 512 KB; shorten it"),
        ("version: 1\n\x07\n", 2, "a control character; remove it"),
        ("version: 1\n? [a]\n: 1\n", 2, "?: unknown key; valid are version, runs, launch,"),
    ],
)
def test_a_file_that_is_no_configuration_has_one_problem(text: str, line: int, said: str) -> None:
    """The first thing to fix, at its line."""
    (first, *_) = sorted(_problems(text), key=lambda problem: said not in problem[1])
    assert (line, said) == (first[0], first[1][: len(said)])


def test_aliases_cannot_make_a_small_file_huge() -> None:
    """Aliases of aliases are counted, not expanded without end."""
    keys = ", ".join(f"c{n}: &c {{command: x}}" if n == 0 else f"c{n}: *c" for n in range(MAX_VALUES // 2))
    assert [(1, f"stands for more than {MAX_VALUES} parts; write fewer aliases")] == _problems(
        f"{{version: 1, runs: {{source: 'file:/x', pattern: '{{case}}'}}, cases: {{{keys}}}}}"
    )


def test_a_wrong_file_has_a_limited_number_of_problems() -> None:
    """Nobody reads a million messages, and nobody waits for them."""
    wrong = ", ".join(f"k{n}: 1" for n in range(900))
    cases = ", ".join(f"c{n}: *l" for n in range(4000))
    assert MAX_PROBLEMS == len(_problems(f"version: 1\nlaunch: &l {{{wrong}}}\ncases: {{{cases}}}\n"))


def test_an_infinite_number_is_refused_like_any_other() -> None:
    """YAML can write numbers that no computer holds."""
    assert [
        (4, "budget.chip_hours_per_day: must be 0 or more, not 1e999"),
        (4, "budget.concurrent_runs: must be a whole number from 1, not 1e999"),
    ] == _problems(SMALL + "budget: {chip_hours_per_day: 1e999, concurrent_runs: 1e999}\n")


@pytest.mark.parametrize(
    ("change", "line", "said"),
    [
        (
            ("runs:", "runz:"),
            1,
            "neither runs nor launch; say where runs are found (runs:) or what starts them",
        ),
        (("cases: {03_dropout: , 04_int8: {}}", "cases: {}"), 3, "cases: is empty; name at least one"),
        (("{case}", "log"), 2, "runs.pattern: does not say which of the cases a log is of; put {case}"),
        (("{slug}", "{variant}"), 2, "runs.pattern: holds {variant}, but no variants are named"),
        (
            ("04_int8: {}}", "x: {}}\nvariants: {a: , b: }"),
            2,
            "runs.pattern: does not say which of the variants",
        ),
        (
            ("cases", "launch: {cluster: xpk}\ncases"),
            3,
            "launch: cluster is xpk, but nothing says how it is used",
        ),
        (
            ("cases", "launch: {cluster: xpk}\ncases"),
            4,
            "cases.04_int8: has no command, so it cannot be launched",
        ),
        (("version: 1", ""), 2, "version is missing; write version: 1"),
    ],
)
def test_conditions_across_keys_are_checked(change: tuple[str, str], line: int, said: str) -> None:
    """Each key is fine by itself; together they cannot work."""
    found = [problem for problem in _problems(SMALL.replace(*change)) if problem[1].startswith(said)]
    assert [line] == [at for at, _ in found]


def test_messages_contain_no_control_characters() -> None:
    """They show what was written, cut, and nothing that a terminal interprets."""
    ((_, said),) = _problems(SMALL + '"\\e[31m\\u202e' + "k" * 500 + '": 1\n')
    assert said.isprintable()
    assert len(said) < 300


def test_triggers_decide_by_globs() -> None:
    """Paths and branches match as a whole; without paths every change counts."""
    triggers = read_suite(FULL).triggers
    assert triggers.touched_by(["README.md", "src/a/b.py"])
    assert not triggers.touched_by(["README.md", "other/src/a.py"])
    assert [True, True, False] == [
        triggers.watches(name) for name in ("test_936", "exported_pr_1", "my_test_1")
    ]
    assert read_suite(SMALL).triggers.touched_by([])


# --- the published schema -----------------------------------------------------------------------------

_SCHEMA = jsonschema_rs.validator_for(json_schema())


def test_the_json_schema_is_valid_and_plain_json() -> None:
    """Editors load it."""
    jsonschema_rs.meta.validate(json_schema())
    assert json_schema() == json.loads(json.dumps(json_schema()))


def test_every_key_has_a_description() -> None:
    """The schema is the reference that editors show."""
    schema = json_schema()
    sections = {"": schema} | schema["$defs"]
    keys = {
        (name, key): _described(value, schema)
        for name, section in sections.items()
        for key, value in _body(section)["properties"].items()
    }
    assert [] == [name for name, about in keys.items() if not about.endswith(".")]
    assert len(keys) > 40


def _body(section: dict[str, Any]) -> dict[str, Any]:
    """A section's schema, without the word that may stand for it."""
    body: dict[str, Any] = section["anyOf"][-1] if "anyOf" in section and "type" not in section else section
    return body


def _described(value: dict[str, Any], schema: dict[str, Any]) -> str:
    """What a key is for; where it says the same as its section, the section says it."""
    about: str = value.get("description") or _resolved(value, schema)["description"]
    return about


def _resolved(value: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = schema["$defs"][value["$ref"].rpartition("/")[2]] if "$ref" in value else value
    return found


def test_priorities_are_those_of_the_cluster() -> None:
    """The model spells them out for type checkers."""
    assert interface.PRIORITIES == get_args(Priority)


def test_pydantic_is_loaded_when_a_configuration_is_read() -> None:
    """Neither the command line nor a server that starts waits for it."""
    program = (
        "import sys, bot.app, bot.config\n"
        "assert 'pydantic' not in sys.modules\n"
        f"bot.config.read_suite({SMALL!r})\n"
        "assert 'pydantic' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


_WORDS = st.sampled_from(
    [
        *(
            "gs://lance-maxtext",
            "gs://b_/x y",
            "file:/runs",
            "s3://x",
            "45m",
            "2h",
            "0m",
            "1h30m",
            "src/**",
            "/x",
        ),
        *(
            "{slug}_{date}/{case}/*.log",
            "{variant}/{case}",
            "{slug}/a",
            "{x}",
            "a//b",
            "a/../b",
            "**",
            "{case}",
        ),
        *("ref", "variant", "off", "check", "xpk", "local", "low", "all", "03_*", "03_dropout", "-x", "a b"),
        *("python train.py", "a\nb", "a\n", " ", "", "yes", "1", "null", "é", "a\tb", "\x7f", "x" * 101),
    ]
)
_ANYTHING = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 300),
        st.sampled_from([0.0, 0.5, 4.0, 1e9, -0.0, 100.0]),
        _WORDS,
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(["a", "cluster", "args"]), inner, max_size=2),
    ),
    max_leaves=4,
)


# What can be typed; a few odd letters are among the words.
_TYPED = st.characters(min_codepoint=0x20, max_codepoint=0x7E)


def _mostly(honest: st.SearchStrategy[Any], odd: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.integers(0, 39).flatmap(lambda chance: honest if chance else odd)


def _valid(value: dict[str, Any], schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that a JSON Schema mostly accepts, and now and then something else."""
    return _mostly(_honest(_resolved(value, schema), schema), _ANYTHING)


def _honest(value: dict[str, Any], schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    match value:
        case {"anyOf": [first, second], **rest} if "type" not in rest:
            return _valid(first, schema) | _valid(second, schema)
        case {"const": _} | {"enum": _}:
            return st.sampled_from(value.get("enum") or [value["const"]])
        case {"type": "array", "items": items}:
            return st.lists(_valid(items, schema), max_size=2)
        case {"type": "object", "properties": properties, **rest}:
            parts = {name: _valid(part, schema) for name, part in properties.items()}
            return _section(parts, rest.get("required", ()))
        case {"type": "object", "additionalProperties": inner}:
            names = _mostly(st.sampled_from(["03_dropout", "linen", "_x"]), _WORDS)
            return st.dictionaries(names, _valid(inner, schema), min_size=1, max_size=2)
        case _:
            return _honest_scalar(value)


def _honest_scalar(value: dict[str, Any]) -> st.SearchStrategy[Any]:
    match value["type"]:
        case "string":
            return st.from_regex(rf"\A{value['pattern'][1:-1]}\Z", alphabet=_TYPED)
        case "integer":
            return st.integers(-1, 102)
        case "number":
            return st.floats(-1, 102, allow_nan=False)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case other:
            raise AssertionError(other)


def _section(
    parts: dict[str, st.SearchStrategy[Any]], needed: Sequence[str]
) -> st.SearchStrategy[dict[str, Any]]:
    always = {name: part for name, part in parts.items() if name in needed}
    return st.fixed_dictionaries(
        always, optional={name: part for name, part in parts.items() if name not in always}
    )


class _Writer(yaml.SafeDumper):
    """Quotes every text: PyYAML speaks YAML 1.1 and leaves `0E0` bare, which is a number since 1.2."""


_Writer.add_representer(str, lambda writer, text: writer.represent_scalar("tag:yaml.org,2002:str", text, '"'))


def _written(document: Any) -> str:
    return yaml.dump(document, Dumper=_Writer, allow_unicode=True, width=10_000)


def _types(annotation: Any) -> list[Any]:
    """A type of the models and everything in it."""
    bare = annotation
    while get_origin(bare) is Annotated:
        bare = get_args(bare)[0]
    if isinstance(bare, type) and issubclass(bare, Section):
        inner = list(get_type_hints(bare, include_extras=True).values())
        inner = inner[1:]  # the first is pydantic's own `model_config`
    else:
        inner = [one for one in get_args(bare) if one is not NoneType and not isinstance(one, str)]
    return [annotation, *(deeper for part in inner for deeper in _types(part))]


@pytest.mark.parametrize(
    "annotation", {repr(one): one for one in _types(ConfigModel)[1:]}.values(), ids=lambda one: repr(one)[:60]
)
@given(st.data())
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
def test_every_type_refuses_what_its_schema_refuses(annotation: Any, data: st.DataObject) -> None:
    """Each by itself, so that no part hides behind a fault of another."""
    alone = create_model("Alone", __base__=Section, it=(annotation, ...))
    schema = alone.model_json_schema(schema_generator=SchemaGenerator)
    document = {"it": data.draw(_valid(schema["properties"]["it"], schema) | _ANYTHING)}
    tree = parse(_written(document))
    assert not isinstance(tree, Problem)
    found, problems = validate(tree, alone)
    assert jsonschema_rs.is_valid(schema, document) == (problems == ()), problems
    assert (found is None) == (problems != ())


def _document() -> st.SearchStrategy[Any]:
    schema = json_schema()
    parts = {name: _valid(value, schema) for name, value in schema["properties"].items()}
    found = {name: part for name, part in parts.items() if name != "launch"}
    return st.one_of(
        _section(found, ("version", "cases", "runs")),
        _section(parts, ("version", "cases")),
    )


@given(_document())
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
def test_the_schema_and_the_program_refuse_the_same(document: Any) -> None:
    """An editor that shows no error and a bot that refuses would be worse than no schema."""
    problems = _problems(_written(document))
    assert _SCHEMA.is_valid(document) == (problems == []), problems


@given(st.text(max_size=200) | st.text(alphabet="{}[]:,&*!|>-#\n\t '\"ab1", max_size=60))
@settings(deadline=None)
def test_any_text_is_a_suite_or_a_user_error(text: str) -> None:
    """Whatever a pull request puts into the file."""
    if not _problems(text):
        assert isinstance(read_suite(text), Suite)


def test_a_case_may_name_its_paths() -> None:
    """Other changes do not run it automatically; a case without paths runs for every change."""
    text = SMALL.replace("04_int8: {}", '04_int8: {paths: ["src/quantization/**"]}')
    suite = read_suite(text)
    touched = [name for name, case in suite.cases.items() if case.touched_by(["src/models/a.py"])]
    assert ["03_dropout"] == touched
    assert suite.cases["04_int8"].touched_by(["README.md", "src/quantization/int8.py"])


_SMALL = 'version: 1\nruns: {source: "file:/r", pattern: "*.log"}\ncases: {a: {}}\n'


def test_trust_names_bots_by_login_and_number_and_teams() -> None:
    """Copybara's bot is trusted unless others are named; an empty list trusts none."""
    whole = read_suite(_SMALL + 'trust: {bots: [{login: "ci[bot]", id: 7}], teams: [acme/perf]}\n')

    assert ("copybara-service[bot]", 56741989) == (
        read_suite(_SMALL).trust.bots[0].login,
        read_suite(_SMALL).trust.bots[0].id,
    )
    assert [("ci[bot]", 7)] == [(bot.login, bot.id) for bot in whole.trust.bots]
    assert ("acme/perf",) == whole.trust.teams
    assert () == read_suite(_SMALL + "trust: {bots: []}\n").trust.bots
    with pytest.raises(UserError, match="bot's login"):
        read_suite(_SMALL + "trust: {bots: [{login: ci, id: 7}]}\n")
    with pytest.raises(UserError, match="my-org/performance"):
        read_suite(_SMALL + "trust: {teams: [perf]}\n")
