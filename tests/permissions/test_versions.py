"""Tools that may tell their version and do nothing else."""

import pytest

from assent.permissions.commands.read_only.alternatives import unlisted_command_reason
from assent.permissions.commands.read_only.classifier import check_spec_examples, classify_read_only
from assent.permissions.commands.read_only.spec import ReadOnlyCommandSpec
from assent.permissions.commands.read_only.tables.system import VERSION_COMMANDS


@pytest.mark.parametrize("spec", VERSION_COMMANDS, ids=lambda spec: spec.name)
def test_every_tool_keeps_to_its_forms(spec: ReadOnlyCommandSpec) -> None:
    check_spec_examples(spec)
    assert spec.obeys


RUNS = """
python --version
python3 -V
python3.12 --version
node -v
npm --version
go version
cargo --version
rustc -vV
java -version
gcc --version
docker --version
kubectl version --client
pip --version 2>/dev/null
ruff --version && mypy --version
perl -v | head -2
tar --version
apt-get --version
pacman -V
ffmpeg -version
"""

REFUSED = """
python
python -c 'print(1)'
python --version -c 'print(1)'
python -m this
python setup.py --version
node -e 1
npm --version install
npm run version
npm version
yarn version
npx cowsay
npx --version cowsay
go version ./...
go run .
cargo version
cargo --version --config x
java -jar a.jar --version
make --version all
make
docker version
kubectl version
kubectl 'version --client'
gh auth status
bash --version -c ls
bash -c ls
perl -v -e 1
python --versio*
./python --version
../bin/python3 --version
/tmp/python3 --version
python3 --version > out
python3 --version $(touch x)
PATH=. python3 --version
env python3 --version
command python3 --version
unknown-tool --version
tar --version -cf x .
tar -cf x --version
rsync --version a b
apt-get install --version x
"""


@pytest.mark.parametrize("line", RUNS.strip().splitlines())
def test_a_version_is_told(line: str) -> None:
    assert classify_read_only(line).read_only, classify_read_only(line).reason
    assert not classify_read_only(line, sandboxed=False).read_only


@pytest.mark.parametrize("line", REFUSED.strip().splitlines())
def test_nothing_else_is_done(line: str) -> None:
    assert not classify_read_only(line).read_only


def test_a_refusal_says_what_serves_instead_and_which_form_runs() -> None:
    told = f"{unlisted_command_reason('make')} Only `make --version` is allowed."
    assert classify_read_only("make all").reason == told
    assert ": it builds, tests or installs; " in told
