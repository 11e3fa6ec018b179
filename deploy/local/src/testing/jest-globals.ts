import type * as jestGlobals from '@jest/globals'

const KEY = Symbol.for('parley.jest-globals')
const globals = Reflect.get(globalThis, KEY) as typeof jestGlobals | undefined

/** Sets what the modules of the next test file get. */
export function setTestGlobals(next: object): void {
  Reflect.set(globalThis, KEY, next)
}

// A worker resolves `@jest/globals` to this file, evaluated anew for each test file.
export const { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest, test } =
  globals ?? ({} as typeof jestGlobals)
