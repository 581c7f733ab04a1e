/** A strict reader of the text format of Prometheus. */

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y

/** Values by name and labels. Throws if the text is not the format: each metric has a help, a type, then its samples, once. */
export function parseMetrics(text: string): Map<string, number> {
  if (!text.endsWith('\n')) throw new Error('the last line has no end')
  const values = new Map<string, number>()
  const seen = new Set<string>()
  let current = ''
  for (const line of text.slice(0, -1).split('\n')) {
    const [, kind, name = '', rest] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? []
    if (kind === 'HELP') {
      if (!NAME.test(name) || seen.has(name)) throw new Error(`not a new name: ${line}`)
      seen.add((current = name))
    } else if (kind === 'TYPE') {
      const type = name.endsWith('_total') ? 'counter' : 'gauge'
      if (name !== current || rest !== type) throw new Error(`not the type of ${current}: ${line}`)
    } else {
      const [, of, labels = '', value] = SAMPLE.exec(line) ?? []
      const key = `${of}{${parseLabels(labels).join(',')}}`.replace('{}', '')
      if (of !== current || !Number.isFinite(Number(value)) || values.has(key))
        throw new Error(`not a sample of ${current}, or its second: ${line}`)
      values.set(key, Number(value))
    }
  }
  return values
}

function parseLabels(text: string): string[] {
  const found: string[] = []
  LABEL.lastIndex = 0
  while (LABEL.lastIndex < text.length) {
    const match = LABEL.exec(text)
    if (match === null) throw new Error(`not labels: ${text}`)
    found.push(`${match[1]}=${match[2]}`)
  }
  return found
}
