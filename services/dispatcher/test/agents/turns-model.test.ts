import { test } from '@jest/globals'
import { waitUntil } from '@parley/local/wait-until'
import fc from 'fast-check'
import type { ModelRequest, ModelResult } from '../../src/agents/model-client.ts'
import type { OpenedTool, ToolOutcome } from '../../src/agents/toolbox.ts'
import type { Outcome } from '../../src/message/outcome.ts'
import { INTERRUPTED_CALL } from '../../src/message/turn-progress.ts'
import type { StoreFailure } from '../intake/model/faulty-messages.ts'
import { agentLine } from './agent-line.ts'
import { AgentSystem, lastSaid, modelTurn, toolCall } from './agent-system.ts'
import { commandsOn } from './model-commands.ts'
import { checkSideBySide } from './side-by-side.ts'

const MAX_TURNS = 3
const THREADS = 2
const SETTLE_MS = 60_000
const line = agentLine()
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

type Tool = 'works' | 'fails' | 'once' | 'invalid' | 'say'
/** The model's answers for a message: turns with calls, then an answer without. */
type Plan = { says: boolean; calls: Tool[] }[]
type Trouble = 'none' | 'later' | 'crash'

/** The plain model: the messages and their plans. Each turn, call and answer must happen once, in order. */
class Conversations {
  readonly plans = new Map<string, Plan>()
  readonly violations: string[] = []
  readonly system: AgentSystem
  modelTrouble: Trouble[] = []
  toolTrouble: ('none' | 'unreached')[] = []
  sendTrouble: ('none' | 'later')[] = []
  modelMs = 0
  toolMs = 20
  /** The effects that left, by the id of their sends, and the order in which they first did. */
  readonly #effects = new Map<string, string>()
  readonly #order: string[] = []
  #asked = 0

  constructor(number: number) {
    this.system = new AgentSystem({
      number,
      collections: line.collections,
      config: { maxTurns: MAX_TURNS, fallbackMessage: 'fallback' },
      model: (request) => this.#answer(request),
      open: (call) => this.#open(call),
      send: ({ id, content }) => this.#send(id, content.kind === 'text' ? content.text : ''),
    })
  }

  publish(plan: Plan): void {
    const id = `${this.system.workspace}-${this.plans.size}`
    this.plans.set(id, plan)
    this.system.publish(id, { thread: threadOf(id) })
  }

  /** Everything works again: waits until nothing is left to do, then checks what must hold. */
  async settle(): Promise<void> {
    Object.assign(this, { modelTrouble: [], toolTrouble: [], sendTrouble: [], modelMs: 0, toolMs: 0 })
    this.system.line.failures = []
    this.system.line.slowMs = 0
    await waitUntil(async () => (await this.#unended()) === 0, { timeoutMs: SETTLE_MS })
    for (const [id, plan] of this.plans) await this.#check(id, plan)
    for (let thread = 0; thread < THREADS; thread++) this.#checkSequence(`t${thread}`)
    await this.system.close()
  }

  async #unended(): Promise<number> {
    const records = await Promise.all([...this.plans.keys()].map((id) => this.system.stored(id)))
    return records.filter((record) => record === null || record.open === true).length
  }

  async #answer(request: ModelRequest): Promise<ModelResult> {
    const id = lastSaid(request)
    const begun = request.conversation.findLastIndex(({ role }) => role === 'person')
    const turn = request.conversation.length - 1 - begun
    // Each try of a turn answers otherwise: what leaves must be of the one that is stored.
    const tag = `${id}/${turn}/${this.#asked++}`
    if ([...this.#effects.values()].some((effect) => effect.startsWith(`${id}/${turn}/`)))
      this.violations.push(`${id} was asked for turn ${turn} after something of it had left`)
    const trouble = this.modelTrouble.shift() ?? 'none'
    await pause(this.modelMs)
    if (trouble === 'crash') throw new Error('the client crashed')
    if (trouble === 'later')
      return { kind: 'retryable', code: 'http_503', reason: 'busy', retryAfterSeconds: 0.01 }
    const planned = this.plans.get(id)?.[turn]
    if (planned === undefined) return modelTurn(tag)
    const calls = planned.calls.map((tool, n) => toolCall(tool, { tag: `${tag}/${n}` }, `${n}`))
    return modelTurn(planned.says ? tag : '', calls)
  }

  #open({ tool, args }: { tool: string; args: string }): OpenedTool {
    const { tag } = JSON.parse(args) as { tag: string }
    if (tool === 'invalid') return { kind: 'invalid', reason: 'no such tool' }
    if (tool === 'say') return { kind: 'say', content: { kind: 'text', text: tag } }
    return { kind: 'call', isRepeatable: tool !== 'once', deliver: (id) => this.#call(id, tag, tool) }
  }

  async #call(id: string, tag: string, tool: string): Promise<ToolOutcome> {
    const trouble = this.toolTrouble.shift() ?? 'none'
    if (tool === 'once' && trouble === 'unreached') return { kind: 'unreached', reason: 'it never left' }
    if (tool === 'once' && this.#effects.has(id)) this.violations.push(`${id} ran twice`)
    await this.#left(id, tag)
    await pause(this.toolMs)
    if (trouble === 'unreached') return { kind: 'unreached', reason: 'no answer' }
    const state = tool === 'fails' ? 'failed' : 'done'
    return { kind: 'answered', result: { state, text: tag } }
  }

  async #send(id: string, text: string): Promise<Outcome> {
    if ((this.sendTrouble.shift() ?? 'none') === 'later')
      return { kind: 'retryable', code: 'x', fault: 'provider', reason: 'later', retryAfterSeconds: 0.02 }
    await this.#left(id, text)
    return { kind: 'accepted', delivered: true }
  }

  /** The same id must be the same thing, and already in the store. */
  async #left(id: string, tag: string): Promise<void> {
    const before = this.#effects.get(id)
    if (before === undefined) this.#order.push(id)
    else if (before !== tag) this.violations.push(`${id} was ${before} and then ${tag}`)
    this.#effects.set(id, tag)
    const [messageId = '', n] = id.split(':')
    const record = await this.system.stored(messageId)
    if (record?.sends[Number(n)]?.state !== 'claimed') this.violations.push(`${id} left without a claim`)
    if (tag !== 'fallback' && !JSON.stringify(record?.turns).includes(tag))
      this.violations.push(`${id} left before ${tag} was stored`)
  }

