/** Says what to do when this Node is too old. Runs on that old Node, so it imports nothing and uses nothing new. */

/** `node:sqlite` without a flag, and TypeScript that runs without a build step. */
const NEEDED = [22, 18] as const

/** What to tell the user, or undefined when the version is good: `checkNodeVersion(process.versions.node)`. */
export function checkNodeVersion(version: string): string | undefined {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  const isEnough = major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])
  if (isEnough) return undefined
  return `holdfast needs Node ${NEEDED.join('.')} or newer; this is ${version}. Get a current one from https://nodejs.org.`
}
