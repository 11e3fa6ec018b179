import { afterAll, expect, test } from '@jest/globals'
import { createSpecReader, type SpecVersion } from '../src/specs/spec-reader.ts'

const MINUTE = 60_000
const SOUND = 'openapi: 3.1.0\npaths: {}\n'
const specs = createSpecReader()
afterAll(() => specs.close())

const inTime = () => performance.now() + MINUTE
const version = (given: Partial<SpecVersion>): SpecVersion => ({
  ...{ workspace: 1, _id: 1, version: 1, spec: SOUND },
  ...given,
})
/** Takes some tenths of a second. */
const long = `${SOUND}x: [${'1,'.repeat(99_000)}]`

test('each version is read once', async () => {
  expect(await specs.check(version({}), inTime())).toEqual({ kind: 'fine' })
  const changed = { spec: 'a: [' }
  expect(await specs.check(version(changed), inTime())).toEqual({ kind: 'fine' })
  const bad = { kind: 'bad', message: expect.stringMatching(/^unexpected end of the stream/) }
  expect(await specs.check(version({ ...changed, version: 2 }), inTime())).toEqual(bad)
  expect(await specs.check(version({ ...changed, _id: 2 }), inTime())).toEqual(bad)
  expect(await specs.check(version({ ...changed, workspace: 2 }), inTime())).toEqual(bad)
})

test('what is late is not checked, and what was begun is known the next time', async () => {
  const one = version({ _id: 5, spec: long })
  const reading = specs.check(one, inTime())
  expect(await specs.check(version({ _id: 6 }), performance.now())).toEqual({ kind: 'not_checked' })
  expect(await specs.check(one, performance.now() + 1)).toEqual({ kind: 'not_checked' })
  expect(await reading).toEqual({ kind: 'fine' })
  expect(await specs.check(one, 0)).toEqual({ kind: 'fine' })
})

test('a workspace with many specs delays another one by one of them', async () => {
  const ended: string[] = []
  const note = (name: string) => () => ended.push(name)
  const many = Array.from({ length: 6 }, (_, n) =>
    specs.check(version({ workspace: 3, _id: n, spec: long }), inTime()).then(note('one of many')),
  )
  await specs.check(version({ workspace: 4 }), inTime()).then(note('other'))
  expect(ended).toEqual(['one of many', 'other'])
  await Promise.all(many)
})

test("the origin of a spec's first server is that of the base of its module where the server is relative", async () => {
  const reader = createSpecReader()
  const spec = 'openapi: 3.0.0\npaths: {}\nservers: [{ url: /v1 }]'
  const originOf = (moduleUrl: string) => reader.originOf({ workspace: 1, spec, moduleUrl })
  expect(await originOf('native:request?server=https://shop.example/api')).toBe('https://shop.example')
  expect(await originOf('native:request')).toBeUndefined()
  await reader.close()
})
