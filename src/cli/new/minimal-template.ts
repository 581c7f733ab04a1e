/** One agent with one tool, served by the command line. */
import type { Template } from './project.ts'
import { AGENTS, curl, GITIGNORE, NODE_TSCONFIG, packageJson, readme } from './shared-files.ts'

export const minimalFiles: Template = (name, versions) => ({
  'package.json': packageJson(name, versions, { scripts: { start: 'holdfast serve agents.ts', check: 'tsc' } }),
  'tsconfig.json': NODE_TSCONFIG,
  '.gitignore': GITIGNORE,
  'agents.ts': AGENTS,
  'README.md': readme(name, versions, {
    about:
      'An agent with a tool, served by Holdfast: every run is a durable log, which outlives connections and the server itself.',
    start: ['npm start'],
    try: curl('localhost:7777'),
    files: '`agents.ts` has the agent and its tool. `npm run check` checks its types; there is no build step.',
  }),
})
