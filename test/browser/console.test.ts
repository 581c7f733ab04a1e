/** User actions in the console, with a real server and a real browser. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { agent } from '../../src/agents/agent.ts'
import { fromJsonSchema } from '../../src/core/schema/json-schema.ts'
import { modelAgent } from '../../src/agents/model/agent.ts'
import { scriptedModel } from '../../src/agents/model/scripted/scripted.ts'
import { workflow } from '../../src/agents/workflow/index.ts'
import { labComponents } from '../../src/agents/lab/kinds.ts'
import { demoComponents } from '../../src/cli/demo/components.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { serveNative } from '../protocols/native/serve.ts'
import { INSTALL_MS } from '../support/apt.ts'
import { answerRun, call, getRun, readEvents, startRun, untilFinished } from '../support/http.ts'
import { serveInProcess } from '../support/in-process.ts'
import { fillStore } from '../support/many-runs.ts'
import { until } from '../support/until.ts'
import { hasChromium, useChromium } from './chromium.ts'
import { packer } from './console/packer.ts'
import { openConsole, startFromPage, expectShown, expectStatus, WITHIN } from './console/world.ts'

const TIMEOUT_MS = INSTALL_MS + 120_000
const openContext = useChromium()

describe.skipIf(!hasChromium)('console', { timeout: TIMEOUT_MS }, () => {
  test('starts a run from the page, and shows its text, tools and every event', async () => {
    const server = await serveNative()
    const page = await openConsole(await openContext(), server.url)
    await expectShown(page, '.empty', 'No runs yet')
    const id = await startFromPage(page, 'lab', 'say "**bold** words"; reason 3; tool search 10; say done')
    await expectStatus(page, 'completed')
    await expectShown(page, '.conversation strong', 'bold')
    await expectShown(page, '.block-tool .tool-name', 'search')
    await expectShown(page, '.block-reasoning summary', 'thought')
    const log = await readEvents(server, id)
    const shown = await page.locator('.virtual-row .index').allTextContents()
    expect(shown).toEqual(log.map(({ index }) => String(index)))
    await page.locator('.virtual-row', { hasText: 'tool.completed' }).click()
    await expectShown(page, '.event-detail pre', '"search"')
    expect(page.url()).toContain('event=')
    await page.getByRole('link', { name: 'Runs' }).click()
    await expectShown(page, '.runs tbody tr', 'completed')
  })

  test('renders a form for a component’s input schema, and a JSON field without one', async () => {
    const server = await serveInProcess({ components: [packer, adder] })
    const page = await openConsole(await openContext(), server.url, '/start?component=packer')
    await page.getByLabel('Item', { exact: true }).fill('a lamp')
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await expectShown(page, '.problem', 'copies is missing')
    await page.getByLabel('copies').fill('3')
    await page.getByLabel('Wrapped').check()
    await page.getByLabel('paper').selectOption('blue')
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await expectStatus(page, 'completed')
    await expectShown(page, '.block-text', '{"item":"a lamp","copies":3,"wrapped":true,"paper":"blue"}')
    const session = (await getRun(server, idOf(page))).session
    await page.getByRole('link', { name: 'Continue this session' }).click()
    expect(await page.getByLabel('Session').inputValue()).toBe(session)
    expect(await page.locator('.choice:has(:checked)').textContent()).toContain('packer')
    await page.goto(`${server.url}/console/start?component=adder`)
    await page.getByLabel('Input', { exact: true }).fill('[1, 2]')
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await expectShown(page, '.block-text', '3')
  })

  test('renders a form for a model agent: by its schema, or a text field', async () => {
    const input = fromJsonSchema({
      type: 'object',
      properties: { city: { type: 'string', title: 'City' }, days: { type: 'integer', title: 'Days' } },
      required: ['city'],
    })
    const model = scriptedModel({ script: ({ text }) => `Asked: ${text}` })
    const planner = modelAgent({ id: 'planner', model, input })
    const talker = modelAgent({ id: 'talker', model })
    const trip = workflow({ id: 'trip', steps: [planner] })
    const server = await serveInProcess({ components: [planner, talker, trip] })
    const page = await openConsole(await openContext(), server.url)
    for (const component of ['planner', 'trip']) {
      await page.goto(`${server.url}/console/start?component=${component}`)
      await page.getByLabel('City').fill('Oslo')
      await page.getByLabel('Days').fill('3')
      await page.getByRole('button', { name: 'Start', exact: true }).click()
      await expectShown(page, '.block-text', 'Asked: {"city":"Oslo","days":3}')
    }
    await startFromPage(page, 'talker', 'plain words')
    await expectShown(page, '.block-text', 'Asked: plain words')
  })

  test('[RUN-2] shows the same run after a reload midway, and in two tabs', async () => {
    const server = await serveNative()
    const context = await openContext()
    const page = await openConsole(context, server.url)
    const id = await startFromPage(page, 'lab', 'say "before "; ask "Go on?"; say after')
    await expectStatus(page, 'paused')
    await page.reload()
    await expectStatus(page, 'paused')
    await expectShown(page, '.block-text', 'before')
    const other = await openConsole(context, server.url, `/runs/${id}`)
    await expectStatus(other, 'paused')
    await answerRun(server, id, 'yes')
    for (const tab of [page, other]) {
      await expectStatus(tab, 'completed')
      expect((await tab.locator('.block-text .markdown').allTextContents()).join('')).toBe('before after')
    }
  })

  test('answers an approval and a question, and continues in the same session', async () => {
    const server = await serveInProcess({ components: [...demo(), ...labComponents()] })
    const page = await openConsole(await openContext(), server.url)
    await startFromPage(page, 'clerk', 'Send 25 to Ada')
    await expectStatus(page, 'paused')
    await page.getByRole('button', { name: 'Approve' }).click()
    await expectStatus(page, 'completed')
    await startFromPage(page, 'lab', 'ask "Which way?"; say on')
    await expectStatus(page, 'paused')
    await page.getByLabel('Answer').fill('north')
    await page.getByRole('button', { name: 'Answer' }).click()
    await expectStatus(page, 'completed')
    await expectShown(page, '.block-ask', 'north')
    const before = page.url()
    await page.getByLabel('Continue this session').fill('say more')
    await page.getByRole('button', { name: 'Send' }).click()
    await until('another run is shown', () => page.url() !== before, WITHIN)
    await expectShown(page, '.block-text', 'more')
    const ids = [before, page.url()].map((url) => new URL(url).pathname.split('/').at(-1)!)
    const [one, two] = await Promise.all(ids.map((id) => getRun(server, id)))
    expect(one!.session).toBe(two!.session)
  })

  test('answers with several choices, and with the form that a question asks for', async () => {
    const server = await serveInProcess({ components: [asker] })
    const page = await openConsole(await openContext(), server.url)
    const id = await startFromPage(page, 'asker', 'x')
    await expectStatus(page, 'paused')
    expect(await page.getByRole('button', { name: 'Answer' }).isDisabled()).toBe(true)
    await page.getByLabel('south').check()
    await page.getByLabel('north').check()
    await page.getByRole('button', { name: 'Answer' }).click()
    await page.getByLabel('nights').fill('two')
    await page.getByRole('button', { name: 'Answer' }).click()
    await expectShown(page, '.problem', 'nights is not a number')
    await page.getByLabel('nights').fill('2')
    await page.getByRole('button', { name: 'Answer' }).click()
    await expectStatus(page, 'completed')
    expect((await getRun(server, id)).output).toEqual([['south', 'north'], { nights: 2 }])
  })

  test('[RUN-2] stops a run', async () => {
    const server = await serveNative()
    const page = await openConsole(await openContext(), server.url)
    const id = await startFromPage(page, 'lab', 'say on; hang')
    await expectShown(page, '.block-text', 'on')
    await page.getByRole('button', { name: 'Stop' }).click()
    await expectStatus(page, 'cancelled')
    expect((await getRun(server, id)).reason).toBe('stopped from the console')
  })

  test('shows members, steps, a timeline, tokens, and the frames of each protocol', async () => {
    const server = await serveInProcess({ components: demo() })
    const page = await openConsole(await openContext(), server.url)
    const id = await startFromPage(page, 'newsroom', 'the regatta')
    await untilFinished(server, id, 60_000)
    await expectStatus(page, 'completed')
    await expectShown(page, '.block-member .member-name', 'harbour')
    await page.getByRole('tab', { name: 'Timeline' }).click()
    await expectShown(page, '.timeline', 'Attempt 1')
    await expectShown(page, '.timeline', 'weather')
    await page.getByRole('tab', { name: 'Usage' }).click()
    await expectShown(page, '.usage-total', 'tokens in all')
    await page.getByRole('tab', { name: 'Wire' }).click()
    const expected = {
      native: 'event: run.created',
      agentos: 'event: TeamRunStarted',
      'openai-chat': 'chat.completion.chunk',
      'openai-responses': 'response.created',
      a2a: 'TASK_STATE_',
    }
    for (const [view, text] of Object.entries(expected)) {
      await page.getByLabel('Protocol').selectOption(view)
      await expectShown(page, '.wire-panel .virtual', text)
    }
  })

  test('shows each start as commands and code that work', async () => {
    const server = await serveNative()
    const page = await openConsole(await openContext(), server.url, '/start?component=lab')
    await page.getByLabel('Input', { exact: true }).fill(`say "it's one"; say " and two"`)
    await page.getByLabel('Session').fill('of all of them')
    for (const form of ['curl', 'Client', 'OpenAI', 'AgentOS', 'A2A']) {
      await page.getByRole('button', { name: form, exact: true }).click()
      const text = (await page.getByLabel(`As ${form}`, { exact: true }).textContent())!
      const printed = text.startsWith('curl')
        ? await printedBy('sh', [], text)
        : await printedBy(process.execPath, NODE, text)
      expect(printed, form).toContain(`it's one`)
      expect(printed, form).toContain('and two')
    }
    const { body } = await call<{ runs: { protocol: string }[] }>(server, 'GET', '/runs?session=of+all+of+them')
    const protocols = body.runs.map(({ protocol }) => protocol)
    expect(protocols.toSorted()).toEqual(['a2a', 'agentos', 'native', 'native', 'openai'])
  })

  test('replays a run from the start, step by step, to its end', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 10')
    await untilFinished(server, id)
    const page = await openConsole(await openContext(), server.url, `/runs/${id}`)
    await expectStatus(page, 'completed')
    await page.getByRole('button', { name: 'Replay' }).click()
    await expectShown(page, '.replay-place', /^13 of 13/)
    await page.getByLabel('Place in the log').fill('5')
    await expectShown(page, '.replay-place', /^5 of 13/)
    await expectStatus(page, 'running')
    expect(await page.locator('.block-text').textContent()).not.toContain('[5]')
    await page.getByRole('button', { name: 'Step' }).click()
    await expectShown(page, '.replay-place', /^6 of 13/)
    await page.getByRole('button', { name: 'End replay' }).click()
    await expectStatus(page, 'completed')
    await expectShown(page, '.block-text', '[9]')
  })

  test('replays a pause at its length, shows it, and skips it on request', async () => {
    const store = createMemoryStore()
    await fillStore(store, 1, 3_600_000)
    const server = await serveInProcess({ store })
    const page = await openConsole(await openContext(), server.url)
    await page.locator('.runs tbody th a').click()
    await expectStatus(page, 'completed')
    await page.getByRole('button', { name: 'Replay' }).click()
    await expectShown(page, '.replay-place', /^1 of 4.*nothing for 1 h 00 m/)
    await page.getByLabel('Cut silences short').check()
    await expectShown(page, '.replay-place', /^4 of 4 · 3 h 00 m/)
  })

  test('reports an unknown run', async () => {
    const server = await serveNative()
    const context = await openContext()
    const forgives = /404/
    await expectShown(
      await openConsole(context, server.url, '/runs/run_nowhere', { forgives }),
      '.problem',
      'no such run',
    )
  })
})

function idOf(page: Page): string {
  return decodeURIComponent(new URL(page.url()).pathname.split('/').at(-1)!)
}

const adder = agent({
  id: 'adder',
  input: fromJsonSchema<number[]>({ type: 'array', items: { type: 'number' } }),
  async *run(numbers) {
    yield String(numbers.reduce((sum, each) => sum + each, 0))
  },
})

const asker = agent<unknown>({
  id: 'asker',
  async *run(_input, { ask }) {
    const details = { choices: ['north', 'east', 'south'], multiple: true }
    const ways = await ask({ prompt: 'Which ways?', kind: 'choice', details })
    const schema = { type: 'object', properties: { nights: { type: 'integer' } }, required: ['nights'] }
    return [ways, await ask({ prompt: 'How long?', schema })]
  },
})

/** A module of this package, so that it resolves what a user would install. */
const NODE = ['--conditions=holdfast-source', '--input-type=module', '-']

/** Output of a program that gets the text on standard input. */
async function printedBy(program: string, args: readonly string[], text: string): Promise<string> {
  const running = promisify(execFile)(program, [...args], { cwd: join(import.meta.dirname, '../..'), timeout: 60_000 })
  running.child.stdin!.end(text)
  return (await running).stdout
}

function demo() {
  return demoComponents({ description: 'scripted', load: async () => undefined })
}
