/** The server as a library. */
export { createServer, type Server, type ServerOptions } from './create-server.ts'
export type { AuthOptions, JwtOptions } from './auth/index.ts'
export { openStore } from './open-store.ts'
