"""Every limit on what a server may send, and on how long it is waited for.

A server may be faulty or hostile: whatever it sends is bounded before it is kept. What a user may
want to change is a setting instead, with its default in `core/llm.py`: `http.idle_s`, the seconds
without a byte; `answer.*`, the limits of one answer of a model; `retry.*`.
"""

# Connections, in seconds.

# Also for each address of a name and for a proxy. Networks that need longer do not work anyway.
CONNECT_S = 10.0
# A kept connection that closes sooner than this had been closed before the request arrived, so the
# request may be sent again. A server that has read it takes longer, or answers.
STALE_CONNECTION_S = 1.0
# Sessions of sub-agents run side by side, and each has one; servers close what waits for long.
MAX_IDLE_CONNECTIONS = 8
# A kept connection that was idle for longer is not used again: routers forget those that are
# silent, without telling either side, and the request would wait for as long as an answer may.
MAX_IDLE_S = 60.0

# Sending and receiving, in bytes.

# The most that is taken from a socket at once, and the least that is sent without being copied.
RECEIVE_BYTES = 64 << 10
# A large request goes out in slices of this, each with the whole time limit, for slow networks.
SEND_BYTES = 1 << 20
# What may come after the event that ends an answer. If there is more, a new connection is cheaper.
MAX_TRAILING_BYTES = 1 << 20

# Parsing of responses.

# Bytes of a status line with all headers, of a chunk's size with its extensions, of one trailer.
# Servers send a few thousand. With this, the number of headers needs no separate limit.
MAX_HEAD_BYTES = 64 << 10
# Bytes of interim answers, chunk sizes and trailers in a row, without a byte of the body between.
MAX_BYTES_WITHOUT_CONTENT = 2 * MAX_HEAD_BYTES
# Digits of a length, and of a chunk's size: a petabyte. Python itself fails at 4300.
MAX_LENGTH_DIGITS = 15
# Bytes that come out of a compressed piece at once, so that a few received do not fill the memory.
INFLATE_BYTES = 1 << 20

# Parsing of server-sent events, in bytes.

# One event. The longest repeats a whole answer, which by the defaults of `answer.*` has 14 MB.
MAX_EVENT_BYTES = 16 << 20
# What a line of an event takes in addition to its content, so that empty lines count, too.
EVENT_LINE_BYTES = 40
# Of an event's name; what is longer is cut off, and does not match a known name.
MAX_EVENT_NAME_BYTES = 200

# Requests to a model.

# Bytes of encoded messages that are joined once and kept; fewer are joined for each request. As
# many are sent by themselves, without being copied.
JOINED_BLOCK_BYTES = 64 << 10
# Messages at the end of a request that are not kept joined: a wire may mark them for its cache.
UNSETTLED_MESSAGES = 4

# Answers of a model.

# Parts of text and reasoning, or of a kind that is unknown; real answers have a few dozen.
MAX_ANSWER_PARTS = 5000
# Answers in a row that are requested again because an event could not be read. From then on the
# event is left out: it seems that this server always sends it.
MAX_BAD_ANSWERS = 2
# Bytes of an error's body that are kept. Its message is at the beginning.
MAX_ERROR_BYTES = 64 << 10
# Bytes of an error's body as received: those that do not add to its content must end, too.
MAX_ERROR_RECEIVED_BYTES = 1 << 20
# Characters of a server's own message that are shown: a sentence or two.
MAX_MESSAGE_CHARS = 300
# Seconds that a server may ask to wait before a retry. If it asks for more, a person decides.
MAX_RETRY_AFTER_S = 300.0

# Other answers.

# Bytes of a list of models. The longest known has some hundred models with a page on each.
MAX_MODEL_LIST_BYTES = 16 << 20
# The same, as received.
MAX_MODEL_LIST_RECEIVED_BYTES = 2 * MAX_MODEL_LIST_BYTES
# Redirects of a page that are followed; sites need two or three.
MAX_REDIRECTS = 5
# Seconds for a page with all its redirects; a server may send a byte now and then for ever.
FETCH_S = 60.0
# Characters of a page's URL; servers take about as many.
MAX_URL_CHARS = 8000
