"""The wheel and the sdist as people install them: in a clean environment of every Python here."""

import glob
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from assent import __version__

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
NO_KEYS = {"HOME", "PATH", "LANG", "PIP_CERT", "PIP_FIND_LINKS", "PIP_DEFAULT_TIMEOUT"}


def interpreters() -> dict[str, str]:
    """Returns a Python for each version that is on this machine."""
    found: dict[str, str] = {}
    for version in VERSIONS:
        places = [
            *glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python")),
            *glob.glob(
                os.path.expanduser(f"~/.local/share/uv/python/cpython-{version}*/bin/python3")
            ),
            *filter(None, [shutil.which(f"python{version}")]),
        ]
        works = [place for place in places if _has_venv(place)]
        if works:
            found[version] = works[0]
    return found


def _has_venv(python: str) -> bool:
    line = [python, "-c", "import venv, ensurepip"]
    return subprocess.run(line, capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Builds both packages once; returns the wheel and the sdist."""
    out = tmp_path_factory.mktemp("dist")
    line = [sys.executable, "-m", "hatchling", "build", "-d", str(out)]
    subprocess.run(line, cwd=ROOT, check=True, capture_output=True)
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, sdist


def test_the_wheel_has_the_documents_the_man_page_and_no_test(packages: tuple[Path, Path]) -> None:
    names = zipfile.ZipFile(packages[0]).namelist()
    assert "assent/docs/configuration.md" in names
    assert "assent/docs/SECURITY.md" in names
    assert [name for name in names if name.endswith("share/man/man1/assent.1")]
    assert [name for name in names if name.startswith("tests/")] == []


def test_the_sdist_builds_the_same_wheel(packages: tuple[Path, Path], tmp_path: Path) -> None:
    wheel, sdist = packages
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    line = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "out")]
    subprocess.run(line, cwd=folder, check=True, capture_output=True)
    (again,) = (tmp_path / "out").glob("*.whl")
    first, second = zipfile.ZipFile(wheel), zipfile.ZipFile(again)
    assert sorted(first.namelist()) == sorted(second.namelist())
    assert [name for name in first.namelist() if first.read(name) != second.read(name)] == []


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("version", interpreters())
def test_the_wheel_works_in_a_clean_environment(
    packages: tuple[Path, Path], tmp_path: Path, version: str
) -> None:
    python = interpreters()[version]
    env = {name: value for name, value in os.environ.items() if name in NO_KEYS}
    home = tmp_path / "home"
    place, work = tmp_path / "env", tmp_path / "work"
    work.mkdir()
    subprocess.run([python, "-m", "venv", str(place)], check=True, env=env, capture_output=True)
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    pins = ["--require-hashes", "-r", str(ROOT / "requirements.txt")]
    for words in (pins, ["--no-deps", str(packages[0])]):
        done = subprocess.run([*pip, *words], env=env, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()

    def assent(*words: str) -> str:
        ran = subprocess.run(
            [str(place / "bin" / "assent"), *words],
            cwd=work,
            env={**env, "HOME": str(home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr.decode()
        return ran.stdout.decode()

    assert assent("--version") == f"assent {__version__}\n"
    assert "configuration" in assent("help", "topics")
    assert "Unknown keys are errors" in assent("help", "configuration")
    assent("init")
    assent("plan", "new", "first", "--goal", "Try it")
    (work / "draft").write_text("hello\n", encoding="utf-8")
    assent("stage", "write", "hello.txt", "--from", "draft")
    assent("propose")
    assert "hello.txt" in assent("review")
    assert (place / "share" / "man" / "man1" / "assent.1").is_file()


def test_the_man_page_is_in_step() -> None:
    line = [sys.executable, str(ROOT / "tools" / "man.py"), "--check"]
    assert subprocess.run(line, check=False).returncode == 0, "run `make docs`"


def test_the_man_page_is_valid_roff() -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("there is no groff here")
    line = [groff, "-man", "-ww", "-Tutf8", str(ROOT / "docs" / "assent.1")]
    done = subprocess.run(line, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
