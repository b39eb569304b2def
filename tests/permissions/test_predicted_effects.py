"""What a command's text says: deletions, network, installations, places outside, the scope."""

import pytest

from assent.core.plan.operation import RunCommand, command_line_text
from assent.core.plan.plan import Scope
from assent.permissions.commands.classifier import classify_command_line
from assent.permissions.commands.predicted_effects import PredictedEffects, predict_effects
from assent.permissions.operation_risks import RiskInput, operation_risks

ROOT = "/srv/app"


def seen(
    text: str, *, certain: bool = True, scope: Scope | None = None, cwd: bytes = b""
) -> PredictedEffects:
    op = RunCommand(script=text.encode() + (b"" if certain else b"\n$tool"), cwd=cwd)
    line = classify_command_line(command_line_text(op), root=ROOT)
    return predict_effects(op, line, ROOT, scope or Scope())


@pytest.mark.parametrize("certain", [True, False], ids=["certain", "roughly"])
@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("make test", ""),
        ("cat a | sort > b", ""),
        ("echo rm", ""),
        ("rm -r build", "deletes"),
        ("make && /bin/rm x", "deletes"),
        ("git clean -fd", "deletes"),
        ("find . -name '*.o' -delete", "deletes"),
        ("git reset --hard", "deletes"),
        ("git push origin main", "network"),
        ("curl -o a https://example.org/a", "network"),
        ("ssh host true", "network"),
        ("pip install x", "installs network"),
        ("python3 -m pip install x", "installs network"),
        ("cd web && npm ci", "installs network"),
        ("go get example.org/x", "installs network"),
        ("make install", "installs"),
        ("sudo make", "outside"),
        ("systemctl restart x", "outside"),
        ("sudo apt-get install x", "installs network outside"),
        ("echo x > /etc/hosts", "outside"),
        ("cp a ../b", "outside"),
        ("touch ~/x", "outside"),
        ("echo x > /tmp/a", "outside"),
        ("echo x > /srv/app/a", ""),
        ("echo x 2>/dev/null > a", ""),
    ],
)
def test_what_a_line_says(text: str, codes: str, certain: bool) -> None:
    found = seen(text, certain=certain)
    words = codes.split()
    assert [found.installs, found.network, found.deletes, found.outside] == [
        word in words for word in ("installs", "network", "deletes", "outside")
    ]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("timeout 60 rm -r x", PredictedEffects(deletes=True)),
        ("ls | xargs rm", PredictedEffects(deletes=True)),
        ("find . -name x -exec rm {} +", PredictedEffects(deletes=True)),
        ("bash -c 'pip install x'", PredictedEffects(installs=True, network=True)),
        ("if [ -d x ]; then git fetch; fi", PredictedEffects(network=True)),
        ("echo $(curl https://example.org)", PredictedEffects(network=True)),
        ("(cd web && rm a)", PredictedEffects(deletes=True)),
    ],
)
def test_wrappers_and_nested_lines_are_looked_into(text: str, wanted: PredictedEffects) -> None:
    found = seen(text)
    assert (found.installs, found.network, found.deletes) == (
        wanted.installs, wanted.network, wanted.deletes,
    )  # fmt: skip


def test_a_folder_below_can_be_left_without_leaving_the_workspace() -> None:
    assert not seen("touch ../x", cwd=b"web").outside
    assert seen("touch ../../x", cwd=b"web").outside


def test_an_argument_vector_is_no_shell_line() -> None:
    op = RunCommand((b"echo", b"rm -r x; curl y > /etc/z", b"$HOME"))
    found = predict_effects(op, classify_command_line(command_line_text(op)), ROOT)
    assert found == PredictedEffects()
    rm = RunCommand((b"rm", b"a b"))
    assert predict_effects(
        rm, classify_command_line(command_line_text(rm)), ROOT
    ) == PredictedEffects(deletes=True)


def test_without_the_sandbox_everything_outside_is_in_reach() -> None:
    assert predict_effects(RunCommand((b"true",), profile="unconfined")).outside


SCOPE = Scope(
    (), ("make", "npm test", "python tools/gen.py", "sh build.sh", "docker", "git", "git push")
)


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("make", True),
        ("make test -j2", True),
        ("maker", False),
        ("./make", False),
        ("npm test -- x", True),
        ("npm install", False),
        ("make && npm test", True),
        ("make && rm x", False),
        ("make $(rm x)", False),
        ("sudo make", False),
        ("python tools/gen.py", True),
        ("python tools/gen.py --all", False),
        ("python -c 1", False),
        ("sh build.sh", True),
        ("sh build.sh x", False),
        ("$tool", False),
        ("docker ps", False),
        ("docker", True),
        ("git status", True),
        ("git log -3", True),
        ("git log -3 > f", False),
        ("git commit -m x", True),
        ("git rebase main", False),
        ("git push origin main", True),
    ],
)
def test_f84_a_declared_prefix_covers_programs_and_interpreters_only_to_the_letter(
    text: str, covered: bool
) -> None:
    assert seen(text, scope=SCOPE).covered is covered
    assert seen(text).covered


def test_what_nobody_should_run_is_said() -> None:
    assert seen("rm -rf .").danger == (
        "It deletes an entire home folder, system, workspace or repository."
    )
    assert seen("rm -rf build").danger == ""


@pytest.mark.parametrize(
    ("op", "names"),
    [
        (RunCommand((b"make", b"test")), ()),
        (RunCommand((b"cat", b".env")), (b".env",)),
        (RunCommand((b"cat", b".env.example")), ()),
        (RunCommand((b"docker", b"run", b"--env-file=app/.env", b"x")), (b"app/.env",)),
        (RunCommand((b"ssh", b"-i", b"~/.ssh/id_rsa", b"host")), (b"~/.ssh/id_rsa",)),
        (RunCommand(script=b"set -a; . ./.env\nmake"), (b"./.env",)),
        (RunCommand(script=b"curl -T certs/server.pem x"), (b"certs/server.pem",)),
        (RunCommand((b"python3", b"-c", b"print(open('.netrc').read())")), (b".netrc",)),
        (RunCommand((b"node", b"-e", b"console.log(process.env.HOME)")), ()),
        (
            RunCommand((b"make",), env=((b"KEYS", b"/root/.ssh/id_ed25519"),)),
            (b"/root/.ssh/id_ed25519",),
        ),
        (
            RunCommand((b"make",), undo=(b"rm", b".github/workflows/ci.yml")),
            (b".github/workflows/ci.yml",),
        ),
        (RunCommand((b"sh", b"-c", b"cat .env* > all")), (b".env",)),
        (RunCommand((b"git", b".env"), profile="commit"), ()),
    ],
)
def test_g7_protected_and_secret_files_that_a_command_names_are_found(
    op: RunCommand, names: tuple[bytes, ...]
) -> None:
    assert predict_effects(op).touches == names
    assert ("protected" in operation_risks(op, RiskInput())) == bool(names)
