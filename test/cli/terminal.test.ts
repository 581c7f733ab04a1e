/** The command line on a real terminal screen. */
import { beforeAll, describe, expect, test } from 'vitest'
import { agent, createEvent } from '../../src/index.ts'
import { step, steps, workflow } from '../../src/agents/workflow/index.ts'
import type { Server } from '../../src/server/create-server.ts'
import { answerRun, getRun, readEvents, startRun, untilFinished, untilStatus } from '../support/http.ts'
import { INSTALL_MS } from '../support/apt.ts'
import { serveInProcess } from '../support/in-process.ts'
import { until } from '../support/until.ts'
import { ensureTmux, settled, Terminal } from './terminal.ts'

beforeAll(ensureTmux, INSTALL_MS)

/** And the shell is back. */
const COMPLETED = /completed after .+\n\$$/

/** Lets a test block an agent at a point until it has read the screen. */
class Gate {
  #open: (() => void) | undefined
  readonly #opened = new Promise<void>((resolve) => (this.#open = resolve))

  open(): void {
    this.#open!()
  }

  pass(): Promise<void> {
    return this.#opened
  }
}

async function terminalAt(server: Server, env: Record<string, string> = {}): Promise<Terminal> {
  return Terminal.open({ env: { HOLDFAST_URL: server.url, ...env } })
}

function idOn(screen: string): string {
  return /run_[0-9a-z]{26}/.exec(screen)![0]
}

