/** The part of Express's types that tests and examples use. */
declare module 'express' {
  import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'

  interface Request extends IncomingMessage {
    readonly baseUrl: string
    readonly originalUrl: string
  }

  interface Response extends ServerResponse {
    send(body: string): this
  }

  type Handler = (request: Request, response: Response, next: (error?: unknown) => void) => void

  interface App extends RequestListener {
    use(path: string, handler: Handler): App
    use(handler: Handler): App
    get(path: string, handler: Handler): App
    all(path: string, handler: Handler): App
    listen(port: number, listening?: () => void): Server
    listen(port: number, host: string, listening?: () => void): Server
  }

  function express(): App
  namespace express {
    function json(): Handler
  }
  export default express
}
