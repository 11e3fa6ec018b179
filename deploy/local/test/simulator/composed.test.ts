import { expect, test } from '@jest/globals'
import { readSend } from '@parley/local/simulator/send-request'
import { objects } from '@parley/shared/providers/whatsapp/objects'
import fc from 'fast-check'

const text = (most: number) => fc.string({ unit: 'grapheme', minLength: 1, maxLength: most })
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const link = fc.constantFrom('https://example.com/a.pdf', 'http://e.com/b?c=1#d')
const media = fc.record({ link, filename: text(9) }, { requiredKeys: ['link'] })
const choices = (most: number, title: number) =>
  fc.uniqueArray(fc.record({ id: optional(text(9)), title: text(title) }), {
    maxLength: most,
    selector: ({ id, title: shown }) => id ?? shown,
  })
const place = fc.record(
  { latitude: fc.double({ min: -90, max: 90, noNaN: true }), longitude: fc.integer(), name: text(9) },
  { requiredKeys: ['latitude', 'longitude'] },
)
const around = { message: text(1_030), header: text(61), footer: text(61) }
/** Also a little more than WhatsApp takes. */
const said = fc.oneof(
  fc.record({ ...around, buttons: choices(4, 21), image: media }, { requiredKeys: ['message', 'buttons'] }),
  fc.record(
    { ...around, list: fc.record({ button: text(21), rows: choices(11, 25) }) },
    { requiredKeys: ['message', 'list'] },
  ),
  fc.record({ message: text(1_030), document: media }, { requiredKeys: ['document'] }),
  fc.record({ message: text(9), audio: media }, { requiredKeys: ['audio'] }),
  fc.record({ location: place }),
)

const parameter = fc.oneof(
  text(20),
  text(20).map((one) => ({ type: 'text', text: one })),
)
const header = fc.oneof(
  text(60),
  fc.record({ image: fc.record({ link }) }),
  fc.record({ document: media }),
  fc.record({ location: place }),
)
const button = fc.oneof(
  fc.record({ type: fc.constant('url'), text: text(20) }),
  fc.record({ type: fc.constantFrom('quick_reply', 'QUICK_REPLY'), payload: text(20) }),
  fc.record({ type: fc.constantFrom('copy_code', 'otp'), code: text(15) }),
  fc.record({ type: fc.constant('flow'), flow_token: text(15) }),
)
const buttons = fc.array(button, { maxLength: 10 })
const card = fc.record({ header, variables: fc.array(text(20)), buttons }, { requiredKeys: [] })
const template = fc.record(
  {
    template: text(20),
    language: fc.constantFrom('en', 'pt_BR'),
    variables: fc.oneof(
      fc.array(text(20), { maxLength: 4 }),
      fc.dictionary(text(9), text(20), { maxKeys: 4 }),
    ),
    body: fc.array(parameter, { maxLength: 4 }),
    header,
    buttons,
    carousel: fc.array(card, { minLength: 1, maxLength: 10 }),
    limitedTimeOffer: fc.integer({ min: 0 }),
    ttl: fc.integer({ min: 0, max: 90_000 }),
  },
  { requiredKeys: ['template', 'language'] },
)

/** All that was given, but for what something is. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => (key === 'type' ? [] : textsIn(inner)))
}

/** Without what is undefined, as it comes out of JSON. */
const plain = (value: object) => JSON.parse(JSON.stringify(value))

test.each([
  ['what is said beside a text', said, 0.2],
  ['a template', template, 0.2],
])('the Cloud API takes %s as it was composed, and nothing of it is left out', (_name, arbitrary, least) => {
  let composed = 0
  const runs = 1_000
  fc.assert(
    fc.property(arbitrary as fc.Arbitrary<object>, (args) => {
      const result = objects.compose(plain(args))
      if (result.kind === 'refused') return
      composed++
      const body = { ...result.object, messaging_product: 'whatsapp', to: '5511988887777' }
      expect(readSend(plain(body)).content.type).toBe(result.object.type)
      const sent = new Set(textsIn(result.object))
      expect(textsIn(plain(args)).filter((one) => !sent.has(one))).toEqual([])
    }),
    { numRuns: runs },
  )
  expect(composed / runs).toBeGreaterThan(least)
})
