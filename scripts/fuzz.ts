/**
 * `npm run fuzz -- --seconds N --seed S [--target http|ws|grpc|sse|stored]`: fuzzes a running server, its parsers and its store for
 * N seconds each. A failure prints the seed and the minimal failing input; the same seed repeats the same inputs.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from './command.ts'

const targets: Readonly<Record<string, readonly string[]>> = {
  http: ['test/fuzz/http.test.ts', 'test/fuzz/raw-http.test.ts'],
  ws: ['test/fuzz/sockets.test.ts', 'test/fuzz/chat-sockets.test.ts'],
  grpc: ['test/fuzz/grpc.test.ts'],
  sse: ['test/fuzz/parsers.test.ts'],
  stored: ['test/fuzz/stored.test.ts'],
}

const SECONDS_MAX = 86_400

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, seed: { type: 'string' }, target: { type: 'string' } },
})
const seconds = Number(values.seconds)
if (!Number.isInteger(seconds) || seconds < 1 || seconds > SECONDS_MAX)
  fail(`--seconds takes a whole number from 1 to ${SECONDS_MAX}, not "${values.seconds}"`)
if (values.seed !== undefined && !/^\d{1,10}$/.test(values.seed))
  fail(`--seed takes a whole number, not "${values.seed}"`)
const { target } = values
if (target !== undefined && !Object.hasOwn(targets, target))
  fail(`--target is one of ${Object.keys(targets).join(', ')}, not "${target}"`)

const files = target === undefined ? Object.values(targets).flat() : targets[target]!
// Sequentially, because each file measures its own server.
const { status } = spawnSync(join(root, 'node_modules', '.bin', 'vitest'), ['run', '--no-file-parallelism', ...files], {
  cwd: root,
  stdio: 'inherit',
  env: {
    ...process.env,
    HOLDFAST_FUZZ_SECONDS: String(seconds),
    ...(values.seed !== undefined && { HOLDFAST_TEST_SEED: values.seed }),
  },
})
process.exit(status ?? 1)

function fail(message: string): never {
  console.error(message)
  process.exit(2)
}
