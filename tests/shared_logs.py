"""Read every real log of a shared folder, and compare what comes out with what is known of it.

Run as `python -m tests.shared_logs PATH`, with a folder that holds `seeds` and `logs`. Prints a line per
disagreement, then "N passed, N failed"; exits with status 1 if anything failed.

Expected are the format, the state and a few facts of each file. Every file is read whole and in small chunks,
which must agree. A file without a row must only not raise. None may lose lines to the redaction of secrets.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bot.logs.facts import RunLog
from bot.logs.ledger import time_ledger
from bot.logs.reader import read_log
from tests.redaction.recovered import changed_lines


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one run of one file must say; `None` means: not looked at."""

    file: str
    run: int = 1
    runs: int = 1
    form: str | None = "maxtext"
    state: str
    steps: int = 0
    facts: tuple[tuple[str, object], ...] = ()


def _row(file: str, state: str, steps: int = 0, **facts: object) -> Row:
    known = {name: facts.pop(name) for name in ("run", "runs", "form") if name in facts}
    row = Row(file=file, state=state, steps=steps, facts=tuple(facts.items()))
    return replace(row, **known)  # type: ignore[arg-type]  # the three names are fields of Row


MOST_CHANGED = 0.001
"""Lines of a real log in which something may be taken for a secret: none of these logs holds one."""

NOTHING = "not_a_training_log"

