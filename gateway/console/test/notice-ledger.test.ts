import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import {
  createNoticeLedger,
  type LeftNotices,
  type NoticeLedger,
  type Reported,
} from '../src/notice-ledger.ts'
import type { Thread } from '../src/threads.ts'

const NOW = Date.parse('2026-11-21T12:00:00Z')
const OWN = 1
const OTHER = 2
const time = (second: number) => new Date(NOW - 60_000 + second * 1_000).toISOString()
const LONG_AGO = time(-600)

/** The state of a conversation whose last unread message was received at a second. */
const state = (second: number, unread: number, more: Partial<Thread> = {}): Thread =>
  ({
    _id: 'ana',
    ...{ lastMessage: `Message ${second}`, lastAt: time(second), unread, lastUnreadAt: time(second) },
    ...more,
  }) as Thread

const TEAMS = [
  { _id: 5, name: 'Sales', members: [OTHER, OWN] },
  { _id: 6, name: 'Support', members: [OTHER] },
]
const newLedger = () => createNoticeLedger({ own: () => OWN, teams: () => TEAMS, now: () => NOW })
const NOTHING = { data: [], next: null }

/** A tab that reads the stream and reports at once; what it says is in `reported`. */
function reader(first: { data: Thread[]; next: string | null } = NOTHING) {
  const ledger = newLedger()
  const reported: [string, number][] = []
  const notify = (due: ReturnType<NoticeLedger['hear']>) => {
    for (const one of due) {
      const taken = ledger.take(one)
      if (taken) reported.push([one.kind === 'message' ? one.thread.lastMessage : one.kind, taken.count])
    }
  }
  notify(ledger.read(first))
  return {
    reported,
    hear: (thread: Thread) => notify(ledger.hear(thread)),
    read: (...data: Thread[]) => notify(ledger.read({ data, next: null })),
  }
}

describe('of what is written', () => {
  test('each message is told once, and none that somebody has read', () => {
    const tab = reader()
    tab.hear(state(1, 0, { lastUnreadAt: undefined as never }))
    tab.hear(state(1, 1))
    tab.hear(state(1, 1, { labels: ['delivery'] }))
    tab.hear(state(2, 2))
    tab.hear(state(2, 0))
    tab.hear(state(3, 1))
    tab.hear(state(4, 0))
    expect(tab.reported).toEqual([
      ['Message 1', 1],
      ['Message 2', 1],
      ['Message 3', 1],
    ])
  })

  test('messages that come as one state are told together, by their number', () => {
    const tab = reader()
    tab.hear(state(1, 1))
    tab.hear(state(3, 3))
    expect(tab.reported).toEqual([
      ['Message 1', 1],
      ['Message 3', 2],
    ])
  })

  test('what is counted before its text is written is told with its text, once', () => {
    const tab = reader()
    tab.hear(state(1, 1))
    tab.hear(state(2, 2, { lastMessage: 'Message 1', lastAt: time(1) }))
    tab.read(state(2, 2, { lastMessage: 'Message 1', lastAt: time(1) }))
    expect(tab.reported).toEqual([['Message 1', 1]])
    tab.hear(state(2, 2))
    tab.hear(state(2, 2))
    expect(tab.reported.slice(1)).toEqual([['Message 2', 1]])
  })

  test('of two that were received in one millisecond both count', () => {
    const ledger = newLedger()
    ledger.read(NOTHING)
    const [due] = ledger.hear(state(1, 1))
    expect(ledger.hear(state(1, 2))).toEqual([])
    expect(due && ledger.take(due)?.count).toBe(2)
  })

  test('what the stream did not say is told from the list, and not again when the stream says it after all', () => {
    const tab = reader()
    tab.hear(state(1, 1))
    tab.read(state(3, 3))
    tab.hear(state(2, 2))
    tab.hear(state(3, 3))
    tab.read(state(2, 2))
    expect(tab.reported).toEqual([
      ['Message 1', 1],
      ['Message 3', 2],
    ])
  })

  test('what was unread when the tab was opened is nothing new, but what comes then is', () => {
    const tab = reader({ data: [state(1, 4)], next: null })
    tab.hear(state(1, 4, { labels: ['delivery'] }))
    tab.hear(state(2, 5))
    tab.hear(state(2, 1, { _id: 'bia' }))
    expect(tab.reported).toEqual([
      ['Message 2', 1],
      ['Message 2', 1],
    ])
  })

  test('what the first page of what is unread had no room for was there before as well', () => {
    const tab = reader({ data: [state(9, 1), state(5, 1, { _id: 'bia' })], next: 'more' })
    tab.hear(state(4, 7, { _id: 'carla', labels: ['delivery'] }))
    tab.hear(state(10, 8, { _id: 'carla' }))
    // Its thread was written late: whoever read the stream then has reported it.
    tab.hear(state(6, 1, { _id: 'dora' }))
    tab.hear(state(11, 2, { _id: 'dora' }))
    tab.hear(state(12, 3, { _id: 'bia' }))
    expect(tab.reported).toEqual([
      ['Message 10', 1],
      ['Message 11', 1],
      ['Message 12', 2],
    ])
  })

  test('what is heard before the first list is due where it is later than all of that', () => {
    const ledger = newLedger()
    for (const thread of [state(3, 4), state(8, 1, { _id: 'bia' }), state(10, 2, { _id: 'carla' })])
      ledger.hear(thread)
    ledger.read({ data: [state(9, 1, { _id: 'dora' }), state(8, 1, { _id: 'bia' })], next: 'more' })
    expect(ledger.waiting().map(({ thread }) => thread._id)).toEqual(['carla'])
    const [due] = ledger.hear(state(11, 5))
    expect(due && ledger.take(due)?.count).toBe(1)
  })

  test('of a conversation that was forgotten for others, what comes next is one message', () => {
    const ledger = createNoticeLedger({ own: () => OWN, now: () => NOW, mostKnown: 2 })
    ledger.read(NOTHING)
    const reported: [string, number | undefined][] = []
    const hear = (thread: Thread) => {
      for (const due of ledger.hear(thread)) reported.push([due.thread._id, ledger.take(due)?.count])
    }
    hear(state(1, 4))
    for (const _id of ['bia', 'carla', 'dora']) hear(state(2, 1, { _id }))
    hear(state(1, 4, { labels: ['delivery'] }))
    hear(state(3, 5))
    expect(reported).toEqual([
      ['ana', 4],
      ['bia', 1],
      ['carla', 1],
      ['dora', 1],
      ['ana', 1],
    ])
  })

  test('what happened long ago is no news', () => {
    const tab = reader()
    tab.hear(state(1, 1, { lastUnreadAt: LONG_AGO }))
    tab.read(state(1, 2, { lastUnreadAt: LONG_AGO }))
    expect(tab.reported).toEqual([])
  })
})

