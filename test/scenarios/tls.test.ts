/** TLS for HTTP, WebSockets and gRPC, with a certificate that is replaced while the server runs. */
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { Agent, get } from 'node:https'
import { join } from 'node:path'
import { connect } from 'node:tls'
import * as grpc from '@grpc/grpc-js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { loadGrpc } from '../../src/a2a/grpc/packages.ts'
import { current } from '../../src/a2a/grpc/schema.ts'
import { message, serveA2a } from '../protocols/a2a/serve.ts'
import { createCertificate } from '../support/certificate.ts'
import { freePort } from '../support/free-port.ts'
import { serveInProcess } from '../support/in-process.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { until } from '../support/until.ts'

const [first, second] = [await createCertificate(), await createCertificate()]

/** Copies, which the test may replace. */
async function filesOf({ certificate, key }: typeof first): Promise<{ readonly cert: string; readonly key: string }> {
  const folder = temporaryFolder()
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
  await Promise.all([copyFile(certificate, files.cert), copyFile(key, files.key)])
  return files
}

/** The certificate of a new connection. */
function serialAt(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(
      {
        port,
        host: '127.0.0.1',
        servername: 'localhost',
        rejectUnauthorized: false,
        ALPNProtocols: ['h2', 'http/1.1'],
      },
      () => {
        resolve(socket.getPeerCertificate().serialNumber)
        socket.destroy()
      },
    )
    socket.on('error', reject)
  })
}

async function fetched(url: string, ca: Buffer): Promise<string> {
  const agent = new Agent({ ca, keepAlive: false })
  return new Promise((resolve, reject) => {
    get(
      url.replace('127.0.0.1', 'localhost'),
      {
        agent,
        lookup: (_name, options, done) =>
          options.all === true ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4),
      },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
        response.on('end', () => resolve(text))
      },
    ).on('error', reject)
  })
}

describe('TLS', () => {
  test('HTTP, WebSockets and gRPC use the certificate, and agent cards have https URLs', async () => {
    const tls = await filesOf(first)
    const grpcPort = await freePort()
    const server = await serveA2a({ tls, a2a: { grpcPort } })
    const ca = await readFile(tls.cert)
    expect(server.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
    expect(JSON.parse(await fetched(`${server.url}/health`, ca))).toMatchObject({ status: 'ok' })
    const card = await fetched(`${server.url}/.well-known/agent-card.json`, ca)
    expect(card).not.toContain('http://')
    const socket = new WebSocket(`${server.url.replace('https', 'wss')}/agents/ws`, { rejectUnauthorized: false })
    onTestFinished(() => socket.terminate())
    expect(String(await new Promise((resolve) => socket.once('message', resolve)))).toContain('connected')
    const { define } = await loadGrpc()
    const { path, requestSerialize, responseDeserialize } = define(current).service['SendMessage']!
    const secure = new grpc.Client(`localhost:${grpcPort}`, grpc.credentials.createSsl(ca))
    onTestFinished(() => secure.close())
    const reply = await new Promise<unknown>((resolve, reject) => {
      secure.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        { message: message('say kelp') },
        (error, answer) => (error === null ? resolve(answer) : reject(error)),
      )
    })
    expect(JSON.stringify(reply)).toContain('kelp')
    await expect(fetch(server.url.replace('https', 'http'))).rejects.toThrow('fetch failed')
  })

  test('a replaced certificate is used for new connections, and an invalid one is ignored', async () => {
    const tls = await filesOf(first)
    const grpcPort = await freePort()
    const server = await serveA2a({ tls, a2a: { grpcPort } })
    const ports = [server.port, grpcPort]
    const [old] = await Promise.all(ports.map(serialAt))
    await writeFile(tls.cert, 'not a certificate')
    await writeFile(tls.key, await readFile(second.key))
    expect(await Promise.all(ports.map(serialAt))).toEqual([old, old])
    await writeFile(tls.cert, await readFile(second.certificate))
    for (const port of ports)
      await until('the new certificate is shown', async () => (await serialAt(port)) !== old, { withinMs: 180_000 })
    expect(JSON.parse(await fetched(`${server.url}/health`, await readFile(tls.cert)))).toMatchObject({ status: 'ok' })
  })

  test('a file that is not a certificate or its key prevents startup and is named in the error', async () => {
    const { cert } = await filesOf(first)
    await expect(serveInProcess({ tls: { cert, key: second.key } })).rejects.toThrow(
      `${cert} and ${second.key} are not`,
    )
    await expect(serveInProcess({ tls: { cert, key: '/no/such/key.pem' } })).rejects.toThrow(
      '/no/such/key.pem cannot be read',
    )
  })
})
