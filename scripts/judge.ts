/**
 * `npm run judge -- --target NAME`: judges Holdfast on one of its stores, or tries faults on a peer.
 * `--target all --write` tries every peer and writes docs/comparison/faults.md.
 */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeMachine } from '../bench/machine.ts'
import { root } from './command.ts'
import { cellOf, pageOf, type PeerVerdicts, type Verdict } from './judge-page.ts'
import { type Peer, peers, runOnPeer } from './judge-peers.ts'

const STORES = ['sqlite', 'postgres', 'nats']
const { values, positionals } = parseArgs({
  options: { target: { type: 'string' }, write: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const target = values.target ?? ''
const store = STORES.find((name) => target === `holdfast-${name}`)
const chosen = target === 'all' ? peers : peers.filter(({ name }) => name === target)
if (store === undefined && chosen.length === 0) {
  const names = ['all', ...peers.map(({ name }) => name), ...STORES.map((name) => `holdfast-${name}`)]
  console.error(`--target takes one of ${names.join(', ')}`)
  process.exit(2)
}
process.exit(store === undefined ? await tryPeers() : await judgeStore(store))

/** Kills, cuts and freezes of real nodes, as `npm run faults` does; further arguments go to it. */
function judgeStore(name: string): Promise<number> {
  const program = join(root, 'test/faults/run.ts')
  const child = spawn(process.execPath, [program, '--store', name, ...positionals], { stdio: 'inherit' })
  return new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)))
}

async function tryPeers(): Promise<number> {
  const found: PeerVerdicts[] = []
  for (const peer of chosen) found.push(await tryPeer(peer))
  const about = `Measured on ${new Date().toISOString().slice(0, 10)}, ${describeMachine()}.`
  if (values.write) writeFileSync(join(root, 'docs/comparison/faults.md'), pageOf(found, about))
  const ours = found.find(({ name }) => name === 'holdfast')
  return ours?.verdicts.every(({ verdict }) => verdict === 'ok' || verdict === 'honest') === false ? 1 : 0
}

async function tryPeer(peer: Peer): Promise<PeerVerdicts> {
  const { name, title } = peer
  console.log(title)
  const verdicts: Verdict[] = []
  await runOnPeer(peer, 'judge.peers', (line) => {
    const verdict = line as Verdict
    verdicts.push(verdict)
    console.log(`  ${verdict.fault}: ${cellOf(verdict)}`)
  })
  return { name, title, versions: peer.versions(), verdicts }
}
