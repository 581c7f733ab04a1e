/** The commands of docs/gateway.md, run with a real server instead of the one that the page assumes. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../served.ts'
import type { Upstream } from './upstreams.ts'

const page = readFileSync(join(root, 'docs/gateway.md'), 'utf8')

/** A start, and how the rest is read. */
const curls: Readonly<Record<Upstream['protocol'], RegExp>> = {
  agentos: /^(curl .*\/agents\/AGENT\/runs .*)\n(curl .*\/resume .*)$/m,
  openai: /^(curl .*\/v1\/chat\/completions .*)\n(curl .*)$/m,
  a2a: /^(curl .*SendStreamingMessage.*)\n(curl .*SubscribeToTask.*)$/m,
}

const RUN_ID: Readonly<Record<Upstream['protocol'], RegExp>> = {
  agentos: /"run_id": ?"([^"]+)"/,
  openai: /^holdfast-run: (\S+)/im,
  a2a: /"task": ?\{.*?"id": ?"([^"]+)"/,
}

const COMMAND_MS = 60_000
/** The model's answer to a greeting. */
const WORDS = 40
const ENOUGH = 5

/** Flags of the page's command for an upstream, with its own address. Throws if the page has none. */
export function flagsOf({ protocol, url }: Pick<Upstream, 'protocol' | 'url'>): string[] {
  const commands = [...page.matchAll(/npx holdfast gateway ([^`\n]+)`/g)].map(([, given]) => given!)
  const flags = commands.find((given) => given.startsWith(`--upstream ${protocol}=`))
  if (flags === undefined) throw new Error(`docs/gateway.md has no command for ${protocol}`)
  return flags.replace(/=http\S+/, `=${url}`).split(/\s+/)
}

/** Starts a stream, is interrupted, and reads the rest. Throws if a word is missing. */
export async function followPage({ protocol, id }: Upstream, gateway: string): Promise<void> {
  const [, first, second] = curls[protocol].exec(page) ?? []
  if (first === undefined || second === undefined) throw new Error(`docs/gateway.md shows no resume of ${protocol}`)
  const adapted = (command: string): string =>
    command.replace('http://localhost:7777', gateway).replace('AGENT', id).replace('MODEL', id)
  const begun = await run(adapted(first), (output) => wordsIn(output).size >= ENOUGH)
  const [, runId] = RUN_ID[protocol].exec(begun) ?? []
  if (runId === undefined) throw new Error(`no id of a run in:\n${begun.slice(-2000)}`)
  const rest = await run(adapted(second).replace('RUN_ID', runId), () => false)
  const words = wordsIn(begun + rest)
  if (words.size !== WORDS) throw new Error(`${words.size} of ${WORDS} words:\n${rest.slice(-2000)}`)
}

function wordsIn(output: string): Set<string> {
  return new Set(output.match(/\bw\d+\b/g))
}

/** The output of a command, which is interrupted as soon as `isEnough`. */
function run(command: string, isEnough: (output: string) => boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('bash', ['-c', `exec ${command}`], {
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: COMMAND_MS,
    })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
      if (isEnough(output)) child.kill('SIGINT')
    })
    child.once('error', reject)
    child.once('close', () => resolve(output))
  })
}
