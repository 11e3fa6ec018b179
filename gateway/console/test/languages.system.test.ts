import { expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import type { Page } from 'playwright-core'
import { readCatalogue, TRANSLATED } from '../../../docs/messages.ts'
import { SIZES, violations } from './axe.ts'
import { consoleSystem } from './console-system.ts'
import { closeDialog, consolePages, dialogs, entrances, goInside, openDialog, readSeeded } from './pages.ts'
import { seed } from './seed.ts'

let seeded: Awaited<ReturnType<typeof readSeeded>>
/** Actions that lack tools: a server that is not there, and a document with an operation that has no name. */
const FAILING = [
  {
    ...{ _id: 71, name: 'Stock', description: 'Stock', specType: 'mcp', spec: '' },
    moduleUrl: 'http://127.0.0.1:9/mcp',
  },
  {
    ...{ _id: 72, name: 'Shop', description: 'Shop', specType: 'openapi3-yaml', moduleUrl: 'native:request' },
    spec: JSON.stringify({
      ...{ openapi: '3.1.0', info: { title: 'Shop', version: '1' } },
      ...{ servers: [{ url: 'http://127.0.0.1:9' }], paths: { '/orders': { post: { summary: 'Orders' } } } },
    }),
  },
]
const system = consoleSystem({
  async prepare({ parley, garden }) {
    await seed(parley.system, garden, { updates: 20 })
    const read = async (path: string) => (await parley.call('GET', path, { token: garden.token })).json
    seeded = await eventually(() => readSeeded(read).catch(() => undefined))
    for (const { _id, ...body } of FAILING)
      await parley.call('PUT', `/rest/actions/${_id}`, { body, token: garden.token })
  },
})

test.each(TRANSLATED)('in %s no page has an English text, and axe finds nothing', async (language) => {
  const catalogue = readCatalogue('gateway/console/src/languages', language)
  await system.onPage({ locale: language, bypassCSP: true }, async (page) => {
    const data = readData(page)
    for (const [path, wait] of Object.entries(entrances)) {
      await system.open(page, `${path}#token`, wait)
      expect(await wrongOn(page, { catalogue, data, language })).toEqual([])
      expect(await violations(page, path, SIZES)).toEqual([])
    }
    await system.open(page, '/login', 'input[type=email]')
    await page.locator('input[type=email]').fill(system.garden.email)
    await page.locator('input[type=password]').fill(system.garden.password)
    await page.locator('button[type=submit]').click()
    await page.waitForSelector('.shell')
    expect(await page.evaluate(() => document.documentElement.lang)).toBe(language)
    const wrong: string[] = []
    const look = async (name: string) => {
      wrong.push(...(await wrongOn(page, { catalogue, data, language })).map((text) => `${name}: ${text}`))
      wrong.push(...(await violations(page, name, SIZES)))
    }
    for (const [path, wait] of consolePages(seeded)) {
      await goInside(page, path, wait)
      await look(path)
    }
    for (const dialog of dialogs(seeded)) {
      await openDialog(page, dialog, catalogue)
      await look(`${dialog[0]} ${dialog[2]}`)
      await closeDialog(page)
    }
    await goInside(page, `/team/roles/${seeded.role}`, '.explained')
    await page.getByLabel(catalogue.Resource ?? '', { exact: true }).selectOption('assistant')
    const given = page.locator('.explained + .note + ul li')
    await given.first().waitFor()
    const texts = Object.values(readCatalogue('shared/src/problem-texts', language))
    const known = texts.map((text) => text.replaceAll('`', ''))
    for (const text of await given.allInnerTexts())
      expect(known).toContain(text.slice(text.indexOf(': ') + 2))
    wrong.push(...(await wrongOn(page, { catalogue, data, language })))
    for (const { _id } of FAILING) {
      await goInside(page, `/assistants/actions/${_id}`, 'form')
      await page.getByRole('button', { name: catalogue['Test connection'] ?? '' }).click()
      await page.waitForSelector('.failure li')
      wrong.push(...(await wrongOn(page, { catalogue, data, language })))
    }
    expect(wrong).toEqual([])
  })
})

test('the language is chosen in My account, and follows the account to another browser', async () => {
  await system.onPage({ locale: 'fr-FR' }, async (page) => {
    await logInInEnglish(page)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await goInside(page, '/account', '.rows')
    await page.getByLabel('Language of the console').selectOption({ label: 'Português (Brasil)' })
    await page.getByRole('heading', { name: 'Minha conta' }).waitFor()
    await page
      .getByText(/^há \d+ (s|min)/)
      .first()
      .waitFor()
    await page.getByLabel('Idioma do console').selectOption({ label: 'Español' })
    await page.getByRole('heading', { name: 'Mi cuenta' }).waitFor()

    await system.onPage({ locale: 'en-US' }, async (other) => {
      await logInInEnglish(other)
      await other.getByRole('heading', { name: 'Resumen' }).waitFor()
      expect(await other.evaluate(() => document.documentElement.lang)).toBe('es')
      const { json } = await system.parley.call('GET', '/rest/roles', { token: system.garden.token })
      const [role] = json.data as { _id: number }[]
      await goInside(other, `/team/roles/${role?._id}`, '.explained')
      await other.locator('.explained', { hasText: /^Quien llama / }).waitFor()
    })

    await page.getByLabel('Idioma de la consola').selectOption({ value: '' })
    await page.getByRole('heading', { name: 'My account' }).waitFor()
  })
})

async function logInInEnglish(page: Page): Promise<void> {
  await page.goto(`${system.url}/console`)
  await page.getByRole('heading', { name: 'Log in' }).waitFor()
  await page.getByLabel('Email').fill(system.garden.email)
  await page.getByLabel('Password').fill(system.garden.password)
  await page.getByRole('button', { name: 'Log in' }).click()
}

/** Fields in which services say in sentences why something is so; what a provider says begins with its code. */
const EXPLAINED = /^(?:reason|notes|error)$/
const SENTENCE = /^(?!\(#\d).* /

/** Every string that the services responded with, but for the sentences that are their own and in English. */
function readData(page: Page): Data {
  const strings = new Set<string>()
  const reading: Promise<void>[] = []
  const add = (value: unknown, isExplained = false): void => {
    if (typeof value === 'string') {
      if (!(isExplained && SENTENCE.test(value))) strings.add(value)
    } else if (typeof value === 'object' && value !== null)
      for (const [key, one] of Object.entries(value)) {
        strings.add(key)
        add(one, EXPLAINED.test(key) || (isExplained && Array.isArray(value)))
      }
  }
  page.on('response', (response) => {
    if (!/^\/(rest|api)\//.test(new URL(response.url()).pathname)) return
    if (!response.headers()['content-type']?.includes('json')) return
    reading.push(response.json().then(add, () => undefined))
  })
  return {
    async strings() {
      await Promise.all(reading.splice(0))
      return strings
    },
  }
}

interface Data {
  /** Once the responses that have begun are read. */
  strings(): Promise<ReadonlySet<string>>
}

interface Known {
  catalogue: Readonly<Record<string, string>>
  data: Data
  language: string
}

/** Words that are the same in every language, or a name. */
const NAMES = new Set([
  ...['rpc', 'BRL', 'OpenAI', 'Anthropic', 'Google'],
  'Parley',
  'JSON',
  'API',
  'min',
  'KiB',
  'MiB',
  'Português',
  'Brasil',
  'Español',
  'English',
  'Chrome',
  'Linux',
])

/** The texts of a page that are neither of the catalogue nor data. */
async function wrongOn(page: Page, { catalogue, data, language }: Known): Promise<string[]> {
  const texts = await page.evaluate(readTexts)
  const problems = readCatalogue('shared/src/problem-texts', language)
  const pieces = [catalogue, problems]
    .flatMap(Object.values<string>)
    .flatMap(piecesOf)
    .toSorted((one, other) => other.length - one.length)
  const all = [...(await data.strings())].join('\n')
  const lower = all.toLowerCase()
  const names = [...NAMES].join(' ').toLowerCase()
  const dates = datesOf(language)
  const isKnown = (text: string) => {
    const translation = catalogue[text]
    if (translation !== undefined && translation !== text && !isTranslation(text, catalogue)) return false
    if (all.includes(text)) return true
    const rest = pieces.reduce((left, piece) => withoutPiece(left, piece), text.toLowerCase())
    return (rest.match(/\p{L}{3,}/gu) ?? []).every(
      (word) => names.includes(word) || dates.has(word) || lower.includes(word),
    )
  }
  return [...new Set(texts)].filter((text) => !isKnown(text))
}

/** Takes a piece away where it is not a part of a word. */
const withoutPiece = (text: string, piece: string): string =>
  text.includes(piece)
    ? text.replaceAll(new RegExp(`(?<!\\p{L})${RegExp.escape(piece)}(?!\\p{L})`, 'gu'), ' ')
    : text

const isTranslation = (text: string, catalogue: Known['catalogue']): boolean =>
  Object.values(catalogue).includes(text)

/** Returns the pieces of text between the placeholders, in each of its forms. */
const piecesOf = (text: string): string[] =>
  text
    .split(/\{\w+, plural, \w+ \{|\} \w+ \{|\}\}|\{\w+\}|<\/?\w+>|'/)
    .flatMap((piece) => piece.split('#'))
    .map((piece) => piece.replaceAll(/^\P{L}+|\P{L}+$/gu, '').toLowerCase())
    .filter((piece) => /\p{L}{2,}/u.test(piece))

/** Names of days, months and languages. */
function datesOf(language: string): Set<string> {
  const words = Array.from({ length: 366 }, (_, day) =>
    new Date(2026, 0, day).toLocaleDateString(language, { dateStyle: 'full' }),
  )
  const names = new Intl.DisplayNames(language, { type: 'language' })
  const languages = ['pt-BR', 'en-US', 'es', 'pt', 'en'].map((tag) => names.of(tag) ?? '')
  const text = [...words, ...languages].join(' ').toLowerCase()
  return new Set([
    ...(text.match(/\p{L}{3,}/gu) ?? []),
    ...[
      'jan',
      'fev',
      'mar',
      'abr',
      'mai',
      'jun',
      'jul',
      'ago',
      'set',
      'out',
      'nov',
      'dez',
      'ene',
      'may',
      'sept',
      'oct',
      'dic',
    ],
  ])
}

/** Returns the texts of a page that a user reads or hears; code and messages are data. */
function readTexts(): string[] {
  const isShown = (element: Element | null) =>
    element !== null &&
    !element.closest(
      'script, noscript, style, code, pre, time, textarea, select.code, .bubble, .canned, [aria-hidden=true]',
    )
  const texts: string[] = [document.title]
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode())
    if (isShown(node.parentElement)) texts.push(node.textContent ?? '')
  for (const name of ['title', 'aria-label', 'placeholder', 'alt'])
    for (const element of document.querySelectorAll(`[${name}]`))
      if (element.tagName !== 'TIME') texts.push(element.getAttribute(name) ?? '')
  return texts.map((text) => text.replaceAll(/\s+/g, ' ').trim()).filter((text) => /\p{L}{2,}/u.test(text))
}
