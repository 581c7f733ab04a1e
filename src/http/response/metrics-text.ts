/** Writes metrics in the text format of Prometheus, version 0.0.4. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export type Labels = Readonly<Record<string, string>>

export interface Sample {
  readonly labels?: Labels
  readonly value: number
}

export class MetricsText {
  readonly #lines: string[] = []

  /** One value, or one per set of labels. A metric without values is left out. */
  gauge(name: string, help: string, samples: number | readonly Sample[]): void {
    this.#add(name, 'gauge', help, samples)
  }

  /** The name must end with `_total`. */
  counter(name: `${string}_total`, help: string, samples: number | readonly Sample[]): void {
    this.#add(name, 'counter', help, samples)
  }

  toString(): string {
    return this.#lines.map((line) => `${line}\n`).join('')
  }

  #add(name: string, type: string, help: string, given: number | readonly Sample[]): void {
    const samples = typeof given === 'number' ? [{ value: given }] : given
    if (samples.length === 0) return
    this.#lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`)
    for (const { labels, value } of samples) this.#lines.push(`${name}${encodeLabels(labels)} ${value}`)
  }
}

function encodeLabels(labels: Labels = {}): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escape(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escape(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
