/** A page of React and Vite, and a Hono server with agents behind it. */
import { PAGE, REACT_PACKAGES } from './page.ts'
import type { Template } from './project.ts'
import { bundlerTsconfig, GITIGNORE, MOUNTED_AGENTS, packageJson, readme } from './shared-files.ts'

const VITE_CONFIG = `import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  plugins: [
    react(),
    {
      name: 'agents',
      async configureServer({ middlewares }) {
        const { hf } = await import('./agents.ts')
        await hf.ready() // continues runs that a crash interrupted
        middlewares.use('/api/agents', hf.node)
      },
    },
  ],
})
`

const SERVER = `import { serve } from '@hono/node-server'
import { serveStatic } from '@hono/node-server/serve-static'
import { Hono } from 'hono'
import { hf } from './agents.ts'

await hf.ready() // continues runs that a crash interrupted

const app = new Hono()
app.mount('/api/agents', hf.fetch)
app.use('*', serveStatic({ root: './dist' }))

const port = Number(process.env.PORT ?? 3000)
serve({ fetch: app.fetch, port }, () => console.log(\`listening at http://localhost:\${port}\`))
`

const INDEX = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>My application</title>
  </head>
  <body>
    <div id="root"></div>
    <script type="module" src="/src/main.tsx"></script>
  </body>
</html>
`

const MAIN = `import { createRoot } from 'react-dom/client'
import Page from './page.tsx'

createRoot(document.getElementById('root')!).render(<Page />)
`

export const reactFiles: Template = (name, versions) => ({
  'package.json': packageJson(name, versions, {
    scripts: { dev: 'vite', build: 'vite build', start: 'node server.ts', check: 'tsc' },
    dependencies: { ...REACT_PACKAGES.dependencies, '@hono/node-server': '^2.0.0', hono: '^4.0.0' },
    devDependencies: { ...REACT_PACKAGES.devDependencies, '@vitejs/plugin-react': '^6.0.0', vite: '^8.0.0' },
  }),
  'tsconfig.json': bundlerTsconfig({ types: ['node'] }, ['*.ts', 'src']),
  '.gitignore': `${GITIGNORE}dist/\n`,
  'agents.ts': MOUNTED_AGENTS,
  'server.ts': SERVER,
  'vite.config.ts': VITE_CONFIG,
  'index.html': INDEX,
  'src/main.tsx': MAIN,
  'src/page.tsx': PAGE,
  'README.md': readme(name, versions, {
    about:
      'A page of React with an agent behind it. Its runs outlive connections and the server itself: kill it during a run and start it again.',
    start: ['npm run dev'],
    try: 'Open http://localhost:5173.',
    files:
      '`agents.ts` has the agent and its tool, `src/page.tsx` the page. The console is at `/api/agents/console`. For production: `npm run build` and `npm start`. `npm run check` checks types.',
  }),
})