describe('holdfast run in a terminal', () => {
  test('prints text as it streams, with a live tree of the work below it', async () => {
    const gate = new Gate()
    const helper = agent({
      id: 'helper',
      async *run() {
        yield 'I am looking into it'
        await gate.pass()
        return 'found'
      },
    })
    const boss = agent({
      id: 'boss',
      async *run(_input, { call, tool }) {
        yield 'Once upon '
        yield 'a time\nthere was'
        await Promise.all([
          call(helper, 'look'),
          tool({ name: 'search', input: { q: 'sea' } }, () => gate.pass().then(() => 'a wave')),
        ])
        yield ' a sea.'
      },
    })
    const server = await serveInProcess({ components: [boss] })
    const terminal = await terminalAt(server)
    await terminal.type('holdfast run boss hello')
    const during = await terminal.shows(/I am looking into it\n[^]*calling a tool [1-9]/)
    expect(settled(during)).toBe(
      [
        '$ holdfast run boss hello',
        'run run_ID',
        'Once upon a time',
        'there was',
        '⠿ helper (agent) N.Ns I am looking into it',
        '⠿ search {"q":"sea"} N.Ns',
        '⠿ calling a tool N.Ns',
      ].join('\n'),
    )
    // The spinner and the time are updated in place.
    await until('it moves', async () => (await terminal.screen()) !== during)
    gate.open()
    const after = settled(await terminal.shows(COMPLETED))
    expect(after.split('\n').toSorted()).toEqual(
      [
        '$ holdfast run boss hello',
        'run run_ID',
        'Once upon a time',
        'there was',
        '✓ helper (agent) N.Ns',
        '✓ search {"q":"sea"} N.Ns → a wave',
        ' a sea.',
        '✓ completed after N.Ns',
        '$',
      ].toSorted(),
    )
  })

  test('prints a workflow’s steps nested below their parents', async () => {
    const gate = new Gate()
    const flow = workflow({
      id: 'flow',
      steps: [
        step({ name: 'gather', run: () => 'all' }),
        steps('write', [
          step({ name: 'draft', run: () => 'a draft' }),
          step({ name: 'polish', run: () => gate.pass().then(() => 'done') }),
        ]),
      ],
    })
    const server = await serveInProcess({ components: [flow] })
    const terminal = await terminalAt(server)
    await terminal.type('holdfast run flow hello')
    expect(settled(await terminal.shows(/polish [1-9]/))).toBe(
      [
        '$ holdfast run flow hello',
        'run run_ID',
        '✓ gather N.Ns',
        '▸ write (sequence)',
        '  ✓ draft N.Ns',
        '⠿ write (sequence) N.Ns',
        '  ⠿ polish N.Ns',
        '⠿ works N.Ns',
      ].join('\n'),
    )
    gate.open()
    expect(settled(await terminal.shows(COMPLETED))).toBe(
      [
        '$ holdfast run flow hello',
        'run run_ID',
        '✓ gather N.Ns',
        '▸ write (sequence)',
        '  ✓ draft N.Ns',
        '  ✓ polish N.Ns',
        '✓ write (sequence) N.Ns',
        'done',
        '✓ completed after N.Ns',
        '$',
      ].join('\n'),
    )
  })

  test('[RUN-2] Ctrl-C detaches and prints how to reattach; the run continues', async () => {
    const gate = new Gate()
    const patient = agent({
      id: 'patient',
      async *run() {
        yield 'one '
        await gate.pass()
        yield 'two'
      },
    })
    const server = await serveInProcess({ components: [patient] })
    const terminal = await terminalAt(server)
    await terminal.type('holdfast run patient hello')
    await terminal.shows(/^one/m)
    await terminal.press('C-c')
    const screen = await terminal.shows(
      /Follow it again with: {2}holdfast tail run_\S+\nPress Ctrl-C again to stop it\.[^]*\n\$ ?$/,
    )
    const id = idOn(screen)
    await terminal.type('echo "left with $?"')
    await terminal.shows(/left with 130/)
    expect(await getRun(server, id)).toMatchObject({ status: 'running' })
    await terminal.type(`clear; holdfast tail ${id}`)
    await terminal.shows(/^one\n/m)
    gate.open()
    expect(settled(await terminal.shows(COMPLETED))).toBe(
      [`$ clear; holdfast tail run_ID`, 'one two', '✓ completed after N.Ns', '$'].slice(1).join('\n'),
    )
  })

  test('[RUN-2] Ctrl-C twice stops the run, and the exit code shows it', async () => {
    const server = await serveInProcess()
    const terminal = await terminalAt(server)
    await terminal.type('holdfast run lab "say here; hang"')
    const id = idOn(await terminal.shows(/^here/m))
    await terminal.press('C-c')
    await terminal.shows(/Press Ctrl-C again to stop it/)
    await terminal.press('C-c')
    await terminal.shows(/Stopping the run …[^]*■ stopped after [\d.]+s: Ctrl-C\n/)
    await terminal.type('echo "left with $?"')
    await terminal.shows(/left with 4/)
    expect(await getRun(server, id)).toMatchObject({ status: 'cancelled' })
  })

  test('prints how to answer a paused run, and continues when it is answered', async () => {
    const server = await serveInProcess()
    const terminal = await terminalAt(server)
    await terminal.type('holdfast run lab "say well; ask Shall I go on?; say  indeed"')
    const screen = await terminal.shows(/waiting for an answer/)
    const id = idOn(screen)
    expect(settled(screen)).toContain(
      '? Shall I go on? (question)\n  Answer with:  holdfast answer run_ID "your answer"\n',
    )
    await answerRun(server, id, 'yes')
    expect(settled(await terminal.shows(COMPLETED))).toContain('· answered\n')
  })

  test('prints a failed run’s error in red and exits with a non-zero code', async () => {
    const server = await serveInProcess()
    const terminal = await terminalAt(server)
    await terminal.type('holdfast run lab "tool search fail; throw boom"; echo "left with $?"')
    const screen = await terminal.shows(/left with 3/)
    expect(settled(screen)).toMatch(/^✗ search \{"number":0\} N\.Ns → \S+: .+$/m)
    expect(settled(screen)).toMatch(/^✗ failed after N\.Ns: agent_failed: boom$/m)
    expect(await terminal.screen(true)).toMatch(/\[31m\S*✗ failed/)
  })

  test('NO_COLOR removes colours and nothing else', async () => {
    const server = await serveInProcess()
    const [coloured, plain] = [await terminalAt(server), await terminalAt(server, { NO_COLOR: '1' })]
    for (const terminal of [coloured, plain]) {
      await terminal.type('holdfast run lab "text 3; tool search; throw boom"')
      await terminal.shows(/failed after .+\n\$$/)
    }
    expect(await coloured.screen(true)).toContain('\u001b[')
    expect(await plain.screen(true)).not.toContain('\u001b[')
    expect(settled(await plain.screen())).toBe(settled(await coloured.screen()))
  })

  test('an agent’s text cannot control the terminal', async () => {
    const rogue = agent({
      id: 'rogue',
      async *run(_input, { tool }) {
        yield 'first\n\u001b[2J\u001b[H\u001b]0;title\u0007second\r\n'
        await tool({ name: 'evil\u001b[2J', input: '\u001b[1A\u009b2J' }, () => '\u001b[2Jresult')
        yield createEvent('run.failed', { error: { code: 'x', message: 'third\u001b[2J' } })
      },
    })
    const server = await serveInProcess({ components: [rogue] })
    const terminal = await terminalAt(server)
    await terminal.type('holdfast run rogue hello')
    const screen = settled(await terminal.shows(/third.+\n\$$/))
    expect(screen.split('\n').slice(0, 4)).toEqual([
      '$ holdfast run rogue hello',
      'run run_ID',
      'first',
      '\u{fffd}[2J\u{fffd}[H\u{fffd}]0;title\u{fffd}second',
    ])
    expect(screen).toMatch(/^✓ evil\ufffd\[2J .*→ \ufffd\[2Jresult$/m)
  })

  test('wraps long lines between words at any width, also with wide characters', async () => {
    const sentence = 'The tide comes in and the tide goes out 潮の満ち引き and the kelp holds fast 🌊 all day long'
    const talker = agent({
      id: 'talker',
      async *run() {
        for (const word of sentence.split(' ')) yield `${word} `
      },
    })
    const server = await serveInProcess({ components: [talker] })
    const terminal = await Terminal.open({ columns: 40, env: { HOLDFAST_URL: server.url } })
    await terminal.type('clear; holdfast run talker hello')
    const rows = settled(await terminal.shows(COMPLETED))
      .split('\n')
      .slice(1, -2)
    expect(rows.length).toBeGreaterThan(2)
    expect(rows.join(' ')).toBe(sentence)
  })
})

test('holdfast runs --watch updates the list until Ctrl-C', async () => {
  const server = await serveInProcess()
  const { id } = await startRun(server, 'ask Shall I?')
  await untilStatus(server, id, ['paused'])
  const terminal = await terminalAt(server)
  await terminal.type('clear; holdfast runs --watch')
  await terminal.shows(new RegExp(`^RUN +COMPONENT +STATUS.*\\n${id} +lab +paused .* Shall I\\?`, 'm'))
  await answerRun(server, id, 'yes')
  const second = await startRun(server, 'throw boom')
  const screen = await terminal.shows(
    new RegExp(`^${second.id} +lab +failed .* agent_fail.*\\n${id} +lab +completed`, 'm'),
  )
  expect(screen.match(/^RUN /gm)).toHaveLength(1)
  await terminal.press('C-c')
  await terminal.shows(/\n\$ ?$/)
})

test('holdfast replay prints a run again with its original pauses, or faster', async () => {
  const server = await serveInProcess()
  const { id } = await startRun(server, 'text 2; sleep 2000; tool search 1000; text 2')
  await untilFinished(server, id)
  const terminal = await terminalAt(server)
  await terminal.type(`clear; holdfast replay ${id} --speed 1`)
  // In the middle of it, though the run is long over: its own time passes.
  await terminal.shows(/^\[0\] \S+ \[1\] \S+ *\n⠿?.*\S+ [01]\.\ds$/m)
  await terminal.shows(/search \{"number":0\} 0\.[1-9]s/)
  const screen = settled(await terminal.shows(COMPLETED))
  expect(screen).toContain('✓ search {"number":0} N.Ns')
  const events = await readEvents(server, id)
  await terminal.type(`clear; holdfast replay ${id} --speed 0 --json | wc -l`)
  await terminal.shows(new RegExp(`^${events.length}$`, 'm'))
})
