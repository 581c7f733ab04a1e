/** Each protocol's view of a run, for inspecting the raw bytes. Loaded lazily. */
import type { Service } from '../../core/service.ts'
import type { SharedView } from '../../core/delivery/shared-view.ts'
import { type ViewSelection, viewFormat } from '../../http/response/view.ts'
import type { TaskFrame } from '../../protocols/a2a/view/projection.ts'
import type { ProtocolView } from '../../protocols/console/frames.ts'

export function protocolViews(service: Service): ProtocolView[] {
  return [
    { id: 'native', title: 'Holdfast', open: async () => ({ encode: (slice) => slice.bytes }) },
    {
      id: 'agentos',
      title: 'AgentOS',
      async open(stored) {
        const [{ AgentOsViews }, { sseFrameFormat }] = await Promise.all([
          import('../../protocols/agentos/requests/agent-os.ts'),
          import('../../protocols/agentos/routes/follow.ts'),
        ])
        return viewFormat(sseFrameFormat(stored.run.id, service.limits), whole(new AgentOsViews(service).open(stored)))
      },
    },
    {
      id: 'openai-chat',
      title: 'OpenAI chat',
      async open(stored) {
        const [{ completionKind }, { completionFrameFormat }] = await Promise.all([
          import('../../protocols/openai/chat/projection.ts'),
          import('../../protocols/openai/chat/routes.ts'),
        ])
        return viewFormat(
          completionFrameFormat,
          whole(service.views.open(stored, completionKind({ part: 0, includeUsage: true }))),
        )
      },
    },
    {
      id: 'openai-responses',
      title: 'OpenAI responses',
      async open(stored) {
        const [{ responseKind }, { responseFrameFormat }] = await Promise.all([
          import('../../protocols/openai/responses/projection.ts'),
          import('../../protocols/openai/responses/stream.ts'),
        ])
        return viewFormat(responseFrameFormat, whole(service.views.open(stored, responseKind(0))))
      },
    },
    {
      id: 'a2a',
      title: 'A2A',
      async open(stored) {
        const [{ taskKind }, { updateFor, taskFrameFormat }] = await Promise.all([
          import('../../protocols/a2a/view/task-cursor.ts'),
          import('../../protocols/a2a/routes/streams.ts'),
        ])
        const encode = (frame: TaskFrame): string =>
          `id: ${frame.sequence}\ndata: ${JSON.stringify(updateFor(frame))}\n\n`
        const format = taskFrameFormat(stored.run, { key: 'console', encode }, ({ message }) => ({ message }))
        return viewFormat(format, whole(service.views.open(stored, taskKind)))
      },
    },
    {
      id: 'ai-sdk',
      title: 'AI SDK',
      async open(stored) {
        const [{ chatKind }, { chatFrameFormat }] = await Promise.all([
          import('../../ai-sdk/view/projection.ts'),
          import('../../protocols/ai-sdk/wire/stream.ts'),
        ])
        const kind = chatKind({ leg: 0, restart: 0, tools: 'dynamic' })
        return viewFormat(chatFrameFormat, whole(service.views.open(stored, kind)))
      },
    },
    {
      id: 'ag-ui',
      title: 'AG-UI',
      async open(stored) {
        const [{ agentKind }, { agentFrameFormat }] = await Promise.all([
          import('../../protocols/ag-ui/view/projection.ts'),
          import('../../protocols/ag-ui/wire/stream.ts'),
        ])
        return viewFormat(agentFrameFormat({ earlier: [] }), whole(service.views.open(stored, agentKind)))
      },
    },
    {
      id: 'mcp',
      title: 'MCP',
      async open(stored) {
        const [{ callKind }, { callFrameFormat }] = await Promise.all([
          import('../../protocols/mcp/view/projection.ts'),
          import('../../protocols/mcp/wire/stream.ts'),
        ])
        return viewFormat(callFrameFormat(stored.run), whole(service.views.open(stored, callKind)))
      },
    },
  ]
}

/** All frames of a log, including those after a pause. */
function whole<State, Frame>(view: SharedView<State, Frame>): ViewSelection<State, Frame> {
  return { view, ends: () => false }
}
