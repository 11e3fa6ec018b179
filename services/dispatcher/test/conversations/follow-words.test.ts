import { afterEach, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { createLog } from '@parley/shared/log'
import { type Relay, startRelay } from '@parley/shared/relay/relay'
import type { StoredRelay } from '@parley/shared/relay/relay-state'
import { followWords } from '../../src/conversations/follow-words.ts'
import type { MessageRecord } from '../../src/message/message-record.ts'
import { dispatcherDatabase } from '../dispatcher-database.ts'
import { newRecord } from '../new-record.ts'

const database = dispatcherDatabase({ partitions: 1 })
const log = createLog({ service: 'test', level: 'silent' })
const EXPIRES = new Date('2030-01-01T00:00:00Z')
let relay: Relay | undefined
afterEach(async () => {
  await relay?.close()
  await relays().deleteMany({})
  await database.collections.messages.deleteMany({})
})

const relays = () => database.db().collection<StoredRelay>('relays')

function follow(): void {
  const collections = { ...database.collections, relays: relays() }
  relay = followWords({ collections, ready: Promise.resolve(), db: database.db, log })
}

/** A message that has ended, in which somebody said this. */
const ended = (_id: string, input: string, more: Partial<MessageRecord> = {}): MessageRecord => {
  const body = JSON.stringify({ extId: 'c', user: {}, thread: {}, answer: {}, input })
  const { open: _open, ...record } = newRecord({ _id, state: 'done', inbound: true, body })
  return { ...record, expiresAt: EXPIRES, ...more }
}

const wordsOf = async (_id: string) => (await database.collections.messageWords.findOne({ _id }))?.words
const untilWords = (_id: string, words: string[] | undefined) =>
  eventually(async () => JSON.stringify(await wordsOf(_id)) === JSON.stringify(words))

describe('the words of messages', () => {
  test('are built from what is stored, without what is gone, and the ends of numbers with them', async () => {
    const { messages, messageWords, threads } = database.collections
    const many = Array.from({ length: 1_250 }, (_, n) => ended(`many-${n}`, `Number ${n}`))
    const waiting = newRecord({ _id: 'open', body: JSON.stringify({ input: 'Being asked' }) })
    await messages.insertMany([...many, waiting])
    const erased = { workspace: 1, thread: 't', at: new Date(), words: ['erased'], expiresAt: EXPIRES }
    await messageWords.insertOne({ _id: 'erased', ...erased })
    const thread = { user: {}, handler: 'assistant', lastMessage: '', unread: 0 } as const
    await threads.insertOne({
      ...{ _id: 'old', workspace: 1, channel: 'c', extId: 't', ...thread },
      ...{ addresses: ['phone:5511987'], lastAt: new Date(), expiresAt: EXPIRES },
    })
    follow()
    await untilWords('many-0', ['number', '0'])
    await untilWords('open', ['being', 'asked'])
    expect(await messageWords.countDocuments()).toBe(1_251)
    expect(await wordsOf('erased')).toBeUndefined()
    expect(await threads.findOne({ _id: 'old' })).toMatchObject({
      phoneEnds: ['5511987', '511987', '11987', '1987'],
    })
  })

  test('follow what is said, changed, heard, answered, taken back and erased', async () => {
    const { messages } = database.collections
    follow()
    await eventually(() => relays().findOne({ from: { $exists: true } }))
    await messages.insertOne(ended('one', 'Olá, São Paulo'))
    await untilWords('one', ['ola', 'sao', 'paulo'])
    const entry = await database.collections.messageWords.findOne({ _id: 'one' })
    expect(entry).toMatchObject({ workspace: 1, thread: '1/["t","c"]', expiresAt: EXPIRES })

    const changed = { by: 'edit', at: new Date(), text: 'Rio' }
    await messages.updateOne({ _id: 'one' }, { $set: { changed } })
    await untilWords('one', ['rio'])
    await messages.updateOne({ _id: 'one' }, [
      { $replaceWith: { $mergeObjects: ['$$ROOT', { transcript: 'Heard' }] } },
    ])
    await untilWords('one', ['rio', 'heard'])

    const { expiresAt: _ended, ...open } = ended('two', 'Question', { open: true })
    await messages.insertOne(open)
    await untilWords('two', ['question'])
    const send = { id: 'two/0', content: { kind: 'text', text: 'An answer' }, state: 'sent' } as const
    const template = {
      kind: 'template',
      template: 'shipped',
      language: 'en',
      variables: ['BR-4711'],
    } as const
    const sends = [send, { ...send, id: 'two/1', content: template }, { ...send, state: 'pending' as const }]
    await messages.updateOne({ _id: 'two' }, [
      { $unset: 'open' },
      { $set: { sends: { $literal: sends }, expiresAt: EXPIRES } },
    ])
    await untilWords('two', ['question', 'an', 'answer', 'br', '4711'])
    expect(await database.collections.messageWords.findOne({ _id: 'two' })).toMatchObject({
      expiresAt: EXPIRES,
    })

    await messages.updateOne({ _id: 'one' }, { $set: { changed: { ...changed, isDeleted: true } } })
    await messages.updateOne({ _id: 'one' }, { $unset: { 'changed.text': '' } })
    await messages.deleteOne({ _id: 'two' })
    await untilWords('two', undefined)
  })

  test('are not there of what only changes another message, or says nothing', async () => {
    const { messages } = database.collections
    await messages.insertMany([
      ended('silent', 'Edited', { reason: 'edit' }),
      ended('empty', '🙏'),
      ended('broken', '', { body: '{' }),
      ended('deleted', 'Regretted', { changed: { by: 'x', at: new Date(), isDeleted: true } }),
      ended('last', 'Last'),
    ])
    follow()
    await untilWords('last', ['last'])
    for (const id of ['silent', 'empty', 'broken', 'deleted']) expect(await wordsOf(id)).toBeUndefined()
  })

  test('are taken up where another instance has left them', async () => {
    const { messages, messageWords } = database.collections
    follow()
    await messages.insertOne(ended('before', 'Before'))
    await untilWords('before', ['before'])
    await eventually(async () => (await relays().findOne({ _id: 'words' }))?.from !== undefined)
    await relay?.close()
    // Built anew they would be gone.
    await messageWords.insertOne({
      ...{ _id: 'mark', workspace: 1, thread: 't', at: new Date(), words: ['mark'], expiresAt: EXPIRES },
    })
    await messages.insertOne(ended('meanwhile', 'Meanwhile'))
    follow()
    await untilWords('meanwhile', ['meanwhile'])
    expect(await wordsOf('mark')).toEqual(['mark'])
  })
})

describe('a relay that others need less than the machine', () => {
  test('pauses after each batch so many times as long as the batch took, and misses nothing', async () => {
    const { messages } = database.collections
    const handled: { ids: string[]; from: number; to: number }[] = []
    relay = startRelay<{ _id: string; at?: Date }>({
      ...{ name: 'calm', log, ready: Promise.resolve(), db: database.db, relays },
      stages: [{ $match: { operationType: 'insert', 'ns.coll': 'messages' } }],
      ...{ batch: 10, pauseShare: 3, gatherMs: 1 },
      changeOf: ({ documentKey }) => ({ _id: String(documentKey._id) }),
      async *snapshot() {},
      async handle(changes) {
        const from = performance.now()
        await messages.countDocuments()
        handled.push({ ids: changes.map(({ _id }) => _id), from, to: performance.now() })
      },
    })
    await eventually(() => relays().findOne({ from: { $exists: true } }))
    const ids = Array.from({ length: 30 }, (_, n) => `calm-${n}`)
    await messages.insertMany(ids.map((_id) => ended(_id, 'Said')))
    await eventually(() => handled.flatMap((one) => one.ids).length === 30)
    expect(handled.flatMap((one) => one.ids)).toEqual(ids)
    for (const [at, { from, to }] of handled.slice(0, -1).entries()) {
      const pause = (handled[at + 1]?.from ?? Number.NaN) - to
      expect(pause).toBeGreaterThanOrEqual(3 * (to - from) - 1)
    }
  })

  test('says while it pauses how old what waits is', async () => {
    let batches = 0
    const calm = startRelay<{ _id: string; at?: Date }>({
      ...{ name: 'behind', log, ready: Promise.resolve(), db: database.db, relays },
      stages: [{ $match: { operationType: 'insert', 'ns.coll': 'messages' } }],
      ...{ batch: 10, pauseShare: 1_000_000 },
      changeOf: ({ documentKey, wallTime }) => ({ _id: String(documentKey._id), at: wallTime }),
      async *snapshot() {},
      async handle() {
        await database.collections.messages.countDocuments()
        batches++
      },
    })
    relay = calm
    await eventually(() => relays().findOne({ from: { $exists: true } }))
    await database.collections.messages.insertMany(
      Array.from({ length: 20 }, (_, n) => ended(`behind-${n}`, 'Said')),
    )
    await eventually(() => batches === 1)
    await eventually(() => calm.lagSeconds() > 0)
    expect(batches).toBe(1)
    await eventually(() => batches === 2, { timeoutMs: 15_000 })
    await eventually(() => calm.lagSeconds() === 0)
  })
})
