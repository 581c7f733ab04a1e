/** The page of a console below a base path. It is built for the root, because the paths are known only when it is served. */

/** Paths of protocols below the mount point, without a slash at the end. */
export interface PagePaths {
  readonly native: string
  readonly console: string
  readonly a2a: string
}

/** `base`: path of the mount point, as the browser sees it. */
export function mountedPage(page: string, base: string, paths: PagePaths): string {
  const path = escapeAttribute(base + paths.console)
  return page
    .replaceAll(/\b(src|href)="\/console\//g, (_match, name: string) => `${name}="${path}/`)
    .replace(meta('base', ''), () => meta('base', base + paths.native))
    .replace(meta('console', '/console'), () => meta('console', base + paths.console))
    .replace(meta('a2a', '/a2a'), () => meta('a2a', base + paths.a2a))
}

function meta(name: string, content: string): string {
  return `<meta name="holdfast-${name}" content="${escapeAttribute(content)}"`
}

function escapeAttribute(text: string): string {
  return text.replaceAll(/[&"<>]/g, (character) => `&#${character.charCodeAt(0)};`)
}
