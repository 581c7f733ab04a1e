/** What `holdfast demo` loads before it listens: every module costs startup time. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

/** Prints the loaded modules when the server prints its address, and exits. */
const probe = `
  import { registerHooks } from 'node:module'
  const loaded = []
  registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
  const write = process.stdout.write.bind(process.stdout)
  process.stdout.write = (text) => {
    if (!String(text).includes('listens at')) return true
    const builtins = process.moduleLoadList.map((name) => name.replace('NativeModule ', 'node:'))
    return write(JSON.stringify([...loaded, ...builtins]), () => process.exit(0))
  }`

test('CLI: holdfast demo listens before it loads what executes, redacts or streams runs, zod, pino or TLS', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--no-warnings',
    '--import',
    `data:text/javascript,${encodeURIComponent(probe)}`,
    new URL('../../src/cli/main.mjs', import.meta.url).pathname,
    'demo',
    '--port',
    '0',
    '--store',
    'memory:',
  ])
  const loaded = JSON.parse(stdout) as string[]
  expect(loaded.some((url) => url.endsWith('/src/core/service.ts'))).toBe(true)
  const notNeeded = [
    /\/src\/core\/execution\//,
    /\/src\/core\/recovery\/(?!crash-suspects|given-up-runs|start-retries|enclosure)/,
    /\/src\/core\/redaction\/(redactor|redacting-logger|run-redaction)\.ts$/,
    /\/src\/protocols\/(?!native|agentos\/wire\/health)/,
    /\/src\/protocols\/native\/routes\/events\.ts$/,
    /\/src\/sse\//,
    /\/node_modules\//,
    /^node:(tls|https|internal\/deps\/undici\/undici)$/,
  ]
  expect(loaded.filter((url) => notNeeded.some((each) => each.test(url)))).toEqual([])
})
