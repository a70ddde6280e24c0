"""Makes clients from the reference by six generators, compiles them, and syncs with each.

They are generated from what a service serves, and run against it. Before that, Redocly, Spectral
and openapi-spec-validator read the documents. `make sdk` runs it: a language that this machine
cannot compile is left out and named; with REQUIRED=1, as CI calls it, it has to be there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
from feedkeep_process import FeedkeepProcess

PROJECT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).with_name("programs")
BUILD = PROJECT / "build" / "sdk"
TOOLS = PROJECT / ".venv" / "sdk" / "bin"
NODE = BUILD / "node"
DOCUMENTS = ("openapi.json", "docs/openpodcast.json", "docs/gpodder.json", "docs/nextcloud.json")
PATIENCE_SECONDS = 600
OAPI_CODEGEN = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2"
LEFT_OUT, DONE, FAILED = "left out", "ok", "FAILED"


class Failed(Exception):
    """A command did not do what it should; `str()` is what it printed."""


@dataclass(frozen=True)
class Client:
    """A client to make.

    Attributes:
        name: The name of the generator and of its language.
        needs: The programs that have to be there.
        make: Generates it in a folder, from the document, and compiles it.
        command: Command line of the program that uses it.
    """

    name: str
    needs: Sequence[str]
    make: Callable[[Path, Path], None]
    command: Callable[[Path], Sequence[str | Path]]


def main() -> int:
    """Run the checks of the SDKs; return 0 if nothing failed, and nothing required is missing."""
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    results: dict[str, str] = {}
    with (
        tempfile.TemporaryDirectory(prefix="feedkeep-sdk-") as folder,
        FeedkeepProcess(Path(folder)) as process,
    ):
        documents = [_download(process, path) for path in DOCUMENTS]
        if has_node := bool(shutil.which("npm")):
            _install_node()
        results["reference"] = _attempt("reference", lambda: _check(documents, has_node))
        for client in CLIENTS:
            missing = [program for program in client.needs if not shutil.which(program)]
            if missing:
                results[client.name] = LEFT_OUT
                print(f"{client.name}: left out, since there is no {', '.join(missing)} here.")
            else:
                work = _sync(client, documents[0], process)
                results[client.name] = _attempt(client.name, work)
    is_required = bool(os.environ.get("REQUIRED"))
    return int(FAILED in results.values() or (is_required and LEFT_OUT in results.values()))


def _attempt(name: str, work: Callable[[], None]) -> str:
    """Do something, and print what became of it."""
    began = time.monotonic()
    try:
        work()
    except Failed as error:
        print(f"{name}: {FAILED}\n{error}")
        return FAILED
    print(f"{name}: {DONE}, in {time.monotonic() - began:.0f} s")
    return DONE


def _sync(client: Client, document: Path, process: FeedkeepProcess) -> Callable[[], None]:
    def work() -> None:
        folder = BUILD / client.name.replace(" ", "-")
        client.make(folder, document)
        name = process.new_account()
        token = process.new_token(name)
        environment = {"FEEDKEEP_URL": process.base_url, "FEEDKEEP_TOKEN": token}
        _run(*client.command(folder), folder=folder, environment=environment)
        with process.client(name) as api:  # what the program says of itself is not enough
            entries = api.get("/subscriptions").json()["subscriptions"]
        shown = [(one["feed_url"], one["is_subscribed"], "deleted" in one) for one in entries]
        if shown != [
            ("https://feeds.example/one", False, False),
            ("https://feeds.example/two", False, True),
        ]:
            raise Failed(f"The list is another one in the end: {shown}")

    return work


def _download(process: FeedkeepProcess, path: str) -> Path:
    file = BUILD / Path(path).name
    file.write_bytes(httpx.get(f"{process.base_url}/{path}").raise_for_status().content)
    return file


def _check(documents: Sequence[Path], has_node: bool) -> None:
    for document in documents:
        _run(TOOLS / "openapi-spec-validator", document)
        if has_node:
            (NODE / ".spectral.yaml").write_text("extends: [[spectral:oas, recommended]]\n")
            _run("npx", "redocly", "lint", document, folder=NODE)
            _run("npx", "spectral", "lint", "--fail-severity=error", document, folder=NODE)


def _install_node() -> None:
    shutil.copytree(
        PROGRAMS, NODE, ignore=shutil.ignore_patterns("*.py", "*.go", "*.java", "oapi*")
    )
    _run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", folder=NODE)


def _generate(generator: str, folder: Path, document: Path, *properties: str) -> None:
    """Generate a client with openapi-generator."""
    _run(
        TOOLS / "openapi-generator-cli", "generate", "-g", generator, "-i", document, "-o", folder,
        "--git-host", "feeds.example", "--git-user-id", "feedkeep", "--git-repo-id", "client",
        "--additional-properties", ",".join(properties),
    )  # fmt: skip


def _make_python(folder: Path, document: Path) -> None:
    _generate("python", folder, document, "packageName=feedkeep_client")
    shutil.copy(PROGRAMS / "with_openapi_generator.py", folder / "sync.py")


def _make_python_client(folder: Path, document: Path) -> None:
    paths = ("--path", document, "--output-path", folder, "--meta", "none")
    folder.mkdir()
    _run(
        TOOLS / "openapi-python-client",
        "generate",
        *paths[:3],
        folder / "feedkeep_client",
        *paths[4:],
    )
    shutil.copy(PROGRAMS / "with_openapi_python_client.py", folder / "sync.py")


def _make_go(folder: Path, document: Path) -> None:
    _generate("go", folder, document, "packageName=feedkeep")
    shutil.rmtree(folder / "test")  # it needs a module for tests alone, and tests nothing
    (folder / "sync").mkdir()
    shutil.copy(PROGRAMS / "main.go", folder / "sync")
    _run("go", "vet", "./...", folder=folder)
    _run("go", "build", "-o", "synced", "./sync", folder=folder)


def _make_go_with_oapi_codegen(folder: Path, document: Path) -> None:
    shutil.copytree(PROGRAMS / "oapi_codegen", folder)
    (folder / "feedkeep").mkdir()
    _run(
        "go", "run", OAPI_CODEGEN, "-generate", "types,client", "-package", "feedkeep",
        "-o", folder / "feedkeep" / "client.go", document,
    )  # fmt: skip
    _run("go", "vet", "./...", folder=folder)
    _run("go", "build", "-o", "synced", ".", folder=folder)


def _make_java(folder: Path, document: Path) -> None:
    packages = [f"{kind}Package=feedkeep.client{rest}" for kind, rest in
                (("invoker", ""), ("api", ".api"), ("model", ".model"))]  # fmt: skip
    _generate("java", folder, document, "library=native", "artifactId=client", *packages)
    shutil.copy(PROGRAMS / "Sync.java", folder / "src" / "main" / "java")
    _run("mvn", "-q", "-B", "-Dmaven.test.skip", "compile", folder=folder)


def _make_typescript(folder: Path, document: Path) -> None:
    shutil.copytree(NODE, folder, symlinks=True)
    _run("npx", "openapi-typescript", document, "-o", "schema.d.ts", folder=folder)
    _run("npx", "tsc", folder=folder)


_EXECUTE = "org.codehaus.mojo:exec-maven-plugin:3.6.1:java"

CLIENTS = (
    Client(
        "python openapi-generator", ["java"], _make_python,
        lambda _: (TOOLS / "python", "sync.py"),
    ),
    Client(
        "python openapi-python-client", [], _make_python_client,
        lambda _: (TOOLS / "python", "sync.py"),
    ),
    Client("go", ["go", "java"], _make_go, lambda folder: (folder / "synced",)),
    Client(
        "go oapi-codegen", ["go"], _make_go_with_oapi_codegen,
        lambda folder: (folder / "synced",),
    ),
    Client(
        "java", ["java", "javac", "mvn"], _make_java,
        lambda _: ("mvn", "-q", "-B", _EXECUTE, "-Dexec.mainClass=Sync"),
    ),
    Client("typescript", ["npm", "npx"], _make_typescript, lambda _: ("node", "sync.js")),
)  # fmt: skip


def _run(
    *command: str | Path, folder: Path = BUILD, environment: Mapping[str, str] | None = None
) -> None:
    """Run a command.

    Raises:
        Failed: It did not end with 0.
    """
    result = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**os.environ, "PATH": f"{TOOLS}:{os.environ['PATH']}", **(environment or {})},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    if result.returncode:
        told = f"{result.stdout}{result.stderr}".strip()[-4_000:]
        raise Failed(f"{Path(command[0]).name} ended with {result.returncode}.\n{told}")


if __name__ == "__main__":
    sys.exit(main())
