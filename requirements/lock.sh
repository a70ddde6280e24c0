#!/bin/sh
# Pins the newest versions that pyproject.toml allows, by hash, for every platform and Python; and the
# lowest.
set -eu
cd "$(dirname "$0")/.."
compile() {
    .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
        --no-emit-index-url --no-annotate --upgrade \
        --custom-compile-command "make lock" "$@"
}
compile pyproject.toml --output-file requirements/run.txt
compile pyproject.toml --extra postgres --constraint requirements/run.txt \
    --output-file requirements/postgres.txt
compile --group build --constraint requirements/run.txt --output-file requirements/build.txt
compile --group test --group lint --group lock \
    --constraint requirements/postgres.txt --constraint requirements/build.txt \
    --output-file requirements/dev.txt
compile --group sdk --constraint requirements/dev.txt --output-file requirements/sdk.txt
compile --group site --output-file requirements/site.txt
compile --group audit --output-file requirements/audit.txt
compile --group release --constraint requirements/build.txt --output-file requirements/release.txt
compile --group bench --constraint requirements/dev.txt --output-file requirements/bench.txt

# The lowest versions of what feedkeep needs, and the same tools around them.
tools=$(mktemp)
grep -ho '^[a-z0-9][^ ]*==[^ ]*' requirements/dev.txt requirements/build.txt |
    grep -vxF "$(grep -o '^[a-z0-9][^ ]*==[^ ]*' requirements/postgres.txt)" |
    grep -v '^hatchling==' >"$tools"
compile --resolution lowest-direct pyproject.toml --extra postgres --group test --group build \
    --constraint "$tools" --output-file requirements/lowest.txt
rm "$tools"
