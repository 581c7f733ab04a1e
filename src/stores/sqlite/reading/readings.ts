/** Read operations by name. */
import { type Allocate, type PageRequest, readPage } from './log-page.ts'
import type { Reader } from './reader.ts'

export type Readings = ReturnType<typeof readingsOf>

export function readingsOf(reader: Reader) {
  const { runs, documents, usage } = reader
  return {
    opening: () => reader.opening(),
    page: (request: PageRequest, allocate?: Allocate) => readPage(reader, request, allocate),
    run: (id: string) => runs.byId(id),
    checkCreation: reader.checkCreation.bind(reader),
    runByKey: runs.byKey.bind(runs),
    runs: runs.list.bind(runs),
    runsFollowing: runs.following.bind(runs),
    finishedRuns: runs.finished.bind(runs),
    document: documents.get.bind(documents),
    documents: documents.list.bind(documents),
    documentsFollowing: documents.all.bind(documents),
    usage: usage.of.bind(usage),
    usageTotal: usage.total.bind(usage),
    usageLargest: usage.largest.bind(usage),
    size: reader.size.bind(reader),
  }
}
