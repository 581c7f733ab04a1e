/** A file of API keys for a test. */
import { createKey } from '../../src/server/auth/keys.ts'

/** One key for each name, each of a principal of its own, in the order given. */
export async function createKeys(path: string, names: readonly string[]): Promise<string[]> {
  const tokens: string[] = []
  for (const name of names) tokens.push((await createKey(path, { name })).key)
  return tokens
}
