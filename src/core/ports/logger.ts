/** The logger of the core. Its shape is pino's, so a pino logger can be used. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

const nothing = (): void => {}
export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }
