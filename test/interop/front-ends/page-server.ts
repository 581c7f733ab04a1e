/** Serves a built page at every address without a file, and every protocol at its own path. */
import { preview } from 'vite'
import { holdfast } from '../../../src/mount/holdfast.ts'
import components from '../../browser/chat-components.ts'

const [, , folder = '', port = '', database = ''] = process.argv
const hf = holdfast({ components, store: `sqlite:${database}` })
await hf.ready()
await preview({
  root: folder,
  configFile: false,
  logLevel: 'warn',
  preview: { host: '127.0.0.1', port: Number(port), strictPort: true },
  plugins: [{ name: 'holdfast', configurePreviewServer: ({ middlewares }) => void middlewares.use(hf.node) }],
})
