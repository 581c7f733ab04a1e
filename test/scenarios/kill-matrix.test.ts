/** Every kind of component and recovery, killed in every phase: no finished work is repeated. */
import { expect, test } from 'vitest'
import { getRun, readLog } from '../support/http.ts'
import { Campaign, LIVES } from './kill-matrix/campaign.ts'
import { casesOf } from './kill-matrix/cases.ts'
import { kinds } from './kill-matrix/kinds.ts'
import { complaintsOf, evidenceOf } from './kill-matrix/verdict.ts'

test.each(Object.keys(kinds))(
  '[LOG-1] [LOG-2] [LOG-3] [LOG-5] [RUN-1] [RUN-3] a %s that is killed in each phase recovers as declared and repeats no finished work',
  async (kind) => {
    const campaign = new Campaign(casesOf(kind))
    for (let life = 1; life < LIVES; life++) await campaign.live(life)
    const server = await campaign.live(LIVES)
    const { journal } = campaign
    const evidence = []
    for (const run of campaign.runs) {
      const found = evidenceOf(run, await readLog(server, run.run), journal)
      expect(`run.${(await getRun(server, run.run)).status}`, run.id).toBe(found.records.at(-1)!.type)
      evidence.push(found)
    }
    const [whole, ...killed] = evidence
    expect(whole!.records.at(-1)!.type).toBe('run.completed')
    expect(killed.flatMap((run) => complaintsOf(run, whole!))).toEqual([])
    // A server that ends in peace leaves its compiled modules behind for all others.
    await server.terminate()
  },
  400_000,
)
