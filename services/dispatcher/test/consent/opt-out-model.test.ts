import { test } from '@jest/globals'
import { waitUntil } from '@parley/local/wait-until'
import { createSecretBox, secretKeysOf } from '@parley/shared/sealed-value'
import fc from 'fast-check'
import { createAddressHash } from '../../src/consent/address-hash.ts'
import { createHeedMessages } from '../../src/consent/heed-messages.ts'
import { type ConsentEvent, createRecordConsent } from '../../src/consent/record-consent.ts'
import { createSuppressions } from '../../src/consent/suppressions.ts'
import { wordsOf } from '../../src/consent/words.ts'
import type { Outcome } from '../../src/message/outcome.ts'
import { OPTED_OUT } from '../../src/message/outcome.ts'
import { threadId } from '../../src/message/thread-record.ts'
import { agentLine } from '../agents/agent-line.ts'
import { AgentSystem } from '../agents/agent-system.ts'
import { commandsOn } from '../agents/model-commands.ts'
import { checkSideBySide } from '../agents/side-by-side.ts'
import { noThreads } from '../no-threads.ts'

const SETTLE_MS = 60_000
const PHONE = 'phone:4930901820'
const USER_ID = 'whatsapp:DE.1A2b'
/** Whom a message is for, by either of the person's addresses. */
const USERS = [{ phone: '+49 30 901820' }, { phone: 'DE.1A2b' }]
const REFUSED: Outcome = {
  ...{ kind: 'permanent', code: '131050', fault: 'recipient', reason: 'stopped at the provider' },
  isOptOut: true,
}
const line = agentLine()
const box = createSecretBox(secretKeysOf({}))
const words = wordsOf(undefined)
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * A person who opts out and in while templates are sent to them. The plain model: every change of consent that was begun
 * and that was stored; while the last one stored is a withdrawal, and none that is later was begun, nothing may be claimed
 * that leaves.
 */
class Person {
  readonly violations: string[] = []
  readonly system: AgentSystem
  providerMs = 0
  refusing = 0
  readonly #templates: string[] = []
  readonly #words: string[] = []
  readonly #begun: ConsentEvent[] = []
  readonly #stored: ConsentEvent[] = []
  /** Since when nothing may be claimed that leaves, by the clock of this process. */
  #outSince: number | undefined

  constructor(number: number) {
    const suppressions = createSuppressions(line.collections, createAddressHash(line.collections, box))
    const record = createRecordConsent({ collections: line.collections, suppressions, stored: () => {} })
    // Consent for one address counts for the other because a thread has both.
    const known = line.collections.threads.insertOne({
      _id: threadId({ workspace: number, channel: 'c', extId: 'theirs' }),
      ...{ workspace: number, channel: 'c', extId: 'theirs', user: {}, handler: 'assistant' },
      ...{ lastMessage: '', lastAt: new Date(), unread: 0, expiresAt: new Date(Date.now() + SETTLE_MS) },
      addresses: [PHONE, USER_ID],
    })
    const recordConsent: typeof record = async (events) => {
      await known
      this.#begun.push(...events)
      this.#look()
      await record(events)
      this.#stored.push(...events)
      this.#look()
    }
    this.record = recordConsent
    this.system = new AgentSystem({
      number,
      collections: line.collections,
      callback: 'whatsapp',
      reports: true,
      model: () => 'You are welcome.',
      send: ({ id, messageId, content }) => this.#send(id, messageId, content.kind),
      heed: createHeedMessages({
        ...{ wordsOf: async () => words, record: recordConsent },
        reportMoves: async () => {},
      }),
      options: { threads: noThreads, suppressions, recordConsent, uncertainWindow: 30 },
    })
  }

  readonly record: (events: readonly ConsentEvent[]) => Promise<void>

