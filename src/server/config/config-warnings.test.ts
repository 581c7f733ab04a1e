import { expect, test } from 'vitest'
import { configWarnings } from './config-warnings.ts'
import { readConfig } from './config.ts'

const warningsOf = (...argv: string[]): string[] => configWarnings(readConfig(argv, {}))

test('config: keys sent in plain text to an address that is not loopback cause a warning', () => {
  const key = ['--security-key', '0123456789abcdef']
  expect(warningsOf(...key, '--host', '127.0.0.1')).toEqual([])
  expect(warningsOf(...key, '--host', '::1')).toEqual([])
  expect(warningsOf(...key, '--host', '0.0.0.0')).toEqual([expect.stringContaining('unencrypted')])
  expect(warningsOf(...key, '--host', '0.0.0.0', '--tls-cert', 'a.pem', '--tls-key', 'b.pem')).toEqual([])
})

test('config: a shared store without a secret key causes a warning', () => {
  const key = ['--secret-key', '00'.repeat(32)]
  expect(warningsOf('--store', 'postgres://db/runs')).toEqual([expect.stringContaining('--secret-key')])
  expect(warningsOf('--store', 'postgres://db/runs', ...key)).toEqual([])
  expect(warningsOf('--store', 'sqlite:runs.db')).toEqual([])
})

test('config: tokens without an audience or an expiry cause a warning', () => {
  const jwt = ['--jwt-jwks', 'https://issuer.example/jwks.json']
  expect(warningsOf()).toEqual([])
  expect(warningsOf(...jwt, '--jwt-audience', 'holdfast')).toEqual([])
  expect(warningsOf(...jwt)).toEqual([expect.stringContaining('--jwt-audience')])
  expect(warningsOf(...jwt, '--jwt-audience', 'holdfast', '--no-jwt-require-exp')).toEqual([
    expect.stringContaining('never expire'),
  ])
})
