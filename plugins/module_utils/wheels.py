"""How pip is asked for wheels of another machine than its own. Standard library only."""

from __future__ import annotations

# pip takes a foreign platform literally, so each older manylinux that fits is named.
GLIBC_MINORS = range(5, 35)


def platform_args(python_version: str, machine: str) -> list[str]:
    """Return pip's options for wheels of another interpreter than its own."""
    tags = [f"manylinux_2_{minor}_{machine}" for minor in GLIBC_MINORS] + [
        f"manylinux2014_{machine}",
        f"linux_{machine}",
    ]
    return ["--only-binary=:all:", "--python-version", python_version, "--implementation", "cp"] + [
        arg for tag in reversed(tags) for arg in ("--platform", tag)
    ]
