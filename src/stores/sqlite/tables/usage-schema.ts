/**
 * Storage usage: one row per owner, maintained by triggers in the transaction that changes it, so it is correct after a crash.
 * Records count when compaction has moved them into a segment: an append costs nothing.
 */
export const USAGE_MIGRATION = `
CREATE TABLE usage (
  owner TEXT PRIMARY KEY,
  runs INTEGER NOT NULL DEFAULT 0,
  log_bytes INTEGER NOT NULL DEFAULT 0,
  documents INTEGER NOT NULL DEFAULT 0,
  document_bytes INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
INSERT INTO usage
  SELECT owner, sum(runs), sum(log_bytes), sum(documents), sum(document_bytes) FROM (
    SELECT owner, 1 AS runs, (SELECT coalesce(sum(length(data)), 0) FROM segments WHERE run = number) AS log_bytes,
      0 AS documents, 0 AS document_bytes FROM runs
    UNION ALL SELECT owner, 0, 0, 1, octet_length(body) FROM documents
  ) GROUP BY owner;

CREATE TRIGGER usage_run_added AFTER INSERT ON runs BEGIN
  INSERT INTO usage (owner, runs) VALUES (new.owner, 1) ON CONFLICT (owner) DO UPDATE SET runs = runs + 1;
END;
CREATE TRIGGER usage_run_removed AFTER DELETE ON runs BEGIN
  UPDATE usage SET runs = runs - 1 WHERE owner = old.owner;
  DELETE FROM usage WHERE owner = old.owner AND runs = 0 AND documents = 0;
END;
CREATE TRIGGER usage_segment_added AFTER INSERT ON segments BEGIN
  UPDATE usage SET log_bytes = log_bytes + length(new.data) WHERE owner = (SELECT owner FROM runs WHERE number = new.run);
END;
CREATE TRIGGER usage_segment_removed AFTER DELETE ON segments BEGIN
  UPDATE usage SET log_bytes = log_bytes - length(old.data) WHERE owner = (SELECT owner FROM runs WHERE number = old.run);
END;
CREATE TRIGGER usage_document_added AFTER INSERT ON documents BEGIN
  INSERT INTO usage (owner, documents, document_bytes) VALUES (new.owner, 1, octet_length(new.body))
    ON CONFLICT (owner) DO UPDATE SET documents = documents + 1, document_bytes = document_bytes + excluded.document_bytes;
END;
CREATE TRIGGER usage_document_changed AFTER UPDATE OF body ON documents BEGIN
  UPDATE usage SET document_bytes = document_bytes + octet_length(new.body) - octet_length(old.body) WHERE owner = new.owner;
END;
CREATE TRIGGER usage_document_removed AFTER DELETE ON documents BEGIN
  UPDATE usage SET documents = documents - 1, document_bytes = document_bytes - octet_length(old.body) WHERE owner = old.owner;
  DELETE FROM usage WHERE owner = old.owner AND runs = 0 AND documents = 0;
END;`

/** Segments to delete: those of a run that end before an index, or all of a removed one (NULL). They no longer count as usage. */
export const DELETION_MIGRATION = `
CREATE TABLE deletions (run INTEGER PRIMARY KEY, before INTEGER, bytes INTEGER NOT NULL);
DROP TRIGGER usage_segment_removed;
CREATE TRIGGER usage_segment_removed AFTER DELETE ON segments BEGIN
  UPDATE usage SET log_bytes = log_bytes - length(old.data) WHERE owner = (SELECT owner FROM runs WHERE number = old.run)
    AND NOT EXISTS (SELECT 1 FROM deletions WHERE run = old.run AND old.first + old.count <= before);
END;`
