/** How each protocol tells of a run, for whoever wants to see the bytes. Each is loaded when it is first looked at. */
import type { Projection } from '../core/projection.ts'
import type { Run } from '../core/run.ts'
import type { Service } from '../core/service.ts'
import type { StreamFormat } from '../http/stream.ts'
import { viewFormat } from '../http/view.ts'
import type { WireView } from '../protocols/console/frames.ts'
import { encodeFrame } from '../sse/index.ts'

export function wireViews(service: Service): WireView[] {
  return [
    { id: 'native', title: 'Holdfast', open: async () => ({ encode: (slice) => slice.bytes }) },
    {
      id: 'agentos',
      title: 'AgentOS',
      async open(run) {
        const { agentosProjection } = await import('../protocols/agentos/projection.ts')
        return fold(agentosProjection(componentsOf(service)), run, ({ index, event, data }) =>
          encodeFrame({ id: String(index), event, data }),
        )
      },
    },
    {
      id: 'openai-chat',
      title: 'OpenAI chat',
      async open(run) {
        const { chatProjection } = await import('../protocols/openai/chat/projection.ts')
        const { encodeData } = await import('../protocols/openai/wire.ts')
        return fold(chatProjection({ part: 0, includeUsage: true }), run, ({ data }) => encodeData(data))
      },
    },
    {
      id: 'openai-responses',
      title: 'OpenAI responses',
      async open(run) {
        const { responseProjection } = await import('../protocols/openai/responses/projection.ts')
        const { encodeData } = await import('../protocols/openai/wire.ts')
        return fold(responseProjection(0), run, ({ data }) =>
          data === '[DONE]' ? encodeData(data) : encodeData(data, data.type),
        )
      },
    },
    {
      id: 'a2a',
      title: 'A2A',
      async open(run) {
        const [{ taskProjection }, { taskOf }] = await Promise.all([
          import('../protocols/a2a/projection.ts'),
          import('../protocols/a2a/task.ts'),
        ])
        return fold(taskProjection, run, ({ sequence, update, fold: task }) => {
          const data = 'task' in update ? { task: taskOf(task) } : update
          return `id: ${sequence}\ndata: ${JSON.stringify(data)}\n\n`
        })
      },
    },
  ]
}

function componentsOf(service: Service) {
  return (id: string) => {
    const found = service.components().find((component) => component.id === id)
    return found && { kind: found.kind, name: found.name ?? found.id }
  }
}

function fold<State, Frame>(
  projection: Projection<State, Frame>,
  run: Run,
  encode: (frame: Frame) => string,
): StreamFormat {
  const wire = { contentType: '', preamble: '', heartbeat: '', encode, notice: () => undefined }
  return viewFormat({ projection, wire, run })
}
