/** A cursor into a log that no longer exists, after a restored backup or a failover that lost events. */
import { copyFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { createClient, LogChangedError, type LoggedEvent } from '../../src/client/index.ts'
import { RunStore } from '../../src/react/run-store.ts'
import { checksumOf } from '../../src/sse/checksum.ts'
import { call, readEvents, readLog, startRun, untilFinished } from '../support/http.ts'
import { serveInProcess } from '../support/in-process.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { serveNative } from '../protocols/native/serve.ts'

const framesOf = (log: Buffer): string[] => log.toString().split(/(?<=\n\n)/)

const checked = (frame: string, index: number): string => `${index}~${checksumOf(Buffer.from(frame))}`

describe('a cursor with the checksum of its event', () => {
  test('[SUB-2] equals the bare index if the log has that event', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 5; say "dünen 🌊"')
    await untilFinished(server, id)
    const frames = framesOf(await readLog(server, id))
    for (const [index, frame] of frames.slice(0, -1).entries()) {
      const path = `${server.url}/runs/${id}/events?format=sse&after=${checked(frame, index)}`
      const response = await fetch(path)
      expect(response.status).toBe(200)
      expect(await response.text()).toContain(frames.slice(index + 1).join(''))
    }
    const last = checked(frames.at(-1)!, frames.length - 1)
    expect((await fetch(`${server.url}/runs/${id}/events?format=sse&after=${last}`)).status).toBe(204)
  })

  test.each([
    ['another event', '3~00000000', 409, 'log_changed'],
    ['an event beyond the end', '300~00000000', 409, 'log_changed'],
    ['no checksum', '3~zz', 400, 'cursor_invalid'],
    ['half a checksum', '3~0000', 400, 'cursor_invalid'],
  ])('[SUB-2] a cursor that names %s is rejected', async (_name, after, status, code) => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 5')
    await untilFinished(server, id)
    for (const format of ['sse', 'json', 'ndjson'])
      expect(await call(server, 'GET', `/runs/${id}/events?format=${format}&after=${after}`)).toMatchObject({
        status,
        body: { code },
      })
  })
})

describe('client: after the store was restored from a backup', () => {
  /** A client that has read part of a run, and a server on an older backup, where the run continued differently. */
  async function restored() {
    const path = temporaryDatabase()
    const server = await serveInProcess({ path })
    const { id } = await startRun(server, 'text 2; ask Go on?; text 20')
    for await (const event of createClient({ url: server.url }).runs.events(id)) if (event.type === 'run.paused') break
    const backup = temporaryDatabase()
    await server.close()
    copyFileSync(path, backup)

    const before = await serveInProcess({ path })
    const after = await serveInProcess({ path: backup })
    await call(before, 'POST', `/runs/${id}/answers`, { body: { answer: 'yes' } })
    await call(after, 'POST', `/runs/${id}/answers`, { body: { answer: 'another answer' } })
    await untilFinished(before, id)
    await untilFinished(after, id)

    let servers = [before.url, after.url]
    let seen = 0
    // The first connection is cut after some events; every later one reaches the restored store.
    const moving: typeof fetch = async (input, init) => {
      const [url] = servers
      const response = await fetch((input as string).replace('http://127.0.0.1:1', url!), init)
      if (servers.length === 1) return response
      servers = servers.slice(1)
      const frames = (await response.text()).split(/(?<=\n\n)/)
      seen = frames.length - 8
      return new Response(frames.slice(0, seen).join(''), response)
    }
    const client = createClient({ url: 'http://127.0.0.1:1', retryDelayMs: 1, fetch: moving })
    return { id, client, log: await readEvents(after, id) }
  }

  test('a stream fails and never mixes events of two logs', async () => {
    const { id, client } = await restored()
    const reading = (async () => {
      for await (const _ of client.runs.events(id));
    })()
    await expect(reading).rejects.toBeInstanceOf(LogChangedError)
  })

  test('a stream with a listener restarts from the first event of the new log', async () => {
    const { id, client, log } = await restored()
    let events: LoggedEvent[] = []
    let changes = 0
    const onLogChanged = (): void => {
      changes += 1
      events = []
    }
    const run = client.runs.open(id)
    for await (const event of run.events({ onLogChanged })) events.push(event)
    expect(changes).toBe(1)
    expect(events).toEqual(log)
    expect(run.cursor).toBe(log.length - 1)
  })

  test('the text is that of the new log alone', async () => {
    const { id, client, log } = await restored()
    let text = ''
    for await (const piece of client.runs.open(id).text({ onRetracted: (standing) => (text = standing) })) text += piece
    const output = log.flatMap((event) => (event.type === 'text.delta' ? [(event.data as { text: string }).text] : []))
    expect(text).toBe(output.join(''))
  })

  test('useRun shows the events of the new log alone and reports the change', async () => {
    const { id, client, log } = await restored()
    const show = new RunStore(client, { read: () => id, write: () => {}, watch: () => () => {} })
    show.subscribe(() => {})
    await until('all is shown', () => show.state().status === 'completed')
    expect(show.state().events).toEqual(log)
    expect(show.state().problem).toMatchObject({ code: 'log_changed' })
  })
})