ROWS = (
    _row("000_684b1c9e3a214010.txt", "succeeded", 10, parameters=1.104, percent=1.408, compiled=14.04,
         jax="0.9.2", libtpu="cl/878335365", process=4, workload="mt-04-int8-wddlh", expected=10, mean=3.394,
         loss=8.174, tokens=8948.311, sites=(196, 301), tflop=13.59, dtype="bf16", waits=(0.61, 63.87)),
    _row("001_1ada0a1f0c04a8c8.txt", "succeeded", 10, runs=2, commit="147168c3a", process=0, mean=2.864,
         loss=8.179, percent=1.376, compiled=10.89, expected=10, waits=(1.024, 74.8)),
    _row("001_1ada0a1f0c04a8c8.txt", "failed", run=2, runs=2, commit="1b5e4eb5a", exit=1, kind="code",
         where="train_utils.py:217",
         error="NotImplementedError: Pure NNX support has not been implemented yet."),
    _row("002_2f609e8cddb2312c.txt", "succeeded", 10, runs=2, commit="574ad3fb9", process=7, mean=1.374,
         jax="0.9.2", loss=6.981, compiled=3.45, sites=(196, 301), waits=(1.015, 85.94)),
    _row("002_2f609e8cddb2312c.txt", "succeeded", 10, run=2, runs=2, commit="574ad3fb9", process=0,
         mean=1.43, jax="0.8.1", orbax="0.11.33", compiled=3.31, sites=(185, 289), waits=(2.503, 91.10)),
    _row("003_662ed16e02b2db79.txt", "incomplete", 1, form="megatron", parameters=0.91, seconds=4.4932,
         expected=20, allocated=7706.13916015625, loss_scale=4294967296.0, number_of_skipped_iterations=1.0,
         number_of_nan_iterations=0.0, global_batch_size=16.0),
    _row("004_774e396c7d9be065.txt", NOTHING, form=None),
    _row("cloud_logging_export_config_error_pathways.log", "failed", kind="config"),
    _row("docker_build_failure_vllm_cmake.log", "failed", form=None, kind="image"),
    _row("docs_deepseek2_16b_v5p8.log", "incomplete", 12),
    _row("dpo_qwen3_notebook.log", "incomplete", 500, seconds=15.688, loss=0.624, process=0,
         percent=1.869647),
    _row("elastic_training_rewind.log", "incomplete", 2),
    _row("failures_hbm_oom_and_others.log", "failed", form=None, kind="hbm_oom"),
    _row("gcs_metrics_2023_step0-4.jsonl", "incomplete", 5, seconds=0.458471,
         run_name="mattdavidow-test-scale"),
    _row("gcs_metrics_2023_step5-9.jsonl", "incomplete", 5, last=9),
    _row("gpu_a3_nsys_ckpt_2024.log", "incomplete", 13, tflop=1033.2, run_name="yooh-llama-2024-03-06-06-26"),
    _row("gpu_recipes_lines.log", "incomplete", 3),
    _row("issue8_v3-8_2023.log", "incomplete", 3, last=15109, loss=2.191),
    _row("maxdiffusion_wan_v5p8.log", "incomplete", 7, seconds=36.006),
    _row("maxtest_chip_driver_error.log", "failed", form=None, kind="bad_hardware"),
    _row("maxtest_v6e_jobset_libtpu_noise.log", "succeeded", 5, exit=0, loss=9.61),
    _row("nan_v6e8_gemma3_4b_absl.log", "failed", 12, kind="loss_not_finite", compiled=21.79,
         parameters=4.069),
    _row("nan_v6e8_gemma3_4b_absl_tail_ctrlchar.log", "failed", 2, last=26),
    _row("pr1956_rebuffer_2025.log", "incomplete", 5, loss=0.948),
    _row("pr3053_wandb_v6e32_2026.log", "incomplete", parameters=0.596, tflop=104.77),
    _row("pr390_double_buffer_2024.log", "incomplete", 10, tflop=170.71, run_name="fake"),
    _row("pr4847_gemma4_tpu7x_profiler_2026.log", "incomplete", 3),
    _row("pr761_moe_2024.log", "incomplete", 1, tokens=36653.244),
    _row("pretraining_eval_2025.log", "incomplete", 2),
    _row("ray_tpu_prefixed_repeated.log", "incomplete", 5, hosts=2, last=99),
    _row("tpu_recipes_example_lines.log", "incomplete", 24),
    _row("v5p256_hunyuan295b_async_2026.log", "incomplete", 5, parameters=298.786, tflop=2800.97),
    _row("maxtext_docs_v5p_deepseek2_excerpt.md", "succeeded", 12, expected=10),
    _row("maxtext_tpu_v6e8_nan_part1.txt", "failed", 11, kind="loss_not_finite"),
    _row("maxtext_tpu_v6e8_nan_part2_tmux_junk.txt", "failed", 3, last=27),
    _row("megatron_deepspeed_gpt125m_randomltd.tail.log", "failed", 60, form="megatron", kind="terminated"),
    _row("megatron_deepspeed_gpt125m_truncated.tail.log", "incomplete", 12, form="megatron", last=120),
    _row("primus_megatron_dsv2lite_baseline.tail.log", "succeeded", 20, form="megatron", exit=0, expected=20,
         loss=5.12077, seconds=32.0531, mean=32.706),
    _row("primus_megatron_dsv2lite_candidate_failed.tail.log", "failed", 19, form="megatron", exit=1, last=19,
         loss=5.146985, kind="terminated"),
    _row("primus_megatron_escape_baseline.tail.log", "succeeded", 12, form="megatron", loss=10.71408),
    _row("primus_megatron_escape_r1_c1.tail.log", "succeeded", 12, form="megatron", loss=10.71407),
    _row("megatron_deepspeed_gpt125m_randomltd.head.log", "incomplete", form="megatron", expected=171661),
    _row("torchtitan_from_hf_no_steps.txt", "succeeded", form="torchtitan", expected=1),
    _row("torchtitan_pp_hang_interrupted.txt", "failed", form="torchtitan", kind="terminated", expected=10,
         devices=4),
    _row("torchtitan_qwen3_14b_run104_mfu_NA.log", "succeeded", 2, form="torchtitan", tokens=9547.0,
         mfu=None),
    _row("torchtitan_qwen3_14b_run105_oom_after_step1.log", "failed", 1, form="torchtitan", kind="crash",
         last=1),
    _row("torchtitan_qwen3_14b_run111_fail_no_steps.log", "failed", form="torchtitan", kind="device_oom"),
    _row("torchtitan_qwen3_14b_run127_slower_higher_loss.log", "succeeded", 2, form="torchtitan",
         tokens=6995.0, loss=14.30904),
    _row("torchtitan_qwen3_14b_run131.log", "succeeded", 2, form="torchtitan", tokens=10060.0, loss=6.06744,
         mfu=37.67, devices=8, parameters=14.7683),
    _row("torchtitan_qwen3_14b_run132_rerun.log", "succeeded", 2, form="torchtitan", tokens=10023.0,
         loss=6.74983),
    _row("torchtitan_qwen3_14b_run143_ansi.log", "succeeded", 2, form="torchtitan", tokens=10288.0,
         loss=7.31813, percent=90.19, seconds=None, last=10, expected=10),
    _row("torchtitan_qwen3_14b_run144_rerun_same_config_ansi.log", "succeeded", 2, form="torchtitan",
         tokens=10258.0, loss=8.26058),
    _row("torchtitan_qwen3_14b_run70.log", "succeeded", 2, form="torchtitan", tokens=8847.0, loss=8.00693),
    _row("torchtitan_qwen3_14b_run71_rerun_half_speed.log", "succeeded", 2, form="torchtitan", tokens=4790.0,
         loss=15.69855),
    _row("llamafactory_hf_trainer_running_log.txt", "stopped", 421, form="hugging_face", last=2105,
         expected=17000, loss=0.0067, epoch=123.48),
    _row("hf_argparse_error_nohup.out", "failed", form=None, kind="config",
         error="train_bash.py: error: argument --fp16: Truthy value expected: got s but expected one of "
               "yes/no, true/false, t/f, y/n, 1/0 (case insensitive)."),
    _row("levanter_tpu_v3_log-t1v.log", "failed", form="levanter", run_name="8eyi8adv", devices=8),
    _row("llmc_gpt2_2024-10-13.head.log", "incomplete", 3770, form="llmc", last=3769, loss=3.6555),
    _row("modded_nanogpt_adamw_2024-06-06.log", "incomplete", 9536, form="llmc", last=9535, loss=3.34018,
         seconds=None),
    *(_row(f"base_{n:02}.tail.txt", "succeeded", 1390, form="modded_nanogpt", expected=1390, devices=8)
      for n in range(1, 11)),
    *(_row(f"cand_{n:02}.tail.txt", "succeeded", 1375, form="modded_nanogpt", expected=1375)
      for n in range(1, 11)),
    _row("primus_mlperf_gptoss20b_mllog.log", "succeeded", 19, form="mlperf", last=7296, loss=3.32969,
         seconds=1.22133),
    _row("mlperf31_paxml_gpt3_v5e4096_result_0.txt", "succeeded", 24, form="mlperf", last=288, loss=2.68979,
         seconds=9.08817),
    _row("mlperf31_habana_megatronds_gpt3_result_0.txt", "succeeded", 24, form="mlperf", last=288,
         loss=2.68988, seconds=40.8548),
    _row("mlperf31_nvidia_nemo_gpt3_eosn64_result_0.tail.txt", "succeeded", 288, form="mlperf", last=288,
         loss=None, seconds=11.0474, mean=11.044),
    _row("deepspeed_chat_sft_opt1.3b.head.log", "incomplete", 444, form="deepspeed", last=4440, loss=None,
         seconds=None, allocated=23500.8),
    _row("deepspeed_chat_rlhf_opt1.3b.tail.log", "succeeded", 417, form="deepspeed_chat", last=476, loss=None,
         seconds=3.85, act_loss=-0.0387573),
)  # fmt: skip


