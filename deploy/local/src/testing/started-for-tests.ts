import { afterAll, beforeAll } from '@jest/globals'

const START_MS = 150_000

/**
 * The result of `start`, started before the tests of a file or of a `describe` and closed after them. It is there
 * inside tests and hooks only, so it can not be destructured outside of them.
 */
export function startedForTests<T extends { close(): Promise<unknown> }>(start: () => Promise<T>): T {
  let started: T | undefined
  beforeAll(async () => {
    started = await start()
  }, START_MS)
  afterAll(() => started?.close(), START_MS)
  const current = (): T => {
    if (started === undefined) throw new Error('It is not started: use it inside a test or a hook')
    return started
  }
  return new Proxy({} as T, {
    get: (_target, key) => Reflect.get(current(), key),
    set: (_target, key, value) => Reflect.set(current(), key, value),
  })
}
