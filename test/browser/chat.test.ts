/** `useChat` of the AI SDK, unchanged, in a real page of a real browser. */
import { describeChatPage } from './chat-scenarios.ts'
import { expectShown } from './chat-world.ts'

describeChatPage('useChat', {
  script: 'chat-page.ts',
  messagesAfterReload: 1,
  // It resumes when its page becomes visible.
  async afterLoss(page) {
    await expectShown(page, 'status', 'error')
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  },
})
