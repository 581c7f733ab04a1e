import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { localPrincipal, type Principal } from '../model/principal.ts'
import { type Action, actions, isLimitedToRuns, isScope, permits, permitsSome, type Target } from './scopes.ts'

const lab: Target = { run: 'run_1', component: 'lab', kind: 'agent' }
const desk: Target = { run: 'run_2', component: 'desk', kind: 'team' }

function allowed(scopes: readonly string[] | undefined, target: Target): Action[] {
  const principal: Principal = { id: 'alice', ...(scopes !== undefined && { scopes }) }
  return actions.filter((action) => permits(principal, action, target))
}

const use = ['read', 'start', 'answer', 'stop', 'remove', 'edit', 'share']

describe('credential scopes', () => {
  test.each<[readonly string[] | undefined, Target, readonly string[]]>([
    [undefined, lab, use],
    [[], lab, []],
    [['runs:read'], lab, ['read']],
    [['runs:write'], lab, use],
    [['admin'], lab, actions],
    [['component:lab'], lab, use],
    [['component:lab'], desk, []],
    [['runs:read', 'component:lab'], lab, ['read']],
    [['runs:read', 'component:lab'], desk, []],
    [['admin', 'component:lab'], desk, actions],
    [['run:run_1:read', 'run:run_1:stop'], lab, ['read', 'stop']],
    [['run:run_1:read', 'run:run_1:stop'], desk, []],
    [['run:run_1:start'], lab, []],
    // As AgentOS names them.
    [['agent_os:admin'], desk, actions],
    [['agents:read'], lab, ['read']],
    [['agents:run'], lab, ['read', 'start', 'answer', 'stop', 'edit']],
    [['agents:run'], desk, []],
    [['agents:lab:run'], lab, ['read', 'start', 'answer', 'stop', 'edit']],
    [['agents:other:run'], lab, []],
    [['agents:*:read', 'teams:desk:run'], desk, ['read', 'start', 'answer', 'stop', 'edit']],
    [['agents:*:read', 'teams:desk:run'], lab, ['read']],
    [['sessions:delete'], lab, ['remove']],
    // Unknown ones grant nothing.
    [['openid', 'memories:read', 'agents:write', 'runs', 'constructor', '__proto__'], lab, []],
  ])('%j allow exactly what they name, for %j', (scopes, target, expected) => {
    expect(allowed(scopes, target)).toEqual(expected)
  })

  test('are not needed by the local principal for the server as a whole', () => {
    expect(permits(localPrincipal, 'admin')).toBe(true)
    expect(permits({ id: 'local', tenant: 'acme' }, 'admin')).toBe(false)
    expect(permits({ id: 'alice' }, 'admin')).toBe(false)
  })

  test('a scope for one run or component allows nothing on all of them', () => {
    const one = { id: 'alice', scopes: ['run:run_1:read'] }
    expect([permits(one, 'read'), permitsSome(one, 'read'), isLimitedToRuns(one)]).toEqual([false, false, true])
    const component = { id: 'alice', scopes: ['component:lab'] }
    expect([permits(component, 'remove'), permitsSome(component, 'read'), isLimitedToRuns(component)]).toEqual([
      false,
      true,
      false,
    ])
  })

  test('unknown scopes allow nothing, whatever other scopes there are', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (texts) => {
        const unknown = texts.filter((text) => !isScope(text))
        expect(allowed(unknown, lab)).toEqual([])
        expect(allowed([...unknown, 'runs:read'], lab)).toEqual(['read'])
      }),
    )
  })
})
