"""What Ray adds at calls of 50 ms: one process with 64 calls in flight, and two workers with 32.

    python ray_overhead.py --endpoint target/release/mock-endpoint

Starts a Ray of its own on this machine with two CPUs, and ends it. The first run on Ray warms the
workers up; the second one is what counts.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from typing import Any

from context_bench import OpenAIProxy, evaluate
from context_bench.distributed import Ray
from context_bench.evaluators import AnswerQuality

CALLS, LATENCY, IN_FLIGHT, CPUS = 4000, 0.05, 64, 2


def examples(mark: str) -> list[dict[str, Any]]:
    return [
        {"id": i, "context": f"{mark} {i}", "question": "Capital?", "answer": "Paris"}
        for i in range(CALLS)
    ]


def seconds(url: str, mark: str, **settings: Any) -> float:
    system = OpenAIProxy(url, model="m", name="endpoint")
    began = time.monotonic()
    result = evaluate([system], examples(mark), [AnswerQuality()], progress=False, **settings)
    took = time.monotonic() - began
    assert len(result.rows) == CALLS and not any(row.error for row in result.rows)
    return took


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--endpoint", required=True)
    given = arguments.parse_args()
    import ray

    command = [given.endpoint, "--stdin-close", "--latency-ms", str(int(1000 * LATENCY))]
    server = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdin is not None and server.stdout is not None
    url = server.stdout.readline().removeprefix("listening on ").strip()
    try:
        ideal = CALLS * LATENCY / IN_FLIGHT
        alone = seconds(url, "alone", max_workers=IN_FLIGHT)
        ray.init(num_cpus=CPUS, include_dashboard=False, log_to_driver=False)
        executor = Ray(max_workers=IN_FLIGHT // CPUS, unit=256)
        cold = seconds(url, "cold", executor=executor)
        warm = seconds(url, "warm", executor=executor)
        print(f"{CALLS} calls of {1000 * LATENCY:.0f} ms, {IN_FLIGHT} in flight")
        print(f"ideal                    {ideal:6.2f} s")
        print(f"one process              {alone:6.2f} s")
        print(f"Ray, {CPUS} workers, first    {cold:6.2f} s")
        print(f"Ray, {CPUS} workers, warm     {warm:6.2f} s  ({warm / alone:.2f} of one process)")
    finally:
        ray.shutdown()
        server.stdin.close()
        server.wait()


if __name__ == "__main__":
    main()
