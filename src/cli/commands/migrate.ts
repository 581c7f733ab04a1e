/** `holdfast migrate`: brings the schema of a store up to date. */
import { migrateStore, type SchemaChange } from '../../server/store-maintenance.ts'
import { defineCommand } from '../command.ts'
import { DONE } from '../exit-codes.ts'
import { defaultStore, storeText, targetOptions } from '../target.ts'

export const migrate = defineCommand({
  operands: [],
  about: `Brings the tables of a store to the version that this Holdfast uses. A server does the same when it opens the store; this is for those
who want to do it before, with a backup at hand. Each version is one transaction: it is done or not. A store of a newer Holdfast is
refused.`,
  examples: [
    { line: 'holdfast migrate --store sqlite:runs.db', does: 'while no server uses it' },
    { line: 'holdfast migrate --store postgres://db.example/app', does: 'also while servers use it' },
  ],
  options: { store: targetOptions.store },
  async run({ values }, io) {
    const config = values.store ?? defaultStore(io.env)
    const change = await migrateStore(config)
    io.stdout.write(`${storeText(config)}${changeText(change)}\n`)
    return DONE
  },
})

function changeText(change: SchemaChange | undefined): string {
  if (change === undefined) return ' is up to date'
  const { from, to } = change
  return from === to ? ` is up to date: schema ${to}` : `: schema ${from} has become schema ${to}`
}
