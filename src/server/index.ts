/** The server as a library. */
export { createServer, createWorker } from './loaded-on-use.ts'
export type { PublicServer as Server, ServerOptions } from './create-server.ts'
export type { PublicWorker as Worker, WorkerOptions } from './create-worker.ts'
export type { AuthOptions, JwtOptions } from './auth/index.ts'
export type { NatsConfig } from './nats-address.ts'
export { openStore } from './open-store.ts'
export type { PostgresConfig } from './postgres-address.ts'
export type { StoreConfig } from './store-address.ts'
