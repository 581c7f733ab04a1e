/** Reading logs: every cursor, every page size, every kind of text, and trimmed logs. */
import { expect } from 'vitest'
import { isHoldfastError } from '../../core/model/errors.ts'
import { lastOf } from '../../core/model/slice.ts'
import type { RunWriter } from '../fixtures.ts'
import { expectLog, expectSameBytes, readBytes, readPages, refusalOf } from './reading.ts'
import type { ConformanceSection } from './target.ts'
import type { Trial } from './trial.ts'

const KiB = 1024
const PAGE_BYTES = [1, 100, 1000, 4096, 64 * KiB, 16 * KiB * KiB]

export const readsSection: ConformanceSection = {
  name: 'reads',
  cases: [
    { name: '[LOG-5] a log has the same bytes from any cursor', run: readsFromEveryCursor },
    { name: '[LOG-5] a log has the same bytes in pages of any size', run: readsInEveryPageSize },
    { name: '[SUB-1] a page has about the requested bytes, and at least one record', run: boundsPages },
    { name: '[LOG-5] a record of 1 MiB is returned unchanged', run: keepsLargeRecords },
    { name: '[LOG-5] every kind of text is returned unchanged', run: keepsUnicode },
    { name: '[LOG-3] only the page with the terminal event is closed', run: marksTheEnd },
    { name: '[SUB-2] reading at the end returns nothing, beyond it is an error', run: answersTheEnd },
    { name: '[SUB-2] reading an unknown run is an error', run: answersUnknownRun },
    { name: '[SUB-2] a cursor whose events were trimmed gets an explicit gap', run: answersTrimmed },
    { name: '[LOG-5] trimming does not change the other records', run: trimsOnlyTheBeginning },
    { name: 'trimming always keeps the last record', run: keepsLastRecord },
    { name: 'the size grows with appends and shrinks with trimming', run: measuresSize },
  ],
}

/** Records of 0 to 400 characters, committed in batches of different sizes. */
async function writeMixture(runWriter: RunWriter, count = 60): Promise<void> {
  for (let index = 0; index < count; index++) {
    runWriter.text('0123456789'.repeat((index * 7) % 41))
    if (index % 7 === 0 || index % 11 === 0) await runWriter.flush()
  }
  await runWriter.flush()
}

async function readsFromEveryCursor(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  await writeMixture(runWriter)
  runWriter.complete()
  await runWriter.flush()
  for (let after = -1; after < runWriter.records.length; after++) {
    expectSameBytes(await readBytes(trial.store, runWriter.id, { after }), runWriter.records.slice(after + 1))
  }
}

async function readsInEveryPageSize(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  await writeMixture(runWriter)
  for (const maxBytes of PAGE_BYTES) {
    expectSameBytes(await readBytes(trial.store, runWriter.id, { maxBytes }), runWriter.records)
    expectSameBytes(await readBytes(trial.store, runWriter.id, { maxBytes, after: 30 }), runWriter.records.slice(31))
  }
}

async function boundsPages(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  for (let index = 0; index < 500; index++) runWriter.text('x'.repeat(KiB))
  await runWriter.flush()
  const recordBytes = Buffer.byteLength(runWriter.records.at(-1)!)
  for (const maxBytes of [1, 10 * KiB, 100 * KiB]) {
    for (const page of await readPages(trial.store, runWriter.id, { maxBytes })) {
      expect(page.bytes.length).toBeLessThanOrEqual(maxBytes + recordBytes)
    }
  }
}

async function keepsLargeRecords(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  runWriter.text('before')
  runWriter.text('🌊 0123456789ab'.repeat(64 * KiB))
  runWriter.text('between')
  await runWriter.flush()
  runWriter.text('y'.repeat(KiB * KiB))
  await runWriter.flush()
  runWriter.text('after')
  await runWriter.flush()
  for (const maxBytes of PAGE_BYTES)
    expectSameBytes(await readBytes(trial.store, runWriter.id, { maxBytes }), runWriter.records)
}

async function keepsUnicode(trial: Trial): Promise<void> {
  const texts = [
    'åäö ßẞ',
    'e\u0301 is not \u00e9', // Two forms of one letter: neither may become the other.
    '日本語 العربية עברית',
    '😀👩‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿', // Four bytes each, and joined ones.
    'lone \ud83d and \udc00 surrogates', // JSON writes them as escapes, which must stay escapes.
    'nul \u0000, escape \u001b, delete \u007f, feff \ufeff, ffff \uffff',
    'lines \r\n \n \r \u2028 \u2029 \u0085',
    '\n\nid: 7\nevent: text.delta\ndata: {}\n\n', // Looks like a record.
    `"quotes" 'single' \\ back %s $1 ; -- drop`,
    '',
  ]
  const runWriter = await trial.start({ session: 'sitzung-ü-🙂', metadata: { note: texts.join(' ').toWellFormed() } })
  for (const text of texts) runWriter.text(text)
  await runWriter.flush()
  for (const text of texts) runWriter.text(text.repeat(3000))
  runWriter.complete()
  await runWriter.flush()
  for (const maxBytes of PAGE_BYTES)
    expectSameBytes(await readBytes(trial.store, runWriter.id, { maxBytes }), runWriter.records)
  expect((await trial.store.get(runWriter.id))?.run).toEqual(runWriter.run)
}