  async #check(id: string, plan: Plan): Promise<void> {
    const record = await this.system.stored(id)
    const turns = record?.turns ?? []
    const isBounded = plan.length >= MAX_TURNS
    const expected = isBounded ? 'dead' : 'delivered'
    if (record?.state !== expected)
      this.violations.push(`${id} is ${record?.state}, not ${expected}: ${JSON.stringify(record)}`)
    if (turns.length !== Math.min(plan.length + 1, MAX_TURNS))
      this.violations.push(`${id} has ${turns.length} turns`)
    const effects = [...this.#effects.values()]
    const planned = turns.flatMap(({ text, calls }) => [
      ...(text === '' ? [] : [text]),
      ...calls.flatMap(({ tool, args, result }) => {
        if (result === undefined) this.violations.push(`${id} has a call without a result`)
        const { tag } = JSON.parse(args) as { tag: string }
        const mayNotHaveRun = result?.text === INTERRUPTED_CALL.text && !effects.includes(tag)
        return tool === 'invalid' || mayNotHaveRun ? [] : [tag]
      }),
    ])
    const left = (record?.sends ?? []).flatMap((send) => this.#effects.get(send.id) ?? [])
    if (isBounded) planned.push('fallback')
    if (left.join() !== planned.join()) this.violations.push(`${id} sent ${left}, not ${planned}`)
  }

  #checkSequence(thread: string): void {
    const ids = this.#order.filter((id) => threadOf(id) === thread)
    const sorted = [...ids].sort((a, b) => positionOf(a) - positionOf(b))
    if (ids.join() !== sorted.join()) this.violations.push(`thread ${thread} went ${ids}`)
  }
}

const numberOf = (id: string): number => Number(id.split(/[-:]/)[1])
const threadOf = (id: string): string => `t${numberOf(id) % THREADS}`
const positionOf = (id: string): number => numberOf(id) * 1_000 + Number(id.split(':')[1])

const { command, always } = commandsOn<Conversations>()

const tool = fc.constantFrom<Tool>('works', 'fails', 'once', 'invalid', 'say')
const plan = fc.array(
  fc.record({ says: fc.boolean(), calls: fc.array(tool, { minLength: 1, maxLength: 3 }) }),
  { maxLength: MAX_TURNS + 1 },
)
const publish = plan.map((plan) => command(`publish ${JSON.stringify(plan)}`, (own) => own.publish(plan)))
const wait = fc.constantFrom(0, 1, 6, 25, 120).map((ms) => command(`wait ${ms} ms`, () => pause(ms)))
const disturbModel = fc
  .tuple(
    fc.array(fc.constantFrom<Trouble>('none', 'later', 'crash'), { maxLength: 3 }),
    fc.constantFrom(0, 20, 80),
  )
  .map(([modelTrouble, modelMs]) =>
    command(`model: ${modelTrouble} ${modelMs} ms`, (own) => Object.assign(own, { modelTrouble, modelMs })),
  )
const disturbTools = fc
  .tuple(fc.array(fc.constantFrom('none', 'unreached'), { maxLength: 2 }), fc.constantFrom(0, 20, 80))
  .map(([toolTrouble, toolMs]) =>
    command(`tools: ${toolTrouble} ${toolMs} ms`, (own) => Object.assign(own, { toolTrouble, toolMs })),
  )
const disturbSends = fc
  .array(fc.constantFrom('none', 'later'), { maxLength: 2 })
  .map((sendTrouble) => command(`sends: ${sendTrouble}`, (own) => Object.assign(own, { sendTrouble })))
const disturbStore = fc
  .tuple(
    fc.array(fc.constantFrom<StoreFailure>('before', 'after'), { maxLength: 2 }),
    fc.constantFrom(0, 5, 40),
  )
  .map(([failures, slowMs]) =>
    command(`store: ${failures} ${slowMs} ms`, ({ system }) =>
      Object.assign(system.line, { failures: [...failures], slowMs }),
    ),
  )
const loseLease = fc
  .constantFrom(0, 10, 60)
  .map((ms) => command(`lose the lease, notice it after ${ms} ms`, ({ system }) => system.loseLease(ms)))
const commands = fc.commands(
  [
    ...[
      publish,
      publish,
      publish,
      wait,
      wait,
      wait,
      disturbModel,
      disturbTools,
      disturbSends,
      disturbStore,
      loseLease,
    ],
    always('hand over', ({ system }) => system.handOver()),
    always('kill', ({ system }) => system.kill()),
  ],
  { maxCommands: 25, size: 'max' },
)

let systems = 100

test('whatever fails, each turn is stored once before anything of it leaves, and each call and answer leaves once, in order', async () => {
  await checkSideBySide(commands, () => new Conversations(systems++))
}, 300_000)
