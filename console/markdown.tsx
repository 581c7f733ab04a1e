/** Renders Markdown as React elements. Never injects HTML, so any text is inert. */
import { marked, type Token, type Tokens } from 'marked'
import { createElement, Fragment, memo, type ReactNode, useMemo } from 'react'

export function Markdown({ text }: { readonly text: string }) {
  const sections = useMemo(() => sectionsOf(text), [text])
  return (
    <div className="markdown">
      {sections.map((section, at) => (
        <Section key={at} text={section} />
      ))}
    </div>
  )
}

/** Memoized: while a text grows, only its last section is parsed again. */
const Section = memo(function Section({ text }: { readonly text: string }) {
  return <>{blocks(marked.lexer(text))}</>
})

const SECTION_CHARS = 4000

/** Splits a long text at blank lines, but not inside fenced code. */
function sectionsOf(text: string): string[] {
  if (text.length <= SECTION_CHARS * 2) return [text]
  const sections: string[] = []
  let start = 0
  while (text.length - start > SECTION_CHARS) {
    const cut = cutAfter(text, start)
    if (cut === undefined) break
    sections.push(text.slice(start, cut))
    start = cut
  }
  return [...sections, text.slice(start)]
}

/** End of the section that starts at `start`; undefined if it is the last one. */
function cutAfter(text: string, start: number): number | undefined {
  const limit = start + SECTION_CHARS * 5
  let cut = text.indexOf('\n\n', start + SECTION_CHARS)
  while (cut >= 0 && cut < limit && isInFence(text.slice(start, cut))) cut = text.indexOf('\n\n', cut + 2)
  if (cut >= 0 && cut < limit) return cut + 2
  if (text.length < limit) return undefined
  // An extremely long paragraph is split at a word boundary.
  const word = text.lastIndexOf(' ', limit)
  return word > start ? word + 1 : limit
}

function isInFence(text: string): boolean {
  return (text.match(/^ {0,3}(```|~~~)/gm) ?? []).length % 2 === 1
}

function blocks(tokens: readonly Token[] = []): ReactNode {
  return tokens.map((token, at) => <Fragment key={at}>{block(token)}</Fragment>)
}

function block(token: Token): ReactNode {
  switch (token.type) {
    case 'paragraph':
      return <p>{inlines(token.tokens)}</p>
    case 'heading':
      // The page has headings of its own above these.
      return createElement(`h${Math.min(6, (token as Tokens.Heading).depth + 2)}`, null, inlines(token.tokens))
    case 'code':
      return (
        <pre tabIndex={0}>
          <code>{(token as Tokens.Code).text}</code>
        </pre>
      )
    case 'blockquote':
      return <blockquote>{blocks(token.tokens)}</blockquote>
    case 'list':
      return list(token as Tokens.List)
    case 'table':
      return table(token as Tokens.Table)
    case 'hr':
      return <hr />
    case 'space':
    case 'def':
      return null
    case 'text':
      return token.tokens === undefined ? decoded((token as Tokens.Text).text) : inlines(token.tokens)
    case 'checkbox':
      return <input type="checkbox" checked={(token as Tokens.Checkbox).checked} disabled readOnly aria-label="done" />
    default:
      return <p>{token.raw}</p>
  }
}

function list({ ordered, start, items }: Tokens.List): ReactNode {
  const rows = items.map((item, at) => <li key={at}>{blocks(item.tokens)}</li>)
  return ordered ? <ol start={Number(start) || 1}>{rows}</ol> : <ul>{rows}</ul>
}

function table({ header, rows }: Tokens.Table): ReactNode {
  return (
    <div className="table-scroll" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {header.map((cell, at) => (
              <th key={at}>{inlines(cell.tokens)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, column) => (
                <td key={column}>{inlines(cell.tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function inlines(tokens: readonly Token[] = []): ReactNode {
  return tokens.map((token, at) => <Fragment key={at}>{inline(token)}</Fragment>)
}

function inline(token: Token): ReactNode {
  switch (token.type) {
    case 'strong':
      return <strong>{inlines(token.tokens)}</strong>
    case 'em':
      return <em>{inlines(token.tokens)}</em>
    case 'del':
      return <del>{inlines(token.tokens)}</del>
    case 'codespan':
      return <code>{(token as Tokens.Codespan).text}</code>
    case 'br':
      return <br />
    case 'link':
      return <OuterLink href={(token as Tokens.Link).href}>{inlines(token.tokens)}</OuterLink>
    case 'image': {
      const { href, text } = token as Tokens.Image
      return isImageData(href) ? <img src={href} alt={text} /> : <OuterLink href={href}>{text || href}</OuterLink>
    }
    case 'escape':
      return (token as Tokens.Escape).text
    case 'text':
      return token.tokens === undefined ? decoded((token as Tokens.Text).text) : inlines(token.tokens)
    case 'checkbox':
      return block(token)
    default:
      return token.raw
  }
}

/** Links only to web and mail addresses; other schemes are shown as text. */
export function OuterLink({ href, children }: { readonly href: string; readonly children: ReactNode }) {
  const protocol = URL.canParse(href) ? new URL(href).protocol : ''
  if (!['http:', 'https:', 'mailto:'].includes(protocol)) return <span title={href}>{children}</span>
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  )
}

export function isImageData(href: string): boolean {
  return /^data:image\/(png|jpeg|gif|webp|avif);base64,[a-z0-9+/=]+$/i.test(href)
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&nbsp;': '\u00a0',
}

function decoded(text: string): string {
  return text.replaceAll(/&(amp|lt|gt|quot|#39|nbsp);/g, (entity) => ENTITIES[entity] ?? entity)
}
