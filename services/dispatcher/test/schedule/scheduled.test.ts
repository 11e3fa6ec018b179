import { describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import fc from 'fast-check'
import type { MessageRecord } from '../../src/message/message-record.ts'
import { rpcLine, text } from '../rpc-line.ts'

const HOUR = 60 * 60 * 1_000

const line = rpcLine()
const later = (ms: number) => new Date(Date.now() + ms).toISOString()
const scheduled = (said: string, thread: string, sendAt: string) => ({ ...text(said, thread), sendAt })
const cancel = (id: string) => line.world.call('DELETE', `/rest/messages/${id}`)
const waits = (id: string) =>
  eventually(async () => {
    const { json } = await line.world.get(`/rest/messages/${id}`)
    return (json as { waitingFor?: string }).waitingFor === 'schedule' || undefined
  })
const records = () => line.world.database.collection<MessageRecord>('messages')
const said = (words: string) => line.endpoint.calls.filter((call) => call.text.includes(words)).length

describe('a message with a time', () => {
  test('waits for it, while those after it in its thread are sent', async () => {
    const sendAt = later(HOUR)
    await line.world.post('s-later', scheduled('later', 's-line', sendAt))
    await line.world.post('s-now', text('now', 's-line'))
    await line.world.message('s-now', 'delivered')
    await waits('s-later')
    const { json } = await line.world.get('/rest/messages/s-later')
    expect(json).toMatchObject({ state: 'received', waiting: { for: 'schedule', until: sendAt } })
    expect(said('later')).toBe(0)
  })

  test('is sent when it comes, also by an instance that began since', async () => {
    await line.world.post('s-soon', scheduled('soon', 's-soon', later(1_500)))
    const further = await line.world.startDispatcher()
    await line.world.message('s-soon', 'delivered')
    expect(said('soon')).toBe(1)
    await further.close()
  })

  test('that has passed is sent at once', async () => {
    await line.world.post('s-past', scheduled('past', 's-past', later(-HOUR)))
    await line.world.message('s-past', 'delivered')
    expect((await cancel('s-past')).json).toMatchObject({ status: 409, code: 'not_scheduled' })
  })

  test('is taken back before it, twice as well as once, and then never sent', async () => {
    await line.world.post('s-back', scheduled('taken away', 's-back', later(1_500)))
    await waits('s-back')
    expect(await cancel('s-back')).toEqual({ status: 200, json: { _id: 's-back', cancelled: true } })
    expect((await cancel('s-back')).status).toBe(200)
    expect(await line.world.message('s-back', 'done')).toMatchObject({ reason: 'cancelled' })
    await line.world.post('s-behind', scheduled('behind', 's-back', later(2_000)))
    await line.world.message('s-behind', 'delivered')
    expect(said('taken away')).toBe(0)
  })
})

test('a scheduled message is unknown to whoever asks for another’s', async () => {
  expect((await cancel('s-nobody')).status).toBe(404)
})

test('either it is taken back or it is sent, whatever the order in which both are tried', async () => {
  let run = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({ inMs: fc.integer({ min: 0, max: 400 }), cancelInMs: fc.integer({ min: 0, max: 500 }) }),
        {
          minLength: 4,
          maxLength: 8,
        },
      ),
      async (messages) => {
        run++
        const begun = Date.now()
        const ids = messages.map((_, at) => `s-race-${run}-${at}-`)
        await Promise.all(
          messages.map(({ inMs }, at) =>
            line.world.post(ids[at] ?? '', {
              ...scheduled(ids[at] ?? '', `s-race-${at % 3}`, new Date(begun + inMs).toISOString()),
            }),
          ),
        )
        const statuses = await Promise.all(
          messages.map(async ({ cancelInMs }, at) => {
            const id = ids[at] ?? ''
            // Another caller comes at that time.
            await eventually(() => Date.now() >= begun + cancelInMs || undefined)
            return eventually(async () => {
              const { status } = await cancel(id)
              return status === 404 ? undefined : status
            })
          }),
        )
        for (const [at, status] of statuses.entries()) {
          const id = ids[at] ?? ''
          const ended = await line.world.message(id, 'delivered', 'done')
          expect([id, status, ended.state, said(id)]).toEqual(
            status === 200 ? [id, 200, 'done', 0] : [id, 409, 'delivered', 1],
          )
        }
      },
    ),
    { numRuns: 4, endOnFailure: true },
  )
}, 120_000)

// Last: what it counts is trusted for a second.
test('a message with a time, of which there are 10,000, is not taken', async () => {
  const waiting = Array.from({ length: 10_000 }, (_, at) => ({
    ...{ _id: `full-${at}`, workspace: line.world.workspace, waitingFor: 'schedule', due: new Date() },
  }))
  await records().insertMany(waiting as never)
  const over = eventually(async () => {
    const id = `s-over-${Math.random()}`
    await line.world.post(id, scheduled('over', id, later(HOUR)))
    const seen = await line.world.message(id, 'received', 'dead')
    return seen.state === 'dead' ? seen : undefined
  })
  expect(await over).toMatchObject({ fault: 'caller', reason: expect.stringContaining('10,000') })
  await records().deleteMany({ _id: /^full-/ })
})
