"""Natural-language inference."""

from __future__ import annotations

from context_bench.datasets.loading import Examples, Path, load

__all__ = [
    "contract_nli",
    "scifact",
]


def contract_nli(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Whether a contract entails, contradicts or does not mention a statement."""
    return load("contract-nli", n, config=config, split=split, path=path)


def scifact(
    n: int | None = None,
    split: str | None = None,
    config: str | None = None,
    path: Path | None = None,
) -> Examples:
    """Scientific claims to check against cited abstracts."""
    return load("scifact", n, config=config, split=split, path=path)
