"""The native module of the package. Use the modules of ``context_bench`` instead."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import Self

__version__: str
DEFAULT_MODEL: str

class RowError:
    """Why a row has no output."""

    @property
    def kind(self) -> str:
        """The kind of failure, such as ``timeout``."""
        ...
    @property
    def message(self) -> str:
        """What happened."""
        ...
    @property
    def traceback(self) -> str | None:
        """The traceback, if Python code raised an exception."""
        ...

class EvalRow:
    """One example through one system."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    __match_args__: ClassVar[tuple[str, ...]]
    def __new__(
        cls,
        system: str,
        example_id: str | int,
        scores: dict[str, float],
        input_tokens: int,
        output_tokens: int,
        metadata: dict[str, Any] | None = None,
        latency: float = 0.0,
        dataset: str = "",
    ) -> Self: ...
    @property
    def system(self) -> str:
        """The name of the system."""
        ...
    @property
    def example_id(self) -> str | int:
        """The id of the example, or its position if it has none."""
        ...
    @property
    def scores(self) -> dict[str, float]:
        """Values by score name; scores without a value are in ``unscored``."""
        ...
    @property
    def input_tokens(self) -> int:
        """The number of tokens in the example."""
        ...
    @property
    def output_tokens(self) -> int:
        """The number of tokens in the system's output."""
        ...
    @property
    def metadata(self) -> dict[str, Any]:
        """The usage that the endpoint reported."""
        ...
    @property
    def latency(self) -> float:
        """The time inside the system, in seconds."""
        ...
    @property
    def dataset(self) -> str:
        """The dataset; empty if the example does not name one."""
        ...
    @property
    def error(self) -> RowError | None:
        """Why there is no output; ``None`` if there is one."""
        ...
    @property
    def unscored(self) -> dict[str, str]:
        """The reasons for scores without a value."""
        ...
    @property
    def cached(self) -> bool:
        """Whether the output was reused from an earlier run."""
        ...
    @property
    def wire(self) -> dict[str, Any] | None:
        """What a tap saw of its calls; ``None`` without a tap."""
        ...
    @property
    def question(self) -> Any:
        """The question, if the run keeps text."""
        ...
    @property
    def answer(self) -> Any:
        """The reference answer of the example."""
        ...
    @property
    def response(self) -> Any:
        """The response, without its reasoning."""
        ...
    @property
    def reasoning(self) -> str | None:
        """The model's reasoning before its answer; it is not scored."""
        ...
    @property
    def finish_reason(self) -> str | None:
        """Why the answer ended, as the server put it."""
        ...
    @property
    def ending(self) -> str | None:
        """How the answer ended: ``whole``, ``empty``, ``cut``, ``filtered`` or ``tool_calls``."""
        ...
    @property
    def given_tokens(self) -> int | None:
        """The number of tokens that the system was given."""
        ...
    @property
    def prompt_tokens(self) -> int | None:
        """The number of tokens sent to the model."""
        ...
    @property
    def cached_tokens(self) -> int | None:
        """How many of these the model had in its cache."""
        ...
    @property
    def completion_tokens(self) -> int | None:
        """The number of tokens in the reply."""
        ...

class NativeResult:
    """The parts of a result that are only needed to render it again."""

class OpenAIProxy:
    """A system behind an OpenAI-compatible endpoint."""

    def __init__(
        self,
        base_url: str,
        model: str = ...,
        name: str | None = None,
        api_key: str | None = None,
        system_prompt: str | None = None,
        build_messages: Callable[[dict[str, Any]], Sequence[Mapping[str, Any]]] | None = None,
        timeout: float = 300.0,
        extra_body: dict[str, Any] | None = None,
        max_retries: int = 3,
        retry_base_delay: float = 1.0,
        *,
        generation: Mapping[str, Any] | None = None,
        layout: str | None = None,
        api: str | None = None,
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @name.setter
    def name(self, name: str) -> None: ...
    model: str
    base_url: str
    api_key: str | None
    system_prompt: str | None
    build_messages: Callable[[dict[str, Any]], Sequence[Mapping[str, Any]]] | None
    timeout: float
    extra_body: dict[str, Any]
    generation: dict[str, Any]
    max_retries: int
    retry_base_delay: float
    layout: str
    api: str
    def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Sends one example; returns it with ``response`` and ``api_usage``."""
        ...
    def process_conversation(self, turns: list[dict[str, str]]) -> list[dict[str, str]]:
        """Holds a conversation; returns the assistant's messages."""
        ...

class NativeSystem:
    """A built-in context layer."""

    def __new__(
        cls, reference: str, *, name: str | None = None, relay: OpenAIProxy | None = None
    ) -> Self: ...
    @property
    def name(self) -> str: ...
    def process(self, example: Mapping[str, Any]) -> dict[str, Any]: ...
    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]: ...

class NativeEvaluator:
    """A built-in evaluator."""

    def __init__(self, kind: str, **settings: Any) -> None: ...
    def __getstate__(self) -> tuple[str, dict[str, Any], bool, dict[str, Any]]: ...
    @property
    def name(self) -> str: ...
    @property
    def score_names(self) -> list[str]: ...
    def score(
        self, original: Mapping[str, Any], processed: Mapping[str, Any]
    ) -> dict[str, float]: ...

class NativeMetric:
    """A built-in metric."""

    def __init__(
        self,
        kind: str,
        score_field: str = "score",
        threshold: float = 0.7,
        cost_field: str = "cost_of_pass",
        n: int = 1,
    ) -> None: ...
    @property
    def name(self) -> str: ...
    def compute(self, rows: Sequence[EvalRow]) -> dict[str, float]: ...

