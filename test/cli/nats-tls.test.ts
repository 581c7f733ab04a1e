/** A NATS store over TLS: untrusted servers are rejected, and there is no fallback to plain text. */
import { expect, test } from 'vitest'
import { createCertificate } from '../support/certificate.ts'
import { startRun, untilFinished } from '../support/http.ts'
import { startNats } from '../support/nats.ts'
import { CommandLine, run } from './command-line.ts'

const certificate = await createCertificate()
const [encrypted, plain] = [await startNats({ certificate }), await startNats()]
const encryptedAddress = `localhost:${encrypted.port}`
const trusting = { NODE_EXTRA_CA_CERTS: certificate.certificate }

async function storeFinding(store: string, env: Readonly<Record<string, string>>): Promise<string> {
  const { stdout } = await run(['doctor', '--store', store, '--json'], { env })
  const findings = stdout.trim().split('\n')
  return findings.find((line) => line.includes('"about":"store"')) ?? stdout
}

test('NATS over TLS: a run is stored', async () => {
  const server = new CommandLine(['demo', '--lab', '--port', '0', '--store', `tls://${encryptedAddress}`], {
    env: trusting,
  })
  const url = await server.url()
  const { id } = await startRun({ url }, 'say over tls')
  expect((await untilFinished({ url }, id)).status).toBe('completed')
  expect(await storeFinding(`tls://${encryptedAddress}`, trusting)).toMatch(/"state":"good".*nats-server/)
})

test.each([
  ['with an untrusted certificate', () => `tls://${encryptedAddress}`],
  ['that requires TLS and is asked without it', () => `nats://${encryptedAddress}`],
])('NATS over TLS: a server %s is not used', async (_, address) => {
  expect(await storeFinding(address(), {})).toMatch(/"state":"bad".*self-signed certificate/)
})

test('NATS over TLS: a server without TLS is not used if TLS is required', async () => {
  expect(await storeFinding(`tls://${plain.address}`, trusting)).toMatch(/"state":"bad".*TLS/i)
})
