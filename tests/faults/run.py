"""Plant each fault in a copy of the project and see whether a test notices: `make faults`.

A patch beside this file is one small defect: a mask left out, a verdict that passes, `<` for `<=`. Each is applied to
a copy and meets the tests named in its header, up to the first failure. Those that survive are planted together and
meet the contracts and the architecture tests, then the whole suite; each is then tried alone on the tests that failed.
A test that catches a fault must pass on the copy without it.

Compiled kernels are cached by the sources of all modules that compile: a patched kernel starts with an empty cache,
because Numba notices a change of the file that a kernel stands in, and none of the kernels that it calls.

    python tests/faults/run.py                    # every fault, on the suite as it is in this folder
    python tests/faults/run.py --suite 6322251    # the same faults, on the suite of another revision
    python tests/faults/run.py --only nan_is_a_value_of_its_own
"""

from __future__ import annotations

import argparse
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

from tests.machine import kernel_cache  # noqa: E402

#: Run for every fault, after the tests of the module.
ALWAYS = ("tests/contracts", "tests/architecture")
#: That the patches apply to the sources is not to be asked where one was applied.
NEVER = "tests/architecture/test_faults.py"
#: Seconds after which a run counts as caught: a test that never ends fails in CI.
PATIENCE = 5_400
_HEADER = re.compile(r"Fault: (.+)\nFamily: (\S+)\nDisclosure: (yes|no)\nTests: (.+)\n\n")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
#: pytest's exit codes when all passed, when nothing was run, and when a test or a module failed.
_PASSED, _FOUND_NONE, _FAILURES = 0, 5, (1, 2)


@dataclass(frozen=True)
class Fault:
    """One defect: what it does, whose family it belongs to, and where its module is tested."""

    path: Path
    text: str
    family: str
    discloses: bool
    tests: tuple[str, ...]

    @classmethod
    def read(cls, path: Path) -> Fault:
        header = _HEADER.match(path.read_text(encoding="utf-8"))
        if header is None:
            raise SystemExit(f"{path.name} does not begin with the lines Fault, Family, Disclosure and Tests.")
        text, family, discloses, tests = header.groups()
        return cls(path, text, family, discloses == "yes", tuple(tests.split()))

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def source(self) -> str:
        """The file that it changes."""
        found = re.search(r"^\+\+\+ b/(\S+)", self.path.read_text(encoding="utf-8"), re.MULTILINE)
        assert found is not None, f"{self.path.name} changes no file"
        return found.group(1)


@dataclass(frozen=True)
class Caught:
    """Where a fault was caught, and by which test; nowhere, if it survived."""

    fault: Fault
    stage: str
    test: str
    seconds: float


def faults() -> list[Fault]:
    """Every fault there is, by family and name."""
    return sorted((Fault.read(p) for p in HERE.glob("*.patch")), key=lambda f: (f.family, f.name))


