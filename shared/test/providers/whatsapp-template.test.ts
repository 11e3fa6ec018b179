import { describe, expect, test } from '@jest/globals'
import { objects } from '@parley/shared/providers/whatsapp/objects'
import { templateOf } from '@parley/shared/providers/whatsapp/template'
import fc from 'fast-check'

const LINK = 'https://example.com/a.pdf'
const of = (more: object) => ({ template: 't', language: 'pt_BR', ...more })
const textOf = (text: string) => ({ type: 'text', text })
const header = (parameter: object) => ({ type: 'header', parameters: [parameter] })
const body = (...parameters: object[]) => ({ type: 'body', parameters })
const button = (sub_type: string, index: string | number, parameter: object) => ({
  ...{ type: 'button', sub_type, index },
  parameters: [parameter],
})
const action = (fields: object) => ({ type: 'action', action: fields })

/** The components that arguments come to, or the paths of what is not understood. */
function read(more: object): unknown {
  const composed = templateOf(of(more))
  if (composed.kind === 'refused') return composed.errors.map(({ path }) => path.join('/'))
  const { components } = composed.object.template as { components: unknown }
  return components
}

describe('a template', () => {
  test.each([
    ['nothing', {}, []],
    ['texts by position', { variables: ['Ana', '2'] }, [body(textOf('Ana'), textOf('2'))]],
    [
      'texts by name',
      { variables: { customer_name: 'Ana' } },
      [body({ ...textOf('Ana'), parameter_name: 'customer_name' })],
    ],
    [
      'parameters of Meta’s in the body',
      {
        body: [
          'Ana',
          { type: 'currency', currency: { fallback_value: 'R$ 1', code: 'BRL', amount_1000: 1_000 } },
        ],
      },
      [
        body(textOf('Ana'), {
          type: 'currency',
          currency: { fallback_value: 'R$ 1', code: 'BRL', amount_1000: 1_000 },
        }),
      ],
    ],
    ['a text above', { header: 'Hi' }, [header(textOf('Hi'))]],
    [
      'a text above, named',
      { header: { text: 'Hi', parameter_name: 'x' } },
      [header({ ...textOf('Hi'), parameter_name: 'x' })],
    ],
    ['an image', { header: { image: { link: LINK } } }, [header({ type: 'image', image: { link: LINK } })]],
    [
      'a video by its address alone',
      { header: { video: LINK } },
      [header({ type: 'video', video: { link: LINK } })],
    ],
    [
      'a document that stands beside its type',
      { header: { type: 'DOCUMENT', link: LINK, filename: 'a.pdf' } },
      [header({ type: 'document', document: { link: LINK, filename: 'a.pdf' } })],
    ],
    [
      'an image by its id',
      { header: { type: 'image', image: { id: '7' } } },
      [header({ type: 'image', image: { id: '7' } })],
    ],
    [
      'a document with its name',
      { header: { document: { link: LINK, filename: 'a.pdf' } } },
      [header({ type: 'document', document: { link: LINK, filename: 'a.pdf' } })],
    ],
    [
      'a place',
      { header: { location: { latitude: -23.5, longitude: -46.6, name: 'Shop', address: 'Rua 1' } } },
      [
        header({
          type: 'location',
          location: { latitude: -23.5, longitude: -46.6, name: 'Shop', address: 'Rua 1' },
        }),
      ],
    ],
    ['the end of a URL', { buttons: [{ type: 'url', text: '123' }] }, [button('url', '0', textOf('123'))]],
    [
      'a one-time password',
      { buttons: [{ type: 'otp', code: '123456' }] },
      [button('url', '0', textOf('123456'))],
    ],
    [
      'buttons at their places',
      {
        buttons: [
          { type: 'quick_reply', payload: 'YES' },
          { type: 'copy_code', index: 4, code: 'SAVE20' },
        ],
      },
      [
        button('quick_reply', '0', { type: 'payload', payload: 'YES' }),
        button('copy_code', '4', { type: 'coupon_code', coupon_code: 'SAVE20' }),
      ],
    ],
    [
      'a flow',
      { buttons: [{ type: 'flow', flow_token: 't', flow_action_data: { a: null } }] },
      [button('flow', '0', action({ flow_token: 't', flow_action_data: { a: null } }))],
    ],
    [
      'a flow and a catalogue of which nothing is said',
      { buttons: [{ type: 'flow' }, { type: 'CATALOG' }] },
      [
        { type: 'button', sub_type: 'flow', index: '0' },
        { type: 'button', sub_type: 'catalog', index: '1' },
      ],
    ],
    [
      'a catalogue',
      { buttons: [{ type: 'catalog', thumbnail_product_retailer_id: 'SKU' }] },
      [button('catalog', '0', action({ thumbnail_product_retailer_id: 'SKU' }))],
    ],
    [
      'products',
      {
        buttons: [{ type: 'mpm', sections: [{ title: 'A', product_items: [{ product_retailer_id: 'S' }] }] }],
      },
      [
        button(
          'mpm',
          '0',
          action({ sections: [{ title: 'A', product_items: [{ product_retailer_id: 'S' }] }] }),
        ),
      ],
    ],
    [
      'a button as Meta has it',
      { buttons: [button('url', 1, textOf('x'))] },
      [button('url', 1, textOf('x'))],
    ],
    [
      'the end of an offer',
      { limitedTimeOffer: '2027-01-01T00:00:00Z' },
      [
        {
          type: 'limited_time_offer',
          parameters: [
            { type: 'limited_time_offer', limited_time_offer: { expiration_time_ms: 1_798_761_600_000 } },
          ],
        },
      ],
    ],
    [
      'cards',
      {
        carousel: [
          {
            header: { image: { link: LINK } },
            variables: ['1'],
            buttons: [{ type: 'quick_reply', payload: 'A' }],
          },
          { header: { image: { link: LINK } } },
        ],
      },
      [
        {
          type: 'carousel',
          cards: [
            {
              card_index: 0,
              components: [
                header({ type: 'image', image: { link: LINK } }),
                body(textOf('1')),
                button('quick_reply', '0', { type: 'payload', payload: 'A' }),
              ],
            },
            { card_index: 1, components: [header({ type: 'image', image: { link: LINK } })] },
          ],
        },
      ],
    ],
    [
      'texts beside components of Meta’s',
      { variables: ['1'], components: [button('url', '0', textOf('1'))] },
      [body(textOf('1')), button('url', '0', textOf('1'))],
    ],
    [
      'components in capitals',
      {
        components: [
          { ...button('COPY_CODE', 0, { type: 'coupon_code', coupon_code: 'A' }), type: 'BUTTON' },
        ],
      },
      [{ ...button('COPY_CODE', 0, { type: 'coupon_code', coupon_code: 'A' }), type: 'BUTTON' }],
    ],
    ['nulls, as models give them', { header: null, buttons: null, variables: ['1'] }, [body(textOf('1'))]],
  ])('may have %s', (_name, more, components) => {
    expect(read(more)).toEqual(components)
  })

  test.each([
    ['an argument', { colour: 'red' }, ['colour']],
    ['a header', { header: { sound: { link: LINK } } }, ['header/type']],
    ['a field of a header', { header: { image: { link: LINK, alt: 'x' } } }, ['header/image/alt']],
    ['a header without a link', { header: { document: { filename: 'a.pdf' } } }, ['header/document']],
    ['a link that is none', { header: { image: { link: 'ftp://x' } } }, ['header/image/link']],
    ['a text that is a number', { body: ['a', 1] }, ['body/1']],
    ['a body that is a text', { body: 'Ana' }, ['body']],
    ['a type of button', { buttons: [{ type: 'fax' }] }, ['buttons/0/type']],
    ['a field of a button', { buttons: [{ type: 'url', text: 'x', colour: 'red' }] }, ['buttons/0/colour']],
    ['a button without its code', { buttons: [{ type: 'copy_code' }] }, ['buttons/0/code']],
    ['a button at no place', { buttons: [{ type: 'url', text: 'x', index: 10 }] }, ['buttons/0/index']],
    ['a type of component', { components: [{ type: 'foot' }] }, ['components/0/type']],
    [
      'a parameter of a button of another kind',
      { components: [button('url', 0, { type: 'payload', payload: 'x' })] },
      ['components/0/parameters/0/type'],
    ],
    ['components that are no list', { components: {} }, ['components']],
    ['a ttl', { ttl: 5 }, ['ttl']],
    ['two of them', { ttl: 50, message_send_ttl_seconds: 60 }, ['ttl']],
    ['a carousel in a card', { carousel: [{ carousel: [] }] }, ['carousel/0/carousel']],
    ['a body that is there twice', { variables: ['1'], components: [body(textOf('1'))] }, ['components/0']],
    [
      'a button that is there twice',
      { buttons: [{ type: 'url', text: 'x' }], components: [button('url', 0, textOf('1'))] },
      ['components/0'],
    ],
  ])('with %s that is not understood is refused, and the place named', (_name, more, paths) => {
    expect(read(more)).toEqual(paths)
  })

  test('has its name, its language and for how long it may be delivered', () => {
    expect(templateOf(of({ ttl: 600 }))).toEqual({
      kind: 'composed',
      object: {
        type: 'template',
        template: { name: 't', language: { code: 'pt_BR' }, components: [] },
        message_send_ttl_seconds: 600,
      },
    })
  })
})

test('what is not understood is always named, and never throws', () => {
  const anything = fc.jsonValue({ maxDepth: 4 })
  const keys = ['header', 'body', 'variables', 'buttons', 'carousel', 'components', 'limitedTimeOffer', 'ttl']
  fc.assert(
    fc.property(fc.constantFrom(...keys), anything, (key, value) => {
      const composed = templateOf(of({ [key]: value }))
      if (composed.kind === 'refused') {
        expect(composed.errors.length).toBeGreaterThan(0)
        for (const { path } of composed.errors) expect(path[0]).toBe(key)
      }
    }),
  )
})

test('people see the name of a template, and the texts that it was given', () => {
  const composed = templateOf(of({ variables: ['Ana'], header: 'Hi' }))
  expect(composed.kind === 'composed' && objects.preview(composed.object)).toEqual({
    type: 'Template t (pt_BR)',
    text: 'Hi | Ana',
  })
})
