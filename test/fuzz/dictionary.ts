/** Words of the protocols: the literals of their sources, so that new fields and actions are included automatically. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const source = join(import.meta.dirname, '../../src')
const LITERAL = /'([^'\\\n]{1,40})'/g

function literalsIn(pattern: string): string[] {
  const files = globSync(pattern, { cwd: source }).toSorted()
  const texts = files
    .filter((file) => !file.endsWith('.test.ts'))
    .map((file) => readFileSync(join(source, file), 'utf8').replaceAll(/^import .*$/gm, ''))
  return [...new Set(texts.flatMap((text) => [...text.matchAll(LITERAL)].map(([, literal]) => literal!)))]
}

/** Literals of all protocols. */
export const dictionary: readonly string[] = literalsIn('protocols/**/*.ts')

/** Those that can be names of query parameters or fields. */
export const fieldNames: readonly string[] = dictionary.filter((word) => /^[a-z][\w-]*$/i.test(word))
