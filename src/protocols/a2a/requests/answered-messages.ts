/** Messages that answered a task's questions. The log only has their content; these documents identify repeated messages. */
import type { OwnedDocuments } from '../../../core/sessions/owned-documents.ts'
import { TURNS } from '../collections.ts'
import type { Message } from '../wire/wire.ts'

/** Maximum answered messages per task. */
const TURNS_MAX = 1000
const PAGE = 200

interface TurnBody {
  readonly question: string
  readonly message: Message
}

/** The messages by question. */
export async function answersOf(documents: OwnedDocuments, task: string): Promise<ReadonlyMap<string, Message>> {
  const answers = new Map<string, Message>()
  for (let offset = 0; offset < TURNS_MAX; offset += PAGE) {
    const page = await documents.list({ collection: TURNS, label: task, ascending: true, offset, limit: PAGE })
    for (const { body } of page.documents) {
      const { question, message } = body as TurnBody
      answers.set(question, message)
    }
    if (page.documents.length < PAGE) break
  }
  return answers
}

/** The question that a message has already answered, if any. */
export function answeredBy(answers: ReadonlyMap<string, Message>, message: Message): string | undefined {
  const sent = contentOf(message)
  for (const [question, known] of answers) if (contentOf(known) === sent) return question
  return undefined
}

function contentOf({ messageId, role, parts, metadata }: Message): string {
  return JSON.stringify([messageId, role, parts, metadata ?? null])
}

/** Recorded before the answer is submitted: if that fails, a retry finds the question still open and answers it. */
export async function noteTurn(
  documents: OwnedDocuments,
  task: string,
  question: string,
  message: Message,
): Promise<void> {
  const draft = { collection: TURNS, id: idOf(task, question), label: task, body: { question, message } }
  await documents.put(draft, undefined, { beyondQuota: true })
}

function idOf(task: string, question: string): string {
  return `${task}/${question}`.slice(0, ID_CHARS_MAX)
}

const ID_CHARS_MAX = 250
