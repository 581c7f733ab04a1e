/** Scripts of the campaign's runs: every kind of work that a kill can interrupt. */

/** A lab script, and the number of its numbered texts after the whole script, without retracted ones. */
export interface Script {
  readonly input: string
  readonly texts: number
  /** Never ends by itself. */
  readonly hangs?: true
  /** Outcome without interruptions, if not completed. */
  readonly failure?: 'agent_failed'
  readonly rejected?: true
}

export const scripts: readonly Script[] = [
  { input: 'text 40 every 5', texts: 40 },
  { input: 'text 15 every 20', texts: 15 },
  { input: 'text 400', texts: 400 },
  { input: 'text 3000', texts: 3000 },
  { input: 'text 20 every 1; step one 10; text 20; step two 5; step two 5; text 10', texts: 50 },
  { input: 'tool search idempotent 10; text 30; tool search idempotent 20; text 30', texts: 60 },
  { input: 'text 10; tool write 15; text 10 every 3; tool broken fail 2; text 10', texts: 30 },
  { input: 'text 5; ask Go on?; text 5 every 5', texts: 10 },
  { input: 'ask First?; text 20; step work 10; ask Second?; text 3', texts: 23 },
  { input: 'big 64; text 20; big 300; text 3 every 5; big 700; text 3', texts: 26 },
  {
    input: 'reason 20; text 20 every 2; usage 3 4; artifact report 200; state place; state place; custom note; text 5',
    texts: 25,
  },
  { input: 'date; bytes; bigint; nan; deep 50; text 10 every 4; say "ünïcödé \u{1f30a}"; text 5', texts: 15 },
  { input: 'text 10 every 3; hang', texts: 10, hangs: true },
  { input: 'text 10 every 2; throw boom', texts: 10, failure: 'agent_failed' },
  { input: 'text 2; sleep 30; reject no', texts: 2, rejected: true },
  { input: '', texts: 0 },
]
