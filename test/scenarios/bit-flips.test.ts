import { expect, test } from 'vitest'
import type { Random } from '../support/random.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { type Flip, judge, makeSpecimens, randomFlip, type Specimen, type Verdict } from './bit-flips/campaign.ts'
import { withSeed } from '../support/with-seed.ts'

/** `HOLDFAST_TEST_FLIPS=500` is the whole campaign. */
const FLIPS = Number(process.env['HOLDFAST_TEST_FLIPS'] ?? 16)
/** Four of five flips of the write-ahead log change nothing. */
const FLIPS_MAX = 4 * FLIPS
const FLIP_MS = 5000

interface Tally {
  flips: number
  unnoticeable: number
  contained: number
  missing: number
  rolledBack: number
  refused: number
  /** Flips that lost responses without a finding of the doctor. */
  readonly undiagnosed: string[]
}

async function campaign(
  random: Random,
  folder: string,
  specimens: readonly Specimen[],
  file: Flip['file'],
  isEnough: (tally: Tally) => boolean = () => true,
): Promise<Tally> {
  const tally: Tally = {
    flips: 0,
    unnoticeable: 0,
    contained: 0,
    missing: 0,
    rolledBack: 0,
    refused: 0,
    undiagnosed: [],
  }
  for (; tally.flips < FLIPS || (!isEnough(tally) && tally.flips < FLIPS_MAX); tally.flips++) {
    const specimen = specimens[tally.flips % specimens.length]!
    const flip = randomFlip(random, specimen, file)
    const verdict = await judge(folder, specimen, flip)
    expect(verdict.wrong, `${JSON.stringify(flip)}: ${JSON.stringify(verdict)}`).toEqual([])
    sort(tally, flip, verdict)
  }
  return tally
}

function sort(tally: Tally, flip: Flip, verdict: Verdict): void {
  const { refused, damaged, missing, older, told: reported, doctor } = verdict
  const isRolledBack = reported.some((line) => line.includes('acknowledged commit'))
  const isSilent = refused === undefined && [...damaged, ...missing, ...older].length === 0
  expect(isRolledBack || older.length === 0, `a rollback without a word: ${JSON.stringify({ flip, verdict })}`).toBe(
    true,
  )
  if (isSilent) tally.unnoticeable++
  else if (refused !== undefined) tally.refused++
  else if (isRolledBack) tally.rolledBack++
  else if (missing.length > 0) tally.missing++
  else tally.contained++
  if (!isSilent && doctor.length === 0)
    tally.undiagnosed.push(JSON.stringify({ flip, damaged, missing, told: reported, refused }))
}

test(
  '[STO-1] SQLite: no flipped bit of the database file makes the store serve a wrong byte, and the doctor finds the damage',
  async () => {
    await withSeed(async (random) => {
      const folder = temporaryFolder()
      const { closed, unclean } = await makeSpecimens(folder)
      const tally = await campaign(random, folder, [closed, unclean], '')
      console.info({ seed: random.seed, ...tally })
      expect(tally.undiagnosed).toEqual([])
      expect(tally.contained).toBeGreaterThan(FLIPS / 4)
    })
  },
  60_000 + FLIPS * FLIP_MS,
)

test(
  '[STO-1] SQLite: commits lost to a flipped bit in the write-ahead log are detected and reported',
  async () => {
    await withSeed(async (random) => {
      const folder = temporaryFolder()
      const { crashed } = await makeSpecimens(folder)
      const tally = await campaign(random, folder, [crashed], '-wal', ({ rolledBack }) => rolledBack > 0)
      console.info({ seed: random.seed, ...tally })
      expect(tally.undiagnosed).toEqual([])
      expect(tally.rolledBack).toBeGreaterThan(0)
    })
  },
  60_000 + FLIPS_MAX * FLIP_MS,
)
