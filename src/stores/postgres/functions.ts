/**
 * Database functions for what must be decided and written atomically. Each is one round trip and one transaction, holds no lock
 * after it returns, and works through a transaction-pooling proxy. Every statement in a function gets its own snapshot, so data
 * that is read after a lock was acquired is current.
 */

/** Columns that the functions return for a run. */
const STORED = `run text, first integer, next integer, epoch integer, lease_owner text, held_until bigint, stop text`
const STORED_OF = (alias: string): string =>
  ['run', 'first', 'next', 'epoch', 'lease_owner', 'held_until', 'stop'].map((name) => `${alias}.${name}`).join(', ')

export function functions(schema: string): string {
  return [
    time(schema),
    durably(schema),
    claimable(schema),
    createRun(schema),
    append(schema),
    claim(schema, false),
    release(schema),
    trim(schema),
    remove(schema),
  ].join('\n')
}

/** The database's clock, or the caller's; formatted like `Date.toISOString`. */
function time(schema: string): string {
  return `
CREATE FUNCTION ${schema}.clock(p_now bigint) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT coalesce(p_now, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) $$;
CREATE FUNCTION ${schema}.iso(p_now bigint) RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT to_char(to_timestamp(${schema}.clock(p_now) / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $$;`
}

/**
 * Turns `synchronous_commit` on for this transaction if it is off (LOG-2). Returns true, so that it can be used as a condition.
 */
function durably(schema: string): string {
  return `
CREATE FUNCTION ${schema}.durably() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('synchronous_commit') = 'off' THEN PERFORM set_config('synchronous_commit', 'on', true); END IF;
  RETURN true;
END $$;`
}

/** Whether a run can be claimed, apart from its lease. */
function claimable(schema: string): string {
  return `
CREATE FUNCTION ${schema}.is_ready(r ${schema}.runs, p_now bigint, p_paused boolean, p_out_of_turn boolean)
RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT NOT r.finished AND (r.stop IS NOT NULL OR (
    (r.status <> 'paused' OR p_paused OR coalesce(r.wake <= p_now, false))
    AND (p_out_of_turn OR r.lane IS NULL OR NOT EXISTS (
      SELECT FROM ${schema}.runs o WHERE o.lane = r.lane AND NOT o.finished AND o.number < r.number)))) $$;
CREATE FUNCTION ${schema}.is_held(r ${schema}.runs, p_now bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT r.lease_owner IS NOT NULL
    AND greatest(r.lease_until, (SELECT until FROM ${schema}.owners WHERE owner = r.lease_owner)) > p_now $$;`
}

/**
 * Creations in one lane are serialized, so that their numbers are in the order in which runs become visible. The key is checked
 * under the same lock: a retried start must not be refused because of itself. `p_again`: this may repeat a creation whose reply
 * was lost.
 */
