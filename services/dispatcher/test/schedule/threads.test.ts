import { describe, expect, test } from '@jest/globals'
import type { RunResult } from '@parley/dispatcher/deliver/thread-run'
import type { MessageRecord } from '@parley/dispatcher/message/message-record'
import type { ThreadRef } from '@parley/dispatcher/schedule/resident-threads'
import { createThreads, type Threads } from '@parley/dispatcher/schedule/threads'
import { eventually } from '@parley/local/testing/service-under-test'
import fc from 'fast-check'
import { newRecord } from '../new-record.ts'

/** A store in memory with the two operations that threads need of the real one. */
function createStore() {
  const open = new Map<string, MessageRecord>()
  let order = 0
  return {
    insert(thread: string): MessageRecord {
      order++
      const record = newRecord({ _id: `m${order}`, thread, order })
      open.set(record._id, record)
      return record
    },
    close: (id: string) => open.delete(id),
    size: () => open.size,
    threads: () => new Set([...open.values()].map(({ thread }) => thread)),
    load: async ({ thread, lane }: ThreadRef, limit: number) => {
      await new Promise((resolve) => setImmediate(resolve))
      return [...open.values()]
        .filter((record) => record.thread === thread && record.lane === lane)
        .slice(0, limit)
    },
    change: (record: MessageRecord) => open.set(record._id, { ...record, body: 'changed' }),
    leave: (record: MessageRecord) => open.set(record._id, { ...record, lane: record._id }),
  }
}

interface World {
  threads: Threads
  store: ReturnType<typeof createStore>
  ran: string[]
}

function createWorld(options: {
  result?: (record: MessageRecord, attempt: number) => RunResult
  /** The wait during the run of a message, beside a moment. */
  blocked?: (record: MessageRecord) => Promise<void> | undefined
  maxThreads?: number
  concurrency?: number
  partitions?: () => number
  now?: () => number
}): World {
  const store = createStore()
  const ran: string[] = []
  const attempts = new Map<string, number>()
  const threads: Threads = createThreads({
    load: store.load,
    run: async (record) => {
      const attempt = (attempts.get(record._id) ?? 0) + 1
      attempts.set(record._id, attempt)
      await new Promise((resolve) => setImmediate(resolve))
      await options.blocked?.(record)
      const result = options.result?.(record, attempt) ?? { kind: 'closed' }
      if (result.kind !== 'closed') return result
      store.close(record._id)
      ran.push(record._id)
      return result
    },
    concurrency: options.concurrency ?? 8,
    ...(options.partitions === undefined ? {} : { partitions: options.partitions }),
    ...(options.maxThreads === undefined ? {} : { maxThreads: options.maxThreads }),
    ...(options.now === undefined ? {} : { now: options.now }),
  })
  threads.on('room', () => {
    for (const thread of store.threads()) threads.wake({ workspace: 1, thread })
    threads.complete()
  })
  return { threads, store, ran }
}

function expectThreadSequence(ran: string[], inserted: MessageRecord[]): void {
  const place = new Map(ran.map((id, index) => [id, index]))
  const threads = Map.groupBy(inserted, ({ thread }) => thread)
  for (const records of threads.values()) {
    const places = records.map(({ _id }) => place.get(_id))
    expect(places).toEqual([...places].sort((a, b) => (a ?? -1) - (b ?? -1)))
  }
}

