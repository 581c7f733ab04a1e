/** AG-UI's client in a real page of a real browser: the stock agent, and the one that attaches to its thread. */
import { describeChatPage } from './chat-scenarios.ts'

describeChatPage('AG-UI: HttpAgent', { script: 'ag-ui-page.ts', query: '?agent=stock', messagesAfterReload: 1 })
describeChatPage('AG-UI: HoldfastAgent', { script: 'ag-ui-page.ts', messagesAfterReload: 2 })
