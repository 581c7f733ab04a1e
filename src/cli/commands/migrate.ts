/** `holdfast migrate`: migrates the schema of a store. */
import { migrateStore, type SchemaChange } from '../../server/store/store-maintenance.ts'
import { defineCommand } from '../command.ts'
import { DONE } from '../exit-codes.ts'
import { defaultStore, storeText, targetOptions } from '../target/target.ts'

export const migrate = defineCommand({
  operands: [],
  about: `Migrates the schema of a store to this version of Holdfast. A server does the same when it opens the store; use this
command to do it beforehand, with a backup at hand. Each step is one transaction. A store of a newer Holdfast is
refused.`,
  examples: [
    { command: 'holdfast migrate --store sqlite:runs.db', description: 'while no server uses it' },
    { command: 'holdfast migrate --store postgres://db.example/app', description: 'even while servers use it' },
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
  return from === to ? ` is up to date: schema ${to}` : `: migrated from schema ${from} to ${to}`
}
