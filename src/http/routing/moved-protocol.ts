/** A protocol at another path than its own: the same routes, below the new path. */
import type { Protocol } from './route.ts'

/** `from` and `to` have no slash at the end; the root is empty. Routes that are not below `from` keep their path. */
export function moveProtocol(protocol: Protocol, from: string, to: string): Protocol {
  if (from === to) return protocol
  const { upgrades } = protocol
  return {
    ...protocol,
    routes: protocol.routes.flatMap((route) => movePath(route.path, from, to).map((path) => ({ ...route, path }))),
    ...(upgrades !== undefined && {
      upgrades: upgrades.flatMap((upgrade) => movePath(upgrade.path, from, to).map((path) => ({ ...upgrade, path }))),
    }),
  }
}

/** The root of a server has one spelling; a path below it has two, with and without a trailing slash. */
export function movePath(path: string, from: string, to: string): readonly string[] {
  if (path !== from && !path.startsWith(`${from}/`)) return [path]
  const moved = to + path.slice(from.length)
  return moved === `${to}/` && to !== '' && from === '' ? [to, moved] : [moved]
}
