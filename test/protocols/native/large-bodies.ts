/** A client in a thread of its own, so that it writes while the server responds. Reports the result of each request. */
import { request } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'

const { port, tries, bytes } = workerData as { readonly port: number; readonly tries: number; readonly bytes: number }
const AT_ONCE = 4
const body = Buffer.alloc(bytes, 'x')

/** The status of the response, or the code of the error in its place. Without keep-alive, as the server closes the connection. */
function post(): Promise<number | string | undefined> {
  return new Promise((resolve) => {
    const failed = ({ code }: NodeJS.ErrnoException): void => resolve(code)
    const headers = { 'content-type': 'application/json' }
    const sent = request({ port, path: '/runs', method: 'POST', headers, agent: false }, (response) => {
      response.resume()
      response.on('error', failed)
      response.on('end', () => resolve(response.statusCode))
    })
    sent.on('error', failed)
    sent.end(body)
  })
}

const outcomes: (number | string | undefined)[] = []
while (outcomes.length < tries) outcomes.push(...(await Promise.all(Array.from({ length: AT_ONCE }, post))))
parentPort!.postMessage(outcomes)
