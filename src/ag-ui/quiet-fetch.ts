/** A `fetch` for AG-UI's client. That client cancels connections that have already failed and leaves the rejection unhandled. */

type Fetch = (url: string, init: RequestInit) => Promise<Response>

export function quietFetch(base: Fetch = (url, init) => fetch(url, init)): Fetch {
  return async (url, init) => {
    const response = await base(url, init)
    const { body } = response
    if (!response.ok || body === null) return response
    // The client only uses `getReader`.
    const quiet = { getReader: () => quietReader(body.getReader()) }
    return Object.defineProperty(response, 'body', { value: quiet })
  }
}

function quietReader(reader: ReadableStreamDefaultReader<Uint8Array>): Pick<typeof reader, 'read' | 'cancel'> {
  return {
    read: () => reader.read(),
    cancel: (reason) => reader.cancel(reason).catch(() => undefined), // `read` has reported it
  }
}
