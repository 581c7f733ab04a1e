/** `holdfast keys`: creates, lists and revokes the API keys in a file. */
import { HoldfastError, isHoldfastError, messageOf } from '../../core/model/errors.ts'
import { defaultKeysPath, type KeyEntry } from '../../server/auth/key-file.ts'
import { type KeyUsage, readKeyUsage } from '../../server/auth/key-usage.ts'
import { createKey, listKeys, revokeKey } from '../../server/auth/api-keys.ts'
import { configOptions } from '../../server/config/config-options.ts'
import { toDuration, toList, toSwitch, toText } from '../../server/config/option-values.ts'
import type { OptionTable, OptionValues } from '../../server/config/options.ts'
import { helpText, parseOptions } from '../../server/config/options.ts'
import type { Command } from '../command.ts'
import type { CommandIo } from '../io.ts'

const options = {
  'auth-keys': { ...configOptions['auth-keys'], fallback: defaultKeysPath, help: 'Key file.' },
  principal: {
    value: 'ID',
    parse: toText,
    help: 'create: principal of the key. Keys of one principal own the same runs. Default: key:NAME.',
  },
  tenant: { value: 'TENANT', parse: toText, help: 'create: tenant of the principal.' },
  scopes: {
    value: 'SCOPES',
    parse: toList,
    help: 'create: scopes of the key, such as runs:read or runs:write,component:clerk (docs/config.md). Default: everything.',
  },
  expires: {
    value: 'DURATION',
    parse: toDuration,
    help: 'create: lifetime of the key, such as 90d. Default: no expiry.',
  },
  json: { fallback: 'false', parse: toSwitch, help: 'list: print JSON.' },
  help: { fallback: 'false', parse: toSwitch, help: 'Show this help.' },
} as const satisfies OptionTable

type Values = OptionValues<typeof options>

const usageText = `Usage:
  holdfast keys create NAME [--principal ID] [--tenant TENANT] [--scopes SCOPES] [--expires DURATION]
                                                                 create a key and print it once
  holdfast keys list [--json]                                    list all keys
  holdfast keys revoke NAME|ID                                   revoke a key; servers notice within a second

Options:
${helpText(options)}`

export const keysCommand: Command = {
  operands: ['ACTION', '[NAME]'],
  about: `Creates, lists and revokes the API keys in a file (docs/config.md). A server started with --auth-keys requires one of
them. A new key is printed once, alone on standard output; the file holds only its hash. Running servers notice changes
within a second.`,
  examples: [
    { command: 'holdfast keys create ci', description: 'create a key and print it once' },
    {
      command: 'holdfast keys create viewer --principal key:ci --scopes runs:read --expires 90d',
      description: 'a read-only key',
    },
    { command: 'holdfast keys list --json', description: 'list all keys' },
    { command: 'holdfast keys revoke ci', description: 'by name or id' },
  ],
  options,
  run: keys,
}

const OK = 0
const FAILED = 1
const MISUSED = 2

/** Returns the exit code: 0 for success, 1 for a failure, 2 for a usage error. */
export async function keys(argv: readonly string[], io: CommandIo): Promise<number> {
  try {
    const { values, positionals } = parseOptions(options, argv, io.env)
    if (values.help) {
      io.stdout.write(usageText)
      return OK
    }
    return await act(positionals, values, io)
  } catch (error) {
    io.stderr.write(`holdfast keys: ${messageOf(error)}\n`)
    return isHoldfastError(error, 'invalid_request') ? MISUSED : FAILED
  }
}

interface Action {
  readonly operand?: string
  /** Flags besides the common ones. */
  readonly flags: readonly (keyof Values)[]
  readonly run: (operand: string, values: Values, io: CommandIo) => Promise<number>
}

const actions = new Map<string, Action>([
  ['create', { operand: 'NAME', flags: ['principal', 'tenant', 'scopes', 'expires'], run: create }],
  ['list', { flags: ['json'], run: list }],
  ['revoke', { operand: 'NAME|ID', flags: [], run: revoke }],
])

