/** Documents of the model test: expected state, and the commands that put, remove and list. */
import { expect } from 'vitest'
import {
  type Document,
  type DocumentDraft,
  documentPosition,
  sessionDocument,
  SESSIONS,
} from '../../core/model/document.ts'
import type { Run } from '../../core/model/run.ts'
import type { Commands } from './model-commands.ts'
import type { ModelRunner } from './model-runner.ts'

type Name = Pick<Document, 'owner' | 'id'>

/** All in one collection, that of sessions. */
export class ModelDocuments {
  all: Document[] = []

  get({ owner, id }: Name): Document | undefined {
    return this.all.find((document) => document.owner === owner && document.id === id)
  }

  put(draft: DocumentDraft, expected: number | undefined, now: string): Document | undefined {
    const { version = 0, createdAt = now } = this.get(draft) ?? {}
    if (expected !== undefined && expected !== version) return undefined
    return this.#keep({ ...draft, version: version + 1, createdAt, updatedAt: now })
  }

  remove(name: Name): boolean {
    const before = this.all.length
    this.all = this.all.filter((document) => document !== this.get(name))
    return this.all.length < before
  }

  touch(run: Run): void {
    const session = sessionDocument(run)
    this.#keep({ ...(this.get(session) ?? session), updatedAt: run.createdAt })
  }

  #keep(document: Document): Document {
    this.remove(document)
    this.all.push(document)
    return document
  }
}

export async function putDocument({ trial, model }: ModelRunner, command: Commands['putDocument']): Promise<void> {
  const { owner, id, title, body, expected } = command
  const version = model.documents.get(command)?.version ?? 0
  const versions = { any: undefined, none: 0, current: version, next: version + 1 }
  const draft: DocumentDraft = { owner, collection: SESSIONS, id, ...(title !== undefined && { title }), body }
  const put = await trial.store.documents.put(draft, versions[expected])
  expect(put).toEqual(model.documents.put(draft, versions[expected], trial.clock.iso()))
  await compareDocument({ trial, model }, command)
}

export async function removeDocument({ trial, model }: ModelRunner, name: Commands['removeDocument']): Promise<void> {
  const removed = await trial.store.documents.remove(name.owner, SESSIONS, name.id)
  expect(removed).toBe(model.documents.remove(name))
  await compareDocument({ trial, model }, name)
}

async function compareDocument({ trial, model }: Pick<ModelRunner, 'trial' | 'model'>, name: Name): Promise<void> {
  expect(await trial.store.documents.get(name.owner, SESSIONS, name.id)).toEqual(model.documents.get(name))
}

export async function listDocuments({ trial, model }: ModelRunner, command: Commands['listDocuments']): Promise<void> {
  const { owner, title, order, ascending, offset, limit } = command
  const time = order === 'created' ? 'createdAt' : 'updatedAt'
  const place = (document: Document): string => `${document[time]} ${document.id} ${document.owner}`
  const matching = model.documents.all
    .filter((each) => owner === undefined || each.owner === owner)
    .filter((each) => title === undefined || each.title?.toLowerCase().includes(title))
    .toSorted((a, b) => (place(a) < place(b) === ascending ? -1 : 1))
  const page = await trial.store.documents.list({
    collection: SESSIONS,
    ...(owner !== undefined && { owner }),
    ...(title !== undefined && { title }),
    order,
    ascending,
    offset,
    limit,
  })
  const documents = matching.slice(offset, offset + limit)
  const last = offset + limit < matching.length ? documents.at(-1) : undefined
  const next = last && documentPosition(last, order)
  expect(page).toEqual({ documents, total: matching.length, ...(next && { next }) })
}
