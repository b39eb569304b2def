"""The environment of every git call, so that a repository's configuration starts no program.

This is a second line of defence: clean and process filters still run, and only the sandbox
contains those.
"""

from collections.abc import Mapping

import msgspec

DEV_NULL = "/dev/null"  # as a program: cannot be executed; as a file: empty; as a folder: none
NO_PROTOCOL = "none"  # the name of no protocol


class GitHardeningEntry(msgspec.Struct, frozen=True):
    """One variable or configuration key, its value, and the reason for it."""

    name: str
    value: str
    why: str


VARIABLES = (
    GitHardeningEntry(
        "GIT_CONFIG_NOSYSTEM", "1", "system configuration must not affect the output"
    ),
    GitHardeningEntry(
        "GIT_CONFIG_GLOBAL",
        DEV_NULL,
        "user configuration must not affect the output; it can name programs",
    ),
    GitHardeningEntry("GIT_ATTR_NOSYSTEM", "1", "system attributes must not affect the output"),
    GitHardeningEntry("GIT_OPTIONAL_LOCKS", "0", "status must not update the index"),
    GitHardeningEntry("GIT_PAGER", "cat", "overrides core.pager and pager.COMMAND"),
    GitHardeningEntry("GIT_EDITOR", "false", "overrides core.editor"),
    GitHardeningEntry("GIT_SEQUENCE_EDITOR", "false", "overrides sequence.editor"),
    GitHardeningEntry("GIT_TERMINAL_PROMPT", "0", "no prompt can be answered"),
    GitHardeningEntry("GIT_ASKPASS", "false", "overrides core.askPass"),
    GitHardeningEntry("SSH_ASKPASS", "false", "used when GIT_ASKPASS is not"),
    GitHardeningEntry("GIT_SSH_COMMAND", "false", "overrides core.sshCommand"),
    GitHardeningEntry("GIT_PROXY_COMMAND", "false", "overrides core.gitProxy"),
    GitHardeningEntry(
        "GIT_ALLOW_PROTOCOL", NO_PROTOCOL, "overrides protocol.allow: no transport, not even ext::"
    ),
    GitHardeningEntry(
        "GIT_NO_LAZY_FETCH", "1", "a partial clone fetches nothing (git 2.45 and newer)"
    ),
    GitHardeningEntry("GIT_ADVICE", "0", "advice is for interactive use (git 2.45 and newer)"),
)

SETTINGS = (
    GitHardeningEntry(
        "core.fsmonitor", "false", "a program that status, diff and ls-files would start"
    ),
    GitHardeningEntry("core.hooksPath", DEV_NULL, "no hook runs when an index is written"),
    GitHardeningEntry("core.untrackedCache", "false", "no untracked cache is written to the index"),
    GitHardeningEntry("core.alternateRefsCommand", "false", "a program for --alternate-refs"),
    GitHardeningEntry("core.pager", "cat", "a program"),
    GitHardeningEntry("core.editor", "false", "a program"),
    GitHardeningEntry("core.askPass", "false", "a program"),
    GitHardeningEntry("core.sshCommand", "false", "a program"),
    GitHardeningEntry("core.gitProxy", "", "a program for git://"),
    GitHardeningEntry("credential.helper", "", "an empty value clears the list of programs"),
    GitHardeningEntry("interactive.diffFilter", "cat", "a program"),
    GitHardeningEntry("diff.external", "", "a program; git status has no --no-ext-diff"),
    GitHardeningEntry(
        "diff.autoRefreshIndex", "false", "diff writes the index even without optional locks"
    ),
    GitHardeningEntry(
        "diff.submodule", "short", "`diff` starts a git in the submodule, with its configuration"
    ),
    GitHardeningEntry("status.submoduleSummary", "false", "starts a git in the submodule"),
    GitHardeningEntry("submodule.recurse", "false", "would enter submodules by default"),
    GitHardeningEntry(
        "stash.showPatch", "false", "`git stash show` prints only statistics, on every machine"
    ),
    GitHardeningEntry("log.showSignature", "false", "starts a signature program for every commit"),
    GitHardeningEntry("log.diffMerges", "separate", "`remerge` writes objects"),
    GitHardeningEntry("format.pretty", "medium", "a format with %G starts a signature program"),
    GitHardeningEntry("gpg.program", DEV_NULL, "a program; pretty.NAME can contain %G"),
    GitHardeningEntry("gpg.openpgp.program", DEV_NULL, "a program"),
    GitHardeningEntry("gpg.x509.program", DEV_NULL, "a program"),
    GitHardeningEntry("gpg.ssh.program", DEV_NULL, "a program"),
    GitHardeningEntry("gpg.ssh.defaultKeyCommand", "", "a program"),
    GitHardeningEntry("gc.auto", "0", "no repacking in the background"),
    GitHardeningEntry("maintenance.auto", "false", "no repacking in the background"),
    GitHardeningEntry("protocol.allow", "never", "no transport"),
    GitHardeningEntry(
        "alias.whatchanged", "log --raw", "since git 2.52 an alias can replace this command"
    ),
    GitHardeningEntry("column.ui", "never", "the same output on every machine"),
    GitHardeningEntry("color.ui", "false", "the same output on every machine"),
)

# A folder that another user owns is refused, since its configuration names programs. In the
# sandbox these programs can do no more than the command itself, and owners look changed there.
SAFE_DIRECTORY = GitHardeningEntry(
    "safe.directory", "*", "the sandbox remaps owners and contains what this check protects against"
)


def _environment(settings: tuple[GitHardeningEntry, ...]) -> dict[str, str]:
    found = {row.name: row.value for row in VARIABLES}
    found["GIT_CONFIG_COUNT"] = str(len(settings))
    for at, row in enumerate(settings):
        found |= {f"GIT_CONFIG_KEY_{at}": row.name, f"GIT_CONFIG_VALUE_{at}": row.value}
    return found


GIT_ENVIRONMENT: Mapping[str, str] = _environment((*SETTINGS, SAFE_DIRECTORY))
# `git config` shows settings and obeys none of these, so it is not told them: it would show ours.
GIT_CONFIG_ENVIRONMENT: Mapping[str, str] = _environment((SAFE_DIRECTORY,))
