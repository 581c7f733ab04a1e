/** A model of the OpenAI Agents SDK that follows a script, so that the example needs no key and no network. */
import { type Model, type ModelRequest, Usage } from '@openai/agents'

type StreamEvent = ReturnType<Model['getStreamedResponse']> extends AsyncIterable<infer Event> ? Event : never
type Output = Extract<StreamEvent, { type: 'response_done' }>['response']['output']

/** Writes a text, or calls a tool. */
export function scripted(does: { readonly text: string } | { readonly call: string }): Model {
  const output: Output =
    'text' in does
      ? [
          {
            type: 'message',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: does.text }],
          },
        ]
      : [{ type: 'function_call', callId: 'call-1', name: does.call, status: 'completed', arguments: '{}' }]
  const usage = { inputTokens: 5, outputTokens: 5, totalTokens: 10 }
  return {
    async getResponse() {
      return { usage: new Usage(usage), output }
    },
    async *getStreamedResponse(_request: ModelRequest): AsyncIterable<StreamEvent> {
      if ('text' in does) yield { type: 'output_text_delta', delta: does.text }
      yield { type: 'response_done', response: { id: crypto.randomUUID(), usage, output } }
    },
  }
}