test('a hand-over is one until it is told, also with what is written after it', () => {
  const unreadFor = { why: 'handed_off', reason: null, at: time(1) } as const
  const ledger = newLedger()
  ledger.read(NOTHING)
  ledger.hear(state(1, 1, { unreadFor }))
  const [due] = ledger.hear(state(2, 2, { unreadFor }))
  expect(due).toMatchObject({ isHandOver: true })
  expect(due && ledger.take(due)).toMatchObject({ count: 2, due: { isHandOver: true } })
  expect(ledger.hear(state(3, 3, { unreadFor }))).toMatchObject([{ isHandOver: false }])
})

describe('of what is assigned', () => {
  const assigned = (by: number, at: string, _id = OWN) =>
    state(1, 0, { assignee: { _id, name: 'Ana', at, by } })
  test('the account is told once, and not of what it took itself, what others have, or long ago', () => {
    const tab = reader()
    tab.hear(assigned(OTHER, time(1)))
    tab.hear(assigned(OTHER, time(1)))
    tab.hear(assigned(OWN, time(2)))
    tab.hear(assigned(OTHER, time(3), OTHER))
    tab.hear(assigned(OTHER, LONG_AGO))
    tab.hear(assigned(OTHER, time(4)))
    expect(tab.reported).toEqual([
      ['assignment', 1],
      ['assignment', 1],
    ])
  })

  test('to a team its members are told once, while nobody of it has it, and nobody of a team that is gone', () => {
    const ofTeam = (_id: number, at: string, more: Partial<Thread> = {}) =>
      state(1, 0, { team: { _id, name: 'Sales', at, by: OTHER }, ...more })
    const tab = reader()
    tab.hear(ofTeam(5, time(1)))
    tab.hear(ofTeam(5, time(1)))
    tab.hear(ofTeam(5, time(1), { assignee: { _id: OTHER, name: 'Bruno', at: time(2), by: OTHER } }))
    tab.hear(ofTeam(5, time(1)))
    tab.hear(ofTeam(6, time(3)))
    tab.hear(ofTeam(7, time(4)))
    expect(tab.reported).toEqual([['assignment', 1]])
    const later = reader({ data: [ofTeam(5, time(1))], next: null })
    later.hear(ofTeam(5, time(1)))
    expect(later.reported).toEqual([])
  })
})

