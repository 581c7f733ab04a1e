/** The chat of the AI SDK without a framework: its own class, with a state that tests can read. */
import {
  AbstractChat,
  type ChatInit,
  type ChatState,
  type ChatStatus,
  type ChatTransport,
  DefaultChatTransport,
  type UIMessage,
} from 'ai'

class PlainState implements ChatState<UIMessage> {
  status: ChatStatus = 'ready'
  error: Error | undefined = undefined
  messages: UIMessage[]

  constructor(messages: readonly UIMessage[]) {
    this.messages = [...messages]
  }

  readonly pushMessage = (message: UIMessage): void => {
    this.messages = [...this.messages, message]
  }

  readonly popMessage = (): void => {
    this.messages = this.messages.slice(0, -1)
  }

  readonly replaceMessage = (index: number, message: UIMessage): void => {
    this.messages = this.messages.with(index, this.snapshot(message))
  }

  readonly snapshot = <Value>(value: Value): Value => structuredClone(value)
}

/** How the last response ended, as reported to the application. */
export interface Finished {
  readonly isAbort: boolean
  readonly isDisconnect: boolean
  readonly isError: boolean
  readonly finishReason: string | undefined
}

export class TestChat extends AbstractChat<UIMessage> {
  readonly finished: Finished[]

  constructor({ messages = [], ...init }: ChatInit<UIMessage>) {
    const finished: Finished[] = []
    super({
      ...init,
      state: new PlainState(messages),
      onFinish: ({ isAbort, isDisconnect, isError, finishReason }) =>
        finished.push({ isAbort, isDisconnect, isError, finishReason }),
    })
    this.finished = finished
  }

  /** The text of the last message. */
  get text(): string {
    return textOf(this.messages.at(-1))
  }
}

export function chatAt(api: string, init: ChatInit<UIMessage> = {}): TestChat {
  const transport: ChatTransport<UIMessage> = new DefaultChatTransport({ api })
  return new TestChat({ id: 'c1', transport, ...init })
}

export function textOf(message: UIMessage | undefined): string {
  return message?.parts.map((part) => (part.type === 'text' ? part.text : '')).join('') ?? ''
}