describe('threads', () => {
  test('run each message once and every thread in order, whatever arrives when, also when memory has no room for all', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ thread: fc.integer({ min: 0, max: 9 }), pause: fc.boolean() }), {
          maxLength: 120,
        }),
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 0, max: 40 }),
        async (messages, maxThreads, before) => {
          const { threads, store, ran } = createWorld({ maxThreads, concurrency: 3 })
          const inserted = Array.from({ length: before }, (_, index) => store.insert(`t${index % 5}`))
          for (const thread of store.threads()) threads.wake({ workspace: 1, thread })
          for (const [index, { thread, pause }] of messages.entries()) {
            if (index === 10) threads.complete()
            const record = store.insert(`t${thread}`)
            inserted.push(record)
            threads.add(record)
            if (pause) await new Promise((resolve) => setImmediate(resolve))
          }
          threads.complete()
          await eventually(() => store.size() === 0)
          await threads.stop()
          expect([...ran].sort()).toEqual(inserted.map(({ _id }) => _id).sort())
          expectThreadSequence(ran, inserted)
        },
      ),
      { numRuns: 60 },
    )
  })

  test('a thread whose run says how long to wait by a clock that is set back meanwhile is looked at again', async () => {
    const hour = 3_600_000
    let time = 2 * hour
    const waits: RunResult['kind'][] = ['wait', 'reload', 'left']
    const { threads, store, ran } = createWorld({
      now: () => time,
      result: (record, attempt) => {
        if (attempt > 1) return { kind: 'closed' }
        const at = time + 1_000
        time = hour
        if (record.thread === 'wait') return { kind: 'wait', record, until: at }
        if (record.thread === 'reload') return { kind: 'reload', at }
        store.leave(record)
        return { kind: 'left', lane: record._id, at }
      },
    })
    threads.complete()
    for (const [n, thread] of waits.entries()) {
      time = 2 * hour
      threads.add(store.insert(thread))
      await eventually(() => ran.length === n + 1)
    }
    await threads.stop()
  })

  test('a thread that waits on a clock that is set back is looked at again', async () => {
    const hour = 3_600_000
    let time = 2 * hour
    const { threads, store, ran } = createWorld({
      now: () => time,
      result: (record, attempt) =>
        record.thread === 'waiting' && attempt === 1
          ? { kind: 'wait', record, until: time + 1_000 }
          : { kind: 'closed' },
    })
    threads.complete()
    for (const thread of ['waiting', 'other']) threads.add(store.insert(thread))
    await eventually(() => ran.length === 1)
    time = hour
    // Whatever comes next shows what the clock says now.
    threads.wake({ workspace: 1, thread: 'next' }, time + 1)
    await eventually(() => ran.length === 2)
    await threads.stop()
  })

  test('of a workspace that is alone run at once what it may, and 64 in all partitions of an instance beside another', async () => {
    const runningIn = async (others: number[], partitions: number) => {
      const gate = Promise.withResolvers<void>()
      let running = 0
      const threads = createThreads({
        load: async () => [],
        run: async ({ workspace }) => {
          if (workspace === 1) running++
          await gate.promise
          return { kind: 'closed' }
        },
        concurrency: 128,
        partitions: () => partitions,
      })
      threads.complete()
      for (const workspace of others) threads.add(newRecord({ workspace, thread: 'other' }))
      for (let n = 0; n < 100; n++)
        threads.add(newRecord({ _id: `m${n}`, thread: `t${n}`, channel: `c${n % 4}` }))
      const most = running
      gate.resolve()
      await threads.stop()
      return most
    }
    expect(await runningIn([], 8)).toBe(96)
    expect(await runningIn([2], 1)).toBe(64)
    expect(await runningIn([2], 8)).toBe(8)
    expect(await runningIn([2], 64)).toBe(1)
  })

  test('what was changed in the store meanwhile is read again before it runs, behind what runs and before anything does', async () => {
    const bodies: string[] = []
    const gate = Promise.withResolvers<void>()
    const { threads, store } = createWorld({
      concurrency: 1,
      blocked: ({ _id, body }) => {
        bodies.push(`${_id} ${body}`)
        return _id === 'm1' ? gate.promise : undefined
      },
    })
    threads.complete()
    const inserted = ['one', 'one', 'two'].map((thread) => store.insert(thread)) as [
      MessageRecord,
      MessageRecord,
      MessageRecord,
    ]
    for (const record of inserted) threads.add(record)
    const [first, behind, ready] = inserted
    await eventually(() => bodies.length === 1)
    for (const record of [behind, ready]) {
      store.change(record)
      threads.interrupt(record)
    }
    gate.resolve()
    await eventually(() => store.size() === 0)
    await threads.stop()
    expect(bodies.toSorted()).toEqual([`m1 ${first.body}`, 'm2 changed', 'm3 changed'])
  })

  test('a waiting thread delays its own messages and no other thread', async () => {
    let time = 1_000
    const { threads, store, ran } = createWorld({
      now: () => time,
      result: (record, attempt) =>
        record._id === 'm1' && attempt === 1 ? { kind: 'wait', record, until: 1_050 } : { kind: 'closed' },
    })
    threads.complete()
    const inserted = ['slow', 'slow', 'fast', 'fast'].map((thread) => store.insert(thread))
    for (const record of inserted) threads.add(record)
    await eventually(() => ran.length === 2)
    expect(ran).toEqual(['m3', 'm4'])
    time = 1_050
    await eventually(() => ran.length === 4)
    expect(ran.slice(2)).toEqual(['m1', 'm2'])
    await threads.stop()
  })

  test('a thread that waits for something in flight takes no place, and runs again once that has ended', async () => {
    const answer = Promise.withResolvers<void>()
    const { threads, store, ran } = createWorld({
      concurrency: 1,
      result: (record, attempt) =>
        record.thread === 'asks' && attempt === 1
          ? { kind: 'pending', record, settled: answer.promise, for: 'model' }
          : { kind: 'closed' },
    })
    threads.complete()
    for (const thread of ['asks', 'asks', 'beside']) threads.add(store.insert(thread))
    await eventually(() => ran.includes('m3'))
    expect([ran, threads.waiting().get('model')?.messages]).toEqual([['m3'], 1])
    answer.resolve()
    await eventually(() => store.size() === 0)
    expect(ran).toEqual(['m3', 'm1', 'm2'])
    await threads.stop()
  })

  test('what something in flight brought runs before what else is ready, since a crash would lose it', async () => {
    const [answer, run] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { threads, store, ran } = createWorld({
      concurrency: 1,
      blocked: ({ thread }) => (thread === 'runs' ? run.promise : undefined),
      result: (record, attempt) =>
        record.thread === 'asks' && attempt === 1
          ? { kind: 'pending', record, settled: answer.promise, for: 'model' }
          : { kind: 'closed' },
    })
    threads.complete()
    for (const thread of ['asks', 'runs', 'ready', 'ready as well']) threads.add(store.insert(thread))
    await eventually(() => threads.waiting().get('model') !== undefined)
    answer.resolve()
    await eventually(() => threads.waiting().get('turn')?.messages === 3)
    run.resolve()
    await eventually(() => store.size() === 0)
    expect(ran).toEqual(['m2', 'm1', 'm3', 'm4'])
    await threads.stop()
  })

  test('a message that left its thread waits beside it, and runs once', async () => {
    let time = 1_000
    const { threads, store, ran } = createWorld({
      now: () => time,
      result: (record, attempt) => {
        if (record._id !== 'm2' || attempt > 1) return { kind: 'closed' }
        store.leave(record)
        return { kind: 'left', lane: record._id, at: 1_050 }
      },
    })
    threads.complete()
    for (const record of ['t', 't', 't', 't'].map((thread) => store.insert(thread))) threads.add(record)
    await eventually(() => ran.length === 3)
    expect(ran).toEqual(['m1', 'm3', 'm4'])
    time = 1_050
    await eventually(() => ran.length === 4)
    expect(ran).toEqual(['m1', 'm3', 'm4', 'm2'])
    await threads.stop()
  })

  test('a message that another instance makes a thread of its own while it is waited for runs all the same', async () => {
    const { threads, store, ran } = createWorld({
      result: (record, attempt) => {
        if (record._id !== 'm1' || attempt > 1) return { kind: 'closed' }
        store.leave(record)
        return { kind: 'reload', at: Date.now() }
      },
    })
    threads.complete()
    for (const record of [store.insert('t'), store.insert('t')]) threads.add(record)
    await eventually(() => ran.length === 2)
    expect(ran.toSorted()).toEqual(['m1', 'm2'])
    await threads.stop()
  })

  test('a message that another instance makes a thread of its own while its partition is recovered runs all the same', async () => {
    const { threads, store, ran } = createWorld({})
    const head = store.insert('t')
    store.leave(head)
    threads.wake(head)
    await eventually(() => ran.length === 1)
    await threads.stop()
  })

  test('messages in memory are read again from the store when they may be out of date', async () => {
    const { threads, store, ran } = createWorld({
      result: (_record, attempt) => (attempt === 1 ? { kind: 'reload', at: Date.now() } : { kind: 'closed' }),
    })
    threads.complete()
    for (const record of [store.insert('t'), store.insert('t')]) threads.add(record)
    await eventually(() => ran.length === 2)
    expect(ran).toEqual(['m1', 'm2'])
    await threads.stop()
  })

  test('stopping twice resolves both times, once what runs has ended', async () => {
    const { promise: blocked, resolve } = Promise.withResolvers<void>()
    const { threads, store, ran } = createWorld({ blocked: () => blocked })
    threads.complete()
    threads.add(store.insert('t'))
    const stopped = [threads.stop(), threads.stop()]
    resolve()
    await Promise.all(stopped)
    expect(ran).toEqual(['m1'])
    await threads.stop()
  })

  test('stopping starts nothing more', async () => {
    const { threads, store, ran } = createWorld({ concurrency: 1 })
    threads.complete()
    for (let index = 0; index < 10; index++) threads.add(store.insert(`t${index}`))
    await threads.stop()
    const count = ran.length
    threads.add(store.insert('t10'))
    await new Promise((resolve) => setImmediate(resolve))
    expect(ran.length).toBe(count)
    expect(count).toBeLessThan(10)
  })
})
