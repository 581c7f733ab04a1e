/** The version of this package, equal to its manifest: the release script writes both. A bundle has no manifest. */
export const version: string = '0.2.0'