class NativeStore:
    """The run store in a folder."""

    def __new__(cls, dir: str | os.PathLike[str]) -> Self: ...
    def n_responses(self) -> int: ...
    def runs(self) -> list[dict[str, Any]]: ...
    def load(self, run: str, prices: list[str] = ...) -> dict[str, Any]: ...
    def record(self, run: str) -> dict[str, Any]: ...
    def sql(self, query: str) -> list[dict[str, Any]]: ...

class NativeLeases:
    """Requests that a quota outside this process allows."""

    def __new__(cls) -> Self: ...
    def grant(self, requests: int) -> None: ...
    def waiting(self) -> int: ...

class NativeUnits:
    """What an engine is to ask about."""

    @property
    def salt(self) -> str: ...
    @property
    def job(self) -> str: ...
    @property
    def systems(self) -> list[str]: ...
    @property
    def identities(self) -> list[tuple[str, str]]: ...
    @property
    def key_variables(self) -> list[str]: ...
    @property
    def rps(self) -> float | None: ...
    def __len__(self) -> int: ...
    def is_stopped(self) -> bool: ...
    def missing(self, positions: list[int] | None = None) -> list[int]: ...
    def n_bytes(self, position: int) -> int: ...
    def unit(self, positions: list[int]) -> tuple[bytes, list[dict[str, Any] | None]]: ...
    def keep(self, file: str | os.PathLike[str]) -> int: ...
    def failed(
        self, system: str, position: int, kind: str, message: str, seconds: float
    ) -> None: ...

class NativeTasks:
    """An index of task files."""

    def __new__(
        cls, roots: Sequence[str], cache: str | None = None, defaults: bool = True
    ) -> Self: ...
    @property
    def warnings(self) -> list[str]: ...
    def tasks(self) -> list[str]: ...
    def groups(self) -> list[str]: ...
    def tags(self) -> dict[str, list[str]]: ...
    def path(self, name: str) -> str: ...
    def load(
        self, specs: list[str], overrides: dict[str, Any] | None
    ) -> tuple[list[dict[str, Any]], list[NativeTask | None], list[str]]: ...
    def load_inline(
        self, definition: dict[str, Any], directory: str
    ) -> tuple[dict[str, Any], list[NativeTask | None], list[str]]: ...
    def settings(self) -> tuple[list[Path], Path | None]: ...

class NativeRequests:
    """The requests of a task."""

class NativeTask:
    """A task that can render requests and score responses."""

    def requests(
        self,
        splits: dict[str, Any],
        num_fewshot: int | None = None,
        limit: float | None = None,
        seed: int | None = None,
    ) -> tuple[NativeRequests, list[dict[str, Any]], list[str]]: ...
    def score(
        self, requests: NativeRequests, responses: list[Any], iterations: int = 100_000
    ) -> tuple[dict[str, Any], list[dict[str, Any]], list[str]]: ...

def work(handle: Any) -> None: ...
def evaluate(request: dict[str, Any]) -> dict[str, Any]: ...
def look(request: dict[str, Any]) -> tuple[list[tuple[str, str]], list[str]]: ...
def snapshot(dir: str | os.PathLike[str], to: str | os.PathLike[str]) -> None: ...
def render(
    format: str,
    rows: Sequence[EvalRow],
    summary: Mapping[str, Mapping[str, float]],
    timing: Mapping[str, float],
    config: dict[str, Any],
    native: NativeResult | None = None,
    path: str | None = None,
) -> str: ...
def compare(
    rows: Sequence[EvalRow],
    systems: Sequence[str],
    baseline: str | None = None,
    margin: float | None = None,
    score: str | None = None,
    resamples: int | None = None,
    seed: int = 0,
    flips: int = 20,
    native: NativeResult | None = None,
) -> tuple[dict[str, Any], str, str]: ...
def restore_row(fields: tuple[Any, ...], rest: tuple[Any, ...]) -> EvalRow: ...
def restore_result(pickled: str) -> NativeResult: ...
def main(args: list[str], datasets: dict[str, Any] | None = None) -> int: ...
def sandbox(args: list[str]) -> bool: ...
def load_dataset(
    typed: str,
    *,
    n: int | None = None,
    path: str | None = None,
    skip_bad_lines: bool = False,
    tagged: bool = False,
    map: list[tuple[str, str]] | None = None,
) -> list[dict[str, Any]]: ...
def dataset_names() -> list[str]: ...

class NativePrompt:
    """The prompt of a dataset."""

    def __init__(self, typed: str, path: str | None = None) -> None: ...
    def notices(self) -> list[str]: ...
    def messages(self, example: Mapping[str, Any]) -> list[dict[str, Any]]: ...
    def generation(self, example: Mapping[str, Any]) -> dict[str, Any]: ...

def rank_systems(
    summary: Mapping[str, Mapping[str, float]], quality_field: str, cost_field: str
) -> dict[str, int]: ...
def count_tokens(text: str, tokenizer: str = "cl100k_base") -> int: ...
def tokenizer_names() -> list[str]: ...
def normalize_answer(text: str) -> str: ...
def f1_score(prediction: str, reference: str) -> float: ...
def exact_match(prediction: str, reference: str) -> float: ...
def recall_score(prediction: str, reference: str) -> float: ...
def rouge_l(prediction: str, reference: str) -> tuple[float, float, float]: ...
def _panic() -> None: ...
