/** The words of the scripted model, one by one; throws when the model's connection breaks. */
export async function* wordsOf(model, script) {
  const body = JSON.stringify({ model: 'scripted', stream: true, messages: [{ role: 'user', content: script }] })
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${model}/chat/completions`, { method: 'POST', headers, body })
  let rest = ''
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const frames = (rest + text).split('\n\n')
    rest = frames.pop()
    for (const frame of frames) {
      if (frame === 'data: [DONE]') return
      const { delta } = JSON.parse(frame.slice('data: '.length)).choices[0]
      if (delta.content) yield delta.content
    }
  }
}

export async function jsonOf(request) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString())
}

export function answer(response, status, body) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