describe('between tabs', () => {
  test('what one did not come to tell is told by the next, which tells nothing that was told', () => {
    const [first, next] = [newLedger(), newLedger()] as const
    for (const ledger of [first, next]) {
      ledger.read(NOTHING)
      ledger.hear(state(1, 1))
    }
    const [due] = first.waiting()
    next.settle((due && first.take(due)?.reported) as Reported)
    expect(next.waiting()).toEqual([])
    for (const ledger of [first, next]) ledger.hear(state(2, 2))
    expect(next.waiting().map((one) => next.take(one)?.count)).toEqual([1])
  })

  test('what was told is not told by a tab that hears of it later', () => {
    const next = newLedger()
    next.read(NOTHING)
    next.settle({ reported: 'ana', kind: 'message', at: time(1), unread: 1 })
    expect(next.hear(state(1, 1))).toEqual([])
    expect(next.hear(state(2, 2))).toHaveLength(1)
  })

  test('what was left untold is told by a tab that was loaded meanwhile, with the number of what came', () => {
    const unreadFor = { why: 'handed_off', reason: null, at: time(1) } as const
    const assignee = { _id: OWN, name: 'Ana', at: time(2), by: OTHER }
    const [first, next] = [newLedger(), newLedger()] as const
    first.read(NOTHING)
    const [due] = first.hear(state(1, 1, { unreadFor }))
    expect(due && first.take(due)?.count).toBe(1)
    const latest = state(3, 3, { unreadFor, assignee })
    first.hear(latest)
    next.read({ data: [latest], next: null })
    expect(next.hear(latest)).toEqual([])
    const left = JSON.parse(JSON.stringify(first.leave())) as LeftNotices
    expect(left.reported).toEqual([{ reported: 'ana', kind: 'message', at: time(1), unread: 1 }])
    expect(next.resume(left)).toEqual(['ana'])
    expect(next.hear(latest)).toMatchObject([{ kind: 'assignment' }, { kind: 'message', isHandOver: false }])
    expect(next.waiting().map((one) => next.take(one)?.count)).toEqual(expect.arrayContaining([2]))
    expect(next.leave().waiting).toEqual([])
  })

  test('what came while no tab told anybody is told, though the first list had it, and what was told before is not', () => {
    const [first, next] = [newLedger(), newLedger()] as const
    first.read(NOTHING)
    for (const due of first.hear(state(1, 1))) first.take(due)
    const list = [state(3, 1, { _id: 'carla' }), state(2, 1, { _id: 'bia' }), state(1, 1)]
    next.read({ data: list, next: 'more' })
    expect(next.resume(first.leave()).toSorted()).toEqual(['bia', 'carla'])
    const again = [...list, state(2, 4, { _id: 'dora' })].flatMap((one) => next.hear(one))
    expect(again.map(({ thread }) => thread._id)).toEqual(['carla', 'bia', 'dora'])
  })

  test('what was read is not told by the next, nor what there is something later of', () => {
    const ledger = newLedger()
    ledger.read(NOTHING)
    const [one] = ledger.hear(state(1, 1))
    const [other] = ledger.hear(state(2, 2))
    expect(one && ledger.take(one)).toBeUndefined()
    ledger.hear(state(2, 0))
    expect(other && ledger.take(other)).toBeUndefined()
    expect(ledger.waiting()).toEqual([])
  })
})

const TABS = 3
const tab = fc.nat({ max: TABS - 1 })
const step = fc.oneof(
  // A message may be counted before its text is written.
  fc.record({ kind: fc.constant('write' as const), isCountedFirst: fc.boolean() }),
  fc.record({ kind: fc.constant('see' as const) }),
  // Some states come late to a tab, and some not at all.
  fc.record({ kind: fc.constant('hear' as const), tab, skip: fc.nat({ max: 2 }) }),
  fc.record({ kind: fc.constant('list' as const), tab, ago: fc.nat({ max: 3 }) }),
  // It hears what was told until then.
  fc.record({ kind: fc.constant('catchUp' as const), tab }),
  // A tab that is hidden is behind the others; one that is loaded anew knows nothing but the list.
  fc.record({ kind: fc.constant('hide' as const), tab }),
  fc.record({ kind: fc.constant('reload' as const), tab }),
  fc.record({ kind: fc.constant('notify' as const) }),
)

