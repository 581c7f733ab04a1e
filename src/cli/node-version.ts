/**
 * Tells the user what to do if Node is too old. An old Node executes this file, so it imports nothing, uses nothing new and has no
 * type annotations: `main.mjs` loads it as JavaScript.
 */

/** `node:sqlite` without a flag, and TypeScript that runs without a build step. */
const NEEDED_MAJOR = 22
const NEEDED_MINOR = 18

/** The message for the user, or undefined if the version is supported. */
export function checkNodeVersion(version = process.versions.node) {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  const isEnough = major > NEEDED_MAJOR || (major === NEEDED_MAJOR && minor >= NEEDED_MINOR)
  if (isEnough) return undefined
  return `holdfast needs Node ${NEEDED_MAJOR}.${NEEDED_MINOR} or newer; this is ${version}. Install a current version from https://nodejs.org.`
}
