/**
 * Scopes: what a credential may do. The service checks them before every command, so all protocols enforce the same. A principal
 * without scopes may do everything with what it owns. Only the local principal may also do what concerns the whole server.
 */
import type { ComponentKind } from '../ports/component.ts'
import { HoldfastError } from '../model/errors.ts'
import { localOwner, ownerKey, type Principal } from '../model/principal.ts'

export const actions = ['read', 'start', 'answer', 'stop', 'remove', 'edit', 'share', 'admin'] as const

/** `edit`: sessions, webhooks and other documents. `admin`: facts about the server and all its users. */
export type Action = (typeof actions)[number]

/** Resource of an action. Empty: everything that the principal owns. */
export interface Target {
  readonly run?: string
  readonly component?: string
  readonly kind?: ComponentKind | undefined
}

/** One permission. An absent field restricts nothing. */
interface Grant extends Target {
  readonly actions: readonly Action[]
}

const READ: readonly Action[] = ['read']
const WRITE: readonly Action[] = ['read', 'start', 'answer', 'stop', 'remove', 'edit', 'share']
/** The scope `run` of AgentOS: start a component, and answer, stop and see its runs. */
const RUN: readonly Action[] = ['read', 'start', 'answer', 'stop', 'edit']

const KINDS: ReadonlyMap<string, ComponentKind> = new Map([
  ['agents', 'agent'],
  ['teams', 'team'],
  ['workflows', 'workflow'],
])
const GLOBAL: ReadonlyMap<string, readonly Action[]> = new Map([
  ['runs:read', READ],
  ['runs:write', WRITE],
  ['admin', actions],
  // As AgentOS names them.
  ['agent_os:admin', actions],
  ['sessions:read', READ],
  ['sessions:write', ['read', 'edit']],
  ['sessions:delete', ['remove']],
])

const COMPONENT = /^component:(.+)$/s
const ONE_RUN = /^run:([^:]+):(read|answer|stop)$/
const AGENTOS = /^(agents|teams|workflows):(?:([^:]+):)?(read|run)$/

/** Whether a scope exists. A key with a mistyped scope would allow less than its owner thinks. */
export function isScope(scope: string): boolean {
  return GLOBAL.has(scope) || COMPONENT.test(scope) || ONE_RUN.test(scope) || AGENTOS.test(scope)
}

/** Unknown scopes grant nothing. */
function parse(scopes: readonly string[]): readonly Grant[] {
  const components = scopes.flatMap((scope) => COMPONENT.exec(scope)?.[1] ?? [])
  const grants = scopes.flatMap((scope): Grant[] => {
    const all = GLOBAL.get(scope)
    if (all !== undefined) return limited(all, components)
    const [, run, action] = ONE_RUN.exec(scope) ?? []
    if (run !== undefined) return [{ actions: [action as Action], run }]
    const [, family = '', id, verb] = AGENTOS.exec(scope) ?? []
    const kind = KINDS.get(family)
    if (kind === undefined) return []
    return [{ actions: verb === 'run' ? RUN : READ, kind, ...(id !== undefined && id !== '*' && { component: id }) }]
  })
  return grants.length === 0 ? limited(WRITE, components, []) : grants
}

/** `component:ID` restricts the other scopes to these components. Alone, it allows using them. */
function limited(allowed: readonly Action[], components: readonly string[], otherwise?: Grant[]): Grant[] {
  if (components.length === 0 || allowed === actions) return otherwise ?? [{ actions: allowed }]
  return components.map((component) => ({ actions: allowed, component }))
}

const parsed = new WeakMap<readonly string[], readonly Grant[]>()

function grantsOf(scopes: readonly string[]): readonly Grant[] {
  let grants = parsed.get(scopes)
  if (grants === undefined) parsed.set(scopes, (grants = parse(scopes)))
  return grants
}

export function permits(principal: Principal, action: Action, target: Target = {}): boolean {
  const { scopes } = principal
  if (scopes === undefined) return action !== 'admin' || ownerKey(principal) === localOwner
  return grantsOf(scopes).some(
    (grant) =>
      grant.actions.includes(action) &&
      (grant.run === undefined || grant.run === target.run) &&
      (grant.component === undefined || grant.component === target.component) &&
      (grant.kind === undefined || grant.kind === target.kind),
  )
}

/** Whether an action is allowed for some target. Used for listings, which then filter. */
export function permitsSome({ scopes }: Principal, action: Action): boolean {
  if (scopes === undefined) return true
  return grantsOf(scopes).some((grant) => grant.run === undefined && grant.actions.includes(action))
}

/** Throws `forbidden`. */
export function requirePermission(principal: Principal, action: Action, target: Target = {}): void {
  if (!permits(principal, action, target)) throw notPermitted(action, target)
}

export function notPermitted(action: Action, { component }: Target = {}): HoldfastError {
  const what = component === undefined ? '' : ` (component ${component.slice(0, 100)})`
  const needed = action === 'admin' ? 'admin' : action === 'read' ? 'runs:read' : 'runs:write'
  return new HoldfastError('forbidden', `the credential may not ${action}${what}: it needs the scope ${needed}`, {
    details: { action, scope: needed },
  })
}

/** Whether a principal is restricted to certain runs. It must not learn that others exist. */
export function isLimitedToRuns({ scopes }: Principal): boolean {
  if (scopes === undefined) return false
  const grants = grantsOf(scopes)
  return grants.length > 0 && grants.every(({ run }) => run !== undefined)
}
