import { describe, expect, test } from '@jest/globals'
import { readCatalogue, readProblemTexts, TRANSLATED } from '../../docs/messages.ts'
import { acceptedLanguage, problemTexts } from '../src/problem-texts.ts'

describe('the language that a header asks for', () => {
  test.each([
    [undefined, 'en'],
    ['', 'en'],
    ['*', 'en'],
    ['pt', 'pt-BR'],
    ['pt-PT', 'pt-BR'],
    ['es-MX,es;q=0.9,en;q=0.8', 'es'],
    ['en;q=0.2, ES-419;q=0.7, pt-BR;q=0.9', 'pt-BR'],
    ['fr, pt;q=0', 'en'],
    ['pt;q=0, es', 'es'],
    ['de, en;q=0.5, pt;q=0.4', 'en'],
    [`${'x-'.repeat(4_000)}, es`, 'es'],
    ['not a header at all; q=;;', 'en'],
  ])('%s is %s', (header, language) => {
    expect(acceptedLanguage(header)).toBe(language)
  })
})

describe('the texts of problems', () => {
  test.each(TRANSLATED)('in %s are all there, with what they are composed of', async (language) => {
    const catalogue = readCatalogue('shared/src/problem-texts', language)
    expect(Object.keys(catalogue)).toEqual([...(await readProblemTexts())].toSorted())
    const placeholders = (text: string) => [...text.matchAll(/\{\d\}/g)].map(([all]) => all).toSorted()
    const wrong = Object.entries(catalogue).filter(
      ([english, text]) => text === '' || placeholders(english).join() !== placeholders(text).join(),
    )
    expect(wrong).toEqual([])
  })

  test('are composed of the same', () => {
    const texts = problemTexts('pt-BR')
    expect(texts.text('The role may not write this.')).toBe('A função não pode escrever isto.')
    expect(texts.text('Invalid input: expected string, received number')).toBe(
      'Entrada inválida: esperava-se texto, veio número',
    )
    expect(texts.isWhole()).toBe(true)
    expect(texts.text('What a provider said')).toBe('What a provider said')
    expect(texts.isWhole()).toBe(false)
  })

  test('of what a role comes to are composed of texts that are composed themselves', () => {
    const { text, isWhole } = problemTexts('es')
    expect(
      text(
        'The caller may read all of channels (entry 1), and may not write channels, because no entry that applies grants it (entries 1, 2).',
      ),
    ).toBe(
      'Quien llama puede leer todo de channels (entrada 1) y no puede escribir channels, porque ninguna de las entradas que se aplican lo concede (entradas 1, 2).',
    )
    expect(text('Came to nothing (a path that leads nowhere) for this document')).toBe(
      'Dio nada (una ruta que no lleva a ninguna parte) para este documento',
    )
    expect(text('the callback whatsapp needs it')).toBe('el callback whatsapp lo necesita')
    expect(isWhole()).toBe(true)
  })

  test('are as they were in English', () => {
    expect(problemTexts('en').text('There is nothing here')).toBe('There is nothing here')
  })
})
