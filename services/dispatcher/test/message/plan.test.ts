import { describe, expect, test } from '@jest/globals'
import { type Answer, hasAnswer, planSends } from '@parley/dispatcher/message/plan'
import type { Speaking } from '@parley/shared/providers/marked-up'

const template = { name: 'callback', args: { template: 'welcome', variables: ['Ana'], language: 'pt_BR' } }

describe('hasAnswer', () => {
  test.each([
    ['text', { message: 'Hi' }, true],
    ['functions', { functions: [{}] }, true],
    ['a submission', { submit: { ok: true } }, true],
    ['nothing', {}, false],
    ['empty parts', { message: '', functions: [], submit: {} }, false],
    ['nulls', { message: null, functions: null, submit: null }, false],
  ])('%s', (_name, answer, expected) => {
    expect(hasAnswer(answer)).toBe(expected)
  })
})

const rpc = { callback: 'rpc', config: {} }
const whatsapp = { callback: 'whatsapp', config: {} }
const planned = (answer: Answer, channel: Speaking = rpc, source = 'api') =>
  planSends({ _id: 'm1', source }, answer, { channel })
const contentsOf = (answer: Answer, channel: Speaking = rpc, source = 'api') =>
  planned(answer, channel, source).sends.map(({ content }) => content)

describe('planSends', () => {
  test('sends templates in order, then the text, each under an id of its own', () => {
    const second = { name: 'callback', args: { template: 'bye', language: 'en' } }
    expect(planned({ functions: [template, second], message: 'Hi' }).sends).toEqual([
      {
        id: 'm1:0',
        state: 'pending',
        content: { kind: 'template', template: 'welcome', language: 'pt_BR', variables: ['Ana'] },
      },
      {
        id: 'm1:1',
        state: 'pending',
        content: { kind: 'template', template: 'bye', language: 'en', variables: [] },
      },
      { id: 'm1:2', state: 'pending', content: { kind: 'text', text: 'Hi' } },
    ])
  })

  test("an action's function is named by its place, and what is submitted comes last", () => {
    const answer = {
      functions: [{ name: 'refund', args: { id: 1 } }, template],
      message: 'Hi',
      submit: { ok: true },
    }
    expect(contentsOf(answer)).toEqual([
      { kind: 'function', name: 'refund', position: 0 },
      { kind: 'template', template: 'welcome', language: 'pt_BR', variables: ['Ana'] },
      { kind: 'text', text: 'Hi' },
      { kind: 'submit' },
    ])
  })

  test('an answer with nothing in it sends nothing', () => {
    expect(planned({ message: '', functions: [], submit: {} }).sends).toEqual([])
  })
})

describe('what an answer says beside texts', () => {
  const call = (args: object) => ({ functions: [{ name: 'callback', args: { ...args } }] })
  const buttons = [{ id: 's', title: 'Small' }, { title: 'Large' }]

  test('is an object of the provider, which is stored as it is sent', () => {
    const [content] = contentsOf(call({ message: 'Which?', buttons }), whatsapp)
    expect(content).toEqual({
      kind: 'object',
      provider: 'whatsapp',
      type: 'interactive',
      object: expect.any(String),
    })
    const { object } = content as { object: string }
    expect(JSON.parse(object)).toMatchObject({ type: 'interactive', interactive: { type: 'button' } })
  })

  test('is a text that people can read where the provider has nothing else', () => {
    const list = { button: 'Choose', rows: [{ title: 'S', description: 'small' }, { title: 'L' }] }
    const document = { link: 'https://e.com/a.pdf', filename: 'a.pdf' }
    const location = { latitude: 1.5, longitude: 2, name: 'Shop', address: 'Rua 1' }
    expect(
      [
        { message: 'Which?', buttons, footer: 'Thanks' },
        { message: 'Which?', list },
        { message: 'Your invoice', document },
        { location },
      ].map((args) => contentsOf(call(args))),
    ).toEqual([
      [{ kind: 'text', text: 'Which?\n\n- Small\n- Large\n\nThanks' }],
      [{ kind: 'text', text: 'Which?\n\n- S: small\n- L' }],
      [{ kind: 'text', text: 'Your invoice\n\na.pdf: https://e.com/a.pdf' }],
      [{ kind: 'text', text: 'Shop\nRua 1\n1.5, 2' }],
    ])
  })

  test('of a template is all there where the provider has no objects, and composed where it has', () => {
    const args = { template: 't', language: 'en', variables: { name: 'Ana' }, header: 'Hi' }
    expect(contentsOf(call(args))).toEqual([
      {
        ...{ kind: 'template', template: 't', language: 'en', variables: [] },
        more: JSON.stringify({ variables: { name: 'Ana' }, header: 'Hi' }),
      },
    ])
    expect(contentsOf(call(args), whatsapp)).toMatchObject([{ kind: 'object', type: 'template' }])
  })

  test.each([
    ['an argument', { message: 'x', colour: 1 }, ''],
    ['a field of a button', { message: 'x', buttons: [{ title: 'a', colour: 1 }] }, '/buttons/0'],
    ['too many buttons', { message: 'x', buttons: [1, 2, 3, 4].map((n) => ({ title: `${n}` })) }, '/buttons'],
    ['a link', { image: { link: 'file:///etc/passwd' } }, '/image/link'],
    ['a template without a language', { template: 't' }, '/language'],
    ['an argument of a template', { template: 't', language: 'en', colour: 1 }, '/colour'],
  ])('is named where %s is not understood, and nothing is sent', (_name, args, at) => {
    const answer = { functions: [template, { name: 'callback', args: { ...args } }] }
    const { errors } = planned(answer, whatsapp)
    expect(errors.map(({ path }) => `/${path.join('/')}`)).toEqual([`/functions/1/args${at}`])
  })

  test('is an operation of an action where it has another name, or nothing that is said', () => {
    const functions = [
      { name: 'refund', args: { message: 'x' } },
      { name: 'callback', args: { order: 1 } },
      { name: 'callback' },
    ]
    expect(contentsOf({ functions }, whatsapp).map(({ kind }) => kind)).toEqual([
      'function',
      'function',
      'function',
    ])
  })
})

describe('Markdown', () => {
  const message = '**Total:** 5'

  test('of a person of the team is put into the provider’s markup, unless the channel says otherwise', () => {
    const asItIs = { callback: 'whatsapp', config: { markup: 'asIs' } }
    expect([whatsapp, asItIs, rpc].map((channel) => contentsOf({ message }, channel, 'reply'))).toEqual([
      [{ kind: 'text', text: '*Total:* 5' }],
      [{ kind: 'text', text: message }],
      [{ kind: 'text', text: message }],
    ])
  })

  test('of a caller or a handler stays as it is', () => {
    expect(contentsOf({ message }, whatsapp)).toEqual([{ kind: 'text', text: message }])
  })
})
