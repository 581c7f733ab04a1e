/** Parses the address of a store, such as `sqlite:PATH` or `postgres://…`. */
import { HoldfastError } from '../../core/model/errors.ts'
import { type NatsConfig, toNats } from './nats-address.ts'
import { type PostgresConfig, toPostgres } from './postgres-address.ts'

export type StoreConfig =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'memory' }
  | PostgresConfig
  | NatsConfig

export function toStore(text: string): StoreConfig {
  if (text === 'memory:') return { kind: 'memory' }
  if (/^sqlite:(?!:|$)/.test(text)) return { kind: 'sqlite', path: text.slice('sqlite:'.length) }
  if (/^postgres(ql)?:\/\//.test(text)) return toPostgres(text)
  if (/^(nats|tls):\/\//.test(text)) return toNats(text)
  // Do not repeat the URL: it may contain a password.
  if (/^[a-z+]+:\/\//i.test(text))
    throw new HoldfastError(
      'unsupported',
      'unsupported in this version: use sqlite:PATH, postgres://…, nats://… or memory:',
    )
  throw new Error(`${JSON.stringify(text)} is not a store: use sqlite:PATH, postgres://…, nats://… or memory:`)
}
