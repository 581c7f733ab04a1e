/** Each protocol's view of a run, for inspecting the raw bytes. Loaded lazily. */
import type { Service } from '../core/service.ts'
import { viewFormat } from '../http/view.ts'
import type { WireView } from '../protocols/console/frames.ts'

export function wireViews(service: Service): WireView[] {
  return [
    { id: 'native', title: 'Holdfast', open: async () => ({ encode: (slice) => slice.bytes }) },
    {
      id: 'agentos',
      title: 'AgentOS',
      async open(run) {
        const [{ projectionFor }, { sseWire }] = await Promise.all([
          import('../protocols/agentos/requests/agent-os.ts'),
          import('../protocols/agentos/routes/follow.ts'),
        ])
        return viewFormat({ projection: projectionFor(service), wire: sseWire(run.id, service.limits), run })
      },
    },
    {
      id: 'openai-chat',
      title: 'OpenAI chat',
      async open(run) {
        const [{ chatProjection }, { chatWire }] = await Promise.all([
          import('../protocols/openai/chat/projection.ts'),
          import('../protocols/openai/chat/routes.ts'),
        ])
        return viewFormat({ projection: chatProjection({ part: 0, includeUsage: true }), wire: chatWire, run })
      },
    },
    {
      id: 'openai-responses',
      title: 'OpenAI responses',
      async open(run) {
        const [{ responseProjection }, { responseWire }] = await Promise.all([
          import('../protocols/openai/responses/projection.ts'),
          import('../protocols/openai/responses/stream.ts'),
        ])
        return viewFormat({ projection: responseProjection(0), wire: responseWire, run })
      },
    },
    {
      id: 'a2a',
      title: 'A2A',
      async open(run) {
        const [{ taskProjection }, { shownIn, taskWire }] = await Promise.all([
          import('../protocols/a2a/view/projection.ts'),
          import('../protocols/a2a/routes/streams.ts'),
        ])
        const wire = taskWire(run, shownIn, ({ message }) => ({ message }))
        return viewFormat({ projection: taskProjection, wire, run })
      },
    },
  ]
}
