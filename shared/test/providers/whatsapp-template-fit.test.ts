import { describe, expect, test } from '@jest/globals'
import type { TemplateDefinition } from '@parley/shared/providers/templates'
import { objects } from '@parley/shared/providers/whatsapp/objects'
import { fitOf } from '@parley/shared/providers/whatsapp/template-fit'
import fc from 'fast-check'

const LINK = 'https://example.com/a.pdf'

function definition(more: object = {}): TemplateDefinition {
  return {
    ...{ name: 't', language: 'pt_BR', status: 'APPROVED', category: 'UTILITY' },
    components: [],
    ...more,
  }
}
const header = (format: string, text?: string) => ({ type: 'HEADER', format, ...(text && { text }) })
const body = (text: string) => ({ type: 'BODY', text })
const buttons = (...all: object[]) => ({ type: 'BUTTONS', buttons: all })
const URL_BUTTON = { type: 'URL', text: 'Open', url: 'https://example.com/{{1}}' }
const PHONE = { type: 'PHONE_NUMBER', text: 'Call', phone_number: '+551130000000' }

/** Returns the fit of a message with these arguments, for a template with these components. */
function fit(args: object, ...components: object[]) {
  const composed = objects.compose({ template: 't', language: 'pt_BR', ...args })
  if (composed.kind === 'refused') throw new Error(JSON.stringify(composed.errors))
  const found = fitOf([definition({ components })], composed.object)
  return found.kind === 'refused' ? found.reason.split('does not fit: ')[1] : found.kind
}

describe('a message of a template', () => {
  test.each([
    [
      'a code without its button',
      { variables: ['1'] },
      [body('{{1}}'), buttons(URL_BUTTON)],
      'button 0 needs the end of its URL.',
    ],
    [
      'a code with its button',
      { variables: ['1'], buttons: [{ type: 'otp', code: '1' }] },
      [body('{{1}}'), buttons(URL_BUTTON)],
      'fits',
    ],
    [
      'an OTP button as it is made',
      { variables: ['1'], buttons: [{ type: 'otp', code: '1' }] },
      [body('{{1}}'), buttons({ type: 'OTP', otp_type: 'COPY_CODE' })],
      'fits',
    ],
    [
      'a document',
      { variables: ['Ana'], header: { document: { link: LINK, filename: 'a.pdf' } } },
      [header('DOCUMENT'), body('Hi {{1}}')],
      'fits',
    ],
    [
      'no document',
      { variables: ['Ana'] },
      [header('DOCUMENT'), body('Hi {{1}}')],
      'header needs a document, and has none.',
    ],
    [
      'an image for a document',
      { header: { image: { link: LINK } } },
      [header('DOCUMENT'), body('Hi')],
      'header needs a document, and has an image.',
    ],
    [
      'an image above quick replies that take nothing',
      { header: { image: { link: LINK } } },
      [
        header('IMAGE'),
        body('Hi'),
        buttons({ type: 'QUICK_REPLY', text: 'Yes' }, { type: 'QUICK_REPLY', text: 'No' }),
      ],
      'fits',
    ],
    ['a header where there is none', { header: 'Hi' }, [body('Hi')], 'it has no header.'],
    [
      'a header that takes nothing',
      { header: 'Hi' },
      [header('TEXT', 'Hello'), body('Hi')],
      'header needs 0 parameters, and has 1.',
    ],
    ['names', { variables: { customer_name: 'Ana' } }, [body('Hi {{customer_name}}')], 'fits'],
    [
      'another name',
      { variables: { name: 'Ana' } },
      [body('Hi {{customer_name}}')],
      'body needs customer_name; body has name, which is not in it.',
    ],
    [
      'positions for names',
      { variables: ['Ana'] },
      [body('Hi {{customer_name}}')],
      'body needs customer_name; body has a parameter without a name, which is not in it.',
    ],
    ['too few', { variables: ['Ana'] }, [body('Hi {{1}} and {{2}}')], 'body needs 2 parameters, and has 1.'],
    ['one that stands twice', { variables: ['Ana'] }, [body('Hi {{1}}, {{1}}!')], 'fits'],
    [
      'a part of a button in the body',
      { variables: ['Ana', '7'] },
      [body('Hi {{1}}'), buttons(URL_BUTTON)],
      'body needs 1 parameter, and has 2; button 0 needs the end of its URL.',
    ],
    ['an empty text', { variables: [''] }, [body('Hi {{1}}')], 'body has an empty 1.'],
    [
      'a URL behind a number to call',
      { buttons: [{ type: 'url', text: '7', index: 1 }] },
      [body('Hi'), buttons(PHONE, URL_BUTTON)],
      'fits',
    ],
    [
      'a URL in the place of a number to call',
      { buttons: [{ type: 'url', text: '7' }] },
      [body('Hi'), buttons(PHONE, URL_BUTTON)],
      'button 0 is a phone_number, and no url; button 1 needs the end of its URL.',
    ],
    [
      'a URL that is whole',
      { buttons: [{ type: 'url', text: '7' }] },
      [body('Hi'), buttons({ ...URL_BUTTON, url: LINK })],
      'button 0 has a URL without a parameter.',
    ],
    [
      'a button that is not there',
      { buttons: [{ type: 'url', text: '7', index: 3 }] },
      [body('Hi')],
      'there is no button 3.',
    ],
    [
      'a code to copy',
      { buttons: [{ type: 'copy_code', code: 'X' }] },
      [body('Hi'), buttons({ type: 'COPY_CODE' })],
      'fits',
    ],
    ['no code to copy', {}, [body('Hi'), buttons({ type: 'COPY_CODE' })], 'button 0 needs a code.'],
    [
      'a form that is named',
      { buttons: [{ type: 'flow' }] },
      [body('Hi'), buttons({ type: 'FLOW', text: 'Open' })],
      'fits',
    ],
    [
      'a form that is not named',
      {},
      [body('Hi'), buttons({ type: 'FLOW', text: 'Open' })],
      'button 0 needs to be there, as a flow.',
    ],
    [
      'an offer without its end',
      {},
      [{ type: 'LIMITED_TIME_OFFER', limited_time_offer: { text: 'x', has_expiration: true } }, body('Hi')],
      'the offer needs its end.',
    ],
    [
      'an offer',
      { limitedTimeOffer: 1_800_000_000_000 },
      [{ type: 'LIMITED_TIME_OFFER', limited_time_offer: { text: 'x', has_expiration: true } }, body('Hi')],
      'fits',
    ],
  ])('%s', (_name, args, components, expected) => {
    expect(fit(args, ...components)).toBe(expected)
  })

  const card = { components: [header('IMAGE'), body('For {{1}}'), buttons(URL_BUTTON)] }
  const given = (name?: string) => ({
    header: { image: { link: LINK } },
    ...(name && { variables: [name] }),
    buttons: [{ type: 'url', text: '7' }],
  })
  test.each([
    ['cards', [given('Ana'), given('Ben')], 'fits'],
    ['too few cards', [given('Ana')], 'the carousel needs 2 cards, and has 1.'],
    ['a card that lacks something', [given('Ana'), given()], 'card 1: body needs 1 parameter, and has 0.'],
  ])('%s', (_name, cards, expected) => {
    const carousel = { type: 'CAROUSEL', cards: [card, card] }
    expect(fit({ carousel: { cards } }, body('Hi'), carousel)).toBe(expected)
  })

  test('of products may have more cards than the template shows', () => {
    const product = { components: [header('PRODUCT'), buttons({ type: 'SPM', text: 'View' })] }
    const shown = { header: { product: { product_retailer_id: '7' } } }
    expect(
      fit({ carousel: { cards: [shown, shown, shown] } }, body('Hi'), {
        type: 'CAROUSEL',
        cards: [product, product],
      }),
    ).toBe('fits')
  })
})

