/** `holdfast forget`: deletes everything that a principal has. */
import { existsSync } from 'node:fs'
import { HoldfastError } from '../../core/errors.ts'
import { ownerKey } from '../../core/principal.ts'
import { printable } from '../../core/printable.ts'
import { removeKeysOf } from '../../server/auth/keys.ts'
import { configOptions } from '../../server/config-options.ts'
import { forgetPrincipal } from '../../server/forget.ts'
import { openStore } from '../../server/open-store.ts'
import { toSwitch, toText } from '../../server/option-values.ts'
import { vacuumStore } from '../../server/store-backup.ts'
import { defineCommand } from '../command.ts'
import { copyProgress } from '../copy-progress.ts'
import { DONE } from '../exit-codes.ts'
import { stderrLogger } from '../stderr-logger.ts'
import { defaultStore, storeText, targetOptions } from '../target.ts'

export const forget = defineCommand({
  operands: [],
  about: `Deletes everything that a principal has in a store: runs with their logs and idempotency keys, sessions, webhooks and all other
documents; and with --auth-keys its API keys, first, so that it starts nothing meanwhile. What cannot be undone is worth a --dry-run.

Runs that have not ended are refused, or stopped first with --stop. When the command is interrupted, run it again: it goes on.

It opens the store itself: a file while no server uses it, a store that servers share at any time. A SQLite file keeps deleted bytes in
free pages until they are overwritten: --vacuum rewrites it without them. Backups, log files and the audit log are not touched
(docs/operations.md).`,
  examples: [
    { line: 'holdfast forget --principal anna --dry-run', does: 'what would go' },
    { line: 'holdfast forget --principal key:ci --auth-keys .holdfast/keys.json --stop --vacuum', does: 'all of it' },
  ],
  options: {
    store: targetOptions.store,
    principal: { value: 'ID', parse: toText, help: 'Whose data: an id as tokens say it, or key:NAME.' },
    tenant: { value: 'TENANT', parse: toText, help: 'The tenant of that principal.' },
    'auth-keys': { ...configOptions['auth-keys'], help: 'Remove its API keys from this file too.' },
    stop: { parse: toSwitch, fallback: 'false', help: 'Stop runs that have not ended.' },
    'dry-run': { parse: toSwitch, fallback: 'false', help: 'Only say what there is.' },
    vacuum: { parse: toSwitch, fallback: 'false', help: 'Rewrite a SQLite file without the deleted bytes.' },
    json: { parse: toSwitch, fallback: 'false', help: 'Report as JSON.' },
  },
  async run({ values }, io) {
    const { principal: id, tenant, stop, 'dry-run': dryRun, 'auth-keys': keys } = values
    if (id === undefined) throw new HoldfastError('invalid_request', 'say whose data: --principal ID')
    const config = values.store ?? defaultStore(io.env)
    if (config.kind === 'memory') throw new HoldfastError('unsupported', 'a store in memory is only in its server')
    if (config.kind === 'sqlite' && !existsSync(config.path)) throw new Error(`there is no store ${config.path}`)
    if (values.vacuum && config.kind !== 'sqlite')
      throw new HoldfastError('invalid_request', '--vacuum is for a SQLite store')
    const store = await openStore(config, stderrLogger(io))
    let report: Awaited<ReturnType<typeof forgetPrincipal>> & { readonly apiKeys: number }
    try {
      const owner = ownerKey({ id, ...(tenant !== undefined && { tenant }) })
      let apiKeys = 0
      const removeKeys = async (): Promise<void> => {
        if (keys !== undefined) apiKeys = await removeKeysOf(keys, { principal: id, tenant }, { dryRun })
      }
      if (dryRun) await removeKeys()
      const onProgress = (runs: number): void => void io.stderr.write(`removed ${runs} runs\n`)
      const removed = await forgetPrincipal(store, owner, { dryRun, stop, beforeRemoval: removeKeys, onProgress })
      report = { ...removed, apiKeys }
    } finally {
      await store.close()
    }
    // Opening it settles what a store tidies up only then, such as whose turn it was.
    if (!dryRun) await (await openStore(config, stderrLogger(io))).close()
    if (values.vacuum && !dryRun) vacuumStore(config, copyProgress(io))
    if (values.json) {
      const who = { principal: id, ...(tenant !== undefined && { tenant }) }
      io.stdout.write(`${JSON.stringify({ store: storeText(config), ...who, dryRun, ...report }, undefined, 2)}\n`)
      return DONE
    }
    const { runs, unfinished, documents, apiKeys } = report
    const ended = unfinished === 0 ? '' : ` (${unfinished} of them ${dryRun ? 'have not ended' : 'were stopped'})`
    const who = printable(tenant === undefined ? id : `${id} of ${tenant}`)
    const does = dryRun ? 'has' : 'is forgotten:'
    io.stdout.write(
      `${storeText(config)}: ${who} ${does} ${runs} runs${ended}, ${documents} documents, ${apiKeys} API keys\n`,
    )
    if (!dryRun && config.kind === 'sqlite' && !values.vacuum)
      io.stderr.write('Free pages of the file may still hold deleted bytes: holdfast gc --vacuum removes them.\n')
    return DONE
  },
})
