/** `holdfast runs`: lists runs. */
import { setTimeout as wait } from 'node:timers/promises'
import type { RunFilter, RunInfo } from '../../client/index.ts'
import type { RunStatus } from '../../core/model/run.ts'
import { toCount, toSwitch, toText } from '../../server/config/option-values.ts'
import { defineCommand } from '../command.ts'
import { DONE } from '../exit-codes.ts'
import type { CommandIo } from '../io.ts'
import { Screen } from '../terminal/screen.ts'
import { isInteractive, type Style, styleOf } from '../terminal/style.ts'
import { tableLines } from '../terminal/table.ts'
import { duration, inOneLine } from '../terminal/text.ts'
import { type Target, targetOptions } from '../target/target.ts'
import { withTarget } from '../target/with-target.ts'

const colours: Readonly<Record<RunStatus, keyof Style>> = {
  queued: 'dim',
  running: 'cyan',
  paused: 'yellow',
  completed: 'green',
  failed: 'red',
  cancelled: 'yellow',
  rejected: 'yellow',
}

const WATCH_MS = 1000

const PAGE_RUNS = 200

export const runs = defineCommand({
  operands: [],
  about: `Lists your runs, newest first. --watch updates the list until Ctrl-C. In a pipe, --watch prints a line when a run is
created or its status changes.`,
  examples: [
    { command: 'holdfast runs --status running,paused', description: 'unfinished runs' },
    { command: 'holdfast runs --component publish --watch', description: 'runs of one component, live' },
    { command: 'holdfast runs --status paused --version 2.1.0', description: 'paused runs of one version' },
    { command: 'holdfast runs --json | jq .id', description: 'one run per line' },
  ],
  options: {
    ...targetOptions,
    component: { value: 'ID', parse: toText, help: 'Only runs of this component.' },
    session: { value: 'ID', parse: toText, help: 'Only runs of this session.' },
    status: {
      value: 'STATUSES',
      parse: toStatuses,
      help: `Only runs with one of these statuses, separated by commas: ${Object.keys(colours).join(', ')}.`,
    },
    version: {
      value: 'VERSION',
      parse: toText,
      help: 'Only runs last executed by this version of their component.',
    },
    limit: { value: 'N', fallback: '20', parse: toCount(1, 10_000), help: 'Maximum number of runs.' },
    watch: { fallback: 'false', parse: toSwitch, help: 'Update the list until Ctrl-C.' },
    json: { fallback: 'false', parse: toSwitch, help: 'Print one JSON object per run.' },
  },
  run: ({ values, operands: _none }, io) =>
    withTarget(values, io.env, async (target) => {
      const { component, session, status, version, limit, watch, json } = values
      const filter: RunFilter = {
        ...(component !== undefined && { component }),
        ...(session !== undefined && { session }),
        ...(status !== undefined && { status }),
        ...(version !== undefined && { version }),
      }
      const list = (): Promise<RunInfo[]> => newestRuns(target, filter, limit)
      if (watch) return watchRuns(list, io, json)
      const found = await list()
      if (json) for (const each of found) io.stdout.write(`${JSON.stringify(each)}\n`)
      else if (found.length > 0) io.stdout.write(`${rows(found, styleOf(io.stdout, io.env)).join('\n')}\n`)
      else io.stderr.write('No runs found. Start one with  holdfast run COMPONENT "INPUT"\n')
      return DONE
    }),
})

async function newestRuns({ client }: Target, filter: RunFilter, limit: number): Promise<RunInfo[]> {
  const found: RunInfo[] = []
  let cursor: string | undefined
  do {
    const page = await client.runs.list({
      ...filter,
      limit: Math.min(PAGE_RUNS, limit - found.length),
      ...(cursor !== undefined && { cursor }),
    })
    found.push(...page.runs)
    cursor = page.cursor
  } while (cursor !== undefined && found.length < limit)
  return found
}

function rows(found: readonly RunInfo[], style: Style): string[] {
  const [head, ...lines] = tableLines([
    ['RUN', 'COMPONENT', 'STATUS', 'STARTED', 'TOOK', 'EVENTS', ''],
    ...found.map((run) => [
      run.id,
      inOneLine(run.version === undefined ? run.component : `${run.component}@${run.version}`, 30),
      style[colours[run.status]](run.status),
      `${duration(Date.now() - Date.parse(run.createdAt))} ago`,
      durationText(run),
      String(run.events),
      style.dim(reasonText(run)),
    ]),
  ])
  return [style.bold(head!), ...lines]
}

function durationText({ startedAt, finishedAt }: RunInfo): string {
  if (startedAt === undefined) return '–'
  return duration((finishedAt === undefined ? Date.now() : Date.parse(finishedAt)) - Date.parse(startedAt))
}

function reasonText({ error, waiting, reason }: RunInfo): string {
  if (error !== undefined) return inOneLine(`${error.code}: ${error.message}`, 60)
  return inOneLine(waiting?.[0]?.prompt ?? reason ?? '', 60)
}

async function watchRuns(list: () => Promise<RunInfo[]>, io: CommandIo, json: boolean): Promise<number> {
  const aborted = new AbortController()
  const leave = (): void => aborted.abort()
  process.once('SIGINT', leave)
  const style = styleOf(io.stdout, io.env)
  const screen = json || !isInteractive(io.stdout, io.env) ? undefined : new Screen(io.stdout)
  let known: ReadonlyMap<string, RunStatus> = new Map()
  try {
    while (!aborted.signal.aborted) {
      const found = await list()
      if (screen !== undefined) screen.draw([], rows(found, style).slice(0, screen.rows))
      for (const run of screen === undefined ? found.toReversed() : []) {
        if (known.get(run.id) === run.status) continue
        io.stdout.write(
          json
            ? `${JSON.stringify(run)}\n`
            : `${run.id} ${run.component} ${run.status} ${reasonText(run)}`.trimEnd() + '\n',
        )
      }
      known = new Map(found.map(({ id, status }) => [id, status]))
      await wait(WATCH_MS, undefined, { signal: aborted.signal }).catch(() => {}) // the loop sees the abort
    }
    if (screen !== undefined) io.stdout.write('\n')
    return DONE
  } finally {
    process.off('SIGINT', leave)
  }
}

function toStatuses(text: string): RunStatus[] {
  return text.split(',').map((status) => {
    if (Object.hasOwn(colours, status)) return status as RunStatus
    throw new Error(`${JSON.stringify(status)} is not a status: use ${Object.keys(colours).join(', ')}`)
  })
}
