"""Retries model requests after temporary errors, and reports each retry."""

from collections.abc import Callable, Iterator

from assent.core.errors import Unavailable
from assent.core.llm import ModelRequest, RequestRetried, RetrySettings, StreamEnded, StreamEvent
from assent.llm.limits import MAX_RETRY_AFTER_S
from assent.ports import Model
from assent.ports.cancellation import CancellableModelStream, CancelToken


class RetryingModel:
    """A model whose requests are retried when that may help.

    Everything is passed on at once, so that completed parts can be stored while the rest is
    streaming. After `RequestRetried` everything from the attempt before it is void, parts and
    deltas alike: only what follows the last one counts, and only if `StreamEnded` comes.
    """

    def __init__(
        self,
        model: Model,
        settings: RetrySettings,
        sleep: Callable[[CancelToken[str], float], object] = CancelToken.wait,
        random: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._model = model
        self._settings = settings
        self._sleep = sleep
        self._random = random

    def stream(self, prompt: ModelRequest) -> CancellableModelStream:
        return CancellableModelStream(lambda token: self._tried(prompt, token))

    def _tried(self, prompt: ModelRequest, token: CancelToken[str]) -> Iterator[StreamEvent]:
        for attempt in range(1, max(1, self._settings.tries) + 1):
            try:
                yield from self._once(prompt, token)
                return
            except Unavailable as error:
                wait = self._wait(attempt, error.after)
                if attempt >= self._settings.tries or wait > MAX_RETRY_AFTER_S:
                    raise self._given_up(error, attempt) from None
                reason = error.message
            yield RequestRetried(attempt, wait, reason)
            self._sleep(token, wait)
            token.raise_if_cancelled()

    def _once(self, prompt: ModelRequest, token: CancelToken[str]) -> Iterator[StreamEvent]:
        """Passes on one attempt, up to its end."""
        answers = self._model.stream(prompt)
        token.attach(answers.close)
        try:
            for answer in answers:
                yield answer
                if isinstance(answer, StreamEnded):
                    return
        finally:
            answers.close()
        raise Unavailable("The response ended early.")

    def _wait(self, attempt: int, asked: float) -> float:
        """Returns the wait: it doubles with each attempt, with some jitter."""
        if asked > 0:
            return asked
        usual = min(self._settings.max_s, self._settings.first_s * 2.0 ** (attempt - 1))
        return float(usual * (1 - 0.25 * self._random()))

    def _given_up(self, error: Unavailable, attempts: int) -> Unavailable:
        if attempts == 1 and error.after <= MAX_RETRY_AFTER_S:
            return error
        tried = (
            f"Tried {attempts} times."
            if attempts > 1
            else ("The requested pause is too long to wait for.")
        )
        return Unavailable(f"{error.message} {tried}", error.next, error.after)
