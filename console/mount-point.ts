/** Paths below the origin, which the server writes into the page. */

/** Path of the native protocol; empty at the root. */
const nativePath = contentOf('holdfast-base') ?? ''

/** Path of the console itself. */
export const consolePath: string = contentOf('holdfast-console') ?? '/console'

/** Path of the A2A protocol, for the dead letters of its pushes. */
export const a2aPath: string = contentOf('holdfast-a2a') ?? '/a2a'

/** Address of the native protocol. */
export const serverUrl: string = location.origin + nativePath

function contentOf(name: string): string | undefined {
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content
}
