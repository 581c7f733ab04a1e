/** The folder of Holdfast's own code, with a slash at its end. A module of its own, which stays in its place when the build joins modules. */
export const ownCode: URL = new URL('..', import.meta.url)