  post(thread: number): void {
    const id = `t${this.#templates.length}-${this.system.workspace}`
    this.#templates.push(id)
    const args = { template: 'offer', language: 'en', variables: [] }
    const user = USERS[this.#templates.length % USERS.length]
    const answer = { functions: [{ name: 'callback', args }] }
    this.system.publish(id, { thread: `order-${thread}`, user, input: undefined, answer })
  }

  say(text: string): void {
    const id = `w${this.#words.length}-${this.system.workspace}`
    this.#words.push(id)
    this.system.publish(id, { user: { ...USERS[0], addresses: [USER_ID] }, input: text })
  }

  /** The provider, or somebody of the team, says so. */
  async report(status: 'granted' | 'withdrawn'): Promise<void> {
    const { workspace } = this.system
    const of = { workspace, addresses: [PHONE, USER_ID], purpose: 'marketing' as const }
    const id = `e${this.#begun.length}-${workspace}`
    await this.record([{ ...of, id, status, source: 'provider', at: new Date() }])
  }

  /** Everything works again: waits until nothing is left to do, then checks what must hold. */
  async settle(): Promise<void> {
    Object.assign(this, { providerMs: 0, refusing: 0 })
    Object.assign(this.system.line, { slowMs: 0 })
    if (!(await waitUntil(async () => (await this.#unended()) === 0, { timeoutMs: SETTLE_MS })))
      this.violations.push('not done')
    for (const id of this.#templates) await this.#checkEnd(id)
    await this.system.close()
  }

  /** Changes of the same millisecond may count either way. */
  #look(): void {
    const last = Math.max(...this.#stored.map(({ at }) => at.getTime()))
    const statuses = new Set(
      this.#stored.filter(({ at }) => at.getTime() === last).map(({ status }) => status),
    )
    const mayBeIn = this.#begun.some(({ status, at }) => status === 'granted' && at.getTime() >= last)
    const isOut = statuses.size === 1 && statuses.has('withdrawn') && !mayBeIn
    if (!isOut) this.#outSince = undefined
    else this.#outSince ??= Date.now()
  }

  async #unended(): Promise<number> {
    const records = await Promise.all(
      [...this.#templates, ...this.#words].map((id) => this.system.stored(id)),
    )
    return records.filter((record) => record === null || record.open === true).length
  }

  async #send(id: string, messageId: string, kind: string): Promise<Outcome> {
    if (kind === 'template') {
      const outSince = this.#outSince
      const startedAt = Date.now()
      const record = await this.system.stored(messageId)
      const claimedAt = record?.updatedAt.getTime() ?? 0
      // Meanwhile another instance may have claimed it, where this one is taken for dead.
      const isOwn = claimedAt <= startedAt
      if (isOwn && record?.sends[0]?.state !== 'claimed') this.violations.push(`${id} left unclaimed`)
      if (isOwn && outSince !== undefined && outSince < claimedAt)
        this.violations.push(`${id} was claimed ${claimedAt - outSince} ms after the opt-out was stored`)
    }
    await pause(this.providerMs)
    if (kind === 'template' && this.refusing > 0) {
      this.refusing--
      return REFUSED
    }
    return { kind: 'accepted', delivered: true }
  }

  async #checkEnd(id: string): Promise<void> {
    const record = await this.system.stored(id)
    const code = record?.attempts.at(-1)?.code
    const isForbidden = code === OPTED_OUT.code || code === '131050'
    const isRight = isForbidden
      ? record?.state === 'dead' && record.fault === 'recipient'
      : record?.state === 'delivered'
    if (!isRight) this.violations.push(`${id} ended as ${record?.state} ${record?.fault} by ${code}`)
  }
}

const { command, always } = commandsOn<Person>()

const wait = fc.constantFrom(0, 2, 10, 40, 120).map((ms) => command(`wait ${ms} ms`, () => pause(ms)))
const post = fc
  .integer({ min: 0, max: 3 })
  .map((thread) => command(`post to ${thread}`, (own) => own.post(thread)))
const word = fc
  .constantFrom('stop', 'start', 'stop sending me the wrong size')
  .map((text) => command(`the person says ${text}`, (own) => own.say(text)))
const report = fc
  .constantFrom('granted' as const, 'withdrawn' as const)
  .map((status) => command(`it is reported: ${status}`, (own) => own.report(status)))
const slowProvider = fc
  .constantFrom(0, 5, 30)
  .map((providerMs) =>
    command(`the provider takes ${providerMs} ms`, (own) => Object.assign(own, { providerMs })),
  )
const slowStore = fc
  .constantFrom(0, 5, 40)
  .map((slowMs) =>
    command(`the store takes ${slowMs} ms`, ({ system }) => Object.assign(system.line, { slowMs })),
  )
const loseLease = fc
  .constantFrom(5, 50)
  .map((ms) => command(`the lease is lost, noticed after ${ms} ms`, ({ system }) => system.loseLease(ms)))
const commands = fc.commands(
  [
    ...[post, post, post, post, wait, wait, word, word, report, slowProvider, slowStore, loseLease],
    always('the provider refuses one', (own) => Object.assign(own, { refusing: 1 })),
    always('hand over', ({ system }) => system.handOver()),
    always('kill', ({ system }) => system.kill()),
  ],
  { maxCommands: 30, size: 'max' },
)

let systems = 9_000

test('whoever opts out and in, by whatever way, while instances die and take over, no template is claimed and leaves once an opt-out is stored, and each that does not leave says why', async () => {
  await checkSideBySide(commands, () => new Person(systems++))
}, 300_000)
