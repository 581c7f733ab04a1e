/** The option table of docs/config.md: flags, variables, defaults, and the option of `createServer()` that each flag sets. */
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { defaultLimits } from '../../core/model/limits.ts'
import { engineRules } from '../engine-rules.ts'
import { configOptions } from './config-options.ts'
import { readConfig } from './config.ts'
import { flagName, type Option } from './options.ts'

const table: Readonly<Record<string, Option>> = configOptions

type Samples = readonly [string | undefined, string]

/** Two valid values of each flag, by its name or else by its placeholder. Undefined: the flag is left out. */
const samples: Readonly<Record<string, Samples>> = {
  protocols: ['native', 'openai'],
  redact: ['emails', 'tokens'],
  retain: ['7d,writer=7d', '8d,writer=8d'],
  'retain-runs': ['7d,writer=7d', '8d,writer=8d'],
  ADDRESS: ['127.0.0.1', '::1'],
  ADDRESSES: ['loopback', 'private'],
  DURATION: ['7s', '8s'],
  FORM: ['both', '1.0'],
  HOSTS: ['a.example', 'b.example'],
  KEY: ['a'.repeat(20), 'b'.repeat(20)],
  KEYS: ['a'.repeat(64), 'b'.repeat(64)],
  LEVEL: ['info', 'warn'],
  MODE: [undefined, 'passthrough'],
  N: ['7', '8'],
  ORIGINS: ['https://a.example', 'https://b.example'],
  PATH: ['/a', '/b'],
  PORT: ['1', '2'],
  SIZE: ['1GB', '2GB'],
  STORE: ['memory:', 'sqlite:runs.db'],
  TABLE: ['1.0.1', '1.0.0'],
  URL: ['https://a.example', 'https://b.example'],
  WHEN: ['always', 'never'],
}

/** Flags that others need. */
function companionsOf(name: string): string[] {
  if (name === 'tls-cert') return ['--tls-key', '/key']
  if (name === 'tls-key') return ['--tls-cert', '/cert']
  if (name === 'a2a-sign-key') return ['--a2a-url', 'https://a.example']
  if (name === 'store-outage') return ['--store', 'postgres://db/runs']
  return name.startsWith('jwt-') && name !== 'jwt-jwks' && name !== 'jwt-key' ? ['--jwt-key', 'key.pem'] : []
}

/** Values by path. Objects that an application passes as a whole have one path. */
function valuesOf(value: unknown, path = ''): [path: string, value: string][] {
  const isWhole = /^(?:redact|protocols|a2a\.agents|retention\.\w+)$/.test(path)
  if (isWhole || typeof value !== 'object' || value === null || Array.isArray(value))
    return [[path, JSON.stringify(value, (_key, part: unknown) => (part instanceof RegExp ? String(part) : part))]]
  return Object.entries(value).flatMap(([key, part]) => valuesOf(part, path === '' ? key : `${path}.${key}`))
}

/** Two ways to give a flag. */
function argumentsOf(name: string, { value }: Option): readonly (readonly string[])[] {
  if (value === undefined) return [[`--${name}`], [`--no-${name}`]]
  const given = samples[name] ?? samples[value] ?? ['a', 'b']
  return given.map((sample) => (sample === undefined ? [] : [`--${name}`, sample]))
}

/** Paths of the configuration that a flag changes. */
function changedBy(name: string, option: Option): string[] {
  const [before, after] = argumentsOf(name, option).map(
    (argv) => new Map(valuesOf(readConfig([...companionsOf(name), ...argv], {}))),
  )
  return [...new Set([...before!.keys(), ...after!.keys()])].filter((path) => before!.get(path) !== after!.get(path))
}

/** Options with another name than in the configuration. Empty: only the command line has it. */
const renamed: Readonly<Record<string, string>> = {
  'store.kind': 'store',
  'store.path': 'store',
  'store.outageTimeoutMs': 'outageTimeoutMs',
  lab: '',
  supervise: '',
  logLevel: 'logger',
  'model.url': '',
  'model.name': '',
  'model.key': '',
  secretKey: 'secretKeys',
  auditLog: 'audit',
  'a2a.signKey': 'a2a.signer',
}

function optionsOf(name: string, option: Option): string[] {
  return [...new Set(changedBy(name, option).map((path) => renamed[path] ?? path))].filter((path) => path !== '')
}

test('config: docs/config.md lists every option, row by row, with the options of createServer() that it sets', async () => {
  const page = await readFile(new URL('../../../docs/config.md', import.meta.url), 'utf8')
  const lines = page.split('\n').filter((line) => line.startsWith('| `--'))
  const documented = lines.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
  const rows = Object.entries(table).map(([name, option]) => {
    const switched = option.fallback === 'true' ? 'on' : 'off'
    const fallback = option.value === undefined ? switched : option.fallback && `\`${option.fallback}\``
    const names = optionsOf(name, option).map((path) => `\`${path}\``)
    return [`\`${flagName(name, option)}\``, `\`${option.env}\``, names.join(', '), fallback ?? '', option.help]
  })
  expect(documented).toEqual(rows)
})

test('config: every option of createServer() that docs/config.md names exists', () => {
  const known = new Set([...Object.keys(engineRules), 'host', 'port', 'tls'])
  const named = Object.entries(table)
    .filter(([name]) => name !== 'store-outage')
    .flatMap(([name, option]) => optionsOf(name, option))
  expect(named.length).toBeGreaterThan(50)
  expect(named.filter((path) => !known.has(path.split('.')[0]!))).toEqual([])
  const limits = named.filter((path) => path.startsWith('limits.')).map((path) => path.slice('limits.'.length))
  expect(limits.filter((limit) => !(limit in defaultLimits))).toEqual([])
})
