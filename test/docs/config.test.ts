/** The shell blocks of docs/config.md, typed into terminals line by line. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createCertificate } from '../support/certificate.ts'
import { blocksOf } from '../support/doc-programs.ts'
import { ProjectReader } from '../support/project-reader.ts'

const blocks = blocksOf('docs/config.md', 'sh')
const TEST_MS = 400_000
const KEYS = 'holdfast keys create ci'

/** Text that identifies each block; the tests below run them all. */
const MARKS = ['holdfast keys', '--jwt-jwks', 'holdfast share', '--secret-key', '--tls-cert', '--trust-proxy'] as const

function blockWith(mark: (typeof MARKS)[number]): string {
  return blocks.find((block) => block.includes(mark))!.trimEnd()
}

async function statusFor(reader: ProjectReader, key?: string): Promise<number> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
  return (await fetch(`http://127.0.0.1:${reader.port}/runs`, { headers })).status
}

describe('docs/config.md', { timeout: TEST_MS }, () => {
  test('docs/config.md: every block is run by a test of this file', () => {
    for (const mark of MARKS) expect(blocks.filter((block) => block.includes(mark))).toHaveLength(1)
    expect(blocks).toHaveLength(MARKS.length)
    const [entry, ...more] = blocksOf('docs/config.md', 'json')
    expect(more).toEqual([])
    expect(JSON.parse(entry!)).toMatchObject({ action: 'stop', result: 'ok' })
  })

  test('docs/config.md: keys are created, listed and revoked, and a server checks them', async () => {
    const reader = await ProjectReader.create()
    const lines = blockWith('holdfast keys').split('\n')
    const printed: string[] = []
    for (const line of lines.slice(0, -1)) printed.push(await reader.run(line))
    const [revoked, , viewer] = printed.map((text) => /hf_\w+/.exec(text)?.[0])
    expect(printed[3]).toMatch(/viewer.*runs:read/)
    await reader.serve(lines.at(-1)!)
    expect(await statusFor(reader)).toBe(401)
    expect(await statusFor(reader, revoked)).toBe(401)
    expect(await statusFor(reader, viewer)).toBe(200)
  })

  test('docs/config.md: a server with tokens of an issuer starts', async () => {
    const reader = await ProjectReader.create()
    await reader.serve(blockWith('--jwt-jwks'))
    expect(await statusFor(reader)).toBe(401)
  })

  test('docs/config.md: a share link is created, listed and revoked', async () => {
    const reader = await ProjectReader.create()
    await reader.serve('holdfast serve agents.ts')
    const run = await reader.start('hello')
    const [create, list, revoke] = blockWith('holdfast share').split('\n')
    expect(await reader.run(`export RUN=${run}\n${create}`)).toContain(`/runs/${run}`)
    const [link] = /^\S+(?= {2}read,answer,stop)/m.exec(await reader.run(`export RUN=${run}\n${list}`))!
    expect(await reader.run(`export RUN=${run} LINK=${link}\n${revoke}`)).toContain(`Revoked ${link}`)
  })

  test('docs/config.md: a secret key is made, and a server uses it', async () => {
    const reader = await ProjectReader.create()
    const [make, serve] = blockWith('--secret-key').split('\n')
    await reader.run(make!)
    await reader.serve(serve!)
    expect(await statusFor(reader)).toBe(200)
  })

  test('docs/config.md: a server with a certificate serves https', async () => {
    const { certificate, key } = await createCertificate()
    const reader = await ProjectReader.create()
    copyFileSync(certificate, join(reader.folder, 'fullchain.pem'))
    copyFileSync(key, join(reader.folder, 'privkey.pem'))
    await reader.run(KEYS)
    await reader.listen(blockWith('--tls-cert').replace('0.0.0.0', '127.0.0.1'))
    const health = await reader.run(`curl -s --cacert fullchain.pem https://localhost:${reader.port}/health`)
    expect(health).toContain('"status":"ok"')
  })

  test('docs/config.md: a server trusts a proxy', async () => {
    const reader = await ProjectReader.create()
    await reader.run(KEYS)
    await reader.serve(blockWith('--trust-proxy'))
    expect(await statusFor(reader)).toBe(401)
  })
})