def _facts(run: RunLog) -> dict[str, object]:
    """The facts a row may name."""
    failure, said = run.outcome.failure, run.environment
    last = run.steps[-1] if run.steps else None
    compiled = (mark.seconds for mark in run.marks if mark.seconds and mark.kind == "compiled")
    return {
        "parameters": run.parameters_billion, "percent": run.memory[0].percent if run.memory else None,
        "compiled": next(compiled, None), "error": failure and failure.error,
        "jax": said.jax, "libtpu": said.libtpu, "orbax": said.orbax, "process": said.process,
        "workload": said.workload, "run_name": said.run_name, "commit": said.commit, "dtype": said.dtype,
        "expected": run.outcome.expected_steps, "exit": run.outcome.exit_code, "last": run.outcome.last_step,
        "mean": run.mean_seconds_after_first, "loss": last and last.loss, "seconds": last and last.seconds,
        "tokens": last and last.tokens_per_device, "tflop": run.tflop_per_step, "hosts": run.hosts,
        "devices": said.devices,
        "sites": tuple(sorted(s.line for s in said.call_sites)), "allocated": run.max_allocated_mb,
        "kind": failure and failure.kind, "where": failure and failure.where,
        "waits": tuple(p.seconds for p in time_ledger(run, None, ()) if "checkpoint" in p.name),
        **dict(last.extras if last else ()),
    }  # fmt: skip


