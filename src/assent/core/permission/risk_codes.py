"""The codes of risks and what each means, the most severe first."""

from typing import Final

# code: meaning. The order is the order of severity, in which risks are listed and shown.
RISK_CODES: Final[dict[str, str]] = {
    "any_file": "The scope is the WHOLE WORKSPACE: a model may change any file in it.",
    "model_writes": "A model may change any file in its scope without a further question.",
    "deletes": "Removes a file, or empties one.",
    "protected": "Touches a file that other programs obey or that holds secrets.",
    "irreversible": "Cannot be undone.",
    "set_id": "Makes a file with a setuid, setgid or sticky bit: programs may run as its owner.",
    "writes_outside": "Writes outside the workspace, or could: there nothing is put back.",
    "out_of_scope": "Lies outside the scope that the plan declares.",
    "secret": "Seems to contain a key or a password.",
    "hidden_text": "Contains characters or lines that do not show what they do.",
    "lookalike": "Has a name or an address that can be taken for another.",
    "executable": "Makes a file that can be run as a program.",
    "executed_later": "Writes a file that other programs run later, such as a build or test tool.",
    "hard_link": "The file has other names, which will keep the old content.",
    "metadata_lost": "Attributes of the file besides its content will be lost.",
    "installs": "Installs software.",
    "network": "May use the network.",
    "unshown": "Is not shown: its content is binary or too large.",
}

MODEL_RISKS: Final = ("any_file", "model_writes")  # of a plan that a model carries out
