import { test } from '@jest/globals'
import { waitUntil } from '@parley/local/wait-until'
import fc from 'fast-check'
import type { ModelRequest, ModelResult } from '../../src/agents/model-client.ts'
import {
  createIsWithPerson,
  giveToAssistant,
  giveToPerson,
  untilNothingLeaves,
} from '../../src/conversations/take-over.ts'
import type { Outcome } from '../../src/message/outcome.ts'
import { agentLine } from '../agents/agent-line.ts'
import { AgentSystem, lastSaid, modelTurn, toolCall } from '../agents/agent-system.ts'
import { commandsOn } from '../agents/model-commands.ts'
import { checkSideBySide } from '../agents/side-by-side.ts'

const SETTLE_MS = 60_000
const line = agentLine()
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Two people and an agent on one thread, and the app of the business. The plain model: what was published, and who has the thread. */
class Conversation {
  readonly violations: string[] = []
  readonly system: AgentSystem
  modelMs = 0
  /** How many sends fail first. */
  failing = 0
  readonly #questions: string[] = []
  readonly #replies: string[] = []
  /** The texts that left, by the ids of the sends, in the order in which they first did. */
  readonly #left = new Map<string, string>()
  /** Since a take-over was responded to, until the thread is given back. */
  #isTaken = false
  /** How often it was given back. */
  #returns = 0
  readonly #echoes: string[] = []
  readonly #echoing: Promise<void>[] = []
  #asked = 0