def _same(expected: object, actual: object) -> bool:
    if isinstance(expected, tuple) and isinstance(actual, tuple):
        return len(expected) == len(actual) and all(map(_same, expected, actual))
    if isinstance(expected, float) and isinstance(actual, float):
        return abs(expected - actual) <= max(1.2e-3 * abs(expected), 1e-9)
    return expected == actual


def _disagreements(row: Row, runs: tuple[RunLog, ...]) -> Iterator[str]:
    """What a file does not say as its row does."""
    if len(runs) != row.runs or row.run > len(runs):
        yield f"{len(runs)} runs, expected {row.runs}"
        return
    run = runs[row.run - 1]
    found = _facts(run)
    pairs: list[tuple[str, object, object]] = [
        ("format", row.form, run.format),
        ("state", row.state, run.outcome.state.value),
        ("steps", row.steps, len(run.steps)),
        *((name, value, found.get(name)) for name, value in row.facts),
    ]
    for name, expected, actual in pairs:
        if not _same(expected, actual):
            yield f"{name}: {actual!r}, expected {expected!r}"


def _problems(path: Path) -> list[str]:
    """What is wrong with the reading of one file."""
    content = path.read_bytes()
    runs = read_log([content], path.name)
    pieces = read_log((content[n : n + 4093] for n in range(0, len(content), 4093)), path.name)
    problems = [] if repr(runs) == repr(pieces) else ["the answer depends on how the file is cut"]
    text = content.decode("utf-8", "replace")
    if (changed := changed_lines(text)) > max(1, MOST_CHANGED * text.count("\n")):
        problems.append(f"{changed} lines lose what is called a secret")
    for row in (row for row in ROWS if row.file == path.name):
        problems += [f"run {row.run}: {text}" for text in _disagreements(row, runs)]
    return problems


def main(folder: str) -> int:
    """Read all files under `folder`; the exit status."""
    shared = Path(folder)
    roots = (shared / "seeds", shared / "logs")
    files = sorted(path for root in roots for path in root.rglob("*") if path.is_file())
    files = [path for path in files if path.name != "sources.md"]
    absent = {row.file for row in ROWS} - {path.name for path in files}
    results = {path.name: _problems(path) for path in files}
    results |= {name: ["the file is not there"] for name in absent}
    failed = {name: problems for name, problems in results.items() if problems}
    for name, problems in failed.items():
        sys.stdout.write("".join(f"{name}: {problem}\n" for problem in problems))
    sys.stdout.write(f"{len(results) - len(failed)} passed, {len(failed)} failed\n")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.shared_logs PATH_OF_SHARED")
    sys.exit(main(sys.argv[1]))
