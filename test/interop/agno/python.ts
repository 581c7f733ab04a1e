/** A Python program that tests a server, and can request that the server is killed and restarted. */
import { runPython } from '../python-lines.ts'
import type { Served } from '../served.ts'

export interface Driven {
  readonly python: string
  readonly args: readonly string[]
  readonly server: Served
  readonly timeoutMs: number
}

/** Resolves with the problem, or undefined. */
export function drive(
  { python, args, server, timeoutMs }: Driven,
  output: (line: unknown) => void,
): Promise<string | undefined> {
  return runPython({ python, args, folder: import.meta.dirname, withinMs: timeoutMs }, async (line) => {
    if ((line as { readonly restart?: boolean }).restart !== true) {
      output(line)
      return undefined
    }
    await server.restart()
    return `restarted ${server.pid}`
  })
}
