/** `npm run simulate`: runs simulated worlds, and replays one of them exactly. See docs/simulation.md. */
import { main } from '../test/simulation/main.ts'

process.exitCode = await main(process.argv.slice(2))
