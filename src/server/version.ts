/** The version of this package, as in its manifest: the release script writes both. A bundle has no manifest. */
export const version: string = '0.2.0'
