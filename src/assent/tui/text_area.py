"""A text area whose keys act in the order in which they were typed."""

from textual.events import Key
from textual.widgets import TextArea


class OrderedTextArea(TextArea):
    """Has keys that edit, such as Backspace, act before the letters that were typed after them.

    Textual hands such a key from parent to parent, and looks only at the top what it is bound to.
    Until then the letters behind it are written already: the wrong one would be deleted.
    """

    async def edited(self, event: Key) -> bool:
        """Does what a key of the area itself stands for, if it is one."""
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            if not binding.priority and await self.app.run_action(binding.action, self):
                event.stop()
                event.prevent_default()
                return True
        return False
