/** `examples/assistant-ui` as documented in its header, in a real browser, with a server that is killed. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../mount/project.ts'
import { root } from '../served.ts'
import type { Tally } from '../tally.ts'
import { type PageWorld, untilMidway, untilWhole, withPage } from './page-world.ts'

const CHECK_MS = 3 * 60_000
const QUESTION = 'Send 25 to Ada'
const FIRST = 'I will send 25 to Ada as soon as you say so: this needs your approval, and it can wait for it.'
const SECOND = 'It is sent. The answer was written to the log before it came here, so a kill loses none of it.'

export async function checkAssistantUi(tally: Tally): Promise<void> {
  await tally.check(
    'assistant-ui: the page in Chromium survives a reload midway, kill -9, and an approval after a restart',
    async () => {
      const data = mkdtempSync(join(tmpdir(), 'holdfast-assistant-ui-'))
      const flags = ['--conditions=holdfast-source', '--no-warnings']
      try {
        const programAt = (port: string): string[] => [...flags, 'examples/assistant-ui/main.ts', port]
        await withPage(programAt, survive, { DATABASE: join(data, 'chats.db') })
      } finally {
        rmSync(data, { recursive: true, force: true })
      }
    },
  )
  await tally.check('assistant-ui: the page of the example type-checks', async () => {
    await run('tsc', ['-p', 'examples/assistant-ui/page'], root, CHECK_MS)
  })
}

async function survive({ page, open, killAndRestart }: PageWorld): Promise<void> {
  await open('/c1')
  await page.getByLabel('Message').fill(QUESTION)
  await page.getByRole('button', { name: 'Send' }).click()
  await untilMidway(page, FIRST)
  await page.reload()
  await untilMidway(page, FIRST)
  await killAndRestart()
  await untilWhole(page, FIRST)
  await page.getByRole('button', { name: 'Yes' }).waitFor()
  await killAndRestart()
  await open()
  await page.getByRole('button', { name: 'Yes' }).click()
  await untilMidway(page, SECOND)
  await killAndRestart()
  await untilWhole(page, SECOND)
  await open()
  for (const text of [QUESTION, FIRST, SECOND]) await untilWhole(page, text)
  await page.getByText('send {"amount":25} returned 25').waitFor()
}
