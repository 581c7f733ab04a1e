/** `holdfast forget`: deletes all data of a principal. */
import { existsSync } from 'node:fs'
import { detailOf, HoldfastError, isHoldfastError } from '../../core/model/errors.ts'
import type { RemovalCount } from '../../core/access/forget.ts'
import { ownerKey } from '../../core/model/principal.ts'
import { printable } from '../../core/model/printable.ts'
import type { ForgetResult } from '../../core/service.ts'
import { removeKeysOf } from '../../server/auth/api-keys.ts'
import { configOptions, type StoreConfig } from '../../server/config/config-options.ts'
import { forgetPrincipal } from '../../server/store/forget.ts'
import { openStore } from '../../server/store/open-store.ts'
import { toSwitch, toText } from '../../server/config/option-values.ts'
import type { Environment, OptionTable, OptionValues } from '../../server/config/options.ts'
import { vacuumStore } from '../../server/store/store-backup.ts'
import { defineCommand } from '../command.ts'
import { copyProgress } from '../transfer/copy-progress.ts'
import { DONE } from '../exit-codes.ts'
import { forgetAtServer } from '../target/forget-at-server.ts'
import type { CommandIo } from '../io.ts'
import { stderrLogger } from '../logging/stderr-logger.ts'
import { defaultStore, defaultUrl, problemOf, storeText, targetOptions } from '../target/target.ts'
import { withAdvice } from '../target/with-target.ts'

const options = {
  ...targetOptions,
  principal: { value: 'ID', parse: toText, help: 'Principal to forget: its id in tokens, or key:NAME.' },
  tenant: { value: 'TENANT', parse: toText, help: 'Tenant of the principal.' },
  'auth-keys': {
    ...configOptions['auth-keys'],
    help: 'Also remove its API keys from this file. A running server always uses its own file.',
  },
  stop: { parse: toSwitch, fallback: 'false', help: 'Stop unfinished runs first.' },
  'dry-run': { parse: toSwitch, fallback: 'false', help: 'Report without deleting.' },
  vacuum: {
    parse: toSwitch,
    fallback: 'false',
    help: 'Remove deleted bytes from a SQLite file. No server may be using it.',
  },
  json: { parse: toSwitch, fallback: 'false', help: 'Print the report as JSON.' },
} as const satisfies OptionTable

interface ForgetTarget {
  readonly values: OptionValues<typeof options>
  readonly who: { readonly id: string; readonly tenant?: string }
  readonly onProgress: (removed: RemovalCount) => void
}

export const forget = defineCommand({
  operands: [],
  about: `Deletes all data of a principal: API keys first, so that it cannot start more runs; then runs with their logs and
idempotency keys, sessions, webhooks, share links and all other documents. This cannot be undone: try --dry-run first.

Unfinished runs make the command fail, unless --stop stops them first. To continue after an interruption, run the
command again.

If a server is running, it does the work: the key needs the scope admin, and the audit log records the caller. Otherwise
the command opens the store: a SQLite file while no server uses it, a shared store at any time. A SQLite file keeps
deleted bytes in free pages until they are overwritten; --vacuum removes them. Backups, log files and the audit log are
not changed (docs/operations.md).`,
  examples: [
    { command: 'holdfast forget --principal anna --dry-run', description: 'only report' },
    {
      command: 'holdfast forget --principal anna --stop --url https://agents.example --key hf_…',
      description: 'at a running server',
    },
    {
      command: 'holdfast forget --principal key:ci --store sqlite:x.db --auth-keys keys.json --vacuum',
      description: 'in a SQLite file',
    },
  ],
  options,
  async run({ values }, io) {
    const { principal: id, tenant, 'dry-run': dryRun } = values
    if (id === undefined) throw new HoldfastError('invalid_request', '--principal ID is missing')
    const who = { id, ...(tenant !== undefined && { tenant }) }
    let lastReported = 0
    const onProgress = ({ runs }: RemovalCount): void => {
      if (runs > lastReported) io.stderr.write(`removed ${runs} runs\n`)
      lastReported = Math.max(lastReported, runs)
    }
    const request = { values, who, onProgress }
    const url = await serverFor(values, io.env)
    const config = url === undefined ? storeFor(values, io.env) : undefined
    const { runs, unfinished, documents, apiKeys } =
      config === undefined ? await atServer(url!, request) : await inStore(config, request, io)
    const where = config === undefined ? url! : storeText(config)
    if (values.json) {
      const target = config === undefined ? { url: where } : { store: where }
      const report = { ...target, principal: id, ...(tenant !== undefined && { tenant }), dryRun }
      io.stdout.write(`${JSON.stringify({ ...report, runs, unfinished, documents, apiKeys }, undefined, 2)}\n`)
      return DONE
    }
    const ended = unfinished === 0 ? '' : ` (${unfinished} of them ${dryRun ? 'have not ended' : 'were stopped'})`
    const name = printable(tenant === undefined ? id : `${id} of ${tenant}`)
    const does = dryRun ? 'has' : 'is forgotten:'
    io.stdout.write(`${where}: ${name} ${does} ${runs} runs${ended}, ${documents} documents, ${apiKeys} API keys\n`)
    if (!dryRun && config?.kind !== 'postgres' && config?.kind !== 'nats' && !values.vacuum)
      io.stderr.write(
        'Free pages of a SQLite file may still hold deleted bytes. Remove them with  holdfast gc --vacuum\n',
      )
    return DONE
  },
})

