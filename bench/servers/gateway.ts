/** Holdfast as a gateway in front of the chat completions server, with durable commits. Arguments: store, URL of the upstream. */
import { upstream } from '../../src/agents/upstream/upstream.ts'
import { boundYoungGeneration } from '../../src/cli/serving/young-generation.ts'
import { configOptions } from '../../src/server/config/config-options.ts'
import { createServer } from '../../src/server/create-server.ts'
import { openStore } from '../../src/server/store/open-store.ts'
import { Gate } from '../agent.ts'
import { takeCommands } from './control.ts'

const [address, url] = process.argv.slice(2)
boundYoungGeneration() // as `holdfast gateway` does
const store = await openStore(configOptions.store.parse(address!))
const server = await createServer({ components: [upstream.openai(url!)], store, limits: { drainTimeoutMs: 0 } })
takeCommands(Number(new URL(server.url).port), new Gate(), () => server.close())
