/** The HTML page. Loads the agents with the key that a person enters, and shows all their output as text. */
export function docsPage(nonce: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Agents</title>
<style nonce="${nonce}">${STYLE}</style>
</head>
<body>
<header><h1>Agents</h1><p>Every agent of this server, as <a href="https://a2a-protocol.org">A2A</a> describes it.</p></header>
<form id="login" hidden><label>API key <input id="key" type="password" autocomplete="off"></label> <button>Show the agents</button></form>
<p id="problem" role="alert"></p>
<main id="agents" aria-live="polite"></main>
<button id="more" hidden>More agents</button>
<script type="module" nonce="${nonce}">${SCRIPT}</script>
</body>
</html>
`
}

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 56rem; margin: 2rem auto; padding: 0 1rem }
article { border: 1px solid #8886; border-radius: .5rem; padding: 0 1.25rem 1rem; margin: 1rem 0 }
code, pre, textarea { font-family: ui-monospace, monospace; font-size: .875rem }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #8881; padding: .75rem; border-radius: .25rem; max-height: 24rem; overflow: auto }
textarea { width: 100%; box-sizing: border-box }
#problem:empty { display: none }
`

/** Uses plain DOM calls, so that an agent's output is never interpreted as markup. */
const SCRIPT = `
const $ = (id) => document.getElementById(id)
const element = (name, text = '', children = []) => {
  const made = document.createElement(name)
  made.textContent = text
  made.append(...children)
  return made
}
const headers = () => ($('key').value === '' ? {} : { authorization: 'Bearer ' + $('key').value })

async function show(offset = 0) {
  const response = await fetch(location.pathname.replace(/\\/$/, '') + '/agents?offset=' + offset, { headers: headers() })
  $('login').hidden = response.status !== 401
  $('problem').textContent = response.ok || response.status === 401 ? '' : 'The server responded with status ' + response.status
  const { agents, next } = response.ok ? await response.json() : { agents: [] }
  if (offset === 0) $('agents').replaceChildren()
  $('agents').append(...agents.map(shown))
  $('more').hidden = next === undefined
  $('more').onclick = () => show(next)
}

function shown(card) {
  const skills = card.skills.map((skill) =>
    element('li', skill.name + ': ' + skill.description + ' (' + skill.tags.join(', ') + ')'))
  const interfaces = card.supportedInterfaces.map(({ url, protocolBinding, protocolVersion }) =>
    element('li', protocolBinding + ' ' + protocolVersion + ': ', [element('code', url)]))
  const address = card.supportedInterfaces.find((each) => each.protocolBinding === 'JSONRPC' && each.protocolVersion === '1.0').url
  return element('article', '', [
    element('h2', card.name),
    element('p', card.description),
    element('p', 'Version ' + card.version + ', ' + (card.capabilities.streaming ? 'streaming' : 'without streaming')),
    element('h3', 'Skills'), element('ul', '', skills),
    element('h3', 'Addresses'), element('ul', '', interfaces),
    trial(card, new URL(new URL(address).pathname, location.origin)),
  ])
}

function trial(card, url) {
  const text = element('textarea')
  text.rows = 2
  text.setAttribute('aria-label', 'Message to ' + card.name)
  const output = element('pre')
  output.hidden = true
  const button = element('button', 'Send')
  const form = element('form', '', [element('h3', 'Try it'), text, button, output])
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    button.disabled = true
    output.hidden = false
    output.textContent = ''
    try {
      await send(url, card.capabilities.streaming, text.value, (line) => output.append(line + '\\n'))
    } catch (cause) {
      output.append(String(cause))
    }
    button.disabled = false
  })
  return form
}

async function send(url, streaming, text, print) {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] }
  const method = streaming ? 'SendStreamingMessage' : 'SendMessage'
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...headers() },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { message } }),
  })
  let rest = ''
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + piece).split('\\n')
    rest = lines.pop()
    for (const line of lines) if (line.startsWith('data:')) print(line.slice(5).trim())
  }
  if (rest !== '') print(rest)
}

$('login').addEventListener('submit', (event) => {
  event.preventDefault()
  show()
})
show()
`
