/** Files that the templates share. */
import type { ProjectVersions } from './project.ts'

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

interface Manifest {
  readonly scripts: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

export function packageJson(
  name: string,
  versions: ProjectVersions,
  { scripts, dependencies = {}, devDependencies = {} }: Manifest,
): string {
  return json({
    name,
    private: true,
    type: 'module',
    scripts,
    dependencies: sorted({ ai: versions.ai, holdfast: versions.holdfast, zod: versions.zod, ...dependencies }),
    devDependencies: sorted({ '@types/node': '^24.0.0', typescript: '^7.0.0', ...devDependencies }),
    engines: { node: versions.node },
  })
}

function sorted(ranges: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(ranges).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

/** For code that Node runs without a build step. */
export const NODE_TSCONFIG: string = json({
  compilerOptions: {
    module: 'nodenext',
    target: 'es2024',
    strict: true,
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    noEmit: true,
    types: ['node'],
  },
  include: ['*.ts'],
})

/** For code that a bundler transforms. */
export function bundlerTsconfig(more: object, include: readonly string[]): string {
  return json({
    compilerOptions: {
      module: 'esnext',
      moduleResolution: 'bundler',
      target: 'es2024',
      lib: ['es2024', 'dom', 'dom.iterable'],
      jsx: 'react-jsx',
      strict: true,
      allowImportingTsExtensions: true,
      isolatedModules: true,
      skipLibCheck: true,
      noEmit: true,
      ...more,
    },
    include,
  })
}

export const GITIGNORE = 'node_modules/\n.holdfast/\n'

export const AGENTS = `import { tool } from 'ai'
import { agent } from 'holdfast'
import { idempotent, scriptedModel } from 'holdfast/ai'
import { z } from 'zod'

/** \`idempotent\`: after a crash, the tool is called again without asking. */
const time = idempotent(
  tool({
    description: 'The time of day in a time zone, such as Europe/Lisbon.',
    inputSchema: z.object({ zone: z.string() }),
    execute: ({ zone }) => new Date().toLocaleTimeString('en-GB', { timeZone: zone, timeStyle: 'short' }),
  }),
)

export const assistant = agent({
  id: 'assistant',
  instructions: 'Say what time it is where you are asked for it.',
  tools: { time },
  // Any AI SDK model works here, see README.md. This one needs no key and no network.
  model: scriptedModel({
    wordsPerSecond: 10,
    script({ turn, text, results }) {
      const zone = /[A-Z]\\w+\\/\\w+/.exec(text)?.[0] ?? 'UTC'
      if (turn === 1) return [{ type: 'tool', name: 'time', input: { zone } }]
      return \`It is \${String(results[0]?.output)} in \${zone}.\`
    },
  }),
})
`

/** `agents.ts` of templates that mount: the instance beside its agent. */
export const MOUNTED_AGENTS: string = AGENTS.replace(
  "import { agent } from 'holdfast'\n",
  "import { agent, holdfast } from 'holdfast'\n",
).concat(`
export const hf = holdfast({
  components: [assistant],
  store: 'sqlite:.holdfast/holdfast.db',
  basePath: '/api/agents',
})
`)

interface ReadmeParts {
  /** One sentence. */
  readonly about: string
  readonly start: readonly string[]
  /** What to do in the browser or another terminal. */
  readonly try: string
  readonly files: string
}

/** A command that starts a run at an address and follows it. */
export function curl(url: string): string {
  return `Ask it something, from another terminal:

\`\`\`sh
curl -N ${url}/runs -H 'accept: text/event-stream' \\
  --json '{"component":"assistant","input":"What time is it in Asia/Tokyo?"}'
\`\`\``
}

export function readme(name: string, { node }: ProjectVersions, parts: ReadmeParts): string {
  return `# ${name}

${parts.about}

Needs Node ${node.replace('>=', '')} or newer.

\`\`\`sh
npm install
${parts.start.join('\n')}
\`\`\`

${parts.try}

${parts.files}

## A real model

Install a provider of the [AI SDK](https://ai-sdk.dev), such as \`npm install @ai-sdk/openai\`, set its key
(\`OPENAI_API_KEY\`), and give the agent one of its models:

\`\`\`ts
import { openai } from '@ai-sdk/openai'

export const assistant = agent({
  id: 'assistant',
  instructions: 'Say what time it is where you are asked for it.',
  tools: { time },
  model: openai('gpt-5.4-mini'),
})
\`\`\`
`
}
