/** What the example uses of Bun's own types, which are in the package `@types/bun`. */
declare const Bun: {
  serve(options: {
    readonly hostname: string
    readonly port: number
    readonly idleTimeout: number
    fetch(request: Request, server: BunServer): Response | Promise<Response>
  }): BunServer
}

interface BunServer {
  requestIP(request: Request): { readonly address: string } | null
}
