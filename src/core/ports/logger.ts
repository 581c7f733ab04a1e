/** Where the core says what an operator should know. The shape is pino's, so that a pino logger is one. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

const nothing = (): void => {}
export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }
