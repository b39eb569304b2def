"""Feedback: what a person wants different in a plan, in parts, as one text for the model."""

import msgspec


class Feedback(msgspec.Struct, frozen=True):
    """The parts of a no. What is left empty is not mentioned."""

    scope: str = ""
    constraints: str = ""
    priorities: str = ""
    notes: str = ""

    def text(self) -> str:
        """Returns all parts under headings; notes alone are what they are, without one."""
        parts = {field: getattr(self, field) for field in self.__struct_fields__}
        said = {field: text for field, text in parts.items() if text.strip()}
        if said.keys() <= {"notes"}:
            return self.notes
        return "\n\n".join(f"## {field.capitalize()}\n\n{text}" for field, text in said.items())
