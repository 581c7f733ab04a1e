/** An API key file for a test. */
import { createKey } from '../../src/server/auth/api-keys.ts'

/** One key per name, each with its own principal, in order. */
export async function createKeys(path: string, names: readonly string[]): Promise<string[]> {
  const tokens: string[] = []
  for (const name of names) tokens.push((await createKey(path, { name })).key)
  return tokens
}