async function act(positionals: readonly string[], values: Values, io: CommandIo): Promise<number> {
  const [name = '', ...operands] = positionals
  const action = actions.get(name)
  if (action === undefined) {
    io.stderr.write(usageText)
    return MISUSED
  }
  if (action.operand !== undefined && operands.length === 0)
    throw misuse(`${name} needs a name: ${name} ${action.operand}`)
  const extra = operands[action.operand === undefined ? 0 : 1]
  if (extra !== undefined) throw misuse(`${name} does not take ${JSON.stringify(extra)}`)
  // Reject flags that would have no effect.
  const unfit = (['principal', 'tenant', 'scopes', 'expires', 'json'] as const).find(
    (flag) => values[flag] && !action.flags.includes(flag),
  )
  if (unfit !== undefined) throw misuse(`${name} does not take --${unfit}`)
  return action.run(operands[0] ?? '', values, io)
}

async function create(name: string, values: Values, io: CommandIo): Promise<number> {
  const path = values['auth-keys']
  const { principal, tenant, scopes, expires } = values
  if (expires === 0) throw misuse('--expires 0 would create a key that is never valid')
  const { entry, key } = await createKey(path, { name, principal, tenant, scopes, expiresInMs: expires })
  // Only the key goes to standard output, for scripts.
  io.stdout.write(`${key}\n`)
  io.stderr.write(
    `Created the key "${name}" (id ${entry.id}) for the principal ${principalText(entry)}.\n` +
      `Scopes: ${entry.scopes === undefined ? 'everything' : entry.scopes.join(', ')}${entry.expiresAt === undefined ? '' : `; expires ${entry.expiresAt}`}.\n` +
      'It is not shown again: store it now. Send it as  Authorization: Bearer <key>\n' +
      `A server accepts it when started with  --auth-keys ${path}\n`,
  )
  return OK
}

async function list(_operand: string, values: Values, io: CommandIo): Promise<number> {
  const path = values['auth-keys']
  const [entries, usage] = await Promise.all([listKeys(path), readKeyUsage(path)])
  if (values.json) {
    const listed = (entries ?? []).map((entry) => ({ ...withoutHash(entry), lastUsedAt: lastUse(entry, usage) }))
    io.stdout.write(`${JSON.stringify(listed, undefined, 2)}\n`)
  } else if (entries === undefined || entries.length === 0) {
    const what = entries === undefined ? `No key file ${path}.` : `No keys in ${path}.`
    io.stderr.write(`${what} Create one with  holdfast keys create NAME\n`)
  } else {
    io.stdout.write(table(entries, usage))
  }
  return OK
}

async function revoke(nameOrId: string, values: Values, io: CommandIo): Promise<number> {
  const { entry, already } = await revokeKey(values['auth-keys'], nameOrId)
  const what = `the key "${entry.name}" (id ${entry.id})`
  io.stdout.write(already ? `Nothing to do: ${what} was revoked at ${entry.revokedAt}.\n` : `Revoked ${what}.\n`)
  return OK
}

function withoutHash(entry: KeyEntry): Omit<KeyEntry, 'hash'> {
  const { hash: _hash, ...visible } = entry
  return visible
}

/** Undefined if no server recorded a use. */
function lastUse({ id }: KeyEntry, usage: KeyUsage): string | undefined {
  const time = usage.get(id)
  return time === undefined ? undefined : new Date(time).toISOString()
}

function statusOf({ revokedAt, expiresAt }: KeyEntry): string {
  if (revokedAt !== undefined) return `revoked ${revokedAt}`
  if (expiresAt === undefined) return 'active'
  return Date.parse(expiresAt) <= Date.now() ? `expired ${expiresAt}` : `active until ${expiresAt}`
}

function table(entries: readonly KeyEntry[], usage: KeyUsage): string {
  const rows = [
    ['NAME', 'ID', 'PRINCIPAL', 'SCOPES', 'CREATED', 'LAST USED', 'STATUS'],
    ...entries.map((entry) => [
      entry.name,
      entry.id,
      principalText(entry),
      entry.scopes?.join(',') ?? 'all',
      entry.createdAt,
      lastUse(entry, usage) ?? '-',
      statusOf(entry),
    ]),
  ]
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column]!))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('')
}

function principalText({ principal, tenant }: KeyEntry): string {
  return tenant === undefined ? principal : `${principal} of ${tenant}`
}

function misuse(message: string): HoldfastError {
  return new HoldfastError('invalid_request', `${message}; see holdfast keys --help`)
}
