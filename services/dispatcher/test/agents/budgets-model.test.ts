import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { MODEL_RUNS } from '../../../../tests/sizes.ts'
import type { Reservation } from '../../src/agents/usage/budget-counts.ts'
import { type Budgets, createBudgets } from '../../src/agents/usage/budgets.ts'
import type { Budget } from '../../src/agents/usage/budgets-of.ts'
import { dispatcherDatabase } from '../dispatcher-database.ts'

const database = dispatcherDatabase({ partitions: 1 })
const INSTANCES = 3
const LEASE_MS = 600_000
const LIMITS = { person: 400, other: 700, channel: 1_000, key: 1_600 }
/** Which budgets a call counts against: of two people on a channel, of another channel, of a trial. */
const USES = [['person', 'channel', 'key'], ['other', 'channel', 'key'], ['channel', 'key'], ['key']] as const
let histories = 0

interface Ask {
  instance: number
  use: number
  prompt: number
  answer: number
}
type Command =
  /** All at once. */
  | { kind: 'reserve'; asks: Ask[] }
  /** With what a call took of what it had, in percent: an estimate may be wrong. */
  | { kind: 'settle'; which: number; percent: number }
  | { kind: 'crash'; instance: number }
  /** No lease of a call is left. */
  | { kind: 'expire' }

const ask: fc.Arbitrary<Ask> = fc.record({
  instance: fc.nat(INSTANCES - 1),
  use: fc.nat(USES.length - 1),
  prompt: fc.integer({ min: 1, max: 300 }),
  answer: fc.integer({ min: 1, max: 500 }),
})
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('reserve' as const),
      asks: fc.array(ask, { minLength: 1, maxLength: 8 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('settle' as const),
      which: fc.nat(40),
      percent: fc.integer({ min: 0, max: 110 }),
    }),
  },
  fc.record({ kind: fc.constant('crash' as const), instance: fc.nat(INSTANCES - 1) }),
  fc.constant({ kind: 'expire' as const }),
)

/** Instances that share one database, and what must be counted in it. */
class World {
  readonly #history = ++histories
  readonly #instances: Budgets[] = Array.from({ length: INSTANCES }, () => this.#open())
  readonly #counted = new Map<string, number>()
  /** By how much calls took more than they had. */
  #error = 0
  /** Calls may be settled whose lease was over. */
  #isLate = false
  #inFlight: { instance: number; reservation: Reservation; tokens: number }[] = []

  async run(one: Command): Promise<void> {
    switch (one.kind) {
      case 'reserve':
        await Promise.all(one.asks.map((asked) => this.#reserve(asked)))
        break
      case 'settle':
        await this.#settle(one)
        break
      case 'crash':
        this.#instances[one.instance] = this.#open()
        this.#inFlight = this.#inFlight.filter(({ instance }) => instance !== one.instance)
        break
      case 'expire':
        await this.#expire()
    }
    await this.#check()
  }

  /** Once nothing is under way any more, whoever is refused is told that the budget is spent, and not to wait. */
  async end(): Promise<void> {
    this.#inFlight = []
    await this.#expire()
    const reserved = await this.#open().reserve(this.#budgets(0), {
      least: 300,
      full: 300,
      leaseMs: LEASE_MS,
    })
    expect(reserved.kind).not.toBe('pending')
  }

  #open(): Budgets {
    return createBudgets({ usedTokens: database.collections.usedTokens, now: Date.now })
  }

  #budgets(use: number): Budget[] {
    return (USES[use] ?? []).map((name) => ({
      id: `${this.#history} ${name}`,
      limit: LIMITS[name],
      setting: name,
    }))
  }

  async #reserve({ instance, use, prompt, answer }: Ask): Promise<void> {
    const required = { least: prompt + 1, full: prompt + answer, leaseMs: LEASE_MS }
    const budgets = this.#budgets(use)
    const reserved = await (this.#instances[instance] as Budgets).reserve(budgets, required)
    if (reserved.kind !== 'reserved') {
      if (reserved.kind === 'pending') expect(reserved.waitMs).toBeGreaterThan(0)
      return
    }
    const { reservation, tokens } = reserved
    expect(reservation.map(({ id }) => id)).toEqual(budgets.map(({ id }) => id))
    expect(tokens).toBeGreaterThanOrEqual(required.least)
    expect(tokens).toBeLessThanOrEqual(required.full)
    for (const part of reservation) this.#count(part.id, part.tokens)
    this.#inFlight.push({ instance, reservation, tokens })
  }

  async #settle({ which, percent }: Extract<Command, { kind: 'settle' }>): Promise<void> {
    const [call] = this.#inFlight.splice(which % (this.#inFlight.length || 1), 1)
    if (call === undefined) return
    const tokens = Math.round((call.tokens * percent) / 100)
    await (this.#instances[call.instance] as Budgets).settle([{ reservation: call.reservation, tokens }])
    for (const part of call.reservation) this.#count(part.id, tokens - part.tokens)
    this.#error += Math.max(0, tokens - call.tokens)
  }

  #count(id: string, tokens: number): void {
    this.#counted.set(id, (this.#counted.get(id) ?? 0) + tokens)
  }

  async #expire(): Promise<void> {
    this.#isLate ||= this.#inFlight.length > 0
    const ofHistory = { _id: { $regex: `^${this.#history} ` } }
    await database.collections.usedTokens.updateMany(ofHistory, { $set: { pendingUntil: new Date(0) } })
  }

  async #check(): Promise<void> {
    const ids = [...this.#counted.keys()]
    const counts = await database.collections.usedTokens.find({ _id: { $in: ids } }).toArray()
    for (const [id, counted] of this.#counted) {
      const limit = LIMITS[id.split(' ')[1] as keyof typeof LIMITS]
      const count = counts.find(({ _id }) => _id === id)
      expect({ id, tokens: count?.tokens }).toEqual({ id, tokens: counted })
      expect(counted).toBeLessThanOrEqual(limit + this.#error)
      const settled = counted - (count?.pending ?? 0)
      const asSpent = this.#instances.filter((one) => one.spent([{ id, limit, setting: '' }]) !== undefined)
      if (asSpent.length > 0 && !this.#isLate) expect(settled + 64).toBeGreaterThan(limit)
    }
  }
}

test('no budget is exceeded by what is reserved, whatever instances do at once and whichever of them crash', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 5, maxLength: 20 }), async (commands) => {
      const world = new World()
      for (const one of commands) await world.run(one)
      await world.end()
    }),
    { numRuns: MODEL_RUNS * 3, endOnFailure: true },
  )
}, 120_000)
