"""What a test run asks of the machine: one thread per worker, and compiled kernels from a cache of their own.

Two workers with two threads each would wait for each other. Numba notices a change of the file that a kernel stands
in, and none of the kernels that it calls: so every state of the sources has its own cache.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

#: Marks of a module that holds kernels: it compiles them itself, or borrows the decorator.
_COMPILES = re.compile(rb"njit|compiled")
_SPARK = "--conf spark.sql.codegen.wholeStage=false --conf spark.sql.codegen.factoryMode=NO_CODEGEN pyspark-shell"
_THREADS = ("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def kernel_cache(project: Path) -> Path:
    """The cache folder for the sources as they are: it changes with any module that compiles something."""
    sources = sorted(p for p in (project / "src").rglob("*.py") if _COMPILES.search(p.read_bytes()))
    key = hashlib.sha256(b"".join(p.read_bytes() for p in sources)).hexdigest()[:16]
    return project / ".numba_cache" / key


def set_up(project: Path) -> None:
    """Say so in the environment, before anything reads it; what is set already stays."""
    for name in _THREADS:
        os.environ.setdefault(name, "1")
    # Java code that is made for each query costs more than it saves on little files; in depth Spark works as it does
    # for users. A Java process of some minutes gains nothing from the last level of its compiler.
    if os.environ.get("FLOU_TESTS") != "deep":
        os.environ.setdefault("PYSPARK_SUBMIT_ARGS", _SPARK)
        os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    # a process for each run would load all libraries anew; the tests of the worker start it themselves
    os.environ.setdefault("FLOU_WORKER", "inline")
    os.environ.setdefault("NUMBA_CACHE_DIR", str(kernel_cache(project)))
