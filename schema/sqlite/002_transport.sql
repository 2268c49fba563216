-- Queues of the SQL transport: what is published, leased to a consumer, or parked.
--
-- A message that is done is deleted, so these tables stay as small as the backlog.

CREATE TABLE transport_queue (
  queue_id     INTEGER NOT NULL PRIMARY KEY,
  name         TEXT    NOT NULL UNIQUE,
  max_attempts INTEGER NOT NULL CHECK (max_attempts >= 1),
  created_at   TEXT    NOT NULL
) STRICT;

-- Which queues get the messages of a routing key.
CREATE TABLE transport_binding (
  routing_key TEXT    NOT NULL,
  queue_id    INTEGER NOT NULL REFERENCES transport_queue (queue_id),
  PRIMARY KEY (routing_key, queue_id)
) STRICT, WITHOUT ROWID;

-- One row per message and queue. READY waits for visible_at; LEASED is with a consumer until
-- lease_until and then READY again; DEAD waits for a person.
-- A suspect failed together with others, or outlived its lease: it is delivered in a batch of its own.
CREATE TABLE transport_message (
  message_no   INTEGER NOT NULL PRIMARY KEY,
  queue_id     INTEGER NOT NULL REFERENCES transport_queue (queue_id),
  message_id   TEXT    NOT NULL,
  routing_key  TEXT    NOT NULL,
  body         TEXT    NOT NULL,
  trace        TEXT    NOT NULL,
  state        TEXT    NOT NULL CHECK (state IN ('READY', 'LEASED', 'DEAD')),
  attempts     INTEGER NOT NULL CHECK (attempts >= 0),
  suspect      INTEGER NOT NULL CHECK (suspect IN (0, 1)),
  visible_at   TEXT    NOT NULL,
  lease_token  TEXT,
  lease_until  TEXT,
  reason       TEXT    NOT NULL,
  published_at TEXT    NOT NULL,
  parked_at    TEXT,
  CHECK ((state = 'LEASED') = (lease_token IS NOT NULL)),
  CHECK ((state = 'LEASED') = (lease_until IS NOT NULL)),
  CHECK ((state = 'DEAD') = (parked_at IS NOT NULL)),
  UNIQUE (queue_id, message_id)
) STRICT;

CREATE INDEX transport_ready ON transport_message (queue_id, suspect, visible_at) WHERE state = 'READY';
CREATE INDEX transport_leased ON transport_message (queue_id, lease_until) WHERE state = 'LEASED';
CREATE INDEX transport_dead ON transport_message (queue_id, parked_at) WHERE state = 'DEAD';