async function marksTheEnd(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  await writeMixture(runWriter, 20)
  for (const page of await readPages(trial.store, runWriter.id, { maxBytes: 500 })) expect(page.closed).toBe(false)
  runWriter.complete()
  await runWriter.flush()
  for (const maxBytes of PAGE_BYTES) {
    for (const page of await readPages(trial.store, runWriter.id, { maxBytes })) {
      expect(page.closed).toBe(lastOf(page) === runWriter.records.length - 1)
    }
  }
}

async function answersTheEnd(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  await writeMixture(runWriter, 5)
  const next = runWriter.records.length
  expect(await trial.store.read(runWriter.id, next - 1, KiB)).toBeUndefined()
  for (const after of [next, next + 1, next + 1000]) {
    expect(await refusalOf(() => trial.store.read(runWriter.id, after, KiB))).toBe('cursor_invalid')
  }
  runWriter.complete()
  await runWriter.flush()
  expect(await trial.store.read(runWriter.id, next, KiB)).toBeUndefined()
  expect(await refusalOf(() => trial.store.read(runWriter.id, next + 1, KiB))).toBe('cursor_invalid')
}

async function answersUnknownRun(trial: Trial): Promise<void> {
  await trial.start()
  for (const after of [-1, 0, 5]) {
    expect(await refusalOf(() => trial.store.read('run_nobody', after, KiB))).toBe('not_found')
  }
}

async function answersTrimmed(trial: Trial): Promise<void> {
  for (const runWriter of [await trial.start(), await trial.finish()]) {
    if (runWriter.run.status === 'running') await writeMixture(runWriter, 20)
    const earliest = Math.min(10, runWriter.records.length - 1)
    await trial.store.trim(runWriter.id, earliest)
    expect(await trial.store.get(runWriter.id)).toMatchObject({ first: earliest, next: runWriter.records.length })
    for (let after = -1; after < earliest - 1; after++) {
      const error = await trial.store.read(runWriter.id, after, KiB).catch((thrown: unknown) => thrown)
      expect(isHoldfastError(error, 'cursor_expired') && error.details).toEqual({ earliest })
    }
    await expectLog(trial.store, runWriter.id, runWriter.records, earliest)
  }
}

async function trimsOnlyTheBeginning(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  const bystander = await trial.start()
  await writeMixture(runWriter)
  let first = 0
  for (const before of [1, 7, 8, 30, 20, 0, -5]) {
    first = Math.max(first, before)
    await trial.store.trim(runWriter.id, before)
    expect((await trial.store.get(runWriter.id))?.first).toBe(first)
    await expectLog(trial.store, runWriter.id, runWriter.records, first)
  }
  await writeMixture(runWriter, 10)
  runWriter.complete()
  await runWriter.flush()
  for (const maxBytes of PAGE_BYTES) {
    expectSameBytes(await readBytes(trial.store, runWriter.id, { maxBytes, after: 29 }), runWriter.records.slice(30))
  }
  await expectLog(trial.store, bystander.id, bystander.records)
}

async function keepsLastRecord(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  await writeMixture(runWriter, 20)
  const last = runWriter.records.length - 1
  await trial.store.trim(runWriter.id, last + 1)
  expect(await trial.store.get(runWriter.id)).toMatchObject({ first: last, next: last + 1 })
  await trial.store.trim(runWriter.id, last + 1000)
  await expectLog(trial.store, runWriter.id, runWriter.records, last)
  runWriter.complete()
  await runWriter.flush()
  await trial.store.trim(runWriter.id, last + 1000)
  const [page] = await readPages(trial.store, runWriter.id, { after: last })
  expect(page).toMatchObject({ first: last + 1, count: 1, closed: true })
}

async function measuresSize(trial: Trial): Promise<void> {
  const sizes = [await trial.store.size()]
  for (let run = 0; run < 2; run++) {
    const runWriter = await trial.start()
    for (let index = 0; index < 8; index++) runWriter.text('z'.repeat(128 * KiB))
    runWriter.complete()
    await runWriter.flush()
    sizes.push(await trial.store.size())
    if (run === 0) await trial.store.trim(runWriter.id, runWriter.records.length)
    else await trial.store.remove(runWriter.id)
    sizes.push(await trial.store.size())
  }
  const [empty, written, trimmed, writtenAgain, removed] = sizes as [number, number, number, number, number]
  expect(written - empty).toBeGreaterThan(KiB * KiB * 0.9)
  expect(written - trimmed).toBeGreaterThan(KiB * KiB * 0.5)
  expect(writtenAgain - trimmed).toBeGreaterThan(KiB * KiB * 0.9)
  expect(writtenAgain - removed).toBeGreaterThan(KiB * KiB * 0.5)
}