class Copy:
    """A copy of the project in which faults are planted, one after the other."""

    def __init__(self, folder: Path, revision: str | None) -> None:
        self.folder = folder
        folder.mkdir()
        if revision is None:
            _lay_out_working_tree(folder)
        else:
            archive = subprocess.run(["git", "archive", revision], cwd=ROOT, check=True, capture_output=True).stdout
            subprocess.run(["tar", "-x"], cwd=folder, check=True, input=archive)

    def plant(self, fault: Fault, *, remove: bool = False) -> None:
        """Apply a patch, or take it back; one that does not apply stops everything."""
        command = ["git", "apply", *(["--reverse"] if remove else []), str(fault.path)]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, env=_without_git())
        if done.returncode:
            raise SystemExit(f"{fault.name} does not apply any more; remake it.\n{done.stderr}")
        # bytecode is stamped by the second and the size: a patch may change neither
        shutil.rmtree((self.folder / fault.source).parent / "__pycache__", ignore_errors=True)

    def run(self, tests: Sequence[str], *options: str) -> list[str]:
        """Run tests in the copy: those that failed."""
        named = self.folder.with_name(f"{self.folder.name}-tests.txt")
        named.write_text("\n".join(tests), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=line", "-rfE", "-p", "no:cacheprovider"]
        process = subprocess.Popen(
            [*command, f"--ignore={NEVER}", *options, f"@{named}"],
            cwd=self.folder,
            env=self._environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            printed, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return ["(did not end)"]
        if process.returncode in (_PASSED, _FOUND_NONE):
            return []
        if process.returncode not in _FAILURES:
            raise SystemExit(f"pytest could not run {' '.join(tests)[:500]}:\n{printed[-2000:]}")
        return _FAILED.findall(printed) or [printed[-200:]]

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": str(self.folder / "src"),
            "NUMBA_CACHE_DIR": str(kernel_cache(self.folder)),
            "FLOU_REQUIRE_ALL": "1",
            "FLOU_NO_LIMIT": "1",
        }


def _lay_out_working_tree(folder: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)


def _without_git() -> dict[str, str]:
    """Outside of any repository, `git apply` goes by the folder it stands in."""
    return {**os.environ, "GIT_CEILING_DIRECTORIES": tempfile.gettempdir()}


class Trial:
    """Faults against the tests of one revision, two at a time."""

    def __init__(self, revision: str | None, place: Path) -> None:
        self._copies: queue.Queue[Copy] = queue.Queue()
        for name in ("a", "b"):
            self._copies.put(Copy(place / name, revision))

    def carry_out(self, chosen: list[Fault]) -> Iterator[Caught]:
        """Each fault against the tests of its module; those that survive against more and more."""
        left = yield from self._one_by_one(chosen, "its tests", None)
        for stage, tests in (("contracts, architecture", ALWAYS), ("whole suite", ("tests",))):
            if left:
                left = yield from self._one_by_one(left, stage, self._fail_together(left, tests))
        for fault in left:
            yield Caught(fault, "", "", 0.0)

    def _one_by_one(
        self, chosen: list[Fault], stage: str, tests: Sequence[str] | None
    ) -> Generator[Caught, None, list[Fault]]:
        """Give those that are caught, and return the others; without tests each fault meets its own."""
        left = []
        with ThreadPoolExecutor(2) as pool:
            for caught in pool.map(lambda f: self._meet(f, stage, f.tests if tests is None else tests), chosen):
                if caught.test:
                    yield caught
                else:
                    left.append(caught.fault)
        return left

    def _meet(self, fault: Fault, stage: str, tests: Sequence[str]) -> Caught:
        copy, started = self._copies.get(), time.perf_counter()
        copy.plant(fault)
        try:
            failed = copy.run(tests, "--exitfirst") if tests else []
            return Caught(fault, stage, failed[0] if failed else "", time.perf_counter() - started)
        finally:
            copy.plant(fault, remove=True)
            self._copies.put(copy)

    def _fail_together(self, planted: list[Fault], tests: Sequence[str]) -> list[str]:
        """The tests that fail when all these faults are there at once, since the suite takes long to run for each.

        One fault may hide another from a test, so that what survives here may be caught alone; never the reverse.
        """
        copy = self._copies.get()
        for fault in planted:
            copy.plant(fault)
        try:
            return copy.run(tests, "--numprocesses=2", "--dist=loadgroup")
        finally:
            for fault in reversed(planted):
                copy.plant(fault, remove=True)
            self._copies.put(copy)


def _line(caught: Caught) -> str:
    fault = caught.fault
    mark = "yes" if fault.discloses else ""
    test = f"`{caught.test}`" if caught.test else "**survived**"
    return f"| {fault.family} | {fault.name} | {mark} | {caught.stage} | {test} | {caught.seconds:.0f} |"


def main() -> int:
    parser = argparse.ArgumentParser(description="Plant each fault in a copy and see whether a test notices.")
    parser.add_argument("--suite", help="git revision whose code and tests are tried; default: this folder")
    parser.add_argument("--only", nargs="+", default=[], help="names of the faults to plant; default: all")
    options = parser.parse_args()
    known = {fault.name: fault for fault in faults()}
    for name in options.only:
        if name not in known:
            parser.error(f"there is no fault {name!r}")
    chosen = [known[name] for name in options.only] or list(known.values())
    print("| family | fault | discloses | caught by | first test | s |\n|---|---|---|---|---|---|", flush=True)
    found = []
    with tempfile.TemporaryDirectory(prefix="flou-faults-") as place:
        for caught in Trial(options.suite, Path(place)).carry_out(chosen):
            print(_line(caught), flush=True)
            found.append(caught)
        tests = sorted({c.test for c in found if c.test.startswith("tests/")})
        failing = Copy(Path(place) / "clean", options.suite).run(tests) if tests else []
    survived = sum(not c.test for c in found)
    print(f"\n{len(found) - survived} of {len(found)} faults caught.")
    if failing:
        print(f"Fail without any fault, so that what they caught proves nothing: {', '.join(failing)}")
    return int(bool(survived or failing))


if __name__ == "__main__":
    raise SystemExit(main())
