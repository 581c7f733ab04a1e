/** A page as somebody would write it with CopilotKit, at /{component}/{thread}. `?agent=holdfast` attaches to the thread. */
import { HttpAgent } from '@ag-ui/client'
import { CopilotChat, CopilotKitProvider } from '@copilotkit/react-core/v2'
import { HoldfastAgent } from 'holdfast/ag-ui'
import { createRoot } from 'react-dom/client'

const [, component, threadId = ''] = location.pathname.split('/')
const config = { url: `${location.origin}/ag-ui/${component}`, threadId }
const isStock = new URLSearchParams(location.search).get('agent') !== 'holdfast'
const agent = isStock ? new HttpAgent(config) : new HoldfastAgent(config)

createRoot(document.getElementById('root')!).render(
  <CopilotKitProvider selfManagedAgents={{ default: agent }}>
    <CopilotChat threadId={threadId} />
  </CopilotKitProvider>,
)
