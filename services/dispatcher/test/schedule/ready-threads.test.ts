import { describe, expect, test } from '@jest/globals'
import { ReadyThreads, type RunSlot } from '@parley/dispatcher/round-robin/ready-threads'
import fc from 'fast-check'

interface Item {
  id: number
  workspace: number
  channel: string | undefined
  isUrgent?: boolean
}

const LIMITS = {
  running: { all: 6, workspace: 3, channel: 2 },
  waiting: { all: 4, workspace: 2, channel: 1 },
}

type Kind = 'running' | 'waiting'

/** The state that the queue should have, in plain lists. */
class Model {
  readonly #shared: number
  readonly ready: Item[] = []
  #isShared = false
  #last: Item | undefined

  constructor(shared = LIMITS.running.workspace) {
    this.#shared = shared
  }

  add(added: Item): void {
    this.#isShared ||= this.#last !== undefined && this.#last.workspace !== added.workspace
    this.#last = added
    this.ready.push(added)
  }

  readonly inFlight = new Map<number, { item: Item; slot: RunSlot; counted: Kind }>()

  count(kind: Kind, among: (item: Item) => boolean = () => true): number {
    return [...this.inFlight.values()].filter(({ item, counted }) => counted === kind && among(item)).length
  }

  sizes(kind: Kind, item: Item) {
    return {
      all: this.count(kind),
      workspace: this.count(kind, ({ workspace }) => workspace === item.workspace),
      channel: this.count(kind, (one) => one.workspace === item.workspace && one.channel === item.channel),
    }
  }

