/** What an agent has asked and not been answered. */
import type { Question } from './event.ts'

interface Asked {
  readonly question: Question
  readonly resolve: (answer: unknown) => void
  readonly reject: (cause: unknown) => void
}

export class OpenQuestions {
  readonly #asked = new Map<string, Asked>()

  get first(): Question | undefined {
    return this.#asked.values().next().value?.question
  }

  all(): Question[] {
    return [...this.#asked.values()].map(({ question }) => question)
  }

  /** Resolves with the answer. */
  ask(question: Question): Promise<unknown> {
    return new Promise((resolve, reject) => this.#asked.set(question.id, { question, resolve, reject }))
  }

  /** Those that are answered; `before` is called with each before its answer is given. */
  answer(answers: Readonly<Record<string, unknown>>, before: (id: string, answer: unknown) => void): void {
    for (const [id, { resolve }] of this.#asked) {
      if (!Object.hasOwn(answers, id)) continue
      this.#asked.delete(id)
      before(id, answers[id])
      resolve(answers[id])
    }
  }

  /** There will be no answer. */
  close(cause: unknown): void {
    for (const { reject } of this.#asked.values()) reject(cause)
    this.#asked.clear()
  }
}
