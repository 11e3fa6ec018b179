import { describe, expect, test } from '@jest/globals'
import { configSettings } from '@parley/shared/config-settings'
import fc from 'fast-check'
import { problemOfJson, unsetOf, withSetting } from '../src/json/json-check.ts'
import { syntaxProblem } from '../src/json/json-syntax.ts'

const MODEL = configSettings({ name: 'model', ownerType: 'assistant' }) ?? {}
const ACTION = configSettings({ name: 'settings', ownerType: 'action' }) ?? {}

test('what is no JSON has a problem, whatever it is, and what is JSON has none', () => {
  const damaged = fc.tuple(
    fc.json(),
    fc.nat(),
    fc.constantFrom('', '"', ',', '}', '1', '\\', '\n', '//', 'x'),
  )
  fc.assert(
    fc.property(damaged, ([json, at, instead]) => {
      const from = at % (json.length + 1)
      const text = json.slice(0, from) + instead + json.slice(from + 1)
      if (isJson(text)) expect(syntaxProblem(text)).toBeUndefined()
      else expect(syntaxProblem(text)).toMatch(/^Line \d+, column \d+: (?!this is no JSON)/)
    }),
    { numRuns: 1_000 },
  )
})

describe('what is wrong with JSON as it is typed', () => {
  test.each([
    ['', /^Line 1, column 1: a value is missing\.$/],
    ['{', /^Line 1, column 2: a closing brace is missing\.$/],
    ['{"a": 1\n"b": 2}', /^Line 2, column 1: a comma is missing\.$/],
    ['{"a": 1,}', /^Line 1, column 9: a name in double quotes is missing\.$/],
    ['{a: 1}', /^Line 1, column 2: a text has to be in double quotes\.$/],
    ['{"a": "x}', /^Line 1, column 7: the text that begins here has no closing quote\.$/],
    ['{} // x', /^Line 1, column 4: comments are not allowed\.$/],
    ['{} {}', /^Line 1, column 4: nothing may follow here\.$/],
    ['[1]', /^It has to be an object, in braces\.$/],
    ['{"provider": "open-ai"}', /^provider has to be one of openai, /],
    ['{"modle": "x"}', /^Nothing reads modle\. Is model meant\?$/],
    ['{"maxOutputTokens": "many"}', /^maxOutputTokens has to be a number\.$/],
    ['{"maxOutputTokens": 1.5}', /^maxOutputTokens has to be a number\.$/],
    ['{"vision": "yes"}', /^vision has to be true or false\.$/],
    ['{"model": 5}', /^model has to be a text\.$/],
    ['{"fallbacks": {}}', /^fallbacks has to be a list\.$/],
  ])('%j', (text, problem) => expect(problemOfJson(text, { known: MODEL })).toMatch(problem))

  test('bounds are said', () => {
    const problem = problemOfJson('{"timeoutSeconds": 600}', { known: ACTION })
    expect(problem).toBe('timeoutSeconds has to be a number of 1 to 120.')
  })

  test('nothing of a list, of what is right, of names that are like none, and of what is free-form', () => {
    expect(problemOfJson('[{}]', { isList: true })).toBeUndefined()
    expect(problemOfJson('{}', { isList: true })).toMatch(/list/)
    const right = '{"provider": "openai", "model": "x", "of my own": {"modle": 1}}'
    expect(problemOfJson(right, { known: MODEL })).toBeUndefined()
    expect(problemOfJson('{"modle": 1}')).toBeUndefined()
  })
})

test('every setting that is offered can be added: it is right, stays what else is there, and its value is what is selected', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 }), (before) => {
      const text = JSON.stringify(before)
      for (const name of unsetOf(text, MODEL)) {
        const next = withSetting(text, name, MODEL[name] ?? {})
        const { [name]: value, ...others } = JSON.parse(next.text)
        expect(others).toEqual(JSON.parse(text))
        expect(JSON.parse(next.text.slice(next.from, next.to))).toEqual(value)
        expect(unsetOf(next.text, MODEL)).not.toContain(name)
        expect(problemOfJson(JSON.stringify({ [name]: value }), { known: MODEL })).toBeUndefined()
      }
    }),
  )
})

test('what is no object has nothing to add', () => {
  for (const text of ['', '{', '[]', 'null', '3']) expect(unsetOf(text, MODEL)).toEqual([])
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
