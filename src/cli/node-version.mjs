/**
 * Checks the Node version. Must run on old versions, so it has no imports, no new syntax and no types;
 * `node-version.ts` is a symbolic link to it, see `main.mjs`.
 */

/** First version with `node:sqlite` and type stripping without flags. */
const NEEDED_MAJOR = 22
const NEEDED_MINOR = 18

/** Returns an error message, or undefined if the version is supported. */
export function checkNodeVersion(version = process.versions.node) {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  const isEnough = major > NEEDED_MAJOR || (major === NEEDED_MAJOR && minor >= NEEDED_MINOR)
  if (isEnough) return undefined
  return `holdfast needs Node ${NEEDED_MAJOR}.${NEEDED_MINOR} or newer; this is ${version}. Install a current version from https://nodejs.org.`
}
