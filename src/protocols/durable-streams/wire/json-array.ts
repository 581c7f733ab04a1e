/** Splits a JSON array without parsing its elements. */

/** The source texts of its elements. `text` must be a valid JSON array. */
export function splitArray(text: string): string[] {
  const elements: string[] = []
  const end = text.lastIndexOf(']')
  let start = text.indexOf('[') + 1
  let depth = 0
  for (let at = start; at < end; at++) {
    const char = text[at]
    if (char === '"') at = endOfString(text, at)
    else if (char === '[' || char === '{') depth++
    else if (char === ']' || char === '}') depth--
    else if (char === ',' && depth === 0) {
      elements.push(text.slice(start, at).trim())
      start = at + 1
    }
  }
  const last = text.slice(start, end).trim()
  return last === '' ? elements : [...elements, last]
}

/** Position of the closing quote. */
function endOfString(text: string, start: number): number {
  let at = start + 1
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at
}
