"""Cancels the model request that a driver waits for, from any thread."""

from threading import Lock

import msgspec

from assent.core.errors import Interrupted
from assent.core.llm import ModelRequest
from assent.ports import Model, ModelStream, OpenedModel

STOPPED_ELSEWHERE = "The work was stopped from elsewhere."


class RequestCancelToken:
    """At most one request, and whether the work should stop."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._answers: ModelStream | None = None
        self._stopped = False

    @property
    def stopped(self) -> bool:
        return self._stopped

    def cancel(self) -> None:
        """Ends the request, from any thread; without one, the next does not begin."""
        with self._lock:
            self._stopped = True
            answers = self._answers
        if answers is not None:
            answers.close()

    def check(self) -> None:
        """Raises Interrupted if the work is to stop."""
        if self._stopped:
            raise Interrupted(STOPPED_ELSEWHERE)

    def begun(self, answers: ModelStream) -> ModelStream:
        """Remembers a request; one that comes after the stop is ended at once."""
        with self._lock:
            self._answers = answers
            stopped = self._stopped
        if stopped:
            answers.close()
            raise Interrupted(STOPPED_ELSEWHERE)
        return answers

    def over(self) -> None:
        """Forgets the request and the stop: the turn that they were about has ended."""
        with self._lock:
            self._answers, self._stopped = None, False

    def cancellable(self, opened: OpenedModel) -> OpenedModel:
        """Returns a model whose requests can be ended here."""
        return msgspec.structs.replace(opened, model=_CancellableModel(opened.model, self))


class _CancellableModel:
    """Implements ports.Model around another."""

    def __init__(self, model: Model, underway: RequestCancelToken) -> None:
        self._model = model
        self._underway = underway

    def stream(self, prompt: ModelRequest) -> ModelStream:
        return self._underway.begun(self._model.stream(prompt))
