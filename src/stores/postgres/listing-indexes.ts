/** Migration: indexes with which an owner's listing skips runs of others in a session or component of the same name. */
export function listingIndexes(schema: string): string {
  return `
CREATE INDEX runs_by_owner_session ON ${schema}.runs (owner, session, created, id);
CREATE INDEX runs_by_owner_component ON ${schema}.runs (owner, component, created, id);
DROP INDEX ${schema}.runs_by_session;
DROP INDEX ${schema}.runs_by_component;
`
}
