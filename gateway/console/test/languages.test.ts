import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { languageOf } from '@parley/shared/languages'
import { IntlMessageFormat } from 'intl-messageformat'
import { readCatalogue, readMessages, TRANSLATED } from '../../../docs/messages.ts'
import { textsOf } from '../../../tests/source/texts.ts'

const { composed, plain, outside } = await readMessages()

describe('the texts of the console', () => {
  test('are all in the catalogue: a new one goes through t or rich, then `npm run docs`', () => {
    expect(outside).toEqual([])
    expect(composed.size).toBeGreaterThan(1_000)
    expect(plain.size).toBeGreaterThan(50)
  })

  test.each([
    ['in an element', 'export const A = () => <p>Not sent yet</p>'],
    ['in a word between elements', 'export const A = () => <p>Hello <b>you</b></p>'],
    ['in an attribute', 'export const A = () => <input placeholder="search" />'],
    ['in a branch', "export const A = ({ isOn }) => <p>{isOn ? 'on' : 'off'}</p>"],
    ['after ??', "export const A = ({ name }) => <p>{name ?? 'nobody'}</p>"],
    ['in a sum', "export const A = ({ n }) => <p title={n + ' were sent'} />"],
    ['in a constant', "export const NAMES = { a: 'The first of them' }"],
    ['in a notice', "notify('Saved.')"],
    ['in a choice', "export const CHOICES = [{ value: 'x', name: 'between' }]"],
    ['in what is returned', "export const f = () => { return 'It was deleted' }"],
    ['among what fills a message', "t('{a} is there', { a: 'somebody' + ' of the team' })"],
  ])('are found %s', async (_where, code) => {
    const file = join(mkdtempSync(join(tmpdir(), 'texts-')), 'page.tsx')
    writeFileSync(file, code)
    expect((await textsOf(file)).outside).not.toEqual([])
  })
})

describe.each(TRANSLATED)('the catalogue of %s', (language) => {
  const catalogue = readCatalogue('gateway/console/src/languages', language)

  test('has every text once, and none that is gone: `npm run docs` brings it in line', () => {
    expect(Object.keys(catalogue)).toEqual([...new Set([...composed, ...plain])].toSorted())
    expect(Object.keys(catalogue).filter((message) => catalogue[message]?.trim() === '')).toEqual([])
  })

  test('has the placeholders and elements of the English texts', () => {
    const wrong = [...composed].filter(
      (message) => partsOf(message, 'en').join() !== partsOf(catalogue[message] ?? '', language).join(),
    )
    expect(wrong).toEqual([])
  })

  test('has what texts from elsewhere are composed of', () => {
    const composedOf = (text: string) => [...text.matchAll(/\{\d\}/g)].map(([all]) => all).toSorted()
    const wrong = [...plain].filter(
      (text) => composedOf(text).join() !== composedOf(catalogue[text] ?? '').join(),
    )
    expect(wrong).toEqual([])
  })

  test('has each plural form that the language has of whole numbers', () => {
    const forms = formsOf(language)
    const wrong = [...composed].filter((message) =>
      pluralsIn(astOf(catalogue[message] ?? '', language)).some((own) =>
        forms.some((form) => !own.includes(form)),
      ),
    )
    expect(wrong).toEqual([])
  })

  test('begins and ends as the English texts do', () => {
    const ends = (text: string) =>
      [/^\s/.test(text), /\s$/.test(text), /[.…?:]?$/.exec(text.trimEnd())?.[0]].join()
    const wrong = Object.entries(catalogue).filter(([message, text]) => ends(message) !== ends(text))
    expect(wrong).toEqual([])
  })
})

describe('the language', () => {
  test.each([
    [['pt-PT', 'en'], 'pt-BR'],
    [['es-MX'], 'es'],
    [['de', 'ES-419'], 'es'],
    [['en-GB', 'pt-BR'], 'en'],
    [['fr'], 'en'],
    [[], 'en'],
  ] as const)('of who prefers %j is %s', (preferred, language) => {
    expect(languageOf(preferred)).toBe(language)
  })
})

interface Element {
  type: number
  value?: unknown
  children?: Element[]
  options?: Record<string, { value: Element[] }>
}

const LITERAL = 0
const POUND = 7

const astOf = (text: string, language: string): Element[] =>
  new IntlMessageFormat(text, language).getAst() as unknown as Element[]

const inner = ({ children = [], options = {} }: Element): Element[] => [
  ...children,
  ...Object.values(options).flatMap(({ value }) => value),
]

/** Returns the parts of a message that are no words, each once. */
function partsOf(text: string, language: string): string[] {
  const parts = new Set<string>()
  const add = (element: Element) => {
    if (element.type !== LITERAL && element.type !== POUND) parts.add(`${element.type} ${element.value}`)
    for (const one of inner(element)) add(one)
  }
  for (const element of astOf(text, language)) add(element)
  return [...parts].toSorted()
}

const pluralsIn = (elements: readonly Element[]): string[][] =>
  elements.flatMap((element) => [
    ...(element.options === undefined ? [] : [Object.keys(element.options)]),
    ...pluralsIn(inner(element)),
  ])

/** Counted, since a language may have a form for millions alone, which `other` says as well. */
const formsOf = (language: string): string[] => {
  const rules = new Intl.PluralRules(language)
  return [...new Set(Array.from({ length: 1_000 }, (_, number) => rules.select(number)))]
}
