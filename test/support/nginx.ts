/** A real nginx with one server, for a test. */
import { onTestFinished } from 'vitest'
import { startNginxProcess } from './nginx-process.ts'
import { temporaryFolder } from './temporary.ts'

/** `locations`: what its server contains. Returns its address; stopped after the test. */
export async function startNginx(locations: string): Promise<string> {
  const { port, stop } = await startNginxProcess(locations, temporaryFolder())
  onTestFinished(stop)
  return `http://127.0.0.1:${port}`
}
