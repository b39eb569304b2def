"""What every git is told, so that a repository's configuration starts no program.

It is the second belt: clean and process filters still run, and only the sandbox contains those.
"""

from collections.abc import Mapping

import msgspec

NOWHERE = "/dev/null"  # as a program: cannot be executed; as a file: empty; as a folder: none
NO_PROTOCOL = "none"  # the name of no protocol


class Row(msgspec.Struct, frozen=True):
    """One variable or configuration key, its value, and the reason for it."""

    name: str
    value: str
    why: str


VARIABLES = (
    Row("GIT_CONFIG_NOSYSTEM", "1", "the machine's configuration is not part of the answer"),
    Row("GIT_CONFIG_GLOBAL", NOWHERE, "nor is the person's, which can name programs"),
    Row("GIT_ATTR_NOSYSTEM", "1", "nor are the machine's attributes"),
    Row("GIT_OPTIONAL_LOCKS", "0", "status does not write what it learnt into the index"),
    Row("GIT_PAGER", "cat", "wins over core.pager and pager.COMMAND"),
    Row("GIT_EDITOR", "false", "wins over core.editor"),
    Row("GIT_SEQUENCE_EDITOR", "false", "wins over sequence.editor"),
    Row("GIT_TERMINAL_PROMPT", "0", "nobody is there to answer"),
    Row("GIT_ASKPASS", "false", "wins over core.askPass"),
    Row("SSH_ASKPASS", "false", "asked when the one above is not"),
    Row("GIT_SSH_COMMAND", "false", "wins over core.sshCommand"),
    Row("GIT_PROXY_COMMAND", "false", "wins over core.gitProxy"),
    Row(
        "GIT_ALLOW_PROTOCOL", NO_PROTOCOL, "wins over protocol.allow: no transport, not even ext::"
    ),
    Row("GIT_NO_LAZY_FETCH", "1", "a partial clone fetches nothing (git 2.45 and newer)"),
    Row("GIT_ADVICE", "0", "advice is for people who type (git 2.45 and newer)"),
)

SETTINGS = (
    Row("core.fsmonitor", "false", "a program that status, diff and ls-files would start"),
    Row("core.hooksPath", NOWHERE, "no hook runs when an index is written"),
    Row("core.untrackedCache", "false", "no new part of the index to write"),
    Row("core.alternateRefsCommand", "false", "a program for --alternate-refs"),
    Row("core.pager", "cat", "a program"),
    Row("core.editor", "false", "a program"),
    Row("core.askPass", "false", "a program"),
    Row("core.sshCommand", "false", "a program"),
    Row("core.gitProxy", "", "a program for git://"),
    Row("credential.helper", "", "an empty one empties the list of programs"),
    Row("interactive.diffFilter", "cat", "a program"),
    Row("diff.external", "", "a program; git status cannot be told --no-ext-diff"),
    Row("diff.autoRefreshIndex", "false", "diff writes the index even without optional locks"),
    Row("diff.submodule", "short", "`diff` starts a git in the submodule, with its configuration"),
    Row("status.submoduleSummary", "false", "starts a git in the submodule"),
    Row("submodule.recurse", "false", "would enter submodules unasked"),
    Row("stash.showPatch", "false", "`git stash show` alone shows numbers, on every machine"),
    Row("log.showSignature", "false", "starts a signature program for every commit"),
    Row("log.diffMerges", "separate", "`remerge` writes objects"),
    Row("format.pretty", "medium", "a format with %G starts a signature program"),
    Row("gpg.program", NOWHERE, "a program; pretty.NAME can hold %G"),
    Row("gpg.openpgp.program", NOWHERE, "a program"),
    Row("gpg.x509.program", NOWHERE, "a program"),
    Row("gpg.ssh.program", NOWHERE, "a program"),
    Row("gpg.ssh.defaultKeyCommand", "", "a program"),
    Row("gc.auto", "0", "nothing is packed in the background"),
    Row("maintenance.auto", "false", "nothing is packed in the background"),
    Row("protocol.allow", "never", "no transport"),
    Row("alias.whatchanged", "log --raw", "since git 2.52 an alias can take the place of this one"),
    Row("column.ui", "never", "the same answer on every machine"),
    Row("color.ui", "false", "the same answer on every machine"),
)

# A folder that another user owns is refused, since its configuration names programs. In the
# sandbox these programs can do no more than the command itself, and owners look changed there.
OWNERS = Row("safe.directory", "*", "the sandbox maps owners, and contains what the check is for")


def _environment(settings: tuple[Row, ...]) -> dict[str, str]:
    found = {row.name: row.value for row in VARIABLES}
    found["GIT_CONFIG_COUNT"] = str(len(settings))
    for at, row in enumerate(settings):
        found |= {f"GIT_CONFIG_KEY_{at}": row.name, f"GIT_CONFIG_VALUE_{at}": row.value}
    return found


GIT_ENVIRONMENT: Mapping[str, str] = _environment((*SETTINGS, OWNERS))
# `git config` shows settings and obeys none of these, so it is not told them: it would show ours.
SHOWING_ENVIRONMENT: Mapping[str, str] = _environment((OWNERS,))
