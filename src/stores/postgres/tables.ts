/** Table definitions. The schema name must be validated by the caller. The columns `lease_owner` and the table `owners` name workers. */

/** Runs without a lease, except those that wait for an answer without a timeout. */
const UNHELD = "NOT finished AND lease_owner IS NULL AND (status <> 'paused' OR stop IS NOT NULL OR wake IS NOT NULL)"

/**
 * `heads` holds what every append reads and writes, in narrow rows: a run's description is some hundred bytes with eight
 * indexes and is written only when the run changes. `log` gets one row per run and commit. `owners` holds lease times per node,
 * so that renewing two thousand leases is one write.
 *
 * Lock order: `heads` before `runs`. JSON is stored as text: jsonb refuses \u0000, which a run may contain.
 */
export function tables(schema: string): string {
  return `
CREATE TABLE ${schema}.runs (
  id text COLLATE "C" PRIMARY KEY,
  number bigint GENERATED ALWAYS AS IDENTITY,
  owner text COLLATE "C" NOT NULL,
  component text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  finished boolean NOT NULL DEFAULT false,
  created text COLLATE "C" NOT NULL,
  lane text COLLATE "C",
  wake bigint,
  lease_owner text COLLATE "C",
  lease_until bigint,
  claim text COLLATE "C",
  stop text,
  idempotency_key text COLLATE "C",
  fingerprint text COLLATE "C",
  run text NOT NULL
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX runs_by_key ON ${schema}.runs (owner, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX runs_by_creation ON ${schema}.runs (created, id);
CREATE INDEX runs_by_session ON ${schema}.runs (session, created, id);
CREATE INDEX runs_by_component ON ${schema}.runs (component, created, id);
CREATE INDEX runs_by_owner ON ${schema}.runs (owner, created, id);
CREATE INDEX runs_in_lane ON ${schema}.runs (lane, number) WHERE NOT finished AND lane IS NOT NULL;
CREATE INDEX runs_unheld ON ${schema}.runs (number) WHERE ${UNHELD};
CREATE INDEX runs_held ON ${schema}.runs (lease_owner) WHERE lease_owner IS NOT NULL;
CREATE INDEX runs_queued ON ${schema}.runs (number) WHERE status = 'queued';

CREATE TABLE ${schema}.heads (
  id text COLLATE "C" PRIMARY KEY,
  number bigint NOT NULL,
  epoch integer NOT NULL,
  first integer NOT NULL,
  next integer NOT NULL,
  bytes bigint NOT NULL,
  closed boolean NOT NULL DEFAULT false,
  commit text COLLATE "C"
) WITH (fillfactor = 50);

CREATE TABLE ${schema}.log (
  run bigint NOT NULL,
  first integer NOT NULL,
  count integer NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (run, first)
);
ALTER TABLE ${schema}.log ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE ${schema}.owners (owner text COLLATE "C" PRIMARY KEY, until bigint NOT NULL) WITH (fillfactor = 50);

CREATE TABLE ${schema}.documents (
  owner text COLLATE "C" NOT NULL,
  collection text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  label text COLLATE "C",
  title text COLLATE "C",
  search text COLLATE "C" NOT NULL,
  version integer NOT NULL,
  created text COLLATE "C" NOT NULL,
  updated text COLLATE "C" NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (collection, owner, id)
);
CREATE INDEX documents_by_creation ON ${schema}.documents (collection, owner, created, id);
CREATE INDEX documents_by_update ON ${schema}.documents (collection, owner, updated, id);

CREATE VIEW ${schema}.stored AS
  SELECT r.*, h.first, h.next, h.epoch, greatest(r.lease_until, o.until) AS held_until
  FROM ${schema}.runs r JOIN ${schema}.heads h ON h.id = r.id LEFT JOIN ${schema}.owners o ON o.owner = r.lease_owner;
`
}