/** URL of the server to use; undefined to open the store directly. */
async function serverFor({ store, url }: ForgetTarget['values'], env: Environment): Promise<string | undefined> {
  if (store !== undefined) return undefined
  const serverUrl = url ?? defaultUrl(env)
  const problem = await problemOf(serverUrl)
  if (problem === undefined) return serverUrl
  if (url === undefined) return undefined
  throw new Error(`${url} is not a reachable Holdfast server: ${problem}`)
}

function storeFor({ store, vacuum }: ForgetTarget['values'], env: Environment): StoreConfig {
  const config = store ?? defaultStore(env)
  if (config.kind === 'memory')
    throw new HoldfastError('unsupported', 'a memory store exists only in its server: use --url')
  if (config.kind === 'sqlite' && !existsSync(config.path)) throw new Error(`there is no store ${config.path}`)
  if (vacuum && config.kind !== 'sqlite') throw new HoldfastError('invalid_request', '--vacuum needs a SQLite store')
  return config
}

async function atServer(url: string, { values, who, onProgress }: ForgetTarget): Promise<ForgetResult> {
  const { key, stop, 'dry-run': dryRun, vacuum } = values
  if (vacuum)
    throw new HoldfastError(
      'invalid_request',
      '--vacuum needs exclusive use of the file: stop the server, then run holdfast gc --vacuum',
    )
  const { id: principal, tenant } = who
  const body = { principal, ...(tenant !== undefined && { tenant }), stop, dryRun }
  try {
    return await forgetAtServer({ url, key, body, onProgress })
  } catch (cause) {
    throw withAdvice(cause, { url, key, flags: '', local: false })
  }
}

async function inStore(
  config: StoreConfig,
  { values, who, onProgress }: ForgetTarget,
  io: CommandIo,
): Promise<ForgetResult> {
  const { stop, 'dry-run': dryRun, 'auth-keys': keys, vacuum } = values
  const store = await openStore(config, stderrLogger(io)).catch((cause: unknown) => {
    if (config.kind !== 'sqlite' || isHoldfastError(cause)) throw cause
    throw new Error(`${detailOf(cause)}; if a server uses it, select that server with --url`, { cause })
  })
  let report: ForgetResult
  try {
    let apiKeys = 0
    const removeKeys = async (): Promise<void> => {
      const { id: principal, tenant } = who
      if (keys !== undefined) apiKeys = await removeKeysOf(keys, { principal, tenant }, { dryRun })
    }
    if (dryRun) await removeKeys()
    const removed = await forgetPrincipal(store, ownerKey(who), { dryRun, stop, onProgress }, removeKeys)
    report = { ...removed, apiKeys }
  } finally {
    await store.close()
  }
  // Opening the store removes references that stores only clean up then, such as queue positions.
  if (!dryRun) await (await openStore(config, stderrLogger(io))).close()
  if (vacuum && !dryRun) vacuumStore(config, copyProgress(io))
  return report
}
