/** Retention periods by component, tenant and principal. */
import { principalOf } from '../../core/model/principal.ts'

/** Periods in milliseconds that override the default; 0 keeps forever. */
export interface RetentionOverrides {
  /** By component id. */
  readonly components?: Readonly<Record<string, number>>
  /** By tenant. */
  readonly tenants?: Readonly<Record<string, number>>
  /** By principal: its id, or `tenant/id`; a `%` or `/` of the id itself is written `%25` or `%2F`. */
  readonly principals?: Readonly<Record<string, number>>
}

export class RetentionPeriods {
  readonly #defaultMs: number
  readonly #components: ReadonlyMap<string, number>
  readonly #tenants: ReadonlyMap<string, number>
  readonly #principals: ReadonlyMap<string, number>

  constructor(defaultMs: number, overrides: RetentionOverrides = {}) {
    this.#defaultMs = defaultMs
    this.#components = new Map(Object.entries(overrides.components ?? {}))
    this.#tenants = new Map(Object.entries(overrides.tenants ?? {}))
    this.#principals = new Map(Object.entries(overrides.principals ?? {}))
  }

  /** The distinct finite periods. */
  get distinct(): readonly number[] {
    const all = [this.#components, this.#tenants, this.#principals].flatMap((periods) => [...periods.values()])
    return [...new Set([this.#defaultMs, ...all])].filter((period) => period > 0)
  }

  /** The shortest matching override, or the default; Infinity keeps forever. */
  of(owner: string, component: string | undefined): number {
    const { tenant } = principalOf(owner)
    const applying = [
      component === undefined ? undefined : this.#components.get(component),
      tenant === undefined ? undefined : this.#tenants.get(tenant),
      this.#principals.get(owner),
    ].filter((period) => period !== undefined)
    return Math.min(...(applying.length === 0 ? [this.#defaultMs] : applying).map(orForEver))
  }
}

function orForEver(period: number): number {
  return period === 0 ? Infinity : period
}
