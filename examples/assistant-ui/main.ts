/**
 * A page of assistant-ui with a chat that survives a reload and `kill -9` of its server, and waits for an approval across both.
 * The model is scripted and needs no key; use any AI SDK model in its place.
 *
 * Run it: node --conditions=holdfast-source examples/assistant-ui/main.ts [PORT]
 * The first start installs the packages of page/. Open the address, send a message, kill the server and start it again.
 * Expect: the page goes on where it was, without a gap or a repeat.
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tool } from 'ai'
import { agent, holdfast } from 'holdfast'
import { scriptedModel } from 'holdfast/ai'
import { build, preview } from 'vite'
import { z } from 'zod'

const [, , port = '7788'] = process.argv
const page = join(import.meta.dirname, 'page')

const bank = agent({
  id: 'bank',
  recovery: 'resume',
  tools: {
    send: tool({ inputSchema: z.object({ amount: z.number() }), needsApproval: true, execute: ({ amount }) => amount }),
  },
  model: scriptedModel({
    wordsPerSecond: 2,
    script: ({ results }) =>
      results.length === 0
        ? [
            'I will send 25 to Ada as soon as you say so: this needs your approval, and it can wait for it. ',
            { type: 'tool', name: 'send', input: { amount: 25 } },
          ]
        : 'It is sent. The answer was written to the log before it came here, so a kill loses none of it.',
  }),
})

if (!existsSync(join(page, 'node_modules')))
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--no-package-lock'], { cwd: page, stdio: 'inherit' })
const holdfastForPages = fileURLToPath(import.meta.resolve('holdfast/ai-sdk'))
await build({
  root: page,
  configFile: false,
  logLevel: 'error',
  resolve: { alias: { 'holdfast/ai-sdk': holdfastForPages } },
  build: { target: 'es2024', chunkSizeWarningLimit: 2000 },
})

const hf = holdfast({
  components: [bank],
  store: `sqlite:${process.env['DATABASE'] ?? '.holdfast/assistant-ui.db'}`,
  protocols: { 'ai-sdk': '/api/chat' },
})
await hf.ready() // continues runs that a crash interrupted

await preview({
  root: page,
  configFile: false,
  logLevel: 'warn',
  preview: { host: '127.0.0.1', port: Number(port), strictPort: true },
  plugins: [{ name: 'holdfast', configurePreviewServer: ({ middlewares }) => void middlewares.use(hf.node) }],
})
console.log(`listening at http://127.0.0.1:${port}`)
