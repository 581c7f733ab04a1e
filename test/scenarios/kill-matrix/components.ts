/** The components of the matrix servers. */
import type { Component } from '../../../src/core/ports/component.ts'
import { casesOf, componentOf } from './cases.ts'
import { kinds } from './kinds.ts'

export const components: readonly Component[] = Object.keys(kinds).flatMap(casesOf).map(componentOf)
