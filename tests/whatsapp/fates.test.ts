import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { unstorable } from '@parley/shared/json-body'
import { WEBHOOK_FIELDS } from '@parley/shared/providers/whatsapp/fields'
import { renderPage } from '@parley/shared/providers/whatsapp/page'
import { whatsapp } from '@parley/shared/providers/whatsapp/whatsapp'
import fc from 'fast-check'
import { type IntakeWorld, START_MS, startIntakeWorld } from '../../services/webhook/test/intake-world.ts'
import { metaChannel, postPayload } from '../../services/webhook/test/meta-payload.ts'
import { corpus, messagesChange, NUMBER, payloadWith } from './corpus.ts'
import { countOf } from './count-of.ts'
import { mutatedPayloads } from './mutations.ts'

const reading = { isStorable: (value: unknown) => unstorable(value).length === 0 }
const updatesIn = (payload: unknown) => whatsapp.inbound?.updates(payload as never, reading) ?? []
const table = corpus.map((one) => [one.name, one] as const)

describe('what Meta sends', () => {
  test.each(table)('%s has a fate', (_name, { payload, holds }) => {
    const updates = updatesIn(payload)
    expect([updates.length, countOf(payload)]).toEqual([holds, holds])
    expect(updates.map(({ fate }) => fate)).not.toContain('malformed')
  })

  test('has a sample of each field', () => {
    const changed = corpus.flatMap(({ payload }) => JSON.stringify(payload).match(/"field":"\w+"/g) ?? [])
    const fields = new Set(changed.map((text) => text.slice('"field":"'.length, -1)))
    expect(Object.keys(WEBHOOK_FIELDS).filter((field) => !fields.has(field))).toEqual([])
  })

  test('is documented as the code has it', () => {
    const page = readFileSync(new URL('../../docs/whatsapp.md', import.meta.url), 'utf8')
    expect(page).toBe(renderPage())
  })

  test('of a field that is counted says why', () => {
    const counted = Object.values(WEBHOOK_FIELDS).filter(({ fate }) => fate === 'counted')
    expect(counted.every((field) => 'reason' in field && field.reason !== '')).toBe(true)
  })

  test('is counted whole whatever it is, and nothing of it makes reading fail', () => {
    fc.assert(
      fc.property(mutatedPayloads, (payload) => {
        expect(updatesIn(payload)).toHaveLength(countOf(payload))
      }),
      { numRuns: 2_000 },
    )
    fc.assert(
      fc.property(fc.jsonValue(), (payload) => {
        expect(updatesIn(payload)).toHaveLength(countOf(payload))
      }),
    )
  })
})

/** The number is no text that can be looked for. */
const notOfANumber = {
  entry: [
    { changes: [{ field: 'messages', value: { metadata: { phone_number_id: '\ud800' }, statuses: [{}] } }] },
  ],
}

describe('at the webhook', () => {
  let world: IntakeWorld
  let hook: string
  beforeAll(async () => {
    world = await startIntakeWorld()
    await world.putChannel(1, metaChannel('line-901', { phoneNumberId: NUMBER }))
    hook = `${world.url}/api/hooks/whatsapp/${world.slug}/line-901`
  }, START_MS)
  afterAll(() => world.close(), START_MS)

  const post = async (payload: unknown) => {
    const { status, json } = await postPayload(hook, JSON.stringify(payload))
    return { status, counts: json as Record<string, number> }
  }
  const sumOf = ({ counts }: { counts: Record<string, number> }) =>
    Object.values(counts).reduce((sum, count) => sum + count, 0)

  test('the whole corpus is taken, kept, counted or foreign, and a repeat is only that', async () => {
    await world.drain()
    const published: number[] = []
    for (const { name, payload, holds } of corpus) {
      const first = await post(payload)
      expect([name, first.status, sumOf(first)]).toEqual([name, 200, holds])
      const fresh = (await world.drain()).length
      expect([name, fresh]).toEqual([name, (first.counts.accepted ?? 0) + (first.counts.kept ?? 0)])
      published.push(fresh)
      const again = await post(payload)
      const repeated = fresh + (first.counts.repeated ?? 0)
      expect([name, again.counts]).toEqual([name, { ...first.counts, accepted: 0, kept: 0, repeated }])
      expect(await world.drain()).toEqual([])
    }
    expect(published.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(corpus.length / 2)
  })

  test('mutations of the corpus are answered with counts that add up', async () => {
    await fc.assert(
      fc.asyncProperty(mutatedPayloads, async (payload) => {
        const answer = await post(payload)
        // A payload that is no object, or has too much, is refused whole.
        if (answer.status !== 200) return expect([413, 422]).toContain(answer.status)
        expect([sumOf(answer), payload]).toEqual([countOf(payload), payload])
      }),
      { numRuns: 60, examples: [[notOfANumber]] },
    )
    await world.drain()
  })

  test('a change is one notice of the channel, with all that came', async () => {
    await world.drain()
    const value = {
      event: 'DOWNGRADE',
      display_phone_number: '1555',
      current_limit: 'TIER_250',
      odd: { $a: 1 },
    }
    const payload = payloadWith({ field: 'phone_number_quality_update', value })
    expect((await post(payload)).counts).toMatchObject({ accepted: 0, kept: 1, skipped: 0 })
    const [taken, ...others] = await world.drain()
    expect(others).toEqual([])
    expect(taken?.queue).toBe('messages.notices')
    expect(JSON.parse(taken?.delivery.content.toString() ?? '')).toEqual({
      workspace: world.caller.workspace._id,
      channel: 'line-901',
      field: 'phone_number_quality_update',
      at: '2025-10-09T08:53:20.000Z',
      text: 'event: DOWNGRADE, display_phone_number: 1555, current_limit: TIER_250, $a: 1',
      value,
    })
    const later = {
      ...payload,
      entry: (payload.entry as object[]).map((one) => ({ ...one, time: 1_760_000_001 })),
    }
    expect((await post(later)).counts).toMatchObject({ kept: 1, repeated: 0 })
    await world.drain()
  })

  test('what is said while another application has the conversation is never taken for a message', async () => {
    await world.drain()
    const messages = [{ from: '1', id: 'wamid.standby', timestamp: '1', type: 'text', text: { body: 'x' } }]
    const { value } = messagesChange({ messages })
    const answer = await post(payloadWith({ field: 'standby', value }))
    expect(answer.counts).toMatchObject({ accepted: 0, skipped: 1 })
    expect(await world.drain()).toEqual([])
  })
})
