import { describe, expect, test } from '@jest/globals'
import { waitUntil } from '@parley/local/wait-until'
import fc from 'fast-check'
import { MODEL_RUNS } from '../../../../tests/sizes.ts'
import type { ToolOutcome } from '../../src/agents/toolbox.ts'
import { INTERRUPTED_CALL } from '../../src/message/turn-progress.ts'
import type { StoreFailure } from '../intake/model/faulty-messages.ts'
import { agentLine } from './agent-line.ts'
import { modelTurn, toolCall } from './agent-system.ts'

const MOST = 8
const SETTLE_MS = 60_000
const line = agentLine()
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** `reads` and `repeats` may be made again, `writes` not; `says` goes to the person, `task` is of no action. */
const KINDS = ['reads', 'repeats', 'writes', 'says', 'task'] as const
interface Call {
  kind: (typeof KINDS)[number]
  action: number
}
interface Story {
  calls: Call[]
  /** How often a call does not come through, one after the other. */
  unreached: boolean[]
  callMs: number
  store: StoreFailure[]
  trouble: 'nothing' | 'kill' | 'lose' | 'hand over'
  afterMs: number
  /** The trouble comes once so many calls have begun. */
  afterBegun?: number
}

const nameOf = ({ kind, action }: Call): string => `${kind}_${action}`
const kindOf = (tool: string): string => tool.split('_')[0] ?? ''

/** Works one message whose model makes these calls in one turn, and returns what happened. */
async function work(story: Story) {
  const made: { at: number; state: 'begins' | 'ends' }[] = []
  const violations: string[] = []
  const unreached = [...story.unreached]
  let inFlight = 0
  let most = 0
  const calls = story.calls.map((call, at) => toolCall(nameOf(call), { at }, `${at}`))
  const deliver = async (at: number): Promise<ToolOutcome> => {
    made.push({ at, state: 'begins' })
    most = Math.max(most, ++inFlight)
    await pause(story.callMs * ((at % 3) + 1))
    inFlight--
    made.push({ at, state: 'ends' })
    return { kind: 'answered', result: { state: 'done', text: `result ${at}` } }
  }
  const system = line.start({
    actionOf: (tool) =>
      kindOf(tool) === 'task' || kindOf(tool) === 'says' ? undefined : Number(tool.split('_')[1]),
    model: ({ conversation }) => {
      const last = conversation.at(-1)
      return last?.role === 'assistant' ? 'Done.' : modelTurn('', calls)
    },
    open: ({ tool, args }) => {
      const { at } = JSON.parse(args) as { at: number }
      const kind = kindOf(tool)
      if (kind === 'says') return { kind: 'say', content: { kind: 'text', text: `said ${at}` } }
      const [isReadOnly, isRepeatable] = [kind === 'reads', kind !== 'writes']
      const attempt = async (): Promise<ToolOutcome> =>
        unreached.shift() ? { kind: 'unreached', reason: 'It is away.' } : deliver(at)
      return { kind: 'call', isReadOnly, isRepeatable, deliver: attempt }
    },
  })
  system.line.failures = [...story.store]
  const id = `m-${system.workspace}`
  system.publish(id)
  await pause(story.afterMs)
  await waitUntil(() => made.length >= (story.afterBegun ?? 0), { timeoutMs: SETTLE_MS })
  if (story.trouble === 'kill') await system.kill()
  if (story.trouble === 'hand over') await system.handOver()
  if (story.trouble === 'lose') system.loseLease(20)
  const isEnded = async () => (await system.stored(id))?.state === 'delivered'
  if (!(await waitUntil(isEnded, { timeoutMs: SETTLE_MS }))) violations.push('it did not end')
  const record = await system.stored(id)
  const results = record?.turns?.[0]?.calls.map(({ result }) => result) ?? []
  return { made, violations, most, results, record }
}