function createRun(schema: string): string {
  return `
CREATE FUNCTION ${schema}.create_run(
  p_now bigint, p_run text, p_id text, p_owner text, p_component text, p_session text, p_created text, p_lane text,
  p_key text, p_fingerprint text, p_record bytea, p_reject boolean, p_claimer text, p_ttl bigint, p_again boolean
) RETURNS TABLE (outcome text, ${STORED}) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE v_number bigint; v_head text; v_known text; v_fingerprint text; v_until bigint; v_outcome text := 'created';
BEGIN
  PERFORM ${schema}.durably();
  IF p_lane IS NOT NULL THEN PERFORM pg_advisory_xact_lock(hashtextextended('${schema}' || p_lane, 0)); END IF;
  IF p_key IS NOT NULL THEN
    SELECT r.id, r.fingerprint INTO v_known, v_fingerprint FROM ${schema}.runs r
      WHERE r.owner = p_owner AND r.idempotency_key = p_key;
  END IF;
  IF v_known IS NULL THEN
    IF p_lane IS NOT NULL THEN
      SELECT r.id INTO v_head FROM ${schema}.runs r WHERE r.lane = p_lane AND NOT r.finished ORDER BY r.number LIMIT 1;
    END IF;
    IF p_reject AND v_head IS NOT NULL AND NOT (p_again AND v_head = p_id) THEN
      RETURN QUERY SELECT 'busy', ${STORED_OF('s')} FROM ${schema}.stored s WHERE s.id = v_head;
      RETURN;
    END IF;
    IF p_claimer IS NOT NULL AND v_head IS NULL THEN
      v_until := ${schema}.clock(p_now) + p_ttl;
      INSERT INTO ${schema}.owners (owner, until) VALUES (p_claimer, 0) ON CONFLICT DO NOTHING;
    END IF;
    INSERT INTO ${schema}.runs
        (id, owner, component, session, status, created, lane, lease_owner, lease_until, idempotency_key, fingerprint, run)
      VALUES (p_id, p_owner, p_component, p_session, 'queued', p_created, p_lane,
        CASE WHEN v_until IS NOT NULL THEN p_claimer END, v_until, p_key, p_fingerprint, p_run)
      ON CONFLICT DO NOTHING RETURNING number INTO v_number;
    IF v_number IS NOT NULL THEN
      INSERT INTO ${schema}.heads (id, number, epoch, first, next, bytes)
        VALUES (p_id, v_number, CASE WHEN v_until IS NULL THEN 0 ELSE 1 END, 0, 1, octet_length(p_record));
      INSERT INTO ${schema}.log (run, first, count, data) VALUES (v_number, 0, 1, p_record);
      INSERT INTO ${schema}.documents AS d (collection, owner, id, label, search, version, created, updated, body)
        VALUES ('session', p_owner, p_session, p_component, '', 1, p_created, p_created, '{}')
        ON CONFLICT (collection, owner, id) DO UPDATE SET updated = excluded.updated WHERE excluded.updated > d.updated;
    ELSE
      SELECT r.id, r.fingerprint INTO v_known, v_fingerprint FROM ${schema}.runs r
        WHERE r.owner = p_owner AND r.idempotency_key = p_key;
      IF v_known IS NULL AND NOT p_again THEN
        RETURN QUERY SELECT 'taken', ${STORED_OF('s')} FROM ${schema}.stored s WHERE s.id = p_id;
        RETURN;
      END IF;
    END IF;
  END IF;
  IF v_known IS NOT NULL AND NOT (p_again AND v_known = p_id) THEN
    v_outcome := CASE WHEN v_fingerprint = p_fingerprint THEN 'existing' ELSE 'key_conflict' END;
  END IF;
  RETURN QUERY SELECT v_outcome, ${STORED_OF('s')} FROM ${schema}.stored s WHERE s.id = coalesce(v_known, p_id);
END $$;`
}

/**
 * Appends the records of many runs, each fenced by its epoch and index (LOG-1, LOG-3, LOG-4). A part whose epoch or index does not
 * match is skipped as a whole and reported with the current head. A commit that is sent again because its reply was lost finds its
 * own name on the heads that it wrote.
 */
function append(schema: string): string {
  return `
CREATE FUNCTION ${schema}.append(
  p_commit text, p_ids text[], p_epochs integer[], p_firsts integer[], p_counts integer[], p_lengths integer[],
  p_runs text[], p_statuses text[], p_wakes bigint[], p_ends boolean[], p_closes boolean[], p_data bytea
) RETURNS TABLE (id text, written boolean, epoch integer, next integer, closed boolean) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM ${schema}.durably();
  WITH given AS (
    SELECT g.*, sum(g.length) OVER (ORDER BY g.place) - g.length AS start
    FROM unnest(p_ids, p_epochs, p_firsts, p_counts, p_lengths, p_runs, p_statuses, p_wakes, p_ends, p_closes) WITH ORDINALITY
      AS g (id, epoch, first, count, length, run, status, wake, ends, closes, place)
  ), taken AS (
    UPDATE ${schema}.heads h
    SET next = g.first + g.count, bytes = h.bytes + g.length, closed = g.closes, commit = p_commit
    FROM given g WHERE h.id = g.id AND h.epoch = g.epoch AND h.next = g.first AND NOT h.closed
    RETURNING h.number, g.*
  ), logged AS (
    INSERT INTO ${schema}.log (run, first, count, data)
    SELECT t.number, t.first, t.count, substring(p_data FROM t.start::integer + 1 FOR t.length) FROM taken t
  )
  UPDATE ${schema}.runs r
  SET run = t.run, status = t.status, wake = t.wake, finished = t.closes,
    lease_owner = CASE WHEN NOT t.ends THEN r.lease_owner END, lease_until = CASE WHEN NOT t.ends THEN r.lease_until END
  FROM taken t WHERE r.id = t.id AND t.run IS NOT NULL;
  RETURN QUERY SELECT g.id, h.commit IS NOT DISTINCT FROM p_commit, h.epoch, h.next, h.closed
    FROM unnest(p_ids) AS g (id) LEFT JOIN ${schema}.heads h ON h.id = g.id;
END $$;`
}

/** Migration: nodes report the components they serve, and can claim without taking over expired leases. */
export function nodes(schema: string): string {
  return `ALTER TABLE ${schema}.owners ADD COLUMN components text[]; ${claim(schema, true)}`
}

