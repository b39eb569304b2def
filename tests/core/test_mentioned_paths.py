"""Which files the text of a command names: for questions at the gate and risks in review."""

import pytest

from assent.core.permission.command_analysis import outside_mentions, sensitive_mentions

NAMES = {
    b"touch AGENTS.md": (b"AGENTS.md",),
    b"tool -oAGENTS.md": (b"AGENTS.md",),
    b"tool --out=sub/CLAUDE.md": (b"sub/CLAUDE.md",),
    b"open('.cursorrules','w')": (b".cursorrules",),
    b"printf 'a\\nAGENTS.md\\n'": (b"AGENTS.md",),
    b"touch AGENTS\\.md": (b"AGENTS.md",),
    b"x().claude/y": (b".claude/y",),
    b"connect('a').cursor(), rows[0].cursor()": (),
    b"process.env.HOME": (),
    b"cp a node_modules.md": (),
}
PATHS = {
    "open('/etc/passwd')": ("/etc/passwd",),
    "open('/near/a')": ("/near/a",),
    "open(r'/near')": ("/near",),
    'print"/near/x.txt"': ("/near/x.txt",),
    "os.system('cat /near/a.txt')": ("/near/a.txt",),
    "open('file:///etc/passwd')": ("/etc/passwd",),
    'open(F,"</etc/passwd")': ("/etc/passwd",),
    "qw(/etc/passwd)": ("/etc/passwd",),
    "open('//etc/passwd')": ("//etc/passwd",),
    "open('/usr/../etc/passwd')": ("/usr/../etc/passwd",),
    "open('~/x'), open('~ada/x'), '~'": ("~/x", "~ada/x", "~"),
    "open('$HOME/x')": ("$HOME/x",),
    "open('../x'), listdir('..'), open('a/../../x')": ("../x", "..", "a/../../x"),
    "'/'.join(a); 7 // 2; a / b; a/b; Path('a')/'b'/name": (),
    "from .. import x; [...y]; (1..5)": (),
    "s.replace(/foo/g, ''); x =~ /a/; y=~/b/i; /foo/": (),
    "'http://a.org/etc/passwd'": (),
    "#!/usr/bin/env python3": (),
    "open('/usr/lib/os-release'), open('/lib64/x'), open('/tmp/x'), open('/var/tmp/x')": (),
}


@pytest.mark.parametrize(("text", "names"), NAMES.items())
def test_protected_names_are_found_wherever_they_stand(
    text: bytes, names: tuple[bytes, ...]
) -> None:
    assert sensitive_mentions([text]) == names


@pytest.mark.parametrize(("code", "paths"), PATHS.items())
def test_paths_in_code_that_lead_away_are_found(code: str, paths: tuple[str, ...]) -> None:
    assert outside_mentions(code) == paths