/** Those who write, one conversation and the tabs of a browser, of which the one that has waited longest tells. */
function browserModel() {
  const history = [state(0, 0, { lastUnreadAt: undefined as never })]
  const now = () => history.at(-1) as Thread
  const listOf = (thread: Thread) => ({ data: thread.unread > 0 ? [thread] : [], next: null })
  const openTab = () => {
    const ledger = newLedger()
    ledger.read(listOf(now()))
    return { ledger, heard: history.length, unheard: [] as Reported[], since: written, hasLed: false }
  }
  let written = 0
  const tabs = Array.from({ length: TABS }, openTab)
  const queue = [...tabs]
  const reported: string[] = []
  /** The notices that a leading tab has left to the next one, and how many were written when a tab first led. */
  let left: LeftNotices | undefined
  let ledFrom = Number.POSITIVE_INFINITY
  let count = 0
  type Tab = (typeof tabs)[number]
  const catchUp = ({ ledger, unheard }: Tab) => {
    for (const one of unheard.splice(0)) ledger.settle(one)
  }
  const toTheEnd = (one: Tab) => {
    if (one.hasLed) left = one.ledger.leave()
    one.hasLed = false
    queue.push(...queue.splice(queue.indexOf(one), 1))
  }
  return {
    tabs,
    reported,
    now,
    count: () => count,
    written: () => written,
    write({ isCountedFirst }: { isCountedFirst: boolean }) {
      const { lastMessage, lastAt, unread } = now()
      written += 1
      if (isCountedFirst) history.push(state(written, unread + 1, { lastMessage, lastAt }))
      history.push(state(written, unread + 1))
    },
    see: () => history.push({ ...now(), unread: 0 }),
    hear(one: Tab, skip: number) {
      const thread = history[one.heard + skip]
      if (thread !== undefined) one.ledger.hear(thread)
      one.heard = Math.min(history.length, one.heard + skip + 1)
    },
    list: ({ ledger }: Tab, ago: number) =>
      ledger.read(listOf(history[Math.max(0, history.length - 1 - ago)] as Thread)),
    catchUp,
    hide: toTheEnd,
    reload(one: Tab) {
      toTheEnd(one)
      Object.assign(one, openTab())
    },
    /** Whoever leads has caught up. */
    notify() {
      const [leader] = queue
      if (leader === undefined) return
      catchUp(leader)
      if (left !== undefined && leader.ledger.resume(left).length > 0) leader.ledger.hear(now())
      left = undefined
      leader.hasLed = true
      ledFrom = Math.min(ledFrom, written)
      for (const due of leader.ledger.waiting()) {
        const taken = leader.ledger.take(due)
        if (taken === undefined) continue
        reported.push(taken.due.thread.lastMessage)
        count += taken.count
        for (const one of tabs) if (one !== leader) one.unheard.push(taken.reported)
      }
    },
    leader: () => queue[0] as Tab,
    ledFrom: () => ledFrom,
  }
}

test('however states come to tabs that take turns, each message is told once at most, and in the end the last one is', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const model = browserModel()
      for (const one of steps) {
        const of = model.tabs['tab' in one ? one.tab : 0] as (typeof model.tabs)[number]
        if (one.kind === 'write') model.write(one)
        else if (one.kind === 'see') model.see()
        else if (one.kind === 'hear') model.hear(of, one.skip)
        else if (one.kind === 'list') model.list(of, one.ago)
        else model[one.kind](of)
      }
      const { ledger, since } = model.leader()
      const ledFrom = model.ledFrom()
      ledger.read({ data: model.now().unread > 0 ? [model.now()] : [], next: null })
      model.notify()
      const { reported } = model
      expect(new Set(reported).size).toBe(reported.length)
      expect(model.count()).toBeLessThanOrEqual(model.written())
      // An unread message is news unless it was there before the tab was opened, or before another tab first told.
      const { unread } = model.now()
      if (unread > 0 && Math.min(since, ledFrom) < model.written())
        expect(reported).toContain(model.now().lastMessage)
    }),
    { numRuns: 5_000 },
  )
})
