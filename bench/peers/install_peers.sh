#!/bin/sh
# Installs the tools that the benchmark compares with, each in a folder of its own under $PEERS.
# Needs Python 3.11 or newer, Node 20.20 or newer, and npm.
set -eu
: "${PEERS:?set PEERS to the folder to install into}"
PYTHON=${PYTHON:-python3}
# The same checker in every Python peer, so that its speed does not decide.
CHECKER=jsonschema-rs==0.61.2

install() {
    folder=$1
    package=$2
    [ -d "$folder" ] || "$PYTHON" -m venv "$folder"
    "$folder/bin/pip" install -q --disable-pip-version-check "$package" "$CHECKER"
}

mkdir -p "$PEERS/promptfoo"
cd "$PEERS"
install inspect inspect-ai==0.3.285
install pydantic pydantic-evals==2.62.0
install deepeval deepeval==4.3.1

cd promptfoo
[ -f package.json ] || npm init -y >/dev/null
# The last release line that accepts Node 20.
PROMPTFOO_DISABLE_TELEMETRY=1 npm install promptfoo@0.121.20 --no-fund --no-audit
