/** Program with arguments STORE OWNER: forgets a principal, and kills itself (kill -9) when the first runs are removed. */
import { configOptions } from '../../../src/server/config/config-options.ts'
import { forgetPrincipal } from '../../../src/server/store/forget.ts'
import { openStore } from '../../../src/server/store/open-store.ts'

const [address = '', owner = ''] = process.argv.slice(2)
const store = await openStore(configOptions.store.parse(address))
await forgetPrincipal(store, owner, {
  dryRun: false,
  stop: false,
  onProgress: ({ runs }) => runs > 0 && process.kill(process.pid, 'SIGKILL'),
})
