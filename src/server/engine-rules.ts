/** Rules for the options that `createServer` and `holdfast()` share. */
import {
  aBoolean,
  aFunction,
  aList,
  anAmount,
  anObject,
  anything,
  type OptionRule,
  type OptionRules,
  optionsOf,
} from '../core/model/check-options.ts'
import { defaultLimits } from '../core/model/limits.ts'
import type { EngineOptions } from './engine-options.ts'

const limitsRule: OptionRule = optionsOf(Object.fromEntries(Object.keys(defaultLimits).map((name) => [name, anAmount])))

/** Such as a store or a logger: an instance of a class, or a function with properties. */
const aService: OptionRule = {
  expected: 'an object',
  check: (value) => (typeof value === 'object' || typeof value === 'function') && value !== null,
}

/** An address or an open store. */
export const aStore: OptionRule = {
  expected: 'an address, such as "sqlite:runs.db", or a store',
  check: (value) => typeof value === 'string' || aService.check(value),
}

export const engineRules: OptionRules<EngineOptions> = {
  components: aList,
  store: aService,
  // They have more specific checks of their own.
  protocols: anything,
  basePath: anything,
  auth: aService,
  authenticate: aFunction,
  audit: aFunction,
  corsOrigins: aList,
  corsLoopback: aBoolean,
  secretKeys: aList,
  allowedHosts: aList,
  trustProxy: aList,
  a2a: anObject,
  streamWebhooks: {
    expected: 'true, false or an object',
    check: (value) => aBoolean.check(value) || anObject.check(value),
  },
  supervised: aBoolean,
  limits: limitsRule,
  retention: anObject,
  redact: anObject,
  logger: aService,
  clock: aService,
  ids: aService,
  handleUncaught: aBoolean,
}
