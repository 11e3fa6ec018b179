import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { Thread } from '../src/threads.ts'
import { createUnreadCount } from '../src/unread-count.ts'

const MOST = 6
const step = fc.oneof(
  fc.record({ kind: fc.constant('change' as const), id: fc.nat({ max: 19 }), unread: fc.nat({ max: 1 }) }),
  fc.record({ kind: fc.constant('ask' as const) }),
  fc.record({ kind: fc.constant('read' as const) }),
)

const inWords = (count: number) => (count === 0 ? '' : count > MOST ? `${MOST}+` : String(count))

test('what the stream says between two lists counts as if the list were asked for each time', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const unread = new Set<string>()
      const list = () => {
        const all = [...unread].map((_id) => ({ _id }) as Thread)
        return { data: all.slice(0, MOST), next: all.length > MOST ? 'more' : null }
      }
      const count = createUnreadCount({ mostCounted: MOST })
      count.ask()
      let asked: ReturnType<typeof list> | undefined = list()
      const read = () => {
        if (asked !== undefined) count.read(asked)
        asked = undefined
      }
      for (const one of steps) {
        if (one.kind === 'change') {
          const id = String(one.id)
          if (one.unread > 0) unread.add(id)
          else unread.delete(id)
          count.hear({ _id: id, unread: one.unread })
        } else if (one.kind === 'read') read()
        else if (asked === undefined) {
          count.ask()
          asked = list()
        }
      }
      read()
      // Beyond what is counted it says so, and asks again before that misleads.
      const [said, isMore] = [Number.parseInt(count.text() || '0', 10), count.text().endsWith('+')]
      if (!isMore) expect(count.text()).toBe(inWords(unread.size))
      else expect(said).toBeLessThanOrEqual(unread.size)
      count.ask()
      count.read(list())
      expect(count.text()).toBe(inWords(unread.size))
    }),
  )
})

test('where most of what was counted is read, the list is asked for again', () => {
  const count = createUnreadCount({ mostCounted: 4 })
  count.read({ data: ['a', 'b', 'c', 'd'].map((_id) => ({ _id }) as Thread), next: 'more' })
  expect([count.text(), count.isUnknown()]).toEqual(['4+', false])
  for (const _id of ['a', 'b', 'c']) count.hear({ _id, unread: 0 })
  expect([count.text(), count.isUnknown()]).toEqual(['1+', true])
})
