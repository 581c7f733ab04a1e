/**
 * Runs the official A2A compatibility kit against this server (row 8 of the interop matrix): `npm run tck -- --tck <checkout>`, with a
 * checkout of a2aproject/a2a-tck. Its branch determines the tested version: `1.0-dev` for 1.0, `0.3.x` for 0.3.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { type AddressInfo, createServer as createSocket } from 'node:net'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { createServer } from '../src/server/create-server.ts'
import { createMemoryStore } from '../src/stores/memory.ts'
import { legacyTckAgent, tckAgent, tckOptions } from '../test/protocols/a2a/tck-agent.ts'

const { values } = parseArgs({
  options: {
    tck: { type: 'string' },
    /** Python with the kit's packages, including pytest. */
    python: { type: 'string', default: 'python3' },
    transports: { type: 'string' },
    /** Enables pushes, to loopback addresses. */
    push: { type: 'boolean', default: false },
    /** Only the options that a server has by default; `--push` is on by default on the command line. */
    defaults: { type: 'boolean', default: false },
  },
})
if (values.tck === undefined)
  throw new Error('the kit is missing: use npm run tck -- --tck <checkout of a2aproject/a2a-tck>')
const kit = resolve(values.tck)
const isCurrent = existsSync(join(kit, 'tests/compatibility'))

/** Tests of the 0.3 kit that are wrong, with the reason. */
const defectsOfLegacyKit: Readonly<Record<string, string>> = {
  'jsonrpc/test_a2a_error_codes_enhanced.py::test_push_notification_not_supported_error_32003_enhanced':
    'it wants pushes to be refused by an agent that declares them',
  'quality/test_error_validation_enhanced.py::test_invalid_method_error_validation':
    'it sends a whole request as the name of the method, and wants that to be a method that is not found',
  'security/test_agent_card_security.py::test_sensitive_information_protection':
    'it takes a loopback address in a card for a secret',
  'transport/test_multi_transport_equivalence.py::test_agent_card_access_equivalence':
    'it asks for the extended card of an agent that declares none',
}

/** Further ones if only gRPC is tested. */
const defectsOverGrpc: Readonly<Record<string, string>> = {
  'jsonrpc/test_a2a_error_codes.py::test_push_notification_not_supported_error_32003':
    'it sends JSON-RPC with a client that has no such call',
  'protocol/test_a2a_v030_new_methods.py::TestTasksList::test_tasks_list_with_existing_tasks':
    'it gives a text to its own function that takes a message, before it asks for a list that 0.3 over gRPC has not',
}

const defects = { ...defectsOfLegacyKit, ...(values.transports === 'grpc' && defectsOverGrpc) }

const grpcPort = await freePort()
const server = await createServer({
  components: [tckAgent, legacyTckAgent],
  store: createMemoryStore(),
  a2a: isCurrent
    ? {
        ...(values.defaults ? { defaultComponent: tckAgent.id } : tckOptions),
        push: values.push && { loopback: true },
        grpcPort,
      }
    : {
        defaultComponent: legacyTckAgent.id,
        push: { loopback: true },
        grpcPort,
        // The kit expects an HTTP address and uses its host and port.
        grpcUrl: `http://127.0.0.1:${grpcPort}`,
      },
})
const current = [
  'tests/compatibility/',
  `--sut-host=${server.url}`,
  `--transport=${values.transports ?? 'grpc,jsonrpc,http_json'}`,
]
const legacy = [
  'tests/mandatory',
  'tests/optional/capabilities',
  '--test-scope=all',
  `--sut-url=${server.url}/a2a/${legacyTckAgent.id}`,
  `--transports=${values.transports ?? 'jsonrpc,rest,grpc'}`,
  ...Object.keys(defects).map((test) => `--deselect=tests/mandatory/${test}`),
]
const suite = isCurrent ? current : legacy
if (!isCurrent) for (const [test, defect] of Object.entries(defects)) console.log(`left out, ${defect}: ${test}`)
const kitProcess = spawn(values.python, ['-m', 'pytest', ...suite, '-q', '-p', 'no:cacheprovider', '--tb=line'], {
  cwd: kit,
  stdio: 'inherit',
  env: { TCK_STREAMING_TIMEOUT: '2', ...process.env },
})
process.exitCode = await new Promise<number>((done, fail) => {
  kitProcess.once('error', fail)
  kitProcess.once('close', (code) => done(code ?? 1))
})
await server.close()

async function freePort(): Promise<number> {
  const socket = createSocket().listen(0, '127.0.0.1')
  await new Promise((done) => socket.once('listening', done))
  const { port } = socket.address() as AddressInfo
  await new Promise((done) => socket.close(done))
  return port
}
