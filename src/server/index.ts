/** The server as a library. */
export { createServer, createWorker } from './lazy-entry-points.ts'
export type { PublicServer as Server, ServerOptions } from './create-server.ts'
export type { PublicWorker as Worker, WorkerOptions } from './create-worker.ts'
export type { AuthOptions, JwtOptions } from './auth/index.ts'
export type { NatsConfig } from './store/nats-address.ts'
export { openStore } from './store/open-store.ts'
export type { PostgresConfig } from './store/postgres-address.ts'
export type { StoreConfig } from './store/store-address.ts'
