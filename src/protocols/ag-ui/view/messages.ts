/** The messages that a client has after following a run from the start. */
import type { AgUiMessage } from '../wire/events.ts'
import { nodesOf, pieceOf } from './piece-list.ts'
import type { Piece, PieceNode } from './state.ts'

export function messagesOf(newest: PieceNode | undefined): readonly AgUiMessage[] {
  const builder = new MessageBuilder()
  for (const node of nodesOf(newest)) builder.add(pieceOf(node))
  return builder.messages()
}

interface Draft {
  readonly piece: Exclude<Piece, { kind: 'state' | 'agent' }>
  readonly texts: string[]
  /** Results of a call. */
  readonly results: Extract<Piece, { kind: 'result' }>[]
}

export class MessageBuilder {
  readonly #drafts = new Map<string, Draft>()

  add(piece: Piece): void {
    if (piece.kind === 'state' || piece.kind === 'agent') return
    if (piece.kind === 'result') {
      const call = this.#drafts.get(piece.call)
      if (call === undefined) this.#drafts.set(piece.id, { piece, texts: [], results: [] })
      else call.results.push(piece)
      return
    }
    const draft = this.#drafts.get(piece.id) ?? { piece, texts: [], results: [] }
    this.#drafts.set(piece.id, draft)
    if (piece.kind === 'call' && piece.replaces === true) draft.texts.length = 0
    draft.texts.push(piece.text)
  }

  /** Places a result right after its call, as clients do. */
  messages(): readonly AgUiMessage[] {
    return Array.from(this.#drafts.values(), ({ piece, texts, results }) => [
      toMessage(piece, texts.join('')),
      ...results.map((result) => toMessage(result, '')),
    ]).flat()
  }
}

function toMessage(piece: Draft['piece'], text: string): AgUiMessage {
  const { id } = piece
  const by = piece.subagent === undefined ? {} : { subagentRunId: piece.subagent }
  switch (piece.kind) {
    case 'text':
      return { id, role: 'assistant', content: text, ...by }
    case 'reasoning':
      return { id, role: 'reasoning', content: text, ...by }
    case 'call': {
      const call = { id, type: 'function', function: { name: piece.name, arguments: text } } as const
      return { id, role: 'assistant', toolCalls: [call], ...by }
    }
    case 'result':
      return { id, role: 'tool', toolCallId: piece.call, content: piece.content, ...by }
  }
}