  constructor(number: number) {
    const isWithPerson = createIsWithPerson(line.collections)
    this.system = new AgentSystem({
      number,
      collections: line.collections,
      model: (request) => this.#answer(request),
      open: ({ args }) => ({ kind: 'say', content: { kind: 'text', text: JSON.parse(args).tag } }),
      send: ({ id, content }) => this.#send(id, content.kind === 'text' ? content.text : ''),
      options: { threads: { isWithPerson, isOutsideWindow: async () => false } },
      parts: {
        handOff: async ({ record }) =>
          void (await giveToPerson(line.collections, this.#place, { except: record._id })),
      },
    })
  }

  ask(): void {
    const id = `q${this.#questions.length}-${this.system.workspace}`
    this.#questions.push(id)
    this.system.publish(id)
  }

  reply(): void {
    const id = `r${this.#replies.length}-${this.system.workspace}`
    this.#replies.push(id)
    this.system.publish(id, { input: undefined, answer: { message: id } })
  }

  async takeOver(): Promise<void> {
    await this.#giveToPerson()
    this.#isTaken = true
  }

  /** The business writes in its own app. From when that is stored, until the thread is given back, a person has it. */
  echo(): void {
    this.#echoing.push(this.#echo())
  }

  async #echo(): Promise<void> {
    const number = this.#echoes.length
    const meta = { id: `e${number}`, type: 'text', webhook_field: 'smb_message_echoes' }
    const id = this.system.receive(meta, { input: 'hello' })
    this.#echoes.push(id)
    const returns = this.#returns
    await this.system.until(id)
    if (this.#returns === returns) this.#isTaken = true
  }

  async giveBack(): Promise<void> {
    this.#isTaken = false
    this.#returns++
    await giveToAssistant(line.collections, this.#place)
  }

  /** Gives the thread both ways at once: the later one counts, and the agent may answer as soon as one has begun. */
  async disagree(): Promise<void> {
    await Promise.all([this.#giveToPerson(), this.giveBack()])
  }

  /** Everything works again: waits until nothing is left to do, then checks what must hold. */
  async settle(): Promise<void> {
    Object.assign(this, { modelMs: 0, failing: 0 })
    await waitUntil(async () => (await this.#unended()) === 0, { timeoutMs: SETTLE_MS })
    await Promise.all(this.#echoing)
    for (const id of this.#questions) await this.#checkSent(id)
    const replies = [...this.#left.values()].filter((text) => text.startsWith('r'))
    if (replies.join() !== this.#replies.join())
      this.violations.push(`the replies ${this.#replies} were sent as ${replies}`)
    await this.system.close()
  }

  async #giveToPerson(): Promise<void> {
    const marked = await giveToPerson(line.collections, this.#place)
    for (const { _id } of marked) this.system.interrupt(_id)
    await untilNothingLeaves(line.collections, this.#place)
  }

  get #place() {
    const { workspace } = this.system
    return { workspace, channel: 'c', extId: 't', partitions: [workspace], retentionMs: 60_000 }
  }

  async #unended(): Promise<number> {
    const all = [...this.#questions, ...this.#replies, ...this.#echoes]
    const records = await Promise.all(all.map((id) => this.system.stored(id)))
    return records.filter((record) => record === null || record.open === true).length
  }

  /** Every third question it says something first, and then answers; each try of a turn says something else. */
  async #answer(request: ModelRequest): Promise<ModelResult> {
    const tag = `a ${lastSaid(request)}/${this.#asked++}`
    const isBegun = request.conversation.at(-1)?.role === 'assistant'
    await pause(this.modelMs)
    const speaksFirst = this.#questions.indexOf(lastSaid(request)) % 3 === 2
    return modelTurn(tag, speaksFirst && !isBegun ? [toolCall('say', { tag: `${tag} first` })] : [])
  }

  async #send(id: string, text: string): Promise<Outcome> {
    const isAgents = text.startsWith('a')
    if (isAgents && this.#isTaken) this.violations.push(`${id} left while a person had the thread`)
    if (this.failing > 0) {
      this.failing--
      return { kind: 'retryable', code: 'x', fault: 'provider', reason: 'later', retryAfterSeconds: 0.05 }
    }
    const before = this.#left.get(id)
    if (before !== undefined && before !== text) this.violations.push(`${id} was ${before}, then ${text}`)
    if (before === undefined) this.#left.set(id, text)
    return { kind: 'accepted', delivered: true }
  }

  async #checkSent(id: string): Promise<void> {
    const record = await this.system.stored(id)
    const isTaken = record?.state === 'done' && record.reason === 'handler_is_person'
    if (record?.state !== 'delivered' && !isTaken)
      this.violations.push(`${id} ended as ${record?.state} ${record?.reason}`)
    const turns = record?.turns ?? []
    const planned = turns.flatMap(({ text, calls }) => [
      text,
      ...calls.map(({ args }) => JSON.parse(args).tag),
    ])
    const left = [...this.#left].filter(([send]) => send.startsWith(`${id}:`)).map(([, text]) => text)
    const isPart = left.every((text, at) => text === planned[at])
    if (!isPart || (!isTaken && left.length !== planned.length))
      this.violations.push(`${id} (${record?.state}) was answered by ${left}, of ${planned}`)
  }
}

const { command, always } = commandsOn<Conversation>()

const wait = fc.constantFrom(0, 2, 10, 40, 120).map((ms) => command(`wait ${ms} ms`, () => pause(ms)))
const slowModel = fc
  .constantFrom(0, 5, 30, 90)
  .map((modelMs) => command(`the model takes ${modelMs} ms`, (own) => Object.assign(own, { modelMs })))
const failSends = fc
  .integer({ min: 1, max: 3 })
  .map((failing) => command(`${failing} sends fail`, (own) => Object.assign(own, { failing })))
const slowStore = fc
  .constantFrom(0, 5, 40)
  .map((slowMs) =>
    command(`the store takes ${slowMs} ms`, ({ system }) => Object.assign(system.line, { slowMs })),
  )
const ask = always('the person asks', (own) => own.ask())
const echo = always('the business writes in its app', (own) => own.echo())
const takeOver = always('somebody takes over', (own) => own.takeOver())
const commands = fc.commands(
  [
    ...[ask, ask, ask, wait, wait, takeOver, takeOver, slowModel, failSends, slowStore],
    ...[echo, echo],
    always('both take over', (own) => Promise.all([own.takeOver(), own.takeOver()])),
    always('one takes over while the other gives back', (own) => own.disagree()),
    always('it is given back', (own) => own.giveBack()),
    always('somebody replies', (own) => own.reply()),
    always('hand over', ({ system }) => system.handOver()),
    always('kill', ({ system }) => system.kill()),
  ],
  { maxCommands: 25, size: 'max' },
)

let systems = 5_000

test('whoever takes over and gives back, no message is answered twice, nothing of the agent leaves once a take-over was responded to or a message of the business is stored, and each reply is sent once, in order', async () => {
  await checkSideBySide(commands, () => new Conversation(systems++))
}, 300_000)
