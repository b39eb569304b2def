-- The log. `position` is the cursor of the whole log, `seq` counts within a stream from 1.
CREATE TABLE events (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    stream TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (stream, seq)
);

-- Lists streams without walking through their events.
CREATE INDEX first_events ON events (stream) WHERE seq = 1;

-- Folded streams, each with the last event that went in. They can be thrown away and rebuilt.
CREATE TABLE heads (
    stream TEXT PRIMARY KEY,
    seq INTEGER NOT NULL,
    body BLOB NOT NULL
);
