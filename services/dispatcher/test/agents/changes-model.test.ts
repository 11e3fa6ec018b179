import { test } from '@jest/globals'
import { waitUntil } from '@parley/local/wait-until'
import fc from 'fast-check'
import type { MessageRecord } from '../../src/message/message-record.ts'
import { agentLine } from './agent-line.ts'
import { type AgentSystem, lastSaid } from './agent-system.ts'
import { commandsOn } from './model-commands.ts'
import { checkSideBySide } from './side-by-side.ts'

const SETTLE_MS = 60_000
const DELETED = '[It was deleted by whoever wrote it.]'
const line = agentLine()
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** A later change of a message: another text, or none. The latest by the provider's clock counts, a deletion for good. */
interface Change {
  id: string
  of: string
  second: number
  text?: string
}

/** A person who writes, edits and deletes, and an agent that answers with what it read. */
class Conversation {
  readonly violations: string[] = []
  readonly system: AgentSystem
  modelMs = 0
  readonly #said = new Map<string, string>()
  readonly #changes: Change[] = []
  #number = 0

  constructor(number: number) {
    this.system = line.start({
      originalMs: SETTLE_MS,
      model: async (request) => {
        const read = lastSaid(request)
        await pause(this.modelMs)
        return read
      },
    })
    this.#number = number * 1_000
  }

  say(): void {
    const id = `s${++this.#number}`
    this.#said.set(id, this.system.receive({ id, type: 'text' }, { input: id }))
  }

  /** Of a message that was said, or of the next one, which comes behind it. */
  change({ of, second, isDeletion }: { of: number; second: number; isDeletion: boolean }): void {
    const ids = [...this.#said.keys(), `s${this.#number + 1}`]
    const target = ids[of % ids.length] as string
    const id = `c${this.#changes.length}`
    const change = { of: target, second, ...(isDeletion ? {} : { text: `${target} as of ${second}.${id}` }) }
    const content = { original_message_id: target, message: { type: 'text', text: { body: change.text } } }
    const type = isDeletion ? 'revoke' : 'edit'
    this.#changes.push({
      id: this.system.receive({ id, type, timestamp: `${second}`, [type]: content }),
      ...change,
    })
    if (!this.#said.has(target)) this.say()
  }

  async settle(): Promise<void> {
    this.modelMs = 0
    const all = [...this.#said.values(), ...this.#changes.map(({ id }) => id)]
    const isDone = async () =>
      (await Promise.all(all.map((id) => this.system.stored(id)))).every(
        (one) => one?.state === 'done' || one?.state === 'delivered',
      )
    if (!(await waitUntil(isDone, { timeoutMs: SETTLE_MS })))
      this.violations.push('not everything came to an end')
    for (const [id, messageId] of this.#said) await this.#check(id, await this.system.stored(messageId))
    await this.system.close()
  }

  async #check(id: string, record: MessageRecord | null): Promise<void> {
    const changes = this.#changes.filter(({ of }) => of === id)
    const records = await Promise.all(changes.map((change) => this.system.stored(change.id)))
    const applied = changes.map((change, at) => ({ ...change, at: records[at]?.updatedAt.getTime() ?? 0 }))
    if (records.some((one) => one?.reason === 'original_unknown'))
      this.violations.push(`a change of ${id} was lost`)
    const isDeleted = applied.some(({ text }) => text === undefined)
    const latest = Math.max(...applied.map(({ second }) => second))
    const texts = applied.filter(({ second }) => second === latest).map(({ text }) => text)
    const { changed } = record ?? {}
    const isRight = isDeleted
      ? changed?.isDeleted === true
      : applied.length === 0
        ? changed === undefined
        : texts.includes(changed?.text)
    if (!isRight)
      this.violations.push(`${id} reads as ${JSON.stringify(changed)} after ${JSON.stringify(applied)}`)
    this.#checkRead(id, record, applied)
  }

  /** Checks that the model has not answered an older version than the changes that came before its turn was stored. */
  #checkRead(id: string, record: MessageRecord | null, applied: (Change & { at: number })[]): void {
    const [turn] = record?.turns ?? []
    if (turn === undefined) {
      if (record?.reason !== 'deleted') this.violations.push(`${id} has no answer`)
      return
    }
    const before = applied.filter(({ at }) => at < turn.at.getTime())
    const isDeleted = before.some(({ text }) => text === undefined)
    const read = applied.find(({ text }) => text === turn.text)
    const newer = before.filter(({ second }) => second > (read?.second ?? -1))
    if (isDeleted && turn.text !== DELETED) this.violations.push(`${id} was read after it was deleted`)
    if (!isDeleted && newer.length > 0 && turn.text !== DELETED)
      this.violations.push(`${id} was answered as ${turn.text} after ${JSON.stringify(newer)}`)
  }
}

const { command, always } = commandsOn<Conversation>()

const change = fc
  .record({
    of: fc.nat(5),
    second: fc.integer({ min: 1, max: 5 }),
    isDeletion: fc.constantFrom(false, false, true),
  })
  .map((one) => command(`change ${JSON.stringify(one)}`, (own) => own.change(one)))
const wait = fc.constantFrom(0, 2, 10, 40, 120).map((ms) => command(`wait ${ms} ms`, () => pause(ms)))
const slowModel = fc
  .constantFrom(0, 5, 30, 90)
  .map((modelMs) => command(`the model takes ${modelMs} ms`, (own) => Object.assign(own, { modelMs })))
const slowStore = fc
  .constantFrom(0, 5, 40)
  .map((slowMs) =>
    command(`the store takes ${slowMs} ms`, ({ system }) => Object.assign(system.line, { slowMs })),
  )
const say = always('the person writes', (own) => own.say())
const commands = fc.commands(
  [
    ...[say, say, change, change, change, wait, wait, slowModel, slowStore],
    always('hand over', ({ system }) => system.handOver()),
    always('kill', ({ system }) => system.kill()),
  ],
  { maxCommands: 20, size: 'max' },
)

let systems = 0

test('whatever happens meanwhile, each message reads as its writer changed it last, and no answer is made of what was changed before', async () => {
  await checkSideBySide(commands, () => new Conversation(systems++))
}, 300_000)
