import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { folded, statusSaid, wordsOf } from '../../src/consent/words.ts'

const defaults = wordsOf(undefined)
const said = (text: string, words = defaults) => statusSaid({ text }, words)

test.each([
  'STOP',
  ' stop ',
  'Stop.',
  '"stop"',
  'Parar',
  'BAJA!',
  'Opt-out',
  'ARRÊT',
  'arret',
  'Parar promocoes',
  '👋 stop 🙏',
])('%j opts out', (text) => expect(said(text)).toBe('withdrawn'))

test.each(['START', 'unstop', 'Quero receber', 'alta'])('%j opts in', (text) =>
  expect(said(text)).toBe('granted'),
)

test.each([
  'stop sending me the wrong size',
  'stop, o Zé não vem',
  "don't stop",
  'non-stop',
  'cancel',
  'yes',
  'Where is the bus stop?',
  '',
  '.',
  '🛑',
])('%j says nothing of consent', (text) => expect(said(text)).toBeUndefined())

test('a workspace’s list takes the place of ours in its language, and an empty one of none', () => {
  const words = wordsOf({ optOut: { pt: ['Chega'], es: [] } })
  expect(said('chega', words)).toBe('withdrawn')
  expect(said('sair', words)).toBeUndefined()
  expect(said('baja', words)).toBeUndefined()
  expect(said('stop', words)).toBe('withdrawn')
})

test.each([null, 'stop', { optOut: ['stop'] }, { optOut: { en: 'stop' } }])(
  'with settings in another form, %j, our own words count',
  (value) => expect(said('stop', wordsOf(value))).toBe('withdrawn'),
)

test('a button’s payload counts whatever is written on it', () => {
  expect(statusSaid({ text: 'No, thanks', payload: 'opt_out' }, defaults)).toBe('withdrawn')
  expect(statusSaid({ text: 'Yes, please', payload: 'opt_in' }, defaults)).toBe('granted')
  expect(statusSaid({ text: 'stop', payload: 'constructor' }, defaults)).toBe('withdrawn')
})

test('whatever stands around a word, folding it again changes nothing', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 64 }), (text) => {
      expect(folded(folded(text))).toBe(folded(text))
    }),
  )
})