describe('a template that', () => {
  const message = { type: 'template', template: { name: 't', language: { code: 'pt_BR' }, components: [] } }
  test.each([
    ['APPROVED', 'fits', undefined],
    ['PAUSED', 'waits', undefined],
    ['DISABLED', 'refused', 'template_disabled'],
    ['PENDING_DELETION', 'refused', 'template_disabled'],
    ['REJECTED', 'refused', 'template_not_approved'],
    ['PENDING', 'refused', 'template_not_approved'],
    ['SOMETHING_NEW', 'fits', undefined],
  ])('is %s', (status, kind, code) => {
    const found = fitOf([definition({ status, components: [body('Hi')] })], message)
    expect({ kind: found.kind, code: found.kind === 'refused' ? found.code : undefined }).toEqual({
      kind,
      code,
    })
  })

  test('is not there in the language says in which it is', () => {
    expect(fitOf([definition({ language: 'en' }), definition({ language: 'es' })], message)).toMatchObject({
      code: 'template_language',
      reason: 'The template t is not there in pt_BR, but in en, es.',
    })
  })
})

test('a message that fills what a template has fits, and with one parameter less it does not', () => {
  const shape = fc.record({
    texts: fc.integer({ min: 0, max: 12 }),
    header: fc.option(fc.constantFrom('image', 'video', 'document'), { nil: undefined }),
    url: fc.boolean(),
  })
  fc.assert(
    fc.property(shape, ({ texts, header: kind, url }) => {
      const components = [
        ...(kind === undefined ? [] : [header(kind.toUpperCase())]),
        body(Array.from({ length: texts }, (_, at) => `x {{${at + 1}}}`).join(' ')),
        ...(url ? [buttons(URL_BUTTON)] : []),
      ]
      const args = {
        variables: Array.from({ length: texts }, (_, at) => `v${at}`),
        ...(kind !== undefined && { header: { [kind]: { link: LINK } } }),
        ...(url && { buttons: [{ type: 'url', text: '7' }] }),
      }
      expect(fit(args, ...components)).toBe('fits')
      const { header: _header, ...headless } = args
      if (kind !== undefined) expect(fit(headless, ...components)).toContain('header needs')
      const { buttons: _buttons, ...closed } = args
      if (url) expect(fit(closed, ...components)).toContain('button 0 needs')
      if (texts > 0)
        expect(fit({ ...args, variables: args.variables.slice(1) }, ...components)).toContain('body needs')
    }),
  )
})