/** `p_claim` names the claim, so that a retry after a lost reply finds it. */
function claim(schema: string, withTakeover: boolean): string {
  return `
CREATE FUNCTION ${schema}.claim_run(
  p_now bigint, p_claim text, p_id text, p_owner text, p_ttl bigint, p_paused boolean, p_out_of_turn boolean${
    withTakeover ? ', p_takeover boolean' : ''
  }
) RETURNS TABLE (${STORED}) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE v_now bigint;
BEGIN
  PERFORM ${schema}.durably();
  PERFORM FROM ${schema}.heads h WHERE h.id = p_id AND NOT h.closed FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  v_now := ${schema}.clock(p_now);
  IF NOT EXISTS (SELECT FROM ${schema}.runs r WHERE r.id = p_id AND r.claim = p_claim) THEN
    UPDATE ${schema}.runs r SET lease_owner = p_owner, lease_until = v_now + p_ttl, claim = p_claim
      WHERE r.id = p_id AND NOT ${schema}.is_held(r, v_now) AND ${schema}.is_ready(r, v_now, p_paused, p_out_of_turn)
        ${withTakeover ? 'AND (p_takeover OR r.lease_owner IS NULL OR r.stop IS NOT NULL)' : ''};
    IF NOT FOUND THEN RETURN; END IF;
    UPDATE ${schema}.heads h SET epoch = h.epoch + 1 WHERE h.id = p_id;
    INSERT INTO ${schema}.owners (owner, until) VALUES (p_owner, 0) ON CONFLICT DO NOTHING;
  END IF;
  RETURN QUERY SELECT ${STORED_OF('s')} FROM ${schema}.stored s WHERE s.id = p_id;
END $$;`
}

function release(schema: string): string {
  return `
CREATE FUNCTION ${schema}.release_run(p_id text, p_epoch integer) RETURNS TABLE (next integer) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM FROM ${schema}.heads h WHERE h.id = p_id AND h.epoch = p_epoch AND NOT h.closed FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  UPDATE ${schema}.runs r SET lease_owner = NULL, lease_until = NULL WHERE r.id = p_id AND r.lease_owner IS NOT NULL;
  IF FOUND THEN RETURN QUERY SELECT h.next FROM ${schema}.heads h WHERE h.id = p_id; END IF;
END $$;`
}

/** Splits a row of which only some records are trimmed at the first record that stays. */
function trim(schema: string): string {
  return `
CREATE FUNCTION ${schema}.trim_run(p_id text, p_before integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_number bigint; v_first integer; v_gone bigint; v_cut bigint;
BEGIN
  SELECT h.number, least(p_before, h.next - 1) INTO v_number, v_first FROM ${schema}.heads h WHERE h.id = p_id FOR UPDATE;
  UPDATE ${schema}.heads h SET first = v_first WHERE h.id = p_id AND h.first < v_first;
  IF NOT FOUND THEN RETURN; END IF;
  WITH gone AS (
    DELETE FROM ${schema}.log l WHERE l.run = v_number AND l.first + l.count <= v_first RETURNING octet_length(l.data) AS bytes
  ) SELECT coalesce(sum(bytes), 0) INTO v_gone FROM gone;
  WITH cut AS (
    SELECT l.first, position(convert_to(E'\\n\\nid: ' || v_first || E'\\n', 'UTF8') IN l.data) + 1 AS bytes
    FROM ${schema}.log l WHERE l.run = v_number AND l.first < v_first
  ), kept AS (
    UPDATE ${schema}.log l
    SET first = v_first, count = l.first + l.count - v_first, data = substring(l.data FROM cut.bytes + 1)
    FROM cut WHERE l.run = v_number AND l.first = cut.first RETURNING cut.bytes
  ) SELECT coalesce(sum(bytes), 0) INTO v_cut FROM kept;
  UPDATE ${schema}.heads h SET bytes = h.bytes - v_gone - v_cut WHERE h.id = p_id;
END $$;`
}

function remove(schema: string): string {
  return `
CREATE FUNCTION ${schema}.remove_run(p_id text) RETURNS TABLE (status text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE v_number bigint;
BEGIN
  PERFORM ${schema}.durably();
  SELECT h.number INTO v_number FROM ${schema}.heads h WHERE h.id = p_id FOR UPDATE;
  RETURN QUERY SELECT r.status FROM ${schema}.runs r WHERE r.id = p_id;
  DELETE FROM ${schema}.runs r WHERE r.id = p_id AND r.finished;
  IF NOT FOUND THEN RETURN; END IF;
  DELETE FROM ${schema}.log l WHERE l.run = v_number;
  DELETE FROM ${schema}.heads h WHERE h.id = p_id;
END $$;`
}
