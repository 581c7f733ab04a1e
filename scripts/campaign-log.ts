/** The logs of long campaigns: one JSON object per line and run, committed, so that several runs add up. */
import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { root } from './command.ts'

/** When and on what a part of a campaign ran. */
export interface CampaignPart {
  /** ISO 8601, of its end. */
  readonly at: string
  readonly commit: string
  readonly minutes: number
  readonly load: number
}

export interface KillPart extends CampaignPart {
  readonly scenario: string
  readonly kills: number
  readonly runs: number
  readonly records: number
  /** What was lost, duplicated or changed, with the seed; absent if nothing was. */
  readonly violation?: string
  /** Why the part has no verdict, such as a timeout on a busy machine; none of its kills are counted. */
  readonly unfinished?: string
}

export interface SimulationPart extends CampaignPart {
  readonly from: number
  /** Inclusive. */
  readonly to: number
  readonly events: number
  readonly steps: number
  readonly cpuSeconds: number
  readonly failures: readonly { readonly seed: number; readonly violation: string }[]
}

const logOf = (name: string): string => join(root, 'docs/campaigns', `${name}.jsonl`)
export const KILLS_LOG = logOf('kills')
export const SIMULATION_LOG = logOf('simulation')

export function readParts<Part>(path: string): Part[] {
  if (!existsSync(path)) return []
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Part)
}

export function addPart(path: string, part: KillPart | SimulationPart): void {
  appendFileSync(path, `${JSON.stringify(part)}\n`)
}

/** Fields that all campaigns share. `begun`: a `performance.now()`. */
export function partSince(begun: number): CampaignPart {
  return {
    at: new Date().toISOString(),
    commit: commitNow(),
    minutes: Math.round((performance.now() - begun) / 6000) / 10,
    load: Math.round(loadavg()[2]! * 10) / 10,
  }
}

function git(...line: string[]): string {
  return execFileSync('git', line, { cwd: root, encoding: 'utf8' }).trim()
}

/** The commit, with `+` if the sources under test have changed since. */
function commitNow(): string {
  return git('rev-parse', '--short=8', 'HEAD') + (git('status', '--porcelain', 'src', 'test') === '' ? '' : '+')
}
