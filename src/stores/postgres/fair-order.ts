/** Fair queue order (`Store.claimable`): one query, with indexes that keep it cheap for a long queue. */

/** Started runs without a lease, except those that wait for an answer without a timeout. */
const BEGUN = `NOT finished AND lease_owner IS NULL AND status <> 'queued'
  AND (status <> 'paused' OR stop IS NOT NULL OR wake IS NOT NULL)`

/**
 * Migration to fair order; before it, the oldest run of any owner came first. Claiming a queued run records the owner's turn;
 * two nodes that claim runs of one owner do not block each other.
 */
export function turnsIndexes(schema: string): string {
  return `
DROP INDEX ${schema}.runs_unheld;
DROP INDEX ${schema}.runs_queued;
CREATE INDEX runs_begun ON ${schema}.runs (number) WHERE ${BEGUN};
CREATE INDEX runs_in_turn ON ${schema}.runs (status, owner, number) WHERE status IN ('queued', 'running');
CREATE SEQUENCE ${schema}.turn_numbers;
CREATE TABLE ${schema}.turns (owner text COLLATE "C" PRIMARY KEY, turn bigint NOT NULL) WITH (fillfactor = 50);
CREATE FUNCTION ${schema}.note_turn() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO ${schema}.turns (owner, turn) VALUES (NEW.owner, 0) ON CONFLICT DO NOTHING;
  UPDATE ${schema}.turns t SET turn = nextval('${schema}.turn_numbers')
    WHERE t.owner IN (SELECT s.owner FROM ${schema}.turns s WHERE s.owner = NEW.owner FOR UPDATE SKIP LOCKED);
  RETURN NULL;
END $$;
CREATE TRIGGER note_turn AFTER UPDATE OF claim ON ${schema}.runs
  FOR EACH ROW WHEN (NEW.status = 'queued') EXECUTE FUNCTION ${schema}.note_turn();`
}

/**
 * Parameters: $1 time or null, $2 components or null, $3 limit, $4 whether expired leases count. A loose index scan goes from
 * owner to owner and reads at most `limit` rows of each, besides runs that wait for their lane. Nodes are found by the runs
 * they hold, not in `owners`: a node without a row there counts as dead (RUN-1). `OFFSET 0` makes the planner look up the runs
 * of dead nodes node by node, even if the database has no statistics yet and would scan all runs.
 */
export function claimable(schema: string): string {
  const runs = `${schema}.runs`
  const now = '(SELECT now FROM t)'
  const isWanted = `${schema}.is_ready(r, ${now}, false, false)
      AND ($2::text[] IS NULL OR r.component = ANY($2) OR r.stop IS NOT NULL)
      AND ($4::boolean OR r.lease_owner IS NULL OR r.stop IS NOT NULL)`
  return `
WITH RECURSIVE t AS MATERIALIZED (SELECT ${schema}.clock($1) AS now),
holders (owner) AS (
  (SELECT r.lease_owner FROM ${runs} r WHERE r.lease_owner IS NOT NULL ORDER BY r.lease_owner LIMIT 1)
  UNION ALL
  SELECT (SELECT r.lease_owner FROM ${runs} r WHERE r.lease_owner > h.owner ORDER BY r.lease_owner LIMIT 1)
  FROM holders h WHERE h.owner IS NOT NULL
),
begun AS (
  SELECT r.id, r.number FROM ${runs} r WHERE ${BEGUN} AND ${isWanted}
  UNION ALL
  SELECT left_behind.* FROM holders h LEFT JOIN ${schema}.owners o ON o.owner = h.owner
  CROSS JOIN LATERAL (
    SELECT r.id, r.number FROM ${runs} r
    WHERE r.lease_owner = h.owner AND r.lease_until <= ${now} AND r.status <> 'queued' AND ${isWanted}
    OFFSET 0
  ) left_behind
  WHERE h.owner IS NOT NULL AND coalesce(o.until, 0) <= ${now}
),
lines (owner) AS (
  (SELECT r.owner FROM ${runs} r WHERE r.status = 'queued' ORDER BY r.owner LIMIT 1)
  UNION ALL
  SELECT (SELECT r.owner FROM ${runs} r WHERE r.status = 'queued' AND r.owner > l.owner ORDER BY r.owner LIMIT 1)
  FROM lines l WHERE l.owner IS NOT NULL
),
waiting AS (
  SELECT w.id, w.number, n.running + row_number() OVER (PARTITION BY l.owner ORDER BY w.number) AS rank,
    (SELECT s.turn FROM ${schema}.turns s WHERE s.owner = l.owner) AS turn
  FROM lines l
  CROSS JOIN LATERAL (SELECT count(*) AS running FROM ${runs} r WHERE r.status = 'running' AND r.owner = l.owner) n
  CROSS JOIN LATERAL (
    SELECT r.id, r.number FROM ${runs} r
    WHERE r.status = 'queued' AND r.owner = l.owner AND NOT ${schema}.is_held(r, ${now}) AND ${isWanted}
    ORDER BY r.number LIMIT $3
  ) w
  WHERE l.owner IS NOT NULL
)
SELECT id FROM (
  SELECT id, number, 0 AS rank, 0 AS turn FROM begun UNION ALL SELECT id, number, rank, turn FROM waiting
) found ORDER BY rank, turn NULLS FIRST, number LIMIT $3`
}

/**
 * Parameter: $1 time or null. A node of a version that does not report its components may serve all. Reads neither finished
 * runs nor paused ones that wait for an answer without a timeout.
 */
export function unservedQuery(schema: string): string {
  return `
SELECT w.component FROM (
  SELECT r.component FROM ${schema}.runs r WHERE r.status IN ('queued', 'running')
  UNION
  SELECT r.component FROM ${schema}.runs r WHERE ${BEGUN}
) w WHERE NOT EXISTS (
  SELECT FROM ${schema}.owners o
  WHERE o.until > ${schema}.clock($1) AND (o.components IS NULL OR w.component = ANY(o.components)))`
}

/** Turns matter only between owners with queued runs. */
export function forgetTurns(schema: string): string {
  return `DELETE FROM ${schema}.turns t
    WHERE NOT EXISTS (SELECT FROM ${schema}.runs r WHERE r.status = 'queued' AND r.owner = t.owner)`
}
