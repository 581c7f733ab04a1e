/** The unanswered questions of an agent. */
import { assert } from '../model/errors.ts'
import type { Question, WorkMarks } from '../model/event.ts'

interface PendingQuestion {
  readonly question: Question
  readonly work: WorkMarks | undefined
  readonly resolve: (answer: unknown) => void
  readonly reject: (cause: unknown) => void
}

export class OpenQuestions {
  readonly #pending = new Map<string, PendingQuestion>()

  get first(): Question | undefined {
    return this.#pending.values().next().value?.question
  }

  all(): Question[] {
    return [...this.#pending.values()].map(({ question }) => question)
  }

  /** The identities by which a recovered run recognizes the questions. */
  work(): { readonly work?: Readonly<Record<string, WorkMarks>> } {
    const marked = [...this.#pending].flatMap(([id, { work }]) => (work === undefined ? [] : [[id, work] as const]))
    return marked.length === 0 ? {} : { work: Object.fromEntries(marked) }
  }

  /** Resolves with the answer. */
  ask(question: Question, work: WorkMarks | undefined): Promise<unknown> {
    assert(!this.#pending.has(question.id), `question ${question.id} is asked twice`)
    return new Promise((resolve, reject) => this.#pending.set(question.id, { question, work, resolve, reject }))
  }

  answer(answers: Readonly<Record<string, unknown>>): void {
    for (const [id, { resolve }] of this.#pending) {
      if (!Object.hasOwn(answers, id)) continue
      this.#pending.delete(id)
      resolve(answers[id])
    }
  }

  /** Rejects all open questions. */
  close(cause: unknown): void {
    for (const { reject } of this.#pending.values()) reject(cause)
    this.#pending.clear()
  }
}
