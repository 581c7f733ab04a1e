/** One statement per commit on one connection, pipelined. */
import pg from 'pg'
import { type BareLoad, textOf } from './bare.ts'

/** `rows`: one per run and commit, like the store. `packed`: one per commit, the fastest way to write. */
export async function barePostgres(load: BareLoad, layout: 'rows' | 'packed'): Promise<void> {
  const client = new pg.Client(load.address)
  await client.connect()
  const schema = new URL(load.address).searchParams.get('schema')!
  await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`)
  const statement = layout === 'rows' ? await rows(client, schema, load) : await packed(client, schema)
  let earlier: Promise<unknown> = Promise.resolve()
  for (let first = 0; !load.meter.isDone; first += load.eventsAtOnce) {
    const later = statement(commitOf(load, first), first)
    await earlier
    earlier = client.query(later).then(() => load.meter.add(load.runs * load.eventsAtOnce))
  }
  await earlier
  await client.end()
}

type ToStatement = (texts: readonly string[], first: number) => { text: string; values: unknown[] }

async function rows(client: pg.Client, schema: string, { runs, eventsAtOnce }: BareLoad): Promise<ToStatement> {
  await client.query(`CREATE TABLE ${schema}.rows (
    run bigint NOT NULL, first integer NOT NULL, count integer NOT NULL, data bytea NOT NULL, PRIMARY KEY (run, first));
    ALTER TABLE ${schema}.rows ALTER COLUMN data SET STORAGE EXTERNAL`)
  const numbers = Array.from({ length: runs }, (_, run) => run)
  const insert = `INSERT INTO ${schema}.rows
    SELECT run, $2, $3, substring($5::bytea FROM start::integer + 1 FOR length)
    FROM (SELECT run, length, sum(length) OVER (ORDER BY run) - length AS start FROM unnest($1::bigint[], $4::integer[]) AS g (run, length)) g`
  return (texts, first) => ({
    text: insert,
    values: [numbers, first, eventsAtOnce, texts.map(({ length }) => length), Buffer.from(texts.join(''))],
  })
}

async function packed(client: pg.Client, schema: string): Promise<ToStatement> {
  await client.query(`CREATE TABLE ${schema}.packed (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, data bytea NOT NULL);
    ALTER TABLE ${schema}.packed ALTER COLUMN data SET STORAGE EXTERNAL`)
  return (texts) => ({
    text: `INSERT INTO ${schema}.packed (data) VALUES ($1)`,
    values: [Buffer.from(texts.join(''))],
  })
}

function commitOf({ runs, eventsAtOnce }: BareLoad, first: number): string[] {
  return Array.from({ length: runs }, (_, run) => textOf(run, first, eventsAtOnce))
}
