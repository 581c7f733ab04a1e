/** An AG-UI agent that attaches to its thread's current run, and stops it durably. */
import {
  type AgentCapabilities,
  HttpAgent,
  type HttpAgentConfig,
  type RunAgentInput,
  runHttpRequest,
  transformHttpEventStream,
} from '@ag-ui/client'
import { quietFetch } from './quiet-fetch.ts'

/**
 * An AG-UI agent that attaches to its thread's current run, resumes after disconnects, and stops runs durably.
 *
 * @example
 * ```ts
 * const agent = new HoldfastAgent({ url: '/ag-ui/assistant', threadId })
 * await agent.connectAgent()
 * ```
 */
export class HoldfastAgent extends HttpAgent {
  constructor(config: HttpAgentConfig) {
    super({ ...config, fetch: quietFetch(config.fetch) })
  }

  /** Attaches to the thread's current run, or shows its last one. `connectAgent()` calls it; a thread without runs gives nothing. */
  protected override connect({ threadId }: RunAgentInput): ReturnType<HttpAgent['run']> {
    const request = async (): Promise<Response> => {
      const response = await this.fetch(this.#threadUrl(threadId), {
        method: 'GET',
        headers: { ...this.headers, accept: 'text/event-stream' },
        signal: this.abortController.signal,
      })
      // A response without a body would be an error to the client.
      return response.status === 204 ? new Response('', { headers: { 'content-type': 'text/event-stream' } }) : response
    }
    return transformHttpEventStream(runHttpRequest(request), this.debugLogger)
  }

  /** Stops the thread's runs. Unlike `abortRun`, which only closes this client's connection. */
  async stop(): Promise<readonly string[]> {
    const response = await this.fetch(`${this.#threadUrl(this.threadId)}/stop`, {
      method: 'POST',
      headers: this.headers,
    })
    if (!response.ok)
      throw new Error(`the server responded with status ${response.status} to a stop: ${await response.text()}`)
    const { stopped } = (await response.json()) as { readonly stopped: readonly string[] }
    return stopped
  }

  override async getCapabilities(): Promise<AgentCapabilities> {
    const response = await this.fetch(this.url, { method: 'GET', headers: this.headers })
    if (!response.ok)
      throw new Error(`the server responded with status ${response.status} to a request for capabilities`)
    return (await response.json()) as AgentCapabilities
  }

  /** Below the agent's address, before its query. */
  #threadUrl(threadId: string): string {
    const [path = '', query] = this.url.split('?', 2)
    const url = `${path.replace(/\/$/, '')}/threads/${encodeURIComponent(threadId)}`
    return query === undefined ? url : `${url}?${query}`
  }
}
