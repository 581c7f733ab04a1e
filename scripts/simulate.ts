/** `npm run simulate`: runs deterministic simulations, or replays one by seed. See docs/simulation.md. */
import { main } from '../test/simulation/main.ts'

process.exitCode = await main(process.argv.slice(2))
