/** The page of a console below a base path. It is built for the root, because the path is known only when it is served. */

const META = '<meta name="holdfast-base" content="'

export function mountedPage(page: string, base: string): string {
  if (base === '') return page
  const shown = escapeAttribute(base)
  return page
    .replaceAll(/\b(src|href)="\/console\//g, (_match, name: string) => `${name}="${shown}/console/`)
    .replace(META, () => META + shown)
}

function escapeAttribute(text: string): string {
  return text.replaceAll(/[&"<>]/g, (character) => `&#${character.charCodeAt(0)};`)
}
