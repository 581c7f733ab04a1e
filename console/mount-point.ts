/** Path of the server below its origin, which the server writes into the page; empty at the root. */
export const basePath: string = document.querySelector<HTMLMetaElement>('meta[name="holdfast-base"]')?.content ?? ''

/** Address of the server. */
export const serverUrl: string = location.origin + basePath
