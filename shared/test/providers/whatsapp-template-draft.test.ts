import { describe, expect, test } from '@jest/globals'
import { errorsOfDraft } from '@parley/shared/providers/whatsapp/template-draft'
import { previewOf } from '@parley/shared/providers/whatsapp/template-preview'
import { templates } from '@parley/shared/providers/whatsapp/templates'

const draft = (components: object[], more: object = {}) =>
  errorsOfDraft({
    ...{ name: 'order_update', language: 'pt_BR', category: 'UTILITY' },
    components: components as { type: string }[],
    ...more,
  }).map(({ path, message }) => `${path.join('/')} ${message}`)
const body = (text: string, example?: string[]) => ({
  ...{ type: 'BODY', text },
  ...(example && { example: { body_text: [example] } }),
})
const HI = body('Hi')

describe('a template that is to be made', () => {
  test.each([
    ['is whole', [body('Hi {{1}}!', ['Ana'])], {}, []],
    ['has a wrong name', [HI], { name: 'Order update' }, ['name expected 1 to 512 of a-z, 0-9 and _']],
    [
      'has a language that Meta does not have',
      [HI],
      { language: 'portuguese' },
      ['language expected a code such as en_US or pt_BR'],
    ],
    ['has no body', [], {}, ['components a BODY is missing']],
    ['has two bodies', [HI, HI], {}, ['components/1/type is the body for a second time']],
    [
      'has no example',
      [body('Hi {{1}}!')],
      {},
      ['components/0/example/body_text expected an example of each placeholder: 1'],
    ],
    [
      'begins with a placeholder',
      [body('{{1}} is here', ['Ana'])],
      {},
      ['components/0/text begins or ends with a placeholder, which Meta refuses'],
    ],
    [
      'skips a number',
      [body('Hi {{1}} and {{3}}!', ['a', 'b'])],
      {},
      ['components/0/text expected {{1}}, {{2}}, … in order, or names with parameterFormat NAMED'],
    ],
    [
      'has a name of another form',
      [body('Hi {{iPhone}}!', [])],
      { parameterFormat: 'NAMED' },
      [
        'components/0/text {{iPhone}} is no name of a-z, 0-9 and _',
        'components/0/example/body_text_named_params expected an example of each placeholder: 1',
      ],
    ],
    ['is too long', [body('x'.repeat(1_025))], {}, ['components/0/text has more than 1024 characters']],
    [
      'has a placeholder below',
      [HI, { type: 'FOOTER', text: 'Bye {{1}}' }],
      {},
      ['components/1/text has a placeholder, which Meta refuses'],
    ],
    [
      'has a URL with its placeholder inside',
      [
        HI,
        {
          type: 'BUTTONS',
          buttons: [{ type: 'URL', text: 'Open', url: 'https://x.test/{{1}}/a', example: ['a'] }],
        },
      ],
      {},
      ['components/1/buttons/0/url has its placeholder elsewhere than at the end'],
    ],
    [
      'mixes its buttons',
      [
        HI,
        {
          type: 'BUTTONS',
          buttons: [
            { type: 'QUICK_REPLY', text: 'a' },
            { type: 'PHONE_NUMBER', text: 'b', phone_number: '1' },
            { type: 'QUICK_REPLY', text: 'c' },
          ],
        },
      ],
      {},
      ['components/1/buttons has quick replies on both sides of other buttons'],
    ],
    [
      'has cards of different forms',
      [
        HI,
        {
          type: 'CAROUSEL',
          cards: [
            { components: [{ type: 'HEADER', format: 'IMAGE' }, HI] },
            { components: [{ type: 'HEADER', format: 'VIDEO' }, HI] },
          ],
        },
      ],
      {},
      ['components/1/cards has cards with different parts'],
    ],
    [
      'authenticates',
      [{ type: 'BODY' }, { type: 'BUTTONS', buttons: [{ type: 'OTP', otp_type: 'COPY_CODE' }] }],
      { category: 'AUTHENTICATION' },
      [],
    ],
  ])('%s', (_name, components, more, expected) => {
    expect(draft(components, more)).toEqual(expected)
  })
})

describe('a template as a person sees it', () => {
  const components = [
    { type: 'HEADER', format: 'TEXT', text: 'Order {{1}}' },
    { type: 'BODY', text: 'Hi *{{1}}*, it costs {{2}}. {{3}}' },
    { type: 'FOOTER', text: 'Bye' },
    { type: 'BUTTONS', buttons: [{ type: 'URL', text: 'Track', url: 'https://x.test/{{1}}' }] },
  ]
  const given = [
    { type: 'header', parameters: [{ type: 'text', text: '4711' }] },
    {
      type: 'body',
      parameters: [
        { type: 'text', text: 'Ana {{2}}' },
        { type: 'currency', currency: { fallback_value: 'R$ 1' } },
      ],
    },
    { type: 'button', sub_type: 'url', index: '0', parameters: [{ type: 'text', text: 'a$&b' }] },
  ]

  test('has the values in the place of placeholders, and those that are missing as they are', () => {
    expect(previewOf({ components }, { template: { components: given } })).toEqual({
      header: { type: 'text', text: 'Order 4711' },
      body: 'Hi *Ana {{2}}*, it costs R$ 1. {{3}}',
      footer: 'Bye',
      buttons: [{ type: 'url', text: 'Track', value: 'https://x.test/a$&b' }],
    })
  })

  test('is shown without values as well', () => {
    expect(previewOf({ components }, undefined).body).toBe('Hi *{{1}}*, it costs {{2}}. {{3}}')
  })
})

describe('what Meta says', () => {
  const response = (status: number, body: unknown) => ({ status, headers: {}, body: JSON.stringify(body) })

  test('of a refusal is its text for people, and its code', () => {
    const error = {
      message: 'Invalid parameter',
      code: 100,
      error_user_title: 'Name taken',
      error_user_msg: 'There is one already.',
    }
    expect(templates.readChange(response(400, { error }))).toEqual({
      kind: 'refused',
      status: 400,
      message: 'Name taken: There is one already.',
      code: 100,
    })
  })

  test('of a page are its templates, and where the next begins', () => {
    const data = [
      {
        id: '7',
        name: 't',
        language: 'en',
        status: 'APPROVED',
        category: 'UTILITY',
        components: [HI],
        ...JSON.parse('{"rejected_reason":"NONE"}'),
      },
      { name: 'half' },
    ]
    expect(
      templates.readList(response(200, { data, paging: { cursors: { after: 'x' }, next: 'https://…' } })),
    ).toEqual({
      kind: 'done',
      templates: [
        {
          providerId: '7',
          name: 't',
          language: 'en',
          status: 'APPROVED',
          category: 'UTILITY',
          components: [HI],
        },
      ],
      next: 'x',
    })
    expect(templates.readList(response(200, 'what?'))).toMatchObject({ kind: 'refused' })
  })

  test('in a webhook names the template', () => {
    const value = {
      event: 'PAUSED',
      message_template_id: 7,
      message_template_name: 't',
      message_template_language: 'en',
    }
    expect(templates.noticeOf({ field: 'message_template_status_update', value })).toEqual({
      name: 't',
      language: 'en',
      status: 'PAUSED',
    })
    expect(templates.noticeOf({ field: 'account_update', value })).toBeUndefined()
  })
})
