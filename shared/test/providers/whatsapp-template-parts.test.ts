import { describe, expect, test } from '@jest/globals'
import type { TemplateParts } from '@parley/shared/providers/templates'
import { templates } from '@parley/shared/providers/whatsapp/templates'
import fc from 'fast-check'

const draft = (parts: TemplateParts) => ({
  ...{ name: 'spring', language: 'pt_BR', category: 'MARKETING' },
  ...templates.ofParts(parts),
})

const word = fc.stringMatching(/^[a-z]{1,8}$/)
const button: fc.Arbitrary<TemplateParts['buttons'][number]> = fc.oneof(
  fc.record({ type: fc.constant('quick_reply' as const), text: word, value: fc.constant('') }),
  fc.record({
    ...{ type: fc.constant('url' as const), text: word },
    value: fc.constantFrom('https://example.com/a', 'https://example.com/{{1}}'),
  }),
  fc.record({ type: fc.constant('phone_number' as const), text: word, value: fc.constant('+5511988887777') }),
  fc.record({ type: fc.constant('copy_code' as const), text: fc.constant(''), value: fc.constant('') }),
)
/** Parts whose placeholders all have an example, and no example is of anything else. */
const parts: fc.Arbitrary<TemplateParts> = fc
  .record({
    header: fc.option(
      fc.record({
        type: fc.constantFrom('text' as const, 'image' as const, 'location' as const),
        text: fc.constantFrom('Hello', 'For {{1}}'),
      }),
      { nil: undefined },
    ),
    body: fc.constantFrom('Hi.', 'Hi {{1}}, {{2}} off.', 'Hi {{first_name}}, it is {{day}} now.'),
    footer: fc.constantFrom('', 'Write stop'),
    buttons: fc.array(button, { maxLength: 4 }),
    example: word,
  })
  .filter(
    ({ header, body }) => header?.type !== 'text' || !(header.text.includes('{{') && body.includes('first')),
  )
  .map(({ header, example, ...rest }) => {
    const own = header && { type: header.type, text: header.type === 'text' ? header.text : '' }
    const bare = { ...(own && { header: own }), ...rest, examples: {} }
    const { components } = templates.ofParts(bare)
    const keys = templates
      .fieldsOf({ components })
      .filter(({ key }) => own?.type !== 'location' || !key.startsWith('header.'))
    return { ...bare, examples: Object.fromEntries(keys.map(({ key }) => [key, `${example}${key.length}`])) }
  })

describe('a template that is written as its parts', () => {
  test('has the same parts when it is read again, and the provider is known to refuse none of it', () => {
    fc.assert(
      fc.property(parts, (one) => {
        const made = draft(one)
        expect(templates.partsOf(made.components)).toEqual(one)
        const wrong = templates.errorsOf(made).filter(({ message }) => !message.includes('both sides'))
        expect(wrong).toEqual([])
      }),
    )
  })

  test.each([
    [
      'a carousel',
      [
        { type: 'BODY', text: 'Hi' },
        { type: 'CAROUSEL', cards: [] },
      ],
    ],
    ['a text that the provider writes', templates.codeComponents],
    ['a key that is not known', [{ type: 'BODY', text: 'Hi', tracking: true }]],
    [
      'a button of another kind',
      [
        { type: 'BODY', text: 'Hi' },
        { type: 'BUTTONS', buttons: [{ type: 'FLOW', text: 'Go' }] },
      ],
    ],
  ])('is none where it says more than parts do: %s', (_name, components) => {
    expect(templates.partsOf(components)).toBeUndefined()
  })

  test('has no example where one is missing, which is an error', () => {
    const made = draft({ body: 'Hi {{1}}, {{2}}.', footer: '', buttons: [], examples: { 'body.1': 'Ana' } })
    expect(templates.errorsOf(made).map(({ message }) => message)).toEqual([
      'expected an example of each placeholder: 2',
    ])
  })
})
