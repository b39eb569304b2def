"""F79 and F84: programs that run others show what they run, or are in doubt; no prefix of one is
ever remembered."""

import pytest

from assent.permissions.commands.classifier import classify_command_line

HIDING = (
    "bash -O extglob -c 'git push'", "bash --rcfile x -c make", "fish -c 'git push'",
    "fish --command='git push'", "csh -c make", "bash -ic make", "bash -o history -c make",
    "bash5 -c make", "env '-Sgit push'", "env --split-string='git push'", "env -iS 'git push'",
    "env -C d make", "echo push | xargs git", "echo push | xargs -I% git %", "xargs nice",
    "xargs env",
    "echo git push | xargs -i env {}", "xargs sh", "xargs npm run", "xargs python3 -c",
    "xargs find",
    "xargs sed", "/usr/bin/time -o f git push", "command time -f x git push", "setarch -R git push",
    "prlimit git push", "prlimit --nofile=1 git push", "timeout --kill 9 5 git push",
    "xargs --process-slot-var X git push", "xargs --eof x git push", "strace -ff git push",
    "strace --output x git push", "conda run --cwd d git push", "uv --quiet run git push",
    "uv run --directory . git push", "choom -n 0 git push", "nsenter git push",
    "perf stat git push",
    "/lib64/ld-linux-x86-64.so.2 /usr/bin/git push", "git submodule foreach git push",
    "git submodule --quiet foreach make", "git bisect run make", "git rebase -x make HEAD",
    "git rebase --exec make HEAD", "git rebase --exe make HEAD", "git rebase -ix make HEAD",
    "git grep -O x", "git grep -nOtouch x", "git grep --open-files-in-pager=touch x",
    "git -c alias.x=push x", "git --exec-path=. push", "git --git-dir=x status", "git unknown",
    "git difftool -x make", "git fetch --upload-pack make .", "git clone -u make . x",
    "git clone --template=d . x", "git clone -c a=b . x", "git archive --remote=. --exec=make HEAD",
    "git config alias.x push", "git config core.pager make", "git fetch ext::make",
    "git rebase $x", "git hook run x", "git --list-cmds=x push",
    "tar cf x a --checkpoint=1 --checkpoint-action=exec=make", "tar xf x --to-command=make",
    "tar -I make -cf x a", "tar cIf make x a", "tar cf x *", "sed '1e make' a",
    "sed 's/x/make/e' a",
    "sed -i '1e make' a", "sed -i 's/a/b/w f' a", "awk 'BEGIN{system(\"make\")}'",
    "awk '{\"make\" | getline}' a", "awk '{print > \"f\"}' a", "fd x -x make", "fd -X make",
    "fd x --exec make", "npm exec -c 'git push'", "npx -c 'git push'", "tmux new make",
    "hyperfine make", "stack exec make", "nix develop -c make", "nix run x", "run-parts d",
    "bwrap make", "parallel make", "watch make", "flock . make", "flock . -c make",
    "flock --command=make .", "ssh -o ProxyCommand=make h", "ssh h 'ls; make'", "script -qc make f",
    "expect -c 'spawn make'", "make test SHELL=x", "make --eval=x", "make CC=x", "make $x",
    "find . -exec sh -c 'rm {}' \\;", "find . $x", "find . -exec git {} \\;", "find . -exec {} \\;",
    "vim -c '!make' a", "ed a", "rsync -e make a b:", "rg --pre make x",
    "sort --compress-program=x a",
    "go test -exec make ./...", "go build -toolexec=make", "cargo --config x build",
    "cargo build --config x", "man -P make ls", "split --filter=make a", "cmake -E touch a",
    "cmake -P x", "unshare -r make", "chroot d make", "gdb --args make", "entr make", "at now",
    "sqlite3 x '.shell make'", "nice $x", "timeout $x make",
)  # fmt: skip


@pytest.mark.parametrize("text", HIDING)
def test_f79_a_program_that_may_run_another_is_a_doubt(text: str) -> None:
    line = classify_command_line(text)
    assert (line.certain, line.risk, line.always) == (False, "high", ())
    assert line.reasons


SHOWN = (
    "bash -o errexit -c 'git push'", "bash -euo pipefail -c 'git push'", "bash -c -e 'git push'",
    "bash -ce -- 'git push'", "sh -c 'git push' x", "nice --5 git push", "nice -n5 git push",
    "linux64 git push", "x86_64 git push", "eatmydata git push", "time -p git push",
    "time git push",
    "stdbuf -oL git push", "timeout -k 9 5 git push", "timeout --signal=9 5 git push",
    "xargs -rt -I% sh -c 'git push'", "uv run --with x git push", "npm exec -- git push",
    "mise x -- git push", "command -p git push", "setsid -w git push", "setarch x86_64 git push",
    "ionice -c 3 git push", "taskset -c 0 git push", "env -i LANG=C git push", "exec git push",
    "poetry run git push", "bundle exec git push", "direnv exec . git push",
)  # fmt: skip


@pytest.mark.parametrize("text", SHOWN)
def test_f79_what_a_known_wrapper_runs_is_found(text: str) -> None:
    line = classify_command_line(text)
    assert line.certain
    assert "git push" in line.commands


KNOWN = (
    "tar czf a.tgz d", "tar xf a -C d", "tar -cf a.tar --exclude=x d",
    "tar --create --file=a.tar d", "sed -i s/a/b/ f", "sed -i.bak -e s/a/b/ f",
    "awk '{print $1}' a > f",
    "make -j4 test", "git rebase main", "git submodule update", "git bisect start", "git stash pop",
    "git push -u origin main", "git config user.name x", "git fetch origin", "ssh h ls",
    "go test ./...",
    "cargo build --release", "find . -name '*.py' -exec touch f \\;", "git commit -m 'a b'",
    "git -C sub add a", "uv sync", "npm --version", "nix build", "stack build",
)  # fmt: skip


@pytest.mark.parametrize("text", KNOWN)
def test_f79_usual_work_stays_certain(text: str) -> None:
    assert classify_command_line(text).certain


RUNNING = (
    "linux64 make", "x86_64 make", "eatmydata make", "poetry run make", "pdm run make", "tar xf a",
    "taskset 1 make", "chrt 1 make", "gtimeout 1 make", "bundle exec make", "gcc -o a a.c",
    "swift run",
    "man ls", "git grep x > f", "direnv exec . make", "npm x make", "dart run x",
)  # fmt: skip


@pytest.mark.parametrize("text", RUNNING)
def test_f84_no_prefix_of_a_program_that_runs_others_is_remembered(text: str) -> None:
    line = classify_command_line(text)
    own = [
        pattern for pattern in line.always if pattern.pattern.split(" ")[0] == text.split(" ")[0]
    ]
    assert all(pattern.exact for pattern in own)