describe('calls of one turn', () => {
  const reading = (action: number): Call => ({ kind: 'reads', action })
  const calm: Omit<Story, 'calls'> = { unreached: [], callMs: 30, store: [], trouble: 'nothing', afterMs: 0 }
  const begunBeforeFirstEnd = (made: { state: string }[]) =>
    made.slice(
      0,
      Math.max(
        0,
        made.findIndex(({ state }) => state === 'ends'),
      ),
    ).length

  test('of several actions are made at once, eight at most, and have their results in order', async () => {
    const calls = Array.from({ length: 10 }, (_, action) => reading(action + 1))
    const { made, most, results } = await work({ ...calm, calls })
    expect([begunBeforeFirstEnd(made), most]).toEqual([MOST, MOST])
    expect(results.map((result) => result?.text)).toEqual(calls.map((_, at) => `result ${at}`))
  })

  test('of one action are made at once where they only read', async () => {
    const { made } = await work({ ...calm, calls: [reading(1), reading(1), reading(1)] })
    expect(begunBeforeFirstEnd(made)).toBe(3)
  })

  test.each<[string, Call[]]>([
    ['of one action that do not only read', [reading(1), { kind: 'writes', action: 1 }, reading(1)]],
    ['behind something that is said', [reading(1), { kind: 'says', action: 0 }, reading(2)]],
    ['behind a call of the task', [reading(1), { kind: 'task', action: 0 }, reading(2)]],
  ])('%s are made one after the other', async (_title, calls) => {
    const { made, most } = await work({ ...calm, calls })
    expect(most).toBe(1)
    expect(made.map(({ at }) => at)).toEqual([...made].sort((a, b) => a.at - b.at).map(({ at }) => at))
  })

  test('that do not come through are tried on together, and the others are not made again', async () => {
    const calls = [1, 2, 3, 4].map(reading)
    const { made, results, record } = await work({ ...calm, calls, unreached: [true, false, true] })
    expect(made.filter(({ state }) => state === 'begins').length).toBe(4)
    expect(results.map((result) => result?.state)).toEqual(['done', 'done', 'done', 'done'])
    expect(record?.attempts.filter(({ outcome }) => outcome === 'retryable').length).toBe(2)
  })

  test('of which an instance dies are settled at once by the next', async () => {
    const calls: Call[] = [1, 2, 3, 4].map((action) => ({ kind: action % 2 ? 'writes' : 'repeats', action }))
    const { results, made, violations } = await work({
      ...calm,
      callMs: 1_000,
      calls,
      trouble: 'kill',
      afterBegun: 4,
    })
    expect(violations).toEqual([])
    expect(results.map((result) => result?.uncertain === true)).toEqual([true, false, true, false])
    expect(made.filter(({ at, state }) => state === 'begins' && at % 2 === 0).length).toBe(2)
  })
})

const story: fc.Arbitrary<Story> = fc.record({
  calls: fc.array(fc.record({ kind: fc.constantFrom(...KINDS), action: fc.integer({ min: 1, max: 3 }) }), {
    minLength: 1,
    maxLength: 10,
  }),
  unreached: fc.array(fc.boolean(), { maxLength: 3 }),
  callMs: fc.constantFrom(0, 5, 30),
  store: fc.array(fc.constantFrom<StoreFailure>('before', 'after'), { maxLength: 2 }),
  trouble: fc.constantFrom('nothing', 'kill', 'lose', 'hand over'),
  afterMs: fc.constantFrom(0, 20, 60, 150),
})

/** Returns the violations of the story. */
async function violationsOf(given: Story): Promise<string[]> {
  const { made, violations, most, results } = await work(given)
  if (most > MOST) violations.push(`${most} at once`)
  for (const [at, { kind, action }] of given.calls.entries()) {
    const begun = made.filter((one) => one.at === at && one.state === 'begins').length
    if (kind === 'writes' && begun > 1) violations.push(`${at} was made ${begun} times`)
    const { text, state } = results[at] ?? {}
    const isInterrupted = kind === 'writes' && text === INTERRUPTED_CALL.text
    const expected = kind === 'says' ? 'Sent.' : `result ${at}`
    if (text !== expected && !isInterrupted) violations.push(`${at} has ${state} ${text}`)
    // An earlier writing call of the same action has ended before this one begins, and calls behind it follow.
    const first = made.findIndex((one) => one.at === at)
    const writtenBefore = given.calls.findIndex(
      (other, before) => before < at && other.action === action && other.kind === 'writes' && kind !== 'says',
    )
    const last = made.findLastIndex((one) => one.at === writtenBefore && one.state === 'begins')
    if (first >= 0 && writtenBefore >= 0 && kind !== 'task' && last > first)
      violations.push(`${writtenBefore} was made after ${at}`)
  }
  return violations.map((one) => `${one}: ${JSON.stringify(given)}`)
}

test('whatever fails, no call that may not be made twice is, none is lost, and results are in order', async () => {
  const sideBySide = fc.array(story, { minLength: 8, maxLength: 8 })
  const property = fc.asyncProperty(sideBySide, async (stories) => {
    const outcomes = await Promise.all(stories.map(violationsOf))
    expect(outcomes.flat()).toEqual([])
  })
  await fc.assert(property, { numRuns: MODEL_RUNS, endOnFailure: true })
}, 300_000)
