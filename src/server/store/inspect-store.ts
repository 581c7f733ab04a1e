/** Inspects a shared store without opening it as a store. */
import type { NatsCondition } from '../../stores/nats/index.ts'
import type { PostgresCondition } from '../../stores/postgres/condition.ts'
import type { NatsConfig } from './nats-address.ts'
import type { PostgresConfig } from './postgres-address.ts'

export async function inspectNatsStore(config: NatsConfig): Promise<NatsCondition> {
  const { inspectNats } = await import('../../stores/nats/index.ts')
  return inspectNats(config)
}

export async function inspectPostgresStore(config: PostgresConfig): Promise<PostgresCondition> {
  const { inspectPostgres } = await import('../../stores/postgres/condition.ts')
  return inspectPostgres(config)
}
