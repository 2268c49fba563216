-- Orders, their stock and their events.
--
-- Instants are UTC text 'YYYY-MM-DD HH:MM:SS.SSS', so that text order is time order. Ids are text.
-- STRICT tables keep a number from being stored as text. The CHECKs are the last guard of the books:
-- whatever the program thinks, the database refuses a negative counter or a lost unit.

-- The terms under which a product is sold now.
CREATE TABLE campaign (
  product_id     TEXT    NOT NULL PRIMARY KEY,
  name           TEXT    NOT NULL,
  price_minor    INTEGER NOT NULL CHECK (price_minor >= 0),
  currency       TEXT    NOT NULL CHECK (length(currency) = 3),
  starts_at      TEXT,
  ends_at        TEXT,
  limit_per_user INTEGER CHECK (limit_per_user > 0),
  max_per_order  INTEGER CHECK (max_per_order > 0),
  pay_within_ms  INTEGER NOT NULL CHECK (pay_within_ms > 0),
  created_at     TEXT    NOT NULL,
  updated_at     TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

-- One row per product and warehouse.
CREATE TABLE stock (
  product_id   TEXT    NOT NULL,
  warehouse_id TEXT    NOT NULL,
  initial      INTEGER NOT NULL CHECK (initial >= 0),
  adjustments  INTEGER NOT NULL DEFAULT 0,
  available    INTEGER NOT NULL CHECK (available >= 0),
  locked       INTEGER NOT NULL DEFAULT 0 CHECK (locked >= 0),
  sold         INTEGER NOT NULL DEFAULT 0 CHECK (sold >= 0),
  version      INTEGER NOT NULL DEFAULT 0,
  created_at   TEXT    NOT NULL,
  updated_at   TEXT    NOT NULL,
  PRIMARY KEY (product_id, warehouse_id),
  CHECK (initial + adjustments = available + locked + sold)
) STRICT, WITHOUT ROWID;

-- A row with reason ABANDONED is a tombstone: it takes the number so that no order ever can. It has
-- no user and no request, which also keeps it out of the unique key.
CREATE TABLE order_info (
  order_no      TEXT    NOT NULL PRIMARY KEY,
  user_id       TEXT,
  request_id    TEXT,
  body_hash     TEXT,
  status        TEXT    NOT NULL
    CHECK (status IN ('PROCESSING', 'WAITING_PAY', 'PAID', 'CANCELLED', 'FAILED', 'REFUNDED')),
  reason        TEXT    NOT NULL,
  amount_minor  INTEGER NOT NULL CHECK (amount_minor >= 0),
  currency      TEXT    NOT NULL,
  pay_within_ms INTEGER NOT NULL CHECK (pay_within_ms >= 0),
  pay_deadline  TEXT,
  trace         TEXT    NOT NULL,
  created_at    TEXT    NOT NULL,
  updated_at    TEXT    NOT NULL,
  CHECK ((user_id IS NULL) = (reason = 'ABANDONED')),
  CHECK ((request_id IS NULL) = (reason = 'ABANDONED')),
  CHECK (status <> 'WAITING_PAY' OR pay_deadline IS NOT NULL)
) STRICT;  -- with a rowid: the index of requests is written all over, so its entries must be short

-- One order per request of a user, whatever the gate said.
CREATE UNIQUE INDEX order_info_request ON order_info (user_id, request_id) WHERE user_id IS NOT NULL;
-- The open orders: what the sweep of overdue ones and the books of held units read.
CREATE INDEX order_info_open ON order_info (status, pay_deadline)
  WHERE status = 'PROCESSING' OR status = 'WAITING_PAY';

-- The price is that of the moment of acceptance.
CREATE TABLE order_item (
  order_no         TEXT    NOT NULL,
  line_no          INTEGER NOT NULL CHECK (line_no >= 1),
  product_id       TEXT    NOT NULL,
  quantity         INTEGER NOT NULL CHECK (quantity > 0),
  unit_price_minor INTEGER NOT NULL CHECK (unit_price_minor >= 0),
  PRIMARY KEY (order_no, line_no)
) STRICT, WITHOUT ROWID;

-- What is locked or sold, line by line: the evidence under the counters of stock.
CREATE TABLE stock_lock (
  order_no     TEXT    NOT NULL,
  line_no      INTEGER NOT NULL,
  warehouse_id TEXT    NOT NULL,
  product_id   TEXT    NOT NULL,
  quantity     INTEGER NOT NULL CHECK (quantity > 0),
  state        TEXT    NOT NULL CHECK (state IN ('LOCKED', 'SOLD', 'RELEASED')),
  created_at   TEXT    NOT NULL,
  updated_at   TEXT    NOT NULL,
  PRIMARY KEY (order_no, line_no, warehouse_id)
) STRICT, WITHOUT ROWID;

-- Append-only. The key is what makes a second release of the same line impossible.
CREATE TABLE stock_flow (
  order_no     TEXT    NOT NULL,
  line_no      INTEGER NOT NULL,
  warehouse_id TEXT    NOT NULL,
  flow_type    TEXT    NOT NULL CHECK (flow_type IN ('LOCK', 'SELL', 'RELEASE')),
  sequence     INTEGER NOT NULL,
  product_id   TEXT    NOT NULL,
  quantity     INTEGER NOT NULL CHECK (quantity > 0),
  created_at   TEXT    NOT NULL,
  PRIMARY KEY (order_no, line_no, warehouse_id, flow_type, sequence)
) STRICT, WITHOUT ROWID;

-- Who moved an order, when and why. Append-only.
CREATE TABLE order_move (
  sequence    INTEGER PRIMARY KEY AUTOINCREMENT,
  order_no    TEXT NOT NULL,
  from_status TEXT,
  to_status   TEXT NOT NULL,
  actor       TEXT NOT NULL,
  reason      TEXT NOT NULL,
  moved_at    TEXT NOT NULL
) STRICT;
CREATE INDEX order_move_order ON order_move (order_no);

-- Events on their way to the transport. next_at says when a publisher may take the row: at once, after
-- a back-off, or when the present lease runs out; NULL once it is SENT or DEAD. So one small index
-- holds exactly the pending rows. due_at is when the event itself shall arrive.
CREATE TABLE mq_outbox (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  event_id    TEXT    NOT NULL UNIQUE,
  event_type  TEXT    NOT NULL,
  order_no    TEXT    NOT NULL,
  body        TEXT    NOT NULL,
  trace       TEXT    NOT NULL,
  state       TEXT    NOT NULL CHECK (state IN ('NEW', 'LEASED', 'RETRY', 'SENT', 'DEAD')),
  attempts    INTEGER NOT NULL DEFAULT 0,
  next_at     TEXT,
  due_at      TEXT    NOT NULL,
  lease_token TEXT,
  lease_until TEXT,
  last_error  TEXT,
  evidence    TEXT,
  created_at  TEXT    NOT NULL,
  updated_at  TEXT    NOT NULL,
  CHECK ((next_at IS NULL) = (state IN ('SENT', 'DEAD'))),
  CHECK ((lease_token IS NULL) = (state <> 'LEASED'))
) STRICT;
CREATE INDEX mq_outbox_pending ON mq_outbox (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX mq_outbox_dead ON mq_outbox (state) WHERE state = 'DEAD';

-- An event has one effect per consumer.
CREATE TABLE mq_consume_log (
  event_id    TEXT NOT NULL,
  consumer    TEXT NOT NULL,
  order_no    TEXT NOT NULL,
  consumed_at TEXT NOT NULL,
  PRIMARY KEY (event_id, consumer)
) STRICT, WITHOUT ROWID;

-- Every payment that a provider told of an order we know, also those that were refused.
CREATE TABLE payment (
  provider     TEXT    NOT NULL,
  payment_no   TEXT    NOT NULL,
  order_no     TEXT    NOT NULL,
  amount_minor INTEGER NOT NULL,
  currency     TEXT    NOT NULL,
  outcome      TEXT    NOT NULL CHECK (outcome IN ('PAID', 'WRONG_AMOUNT', 'REFUND_REQUIRED')),
  created_at   TEXT    NOT NULL,
  PRIMARY KEY (provider, payment_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX payment_order ON payment (order_no);
