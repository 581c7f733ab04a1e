/** The transcript of a run: its messages by actor, without retracted output. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Actor, Event, LoggedEvent } from '../model/event.ts'
import { transcriptOf } from './transcript.ts'

const RUN = 'run_1'

function logged(events: readonly Event[]): LoggedEvent[] {
  return events.map((event, index) => ({ ...event, run: RUN, index, time: '2026-01-01T00:00:00.000Z' }))
}

function actor(run: string, parent = RUN): Actor {
  return { component: run, run, parent }
}

function outputOf(text: string, by?: Actor, message?: string): Event {
  return { type: 'text.delta', data: { text, ...(message !== undefined && { message }) }, ...(by && { actor: by }) }
}

function retracted(from: number, scope: 'all' | 'own' | 'below', by?: Actor): Event {
  const data = { attempt: 1, from, scope, ledger: 'kept', reason: 'failed' } as const
  return { type: 'attempt.discarded', data, ...(by && { actor: by }) }
}

function started(by: Actor): Event {
  return { type: 'actor.started', data: { input: null, key: by.component }, actor: by }
}

const member = actor('run_1/member')
const below = actor('run_1/member/tool', member.run)
const other = actor('run_1/other')

describe('sessions: a transcript', () => {
  test('has the input, the text by actor, and the output', () => {
    const { input, own, actors, output } = transcriptOf(
      logged([
        { type: 'run.created', data: { component: 'c', input: 'hi', session: 's' } },
        outputOf('Let me see.', undefined, 'm1'),
        { type: 'actor.started', data: { input: 'look', key: 'member' }, actor: member },
        outputOf('I ', member),
        outputOf('look', member),
        outputOf('It is ', undefined, 'm2'),
        outputOf('done.', undefined, 'm2'),
        { type: 'run.completed', data: { output: { done: true } } },
      ]),
    )
    expect(input).toBe('hi')
    expect(own).toEqual({ text: 'Let me see.It is done.', messages: ['Let me see.', 'It is done.'] })
    expect([...actors]).toEqual([[member.run, { actor: member, text: 'I look', messages: ['I look'] }]])
    expect(output).toEqual({ done: true })
  })

  test.each<[string, Event, string, string, string]>([
    ['own', retracted(3, 'own'), 'a', 'bc', 'cd'],
    ['own of an actor', retracted(3, 'own', member), 'ab', 'b', 'cd'],
    ['below', retracted(3, 'below', member), 'ab', 'b', 'c'],
    ['below of the run itself', retracted(3, 'below'), 'a', 'b', 'c'],
    ['all', retracted(3, 'all'), 'a', 'b', 'c'],
  ])('leaves out text retracted with scope %s', (_, retraction, own, ofMember, ofBelow) => {
    const log = logged([
      outputOf('a'),
      outputOf('b', member),
      outputOf('c', below),
      outputOf('b'),
      outputOf('c', member),
      outputOf('d', below),
      retraction,
    ])
    const transcript = transcriptOf(log)
    expect(transcript.own.text).toBe(own)
    expect(transcript.actors.get(member.run)!.text).toBe(ofMember)
    expect(transcript.actors.get(below.run)!.text).toBe(ofBelow)
  })

  test('equals that of a reader that checks every retraction for every piece', () => {
    const who = fc.constantFrom(undefined, member, below, other)
    const text = fc.record({ kind: fc.constant('text' as const), who })
    const retraction = fc.record({
      kind: fc.constant('retraction' as const),
      who,
      back: fc.nat(12),
      scope: fc.constantFrom('all', 'own', 'below'),
    })
    fc.assert(
      fc.property(fc.array(fc.oneof(text, text, text, retraction), { maxLength: 60 }), (moves) => {
        const log = logged([
          ...[member, below, other].map(started),
          ...moves.map((move, index) =>
            move.kind === 'text'
              ? outputOf(`${index} `, move.who)
              : retracted(Math.max(0, index + 3 - move.back), move.scope, move.who),
          ),
        ])
        const { own, actors } = transcriptOf(log)
        for (const each of [undefined, member, below, other]) {
          const spoken = each === undefined ? own : actors.get(each.run)
          expect(spoken?.text ?? '').toBe(standing(log, each))
        }
      }),
    )
  })

  test('takes time in proportion to the log, however many retractions it has', () => {
    const rounds = (count: number): LoggedEvent[] =>
      logged(
        Array.from({ length: count }, (_, round) => [
          outputOf('x'.repeat(8)),
          retracted(2 * round, 'own'),
          outputOf('y'),
        ]).flat(),
      )
    const [short, long] = [rounds(5000), rounds(40_000)]
    const costs = (): number => cpuOf(() => transcriptOf(long)) / cpuOf(() => transcriptOf(short))
    costs() // warms up
    // Eight times the log. One that looked at all pieces for each retraction would cost sixty-four times as much.
    expect(Math.min(costs(), costs(), costs())).toBeLessThan(24)
  })
})

/** CPU time in microseconds: independent of other load. */
function cpuOf(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return user + system
}

/** The definition of a retraction, word by word. */
function standing(log: readonly LoggedEvent[], who: Actor | undefined): string {
  return log
    .filter(({ type, actor: by }) => type === 'text.delta' && by?.run === who?.run)
    .filter(({ index }) => !log.some((event) => covers(event, index, who)))
    .map((event) => (event as Extract<LoggedEvent, { type: 'text.delta' }>).data.text)
    .join('')
}

function covers(event: LoggedEvent, index: number, who: Actor | undefined): boolean {
  if (event.type !== 'attempt.discarded' || event.data.from > index || index >= event.index) return false
  const by = event.actor?.run ?? ''
  const own = who?.run ?? ''
  if (event.data.scope === 'all' || own === by) return true
  return event.data.scope === 'below' && (by === '' || own.startsWith(`${by}/`))
}
