/** Modules that an import of the package loads. Protocols that are not selected are never loaded. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

/** Folders below `src/protocols` that a program loads from: after the import, and after some use. */
async function protocolsLoaded(protocols: readonly string[]): Promise<readonly [before: string[], after: string[]]> {
  const at = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href)
  const program = `
    import { registerHooks } from 'node:module'
    const seen = new Set()
    registerHooks({
      load(url, context, next) {
        const [, name] = /\\/src\\/protocols\\/(\\w+)\\/(?!collections\\.ts)/.exec(url) ?? [] // names, which retention needs
        if (name !== undefined) seen.add(name)
        return next(url, context)
      },
    })
    const { holdfast } = await import(${at('./holdfast.ts')})
    const { createMemoryStore } = await import(${at('../stores/memory.ts')})
    const hf = holdfast({ components: [], store: createMemoryStore(), protocols: ${JSON.stringify(protocols)}, authenticate: () => ({ id: 'a' }) })
    const before = [...seen]
    for (const path of ['/runs', '/v1/models', '/a2a/x', '/agents', '/console', '/console/api/server', '/health'])
      await (await hf.fetch(new Request('http://localhost' + path))).text()
    await new Promise((resolve) => setTimeout(resolve, 1500)) // what may wait is loaded a second after the start
    await hf.close()
    console.log(JSON.stringify([before, [...seen].sort()]))`
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--no-warnings',
    '--input-type=module',
    '-e',
    program,
  ])
  return JSON.parse(stdout) as [string[], string[]]
}

test.each([
  { protocols: [] as string[] },
  { protocols: ['native'] },
  { protocols: ['openai'] },
  { protocols: ['a2a'] },
  { protocols: ['agentos'] },
  { protocols: ['native', 'console'] },
])('mount: protocols $protocols load only their own modules, and the import loads none', async ({ protocols }) =>
  expect(await protocolsLoaded(protocols)).toEqual([[], protocols.toSorted()]),
)

test('mount: import of the package loads no engine, store on disk, protocol or AI SDK, nor does a model agent before its run', async () => {
  const index = JSON.stringify(new URL('../index.ts', import.meta.url).href)
  const program = `
    import { registerHooks } from 'node:module'
    const seen = []
    registerHooks({ load: (url, context, next) => (seen.push(url), next(url, context)) })
    const { agent } = await import(${index})
    agent({ id: 'writer', model: 'openai/gpt-5' })
    console.log(JSON.stringify(seen))`
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--no-warnings',
    '--input-type=module',
    '-e',
    program,
  ])
  const urls = JSON.parse(stdout) as string[]
  expect(urls.filter((url) => url.includes('/node_modules/'))).toEqual([])
  const loaded = urls.flatMap((url) => /\/src\/(.*)$/.exec(url)?.[1] ?? [])
  expect(loaded).toContain('mount/holdfast.ts')
  const heavy =
    /^(protocols|console|stores\/(sqlite|postgres|nats)|core\/(scheduling|sessions))\/|^server\/engine\.ts|^agents\/model\/(sdk|loop|run-agent)\.ts/
  expect(loaded.filter((file) => heavy.test(file))).toEqual([])
})
