import { expect, test } from '@jest/globals'
import { createInFlight, type Unconfirmed } from '@parley/shared/messaging/in-flight'

/** Adds one with that many milliseconds to go; resolves, when it is late, with by how much. */
function addTo(inFlight: ReturnType<typeof createInFlight>, milliseconds: number) {
  const deadline = performance.now() + milliseconds
  const { promise, resolve } = Promise.withResolvers<number>()
  const one: Unconfirmed = {
    deadline,
    late: () => {
      if (inFlight.end(one)) resolve(performance.now() - deadline)
    },
  }
  inFlight.add(one)
  return { one, late: promise }
}

test('each is late at its own deadline, also when a later one was there first', async () => {
  const inFlight = createInFlight()
  const ends: string[] = []
  const named = (name: string, milliseconds: number) =>
    addTo(inFlight, milliseconds).late.then((by) => {
      ends.push(name)
      return by
    })
  const lateness = await Promise.all([named('second', 200), named('first', -1)])
  expect(ends).toEqual(['first', 'second'])
  for (const by of lateness) expect(by).toBeGreaterThanOrEqual(0)
  expect(inFlight.count()).toBe(0)
})

test('what has ended is counted out once, and is not late any more', async () => {
  const inFlight = createInFlight()
  const ended = addTo(inFlight, 10)
  expect(inFlight.count()).toBe(1)
  expect(inFlight.end(ended.one)).toBe(true)
  expect(inFlight.end(ended.one)).toBe(false)
  expect(inFlight.count()).toBe(0)
  const other = addTo(inFlight, 20)
  expect(await Promise.race([ended.late.then(() => 'ended'), other.late.then(() => 'other')])).toBe('other')
})

test('it is drained when the last has ended', async () => {
  const inFlight = createInFlight()
  await inFlight.drained()
  const { one } = addTo(inFlight, 10_000)
  const soon = addTo(inFlight, 1)
  const drained = inFlight.drained()
  await soon.late
  expect(await Promise.race([drained.then(() => 'drained'), Promise.resolve('not yet')])).toBe('not yet')
  inFlight.end(one)
  await drained
})
