import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { bundle } from '../browser/bundle.ts'

/** Following a session took it above 12,000. */
const GZIPPED_BYTES_MAX = 13_500

test('client: the browser bundle is small and has no dependencies', async () => {
  const code = await bundle(join(import.meta.dirname, '../../src/client/index.ts'))
  expect(gzipSync(code).length).toBeLessThan(GZIPPED_BYTES_MAX)
  expect(code).not.toMatch(/\bfrom\s*["']|\bimport\s*["']|\brequire\(|node:/)
  expect(code).not.toMatch(/\bprocess\./)
})
