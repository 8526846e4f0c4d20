"""Stand-ins for the programs that `xpk` calls, `gcloud` and `kubectl`, and for a quick `xpk`.

They print what the real ones print, with the stand-in cluster behind them. Each is this file with the
program's name and the cluster's address in front, so it imports nothing of the tests. The real xpk needs
15 seconds for a workload, most of them asleep: this one posts a JobSet that says the same
(`tests/clusters/xpk/test_real_xpk.py` compares the two).
"""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

DIGEST = "sha256:" + "5e" * 32


def install(folder: Path, address: str, *, images: str = "", log: Path | None = None) -> Path:
    """Make the programs in a folder, which then goes first on PATH; `images` is a pattern of those there are.

    Calls are written to `log`, one a line, with the environment's names.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for program in ("gcloud", "kubectl", "quick-xpk"):
        path = folder / program
        # Without `site` Python starts in a fifth of the time; YAML is read by kubectl alone.
        bare = () if program == "kubectl" else ("-S",)
        words = (sys.executable, *bare, __file__, program, address, images, str(log or os.devnull))
        quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
        path.write_text(f'#!/bin/sh\nexec {quoted} "$@"\n')
        path.chmod(0o755)
    return folder


def _gcloud(words: list[str], address: str, images: str) -> int:
    match words[:3]:
        case ["container", "clusters", "list"]:
            print("us-east5")
        case ["container", "clusters", "get-credentials"]:
            _write_kubeconfig(Path(os.environ["KUBECONFIG"]), address)
        case ["container", "images", "describe"]:
            if not re.search(images, words[3]):
                print(f"ERROR: (gcloud.container.images.describe) [{words[3]}] is not found", file=sys.stderr)
                return 1
            print(DIGEST)
        case ["projects", "describe", _]:
            print("123456")
        case _:
            return 0
    return 0


def _write_kubeconfig(path: Path, address: str) -> None:
    token = {"user": {"token": "stand-in"}, "name": "c"}
    context = {"context": {"cluster": "c", "user": "c"}, "name": "c"}
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"cluster": {"server": address}, "name": "c"}],
        "users": [token],
        "contexts": [context],
        "current-context": "c",
    }
    path.write_text(json.dumps(kubeconfig))


def _kubectl(words: list[str], address: str, _: str) -> int:
    namespace = "/namespaces/default"
    jobsets = f"{address}/apis/jobset.x-k8s.io/v1alpha2{namespace}/jobsets"
    match words:
        case ["apply", "-f", name, *_]:
            return _apply(jobsets, Path(name).read_text())
        case ["delete", "jobset", name, *_]:
            status, found = _ask("DELETE", f"{jobsets}/{name}")
            print(
                f'jobset.jobset.x-k8s.io "{name}" deleted' if status < 300 else f"Error from server: {found}"
            )
            return int(status >= 300)
        case ["get", "workloads", *_]:
            status, found = _ask("GET", f"{address}/apis/kueue.x-k8s.io/v1beta1{namespace}/workloads")
            print("Jobset")
            for one in found.get("items", ()):
                print(one["metadata"]["ownerReferences"][0]["name"])
            return int(status >= 300)
        case ["get", "pods", *_]:
            return int(_ask("GET", f"{address}/api/v1{namespace}/pods")[0] >= 300)
        case ["get", "configmap", name, *_]:
            status, found = _ask("GET", f"{address}/api/v1{namespace}/configmaps/{name}")
            print("map[" + " ".join(f"{key}:{value}" for key, value in found.get("data", {}).items()) + "]")
            return int(status >= 300)
        case _:
            return 0


def _apply(path: str, text: str) -> int:
    import yaml  # noqa: PLC0415 - not there without `site`

    found = yaml.safe_load(text)
    name = found["metadata"]["name"]
    status, _ = _ask("GET", f"{path}/{name}")
    method, target = ("POST", path) if status == 404 else ("PATCH", f"{path}/{name}")
    status, said = _ask(method, target, found)
    print(f"jobset.jobset.x-k8s.io/{name} created" if status < 300 else f"Error from server: {said}")
    return int(status >= 300)


def _xpk(words: list[str], address: str, _: str) -> int:
    given = dict(word.removeprefix("--").split("=", 1) for word in words[2:] if "=" in word)
    jobsets = f"{address}/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
    if words[1] == "delete":
        return int(_ask("DELETE", f"{jobsets}/{given['workload']}")[0] >= 300)
    if _ask("GET", f"{jobsets}/{given['workload']}")[0] == 200:
        print("[XPK] it already exists, do you want to overwrite it? (y/N)", file=sys.stderr)
        return 1
    return int(_ask("POST", jobsets, _jobset(given))[0] >= 300)


def _jobset(given: dict[str, str]) -> Any:
    name, _, value = given["env"].partition("=")
    around = (
        "echo XPK Start: $(date);\n({}) & PID=$!;\nwait $PID; EXIT_CODE=$?;\necho EXIT_CODE=$EXIT_CODE;\n"
    )
    container = {
        "name": "jax-tpu",
        "image": given["docker-image"],
        "env": [{"name": name, "value": value}],
        "command": ["bash", "-c", around.format(given["command"])],
    }
    pod = {"spec": {"priorityClassName": given["priority"], "containers": [container]}}
    queue = {"kueue.x-k8s.io/queue-name": "multislice-queue", "xpk.google.com/workload": given["workload"]}
    job = {"parallelism": 8, "completions": 8, "backoffLimit": 0, "template": pod}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": given["workload"], "labels": queue},
        "spec": {
            "failurePolicy": {"maxRestarts": int(given["max-restarts"])},
            "replicatedJobs": [{"name": "slice-job", "replicas": 1, "template": {"spec": job}}],
        },
    }


def _ask(method: str, address: str, body: Any = None) -> tuple[int, Any]:
    import urllib.error  # noqa: PLC0415 - gcloud's answers need none of it
    import urllib.request  # noqa: PLC0415 - as above

    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, method=method)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)


def main() -> int:
    """One call of one program."""
    program, address, images, log, *words = sys.argv[1:]
    with Path(log).open("a") as calls:
        calls.write(json.dumps({"words": [program, *words], "environment": sorted(os.environ)}) + "\n")
    return {"gcloud": _gcloud, "kubectl": _kubectl, "quick-xpk": _xpk}[program](words, address, images)


if __name__ == "__main__":
    sys.exit(main())
