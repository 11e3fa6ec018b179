import { expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import fc from 'fast-check'
import type { SeenMessage } from '../dispatch-world.ts'
import { rpcLine, text } from '../rpc-line.ts'

const line = rpcLine()
const NAMES = 3
const RUNS = 6

type Step =
  | { kind: 'post' | 'create'; name: number }
  | { kind: 'delay' | 'go on' | 'cut' | 'mend' | 'until asked' }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('post' as const), name: fc.nat(NAMES - 1) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('create' as const), name: fc.nat(NAMES - 1) }) },
  fc.record({ kind: fc.constantFrom('delay', 'go on', 'cut', 'mend', 'until asked') }),
)

let created = 10
let runs = 0

/** Messages and channels of a few external ids, while what configuration says comes late or not at all. */
class Run {
  readonly #prefix = `run-${runs++}`
  /** The ids of channels by the names that messages call them by. */
  readonly #channels = new Set<string>()
  /** The messages by id, each true if its channel was there when it was posted. */
  readonly #posted = new Map<string, boolean>()
  #goOn: () => void = () => undefined

  async take(step: Step): Promise<void> {
    const { configuration } = line.world
    const extId = 'name' in step ? `${this.#prefix}-${step.name}` : ''
    switch (step.kind) {
      case 'post':
        return this.#post(extId)
      case 'create':
        if (!this.#channels.has(extId)) await line.world.putChannel(created++, line.rpc({ extId }))
        return void this.#channels.add(extId)
      case 'delay':
        this.#goOn = configuration.delayResponses()
        return
      case 'go on':
        return this.#goOn()
      case 'until asked':
        return this.#untilAsked()
      default:
        configuration[step.kind]()
    }
  }

  async #post(extId: string): Promise<void> {
    const id = `${extId}-${this.#posted.size}`
    this.#posted.set(id, this.#channels.has(extId))
    await line.world.post(id, text('x', id, extId))
  }

  /** Until every message is stored, so that what is said of channels from now on is news to their look-ups. */
  async #untilAsked(): Promise<void> {
    for (const id of this.#posted.keys())
      await eventually(async () => (await line.world.get(`/rest/messages/${id}`)).status === 200)
  }

  /** The messages whose channel had been there before them, and what became of them. */
  async end(): Promise<SeenMessage[]> {
    this.#goOn()
    line.world.configuration.mend()
    const ended = await Promise.all(
      [...this.#posted.keys()].map((id) => line.world.message(id, 'delivered', 'unrouted')),
    )
    return ended.filter(({ _id }) => this.#posted.get(_id))
  }
}

const play = async (steps: readonly Step[]) => {
  const run = new Run()
  try {
    for (const one of steps) await run.take(one)
  } finally {
    const routed = await run.end()
    expect(routed.filter(({ state }) => state !== 'delivered')).toEqual([])
  }
}

test('what configuration said before the channel was there counts for no message that was posted after', async () => {
  const ofOne = (kind: 'post' | 'create'): Step => ({ kind, name: 0 })
  const until: Step = { kind: 'until asked' }
  await play([
    { kind: 'delay' },
    ofOne('post'),
    until,
    ofOne('create'),
    ofOne('post'),
    until,
    { kind: 'go on' },
  ])
})

test('no message is unrouted whose channel had been there before it, however late configuration is heard of', async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), play), {
    numRuns: RUNS,
    endOnFailure: true,
  })
})
