import { describe, expect, test } from '@jest/globals'
import type { TemplateDefinition } from '@parley/shared/providers/templates'
import { objects } from '@parley/shared/providers/whatsapp/objects'
import { argumentsOf, fieldsOf } from '@parley/shared/providers/whatsapp/template-fields'
import { fitOf } from '@parley/shared/providers/whatsapp/template-fit'
import { previewOf } from '@parley/shared/providers/whatsapp/template-preview'
import fc from 'fast-check'

const definition = (...components: object[]): TemplateDefinition => ({
  ...{ name: 't', language: 'pt_BR', status: 'APPROVED', category: 'UTILITY' },
  components: components as TemplateDefinition['components'],
})
const header = (format: string, more: object = {}) => ({ type: 'HEADER', format, ...more })
const body = (text: string, more: object = {}) => ({ type: 'BODY', text, ...more })
const buttons = (...all: object[]) => ({ type: 'BUTTONS', buttons: all })

function composed(template: TemplateDefinition, filled: Record<string, string>) {
  const args = argumentsOf(template, filled)
  const made = objects.compose({ template: 't', language: 'pt_BR', ...args })
  if (made.kind === 'refused') throw new Error(JSON.stringify(made.errors))
  return made.object
}

const keys = (...components: object[]) => fieldsOf(definition(...components)).map(({ key }) => key)

describe('what is filled in for a message of a template', () => {
  test.each([
    ['nothing', [body('Hello'), buttons({ type: 'QUICK_REPLY', text: 'Yes' })], []],
    [
      'texts of header and body, each counted from one',
      [header('TEXT', { text: 'Order {{1}}' }), body('Hi {{1}}, {{2}}')],
      ['header.1', 'body.1', 'body.2'],
    ],
    ['names', [body('Hi {{first_name}}, {{ order }}')], ['body.first_name', 'body.order']],
    ['a placeholder that is there twice, once', [body('{{1}} and {{1}}')], ['body.1']],
    ['a document', [header('DOCUMENT'), body('Here it is')], ['header.link']],
    [
      'a place',
      [header('LOCATION'), body('Here')],
      ['header.latitude', 'header.longitude', 'header.name', 'header.address'],
    ],
    [
      'ends of addresses and codes, not what has none',
      [
        body('Hi'),
        buttons(
          { type: 'URL', text: 'Site', url: 'https://example.com' },
          { type: 'URL', text: 'Track', url: 'https://example.com/{{1}}' },
          { type: 'COPY_CODE' },
          { type: 'PHONE_NUMBER', text: 'Call', phone_number: '+5511' },
        ),
      ],
      ['button.1', 'button.2'],
    ],
    [
      'cards',
      [
        body('{{1}}'),
        {
          type: 'CAROUSEL',
          cards: [
            { components: [header('IMAGE'), body('{{1}}')] },
            { components: [header('IMAGE'), body('x')] },
          ],
        },
      ],
      ['body.1', 'card.0.header.link', 'card.0.body.1', 'card.1.header.link'],
    ],
    [
      'the end of an offer',
      [
        body('Sale'),
        { type: 'LIMITED_TIME_OFFER', limited_time_offer: { text: 'Now', has_expiration: true } },
      ],
      ['offer'],
    ],
  ])('is %s', (_name, components, expected) => {
    expect(keys(...components)).toEqual(expected)
  })

  test('has the examples that it was reviewed with', () => {
    const positional = body('{{1}} {{2}}', { example: { body_text: [['Ana', '4711']] } })
    const named = body('{{name}}', {
      example: { body_text_named_params: [{ param_name: 'name', example: 'Rui' }] },
    })
    const above = header('TEXT', { text: '{{1}}', example: { header_text: ['May'] } })
    const examplesOf = (...all: object[]) => fieldsOf(definition(...all)).map(({ example }) => example)
    expect(examplesOf(above, positional)).toEqual(['May', 'Ana', '4711'])
    expect(examplesOf(named)).toEqual(['Rui'])
  })

  test('stays a placeholder in the preview until it is filled in', () => {
    const template = definition(body('{{2}}, your order {{1}}'))
    expect(previewOf(template, composed(template, {})).body).toBe('{{2}}, your order {{1}}')
    expect(previewOf(template, composed(template, { 'body.2': 'Ana' })).body).toBe('Ana, your order {{1}}')
  })

  const part = fc.record({
    above: fc.constantFrom(
      undefined,
      'TEXT',
      'TEXT {{1}}',
      'TEXT {{top}}',
      'IMAGE',
      'VIDEO',
      'DOCUMENT',
      'LOCATION',
    ),
    text: fc.constantFrom('Hi', '{{1}}', '{{2}} {{1}}', '{{a}} {{b}} {{a}}'),
    below: fc.array(
      fc.constantFrom(
        { type: 'URL', text: 'Site', url: 'https://example.com' },
        { type: 'URL', text: 'Track', url: 'https://example.com/{{1}}' },
        { type: 'COPY_CODE', text: 'Copy' },
        { type: 'QUICK_REPLY', text: 'Yes' },
        { type: 'OTP', otp_type: 'COPY_CODE', text: 'Copy' },
      ),
      { maxLength: 3 },
    ),
  })
  const componentsOf = ({ above, text, below }: typeof part extends fc.Arbitrary<infer P> ? P : never) => [
    ...(above === undefined
      ? []
      : [above.startsWith('TEXT') ? header('TEXT', { text: above.slice(5) || 'Above' }) : header(above)]),
    body(text),
    ...(below.length > 0 ? [buttons(...below)] : []),
  ]

  test('is all that its message needs', () => {
    fc.assert(
      fc.property(part, fc.array(part, { maxLength: 2 }), (own, cards) => {
        const carousel = {
          type: 'CAROUSEL',
          cards: cards.map((card) => ({ components: componentsOf(card) })),
        }
        const template = definition(...componentsOf(own), ...(cards.length > 0 ? [carousel] : []))
        const filled = Object.fromEntries(
          fieldsOf(template).map(({ key, type }) => {
            const value = {
              text: 'x',
              url: 'https://example.com/x',
              number: '1.5',
              time: '2030-01-01T00:00:00Z',
            }
            return [key, value[type]]
          }),
        )
        expect(fitOf([template], composed(template, filled))).toMatchObject({ kind: 'fits' })
      }),
    )
  })
})