  mayRun(item: Item): boolean {
    const sizes = this.sizes('running', item)
    return (
      sizes.all < LIMITS.running.all &&
      sizes.workspace < (this.#isShared ? this.#shared : LIMITS.running.workspace) &&
      (item.channel === undefined || sizes.channel < LIMITS.running.channel)
    )
  }

  mayWait(item: Item): boolean {
    const sizes = this.sizes('waiting', item)
    return (
      sizes.all < LIMITS.waiting.all &&
      sizes.workspace < LIMITS.waiting.workspace &&
      sizes.channel < LIMITS.waiting.channel
    )
  }
}

const item = fc.record({
  workspace: fc.integer({ min: 1, max: 4 }),
  channel: fc.constantFrom('a', 'b', 'c', undefined),
  isUrgent: fc.boolean(),
})
const step = fc.oneof(
  fc.record({ do: fc.constant('add' as const), item }),
  fc.record({ do: fc.constantFrom('take', 'leave', 'enter', 'end'), pick: fc.nat() }),
)

describe('ready threads', () => {
  test('start whenever there is room for one of them, never beyond a limit, be it one beside other workspaces, and those of one channel in order, urgent ones first', () => {
    const shares = fc.integer({ min: 1, max: LIMITS.running.workspace })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), shares, (steps, shared) => {
        const queue = new ReadyThreads<Item>(LIMITS, { shared: () => shared })
        const model = new Model(shared)
        for (const [id, one] of steps.entries()) {
          if (one.do === 'add') {
            const added = { id, ...one.item }
            model.add(added)
            queue.add(added, added)
          } else if (one.do === 'take') {
            takeOne(queue, model)
          } else {
            const all = [...model.inFlight.values()]
            const chosen = all[one.pick % Math.max(1, all.length)]
            if (chosen !== undefined) change(model, chosen, one.do)
          }
          expect(queue.inFlight).toBe(model.inFlight.size)
        }
      }),
      { numRuns: 300 },
    )
  })

  test('of workspaces that all have something ready start by round robin, however many threads each has ready', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 2, maxLength: 6 }), (amounts) => {
        const queue = new ReadyThreads<Item>({ ...LIMITS, running: { all: 1, workspace: 1, channel: 1 } })
        for (const [workspace, amount] of amounts.entries())
          for (let id = 0; id < amount; id++) queue.add({ id, workspace, channel: 'a' })
        const left = [...amounts]
        let started: number[] = []
        while (left.some((amount) => amount > 0)) {
          const taken = queue.take()
          if (taken === undefined) throw new Error('nothing starts although there is room')
          taken.slot.end()
          const { workspace } = taken.item
          // Nobody has a second turn before each of the others that have something ready had one.
          if (started.includes(workspace)) {
            const others = left.flatMap((amount, index) => (amount > 0 && index !== workspace ? [index] : []))
            expect(others.filter((other) => !started.includes(other))).toEqual([])
            started = []
          }
          started.push(workspace)
          left[workspace] = (left[workspace] ?? 0) - 1
        }
        expect(queue.take()).toBeUndefined()
      }),
    )
  })

  test('50,000 ready threads of one workspace delay one of another workspace by a single run', () => {
    const queue = new ReadyThreads<Item>({ ...LIMITS, running: { all: 64, workspace: 32, channel: 24 } })
    for (let id = 0; id < 50_000; id++) queue.add({ id, workspace: 1, channel: 'a' })
    queue.take()
    queue.add({ id: 50_000, workspace: 2, channel: 'b' })
    const next = [queue.take(), queue.take()].map((taken) => taken?.item.workspace)
    expect(next).toContain(2)
  })

  test('of one workspace are fewer at once while another one is active', () => {
    const queue = new ReadyThreads<Item>(LIMITS, { shared: () => 1 })
    for (let id = 0; id < 4; id++) queue.add({ id, workspace: 1, channel: 'a' })
    expect([queue.take(), queue.take(), queue.take()].filter((taken) => taken !== undefined).length).toBe(2)
    const shared = new ReadyThreads<Item>(LIMITS, { shared: () => 1 })
    for (let id = 0; id < 4; id++) shared.add({ id, workspace: 1, channel: 'a' })
    shared.add({ id: 4, workspace: 2, channel: 'a' })
    expect([shared.take(), shared.take(), shared.take()].map((taken) => taken?.item.workspace)).toEqual([
      1,
      2,
      undefined,
    ])
  })

  test('that wait for an answer leave their place to others, up to the bound', () => {
    const queue = new ReadyThreads<Item>(LIMITS)
    for (let id = 0; id < 4; id++) queue.add({ id, workspace: 1, channel: 'a' })
    const [first, second] = [queue.take(), queue.take()]
    expect(queue.take()).toBeUndefined()
    expect(first?.slot.leave()).toBe(true)
    expect(second?.slot.leave()).toBe(false)
    expect(queue.take()?.item.id).toBe(2)
    expect(queue.take()).toBeUndefined()
  })
})

function takeOne(queue: ReadyThreads<Item>, model: Model): void {
  const taken = queue.take()
  const startable = model.ready.filter((one) => model.mayRun(one))
  expect(taken === undefined).toBe(startable.length === 0)
  if (taken === undefined) return
  const { item: started, slot } = taken
  const ofChannel = model.ready.filter(
    ({ workspace, channel }) => workspace === started.workspace && channel === started.channel,
  )
  expect(started).toEqual(ofChannel.find(({ isUrgent }) => isUrgent === true) ?? ofChannel[0])
  expect(model.mayRun(started)).toBe(true)
  model.ready.splice(model.ready.indexOf(started), 1)
  model.inFlight.set(started.id, { item: started, slot, counted: 'running' })
}

function change(
  model: Model,
  chosen: { item: Item; slot: RunSlot; counted: Kind },
  what: 'take' | 'leave' | 'enter' | 'end',
): void {
  const { slot, counted, item: one } = chosen
  if (what === 'leave') {
    const may = counted === 'waiting' || model.mayWait(one)
    expect(slot.leave()).toBe(may)
    if (may) chosen.counted = 'waiting'
  } else if (what === 'enter') {
    slot.enter()
    chosen.counted = 'running'
  } else {
    slot.end()
    model.inFlight.delete(one.id)
  }
}
