/** Tables and schema migrations. */
import type { DatabaseSync } from 'node:sqlite'
import { DELETION_MIGRATION, USAGE_MIGRATION } from './usage-schema.ts'

/** Marks a SQLite file as Holdfast's: "HFST". */
export const APPLICATION_ID = 0x48465354

/** Version of a run's component. Null for damaged JSON, which must not prevent changing or removing the row. */
export const VERSION = "CASE WHEN json_valid(run) THEN json_extract(run, '$.version') END"

/**
 * `log` gets one row per commit with the records of all its runs: one page write, where a row per event would be one per run.
 * Compaction moves them into `segments`, about 64 records of one run per row, which readers use. `dir` is the directory of a
 * log row: four 32-bit numbers per run (number, first index, records, bytes). The `seq` of a log row is its commit number; the
 * last row is kept, even if empty, so that the file knows its last commit. `counters` has the highest run number of a removed
 * run. `damage` records what a quarantined run has lost. `deletions` has the segments that are still to be deleted (`SegmentDeletion`).
 */
const migrations: readonly string[] = [
  `CREATE TABLE runs (
     number INTEGER PRIMARY KEY,
     id TEXT NOT NULL UNIQUE,
     owner TEXT NOT NULL,
     component TEXT NOT NULL,
     session TEXT NOT NULL,
     status TEXT NOT NULL,
     created TEXT NOT NULL,
     finished TEXT,
     epoch INTEGER NOT NULL,
     first INTEGER NOT NULL,
     next INTEGER NOT NULL,
     run TEXT NOT NULL,
     stop TEXT,
     idempotency_key TEXT,
     fingerprint TEXT
   );
   CREATE UNIQUE INDEX runs_by_key ON runs (owner, idempotency_key) WHERE idempotency_key IS NOT NULL;
   CREATE INDEX runs_by_creation ON runs (created, id);
   CREATE INDEX runs_by_session ON runs (session, created, id);
   CREATE INDEX runs_by_component ON runs (component, created, id);
   CREATE INDEX runs_by_owner ON runs (owner, created, id);
   CREATE INDEX runs_unfinished ON runs (created, id) WHERE finished IS NULL;
   CREATE TABLE log (seq INTEGER PRIMARY KEY, dir BLOB NOT NULL, data BLOB NOT NULL);
   CREATE TABLE segments (run INTEGER NOT NULL, first INTEGER NOT NULL, count INTEGER NOT NULL, data BLOB NOT NULL);
   CREATE UNIQUE INDEX segments_by_run ON segments (run, first);`,
  // `search` is the folded title: SQLite itself folds ASCII only. The body is last, so that filtering and counting do not read
  // it.
  `CREATE TABLE documents (
     owner TEXT NOT NULL,
     collection TEXT NOT NULL,
     id TEXT NOT NULL,
     label TEXT,
     title TEXT,
     search TEXT NOT NULL,
     version INTEGER NOT NULL,
     created TEXT NOT NULL,
     updated TEXT NOT NULL,
     body TEXT NOT NULL,
     PRIMARY KEY (collection, owner, id)
   ) WITHOUT ROWID;
   CREATE INDEX documents_by_creation ON documents (collection, owner, created, id);
   CREATE INDEX documents_by_update ON documents (collection, owner, updated, id);
   INSERT INTO documents (owner, collection, id, label, search, version, created, updated, body)
     SELECT owner, 'session', session, component, '', 1, created, latest, '{}' FROM (
       SELECT owner, session, component, created,
         max(created) OVER (PARTITION BY owner, session) AS latest,
         row_number() OVER (PARTITION BY owner, session ORDER BY created, id) AS place FROM runs
     ) WHERE place = 1;`,
  // Rare but often searched for: found without scanning successful runs.
  `CREATE INDEX runs_unsuccessful ON runs (created, id) WHERE status IN ('failed', 'cancelled', 'rejected');`,
  // Which process owns the file (`Instance`). At most one row.
  `CREATE TABLE instance (slot INTEGER PRIMARY KEY CHECK (slot = 1), token TEXT NOT NULL);`,
  // Earlier versions reused numbers of removed runs, whose segments could then reappear: drops orphaned segments.
  `CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
   INSERT INTO counters (name, value) SELECT 'run', coalesce(max(run), 0) FROM segments;
   DELETE FROM segments WHERE run NOT IN (SELECT number FROM runs);
   ALTER TABLE runs ADD COLUMN damage TEXT;`,
  // Listings name an owner: they skip runs of others in a session or component of the same name.
  `DROP INDEX runs_by_session;
   DROP INDEX runs_by_component;
   CREATE INDEX runs_by_owner_session ON runs (owner, session, created, id);
   CREATE INDEX runs_by_owner_component ON runs (owner, component, created, id);`,
  USAGE_MIGRATION,
  // Checksums (`checksum.ts`); NULL in older rows. `identity` covers the columns that never change, `crcs` has one per
  // directory entry, `touched` covers the time of the last update.
  `ALTER TABLE runs ADD COLUMN identity INTEGER;
   ALTER TABLE runs ADD COLUMN crc INTEGER;
   ALTER TABLE segments ADD COLUMN crc INTEGER;
   ALTER TABLE log ADD COLUMN crcs BLOB;
   ALTER TABLE documents ADD COLUMN crc INTEGER;
   ALTER TABLE documents ADD COLUMN touched INTEGER;
   CREATE INDEX runs_damaged ON runs (number) WHERE damage IS NOT NULL;`,
  `CREATE INDEX runs_by_owner_version ON runs (owner, ${VERSION}, created, id) WHERE ${VERSION} IS NOT NULL;`,
  DELETION_MIGRATION,
]

export const SCHEMA_VERSION: number = migrations.length

/** Migrates a new or existing Holdfast file to this version; an earlier `target` creates a file as that version left it. */
export function migrate(database: DatabaseSync, path: string, target: number = SCHEMA_VERSION): void {
  const version = pragma(database, 'user_version')
  const application = pragma(database, 'application_id')
  const isNew = version === 0 && application === 0 && !hasTables(database)
  if (!isNew) checkVersion(application, version, path)
  for (let next = version; next < target; next++) {
    database.exec(`BEGIN IMMEDIATE;
      ${migrations[next]!}
      PRAGMA application_id = ${APPLICATION_ID};
      PRAGMA user_version = ${next + 1};
      COMMIT;`)
  }
}

/** The schema version of a Holdfast file. */
export function schemaVersionOf(database: DatabaseSync, path: string): number {
  const version = pragma(database, 'user_version')
  checkVersion(pragma(database, 'application_id'), version, path)
  return version
}

/** Throws for a file of another program or of a newer version. */
export function checkVersion(application: number, version: number, path: string): void {
  if (application !== APPLICATION_ID) {
    throw new Error(`${path} is a SQLite database of another program; give Holdfast a file of its own`)
  }
  if (version <= SCHEMA_VERSION) return
  throw new Error(
    `${path} was written by a newer Holdfast (schema ${version}; this version knows up to ${SCHEMA_VERSION}); update Holdfast or use another file`,
  )
}

function pragma(database: DatabaseSync, name: string): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0)
}

function hasTables(database: DatabaseSync): boolean {
  return database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() !== undefined
}
