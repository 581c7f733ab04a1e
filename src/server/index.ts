/** `holdfast/server`: a server or worker that opens its store from a configuration. Applications need only `holdfast`, which has `createServer` too. */
export { createServer, createWorker } from './lazy-entry-points.ts'
export type { HoldfastServer, ServerOptions } from './create-server.ts'
export type { HoldfastWorker, WorkerOptions } from './create-worker.ts'
export type { AuthOptions, JwtOptions } from './auth/index.ts'
export type { NatsConfig } from './store/nats-address.ts'
export { openStore } from './store/open-store.ts'
export type { PostgresConfig } from './store/postgres-address.ts'
export type { StoreConfig } from './store/store-address.ts'
